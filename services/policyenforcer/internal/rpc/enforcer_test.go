package rpc

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/status"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// waiting is an engine that answers on a signal.
type waiting struct {
	asked   atomic.Int64
	release chan struct{}
}

func (w *waiting) Run(context.Context, string, enforcer.Target) (*workflow.View, string, error) {
	w.asked.Add(1)
	<-w.release
	return nil, "", fault.New(fault.NotFound, "no such run")
}

func (w *waiting) Lane(context.Context, string, string, string) (*workflow.View, error) {
	return nil, fault.New(fault.NotFound, "no such run")
}

func (w *waiting) Interrupt(context.Context, string, string, []string) (*enforcer.Interrupted, error) {
	return nil, nil
}

func (w *waiting) Definition(context.Context, string, string, int64) (*enforcer.Definition, error) {
	return nil, fault.New(fault.NotFound, "no such workflow")
}

// noStore is never asked for anything.
type noStore struct{ store.Store }

func (noStore) Gate() *store.Gate { return nil }

// However much streams ask at once, only a few calls are worked on; the others
// wait and are answered too.
func TestCallsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := &waiting{release: make(chan struct{})}
		a := app.New(noStore{}, engine, Announcer{}, time.Now, slog.New(slog.DiscardHandler), app.Config{})
		s := NewEnforcer(a.Checks, a.Outcomes, nil, nil)
		defer s.End()
		s.busy = make(chan struct{}, 8)
		const messages = 20
		calls := make([]*policyv1.CheckToolCallRequest, maxBatch)
		for i := range calls {
			calls[i] = &policyv1.CheckToolCallRequest{RunId: "r", Tool: "Read"}
		}
		var answered atomic.Int64
		var group sync.WaitGroup
		for range messages {
			group.Go(func() {
				for _, r := range s.checkAll(t.Context(), &policyv1.CheckToolCallsRequest{Calls: calls}).GetResults() {
					if fault.ReasonOf(status.ErrorProto(r.GetError())) == fault.NotFound {
						answered.Add(1)
					}
				}
			})
		}
		synctest.Wait()
		// A message that waits for its second call has not begun its first.
		if n := engine.asked.Load(); n > 8 {
			t.Errorf("%d calls are worked on at once, at most 8 may", n)
		}
		close(engine.release)
		group.Wait()
		if n := answered.Load(); n != messages*maxBatch {
			t.Errorf("%d of %d calls were answered", n, messages*maxBatch)
		}
	})
}

// A large message takes more of its stream's places than a small one, and never
// all of what a stream has not.
func TestPlacesOfAMessage(t *testing.T) {
	t.Parallel()
	for calls, want := range map[int]int{0: 1, 1: 1, 16: 1, 17: 2, 256: 16, 100_000: 16} {
		req := &policyv1.CheckToolCallsRequest{Calls: make([]*policyv1.CheckToolCallRequest, calls)}
		if got := places(req); got != want || got > inFlight {
			t.Errorf("%d calls take %d places, want %d", calls, got, want)
		}
	}
}
