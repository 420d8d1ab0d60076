// Package refused announces callers that were refused before there was a decision, so that people
// who watch events see a caller that probes.
package refused

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
)

// Every is how far apart a process announces refusals: who is refused must not fill the store.
const Every = 10 * time.Second

// unknown is the entity of callers without a principal.
const unknown = "unknown"

// patience bounds one announcement.
const patience = 5 * time.Second

// Announcer announces refusals, at most one in each Every.
type Announcer struct {
	announce func(context.Context, *policyv1.ReportRefusalRequest) error
	log      *slog.Logger
	clock    func() time.Time

	mu   sync.Mutex
	last time.Time
	more int64
}

// New makes an announcer that commits events to a store.
func New(st store.Store, log *slog.Logger) *Announcer {
	return newAnnouncer(log, func(ctx context.Context, refusal *policyv1.ReportRefusalRequest) error {
		return Commit(ctx, st, refusal)
	})
}

// Through makes an announcer of a process without a store: the policy enforcer commits the events.
func Through(enforcer policyv1.PolicyEnforcerServiceClient, log *slog.Logger) *Announcer {
	return newAnnouncer(log, func(ctx context.Context, refusal *policyv1.ReportRefusalRequest) error {
		_, err := enforcer.ReportRefusal(ctx, refusal)
		return err
	})
}

func newAnnouncer(log *slog.Logger, announce func(context.Context, *policyv1.ReportRefusalRequest) error) *Announcer {
	return &Announcer{announce: announce, log: log, clock: time.Now}
}

// Tell announces a refusal without waiting, or counts it for the next announcement.
func (a *Announcer) Tell(of rpc.Refusal) {
	refusal, due := a.next(of)
	if !due {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := a.announce(ctx, refusal); err != nil {
			a.log.LogAttrs(ctx, slog.LevelInfo, "a refused call could not be announced", slog.Any("cause", err))
		}
	}()
}

// next returns the announcement of a refusal if one is due.
func (a *Announcer) next(of rpc.Refusal) (*policyv1.ReportRefusalRequest, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	if !a.last.IsZero() && now.Sub(a.last) < Every {
		a.more++
		return nil, false
	}
	more := a.more
	a.last, a.more = now, 0
	return &policyv1.ReportRefusalRequest{
		Namespace: bus.Clip(of.Namespace), Principal: bus.Clip(of.Principal), Refused: &eventv1.CallRefused{
			Face: of.Face, Method: bus.Clip(of.Method), Reason: string(of.Reason), Role: of.Role, SessionId: bus.Clip(of.Session), From: of.From, More: more,
		},
	}, true
}

// Commit announces a refusal by an event in a store.
func Commit(ctx context.Context, st store.Store, refusal *policyv1.ReportRefusalRequest) error {
	encoded, err := bus.Encode(eventOf(refusal, time.Now()))
	if err != nil {
		return err
	}
	_, err = st.Commit(ctx, store.Batch{Events: []store.Event{encoded}})
	return err
}

func eventOf(refusal *policyv1.ReportRefusalRequest, at time.Time) *eventv1.Event {
	namespace := refusal.GetNamespace()
	if !rpc.ValidNamespace(namespace) {
		namespace = rpc.DefaultNamespace
	}
	event := &eventv1.Event{
		Namespace: namespace, Entity: "call", EntityId: cmp.Or(refusal.GetPrincipal(), unknown), Type: "refused",
		Time: timestamppb.New(at), Actor: refusal.GetPrincipal(), Payload: &eventv1.Event_CallRefused{CallRefused: refusal.GetRefused()},
	}
	event.Id = bus.EventID(event) + "." + typeid.New(typeid.Event) // many refusals of a principal have no version
	return event
}
