// Package accessrefusal announces callers turned away at the door, not denied tool calls: people who watch events
// see a caller that probes. It keeps the last refusals.
package accessrefusal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
)

// Every is how far apart a process announces refusals of one principal for one reason: who is refused must not
// fill the store.
const Every = 10 * time.Second

// most bounds the principals and reasons that a process distinguishes within Every. Those beyond share one announcement.
const most = 64

// patience bounds one announcement.
const patience = 5 * time.Second

// who is a principal, and the reason of its refusals. The zero value stands for those beyond most.
type who struct{ namespace, principal, reason string }

// heard has the time of the last announcement, and how many refusals were not announced since.
type heard struct {
	last time.Time
	more int64
}

// Announcer announces refusals, at most one in each Every for a principal and a reason.
type Announcer struct {
	announce func(context.Context, *policyv1.ReportRefusalRequest) error
	log      *slog.Logger
	clock    func() time.Time

	mu    sync.Mutex
	heard map[who]heard
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
	return &Announcer{announce: announce, log: log, clock: time.Now, heard: make(map[who]heard)}
}

// Announce publishes a refusal without waiting, or counts it for the next announcement.
func (a *Announcer) Announce(of rpc.Refusal) {
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
	key := who{of.Namespace, of.Principal, string(of.Reason)}
	if _, known := a.heard[key]; !known && len(a.heard) >= most {
		if a.forget(now); len(a.heard) >= most {
			key = who{}
		}
	}
	h, known := a.heard[key]
	if known && now.Sub(h.last) < Every {
		h.more++
		a.heard[key] = h
		return nil, false
	}
	a.heard[key] = heard{last: now}
	return &policyv1.ReportRefusalRequest{
		Namespace: bus.Clip(of.Namespace), Principal: bus.Clip(of.Principal), Refused: &eventv1.CallRefused{
			Face: of.Face, Method: bus.Clip(of.Method), Reason: string(of.Reason), Role: of.Role, SessionId: bus.Clip(of.Session), From: of.From, More: h.more,
			AskedSessionId: bus.Clip(of.AskedSession), AskedRunId: bus.Clip(of.AskedRun), AskedNamespace: of.AskedNamespace,
		},
	}, true
}

// forget drops the principals that were announced before Every. Their refusals that were not announced are lost.
func (a *Announcer) forget(now time.Time) {
	for key, h := range a.heard {
		if now.Sub(h.last) >= Every {
			delete(a.heard, key)
		}
	}
}
