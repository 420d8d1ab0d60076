package app_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// The engine is told once of each decision that a run waits for, when it is durable;
// not of those of tools, nor of what it has withdrawn itself.
func TestEngineIsTold(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		told := &told{err: errors.New("gone")} // which is no failure of who decides
		r.with(told, nil)
		var want []string
		asked := map[string]string{}
		for name, change := range map[string]func(*app.Question){
			"granted":   nil,
			"rejected":  func(q *app.Question) { q.Kind = consent.ProcessStep },
			"cancelled": nil,
			"withdrawn": nil,
			"tool":      func(q *app.Question) { q.Kind = consent.ToolCall },
			"no run":    func(q *app.Question) { q.RunID = "" },
			"expired":   func(q *app.Question) { q.Terms.TTL = time.Hour },
		} {
			asked[name] = r.ask(change).ID
		}
		r.vote(alice, asked["granted"], app.Vote{Approve: true})
		want = append(want, "default run_1 "+asked["granted"])
		_, _ = r.Decide(t.Context(), bob, asked["granted"], app.Vote{})
		r.vote(alice, asked["rejected"], app.Vote{})
		want = append(want, "default run_1 "+asked["rejected"])
		if _, err := r.Cancel(t.Context(), olga, asked["cancelled"], ""); err != nil {
			t.Fatal(err)
		}
		want = append(want, "default run_1 "+asked["cancelled"])
		if _, err := r.Cancel(t.Context(), engine, asked["withdrawn"], ""); err != nil {
			t.Fatal(err)
		}
		r.vote(alice, asked["tool"], app.Vote{Approve: true})
		r.vote(alice, asked["no run"], app.Vote{Approve: true})
		got := r.is(asked["granted"], consent.Granted)
		if _, err := r.Consume(t.Context(), engine, got.ID, got.Digest, "run_1@2", ""); err != nil {
			t.Fatal(err)
		}
		r.advance(time.Hour)
		r.WaitSettled()
		want = append(want, "default run_1 "+asked["expired"])
		if !slices.Equal(told.calls, want) {
			t.Errorf("the engine was told %q, want %q", told.calls, want)
		}
	})
}

// stuck is an engine that answers when it is given up.
type stuck struct{ called chan struct{} }

func (e *stuck) Settle(ctx context.Context, _, _, _ string) error {
	e.called <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (e *stuck) Entry(context.Context, string, string, string) (int64, error) { return 1, nil }

// An engine that does not answer holds up neither the sweep nor, for long, who
// decides: even when the client has gone, the engine is told.
func TestEngineThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := here(t)
	e := &stuck{called: make(chan struct{}, 100)}
	r.with(e, nil)
	for range 20 { // more than are told at once
		r.ask(func(q *app.Question) { q.Terms.TTL = time.Hour })
	}
	r.clock.Advance(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	r.SweepOnce(ctx)
	if names := r.timers(); len(names) > 0 {
		t.Errorf("there are timers: %q", names)
	}
	receive(t, e.called)
	cancel()
	r.WaitSettled()
	r.vote(alice, r.ask(nil).ID, app.Vote{Approve: true})
	receive(t, e.called)
}
