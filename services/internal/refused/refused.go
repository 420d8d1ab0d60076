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
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
)

// Every is how far apart a process announces refusals: who is refused must not fill the store.
const Every = 10 * time.Second

// unknown is the entity of callers without a principal.
const unknown = "unknown"

// patience bounds one commit.
const patience = 5 * time.Second

// Announcer announces refusals, at most one in each Every.
type Announcer struct {
	store store.Store
	log   *slog.Logger
	clock func() time.Time

	mu   sync.Mutex
	last time.Time
	more int64
}

// New makes an announcer that commits events to a store.
func New(st store.Store, log *slog.Logger) *Announcer {
	return &Announcer{store: st, log: log, clock: time.Now}
}

// Tell announces a refusal without waiting, or counts it for the next announcement.
func (a *Announcer) Tell(of rpc.Refusal) {
	event, due := a.next(of)
	if !due {
		return
	}
	go a.commit(event)
}

// next returns the event of a refusal if one is due.
func (a *Announcer) next(of rpc.Refusal) (*eventv1.Event, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	if !a.last.IsZero() && now.Sub(a.last) < Every {
		a.more++
		return nil, false
	}
	more := a.more
	a.last, a.more = now, 0
	namespace := of.Namespace
	if !rpc.ValidNamespace(namespace) {
		namespace = rpc.DefaultNamespace
	}
	event := &eventv1.Event{
		Namespace: namespace, Entity: "call", EntityId: cmp.Or(of.Principal, unknown), Type: "refused",
		Time: timestamppb.New(now), Actor: of.Principal,
		Payload: &eventv1.Event_CallRefused{CallRefused: &eventv1.CallRefused{
			Face: of.Face, Method: bus.Clip(of.Method), Reason: string(of.Reason), Role: of.Role, SessionId: bus.Clip(of.Session), From: of.From, More: more,
		}},
	}
	event.Id = bus.EventID(event) + "." + typeid.New(typeid.Event) // many refusals of a principal have no version
	return event, true
}

func (a *Announcer) commit(event *eventv1.Event) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	encoded, err := bus.Encode(event)
	if err == nil {
		_, err = a.store.Commit(ctx, store.Batch{Events: []store.Event{encoded}})
	}
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelInfo, "a refused call could not be announced", slog.Any("cause", err))
	}
}
