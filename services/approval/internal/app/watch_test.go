package app_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// waiting waits on a replica, and answers what it is sent and how it ends.
func (r *rig) waiting(ctx context.Context, on *app.App, by app.Caller, id string) (<-chan *app.Record, <-chan error) {
	sent, done := make(chan *app.Record), make(chan error, 1)
	go func() {
		done <- on.Wait(ctx, by, id, func(got *app.Record) error {
			sent <- got
			return nil
		})
	}()
	return sent, done
}

func shows(t *testing.T, from <-chan *app.Record, version int64, want consent.Status) {
	t.Helper()
	if got := receive(t, from); got.Version != version || got.Standing() != want {
		t.Errorf("it shows version %d %s, want %d %s", got.Version, got.Standing(), version, want)
	}
}

// Who waits sees an approval now and after each change until it is final, on whatever
// replica that happens (S9.5).
func TestWait(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		id := r.ask(func(q *app.Question) { q.Terms.Required = 2 }).ID
		here, hereDone := r.waiting(t.Context(), r.App, agent, id)
		there, thereDone := r.waiting(t.Context(), r.replica(r.open()), alice, id) // whom nothing wakes
		for _, sent := range []<-chan *app.Record{here, there} {
			shows(t, sent, 1, consent.Pending)
		}
		r.vote(alice, id, app.Vote{Approve: true})
		for _, sent := range []<-chan *app.Record{here, there} {
			shows(t, sent, 2, consent.Pending)
		}
		r.vote(bob, id, app.Vote{Approve: true})
		for _, sent := range []<-chan *app.Record{here, there} {
			shows(t, sent, 3, consent.Granted)
		}
		for _, done := range []<-chan error{hereDone, thereDone} {
			if err := receive(t, done); err != nil {
				t.Error(err)
			}
		}
		final, done := r.waiting(t.Context(), r.App, agent, id)
		shows(t, final, 3, consent.Granted)
		if err := receive(t, done); err != nil {
			t.Error(err)
		}
		if n := r.Watching("default"); n != 0 {
			t.Errorf("%d wait still", n)
		}
	})
}

// Who waits sees that it has expired, also when no process notes it.
func TestWaitForExpiry(t *testing.T) {
	t.Parallel()
	r := here(t)
	id := r.ask(func(q *app.Question) { q.Terms.TTL = time.Hour }).ID
	sent, done := r.waiting(t.Context(), r.App, agent, id)
	shows(t, sent, 1, consent.Pending)
	r.clock.Advance(time.Hour)
	shows(t, sent, 1, consent.Expired)
	if err := receive(t, done); err != nil {
		t.Error(err)
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	r := here(t)
	id := r.ask(nil).ID
	ctx, cancel := context.WithCancel(t.Context())
	sent, done := r.waiting(ctx, r.App, agent, id)
	shows(t, sent, 1, consent.Pending)
	cancel()
	r.ended(done)
	failed := fault.New(fault.Unavailable, "the client is gone")
	if err := r.Wait(t.Context(), agent, id, func(*app.Record) error { return failed }); fault.ReasonOf(err) != fault.Unavailable {
		t.Errorf("ended with %v", err)
	}
	_, done = r.waiting(t.Context(), r.App, olga, "apr_none")
	r.refused(receive(t, done), fault.NotFound)
}

// Who watches a namespace sees what changes there from then on, each change once; who
// is slow holds up nobody, and sees the newest state.
func TestWatch(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		before := r.ask(nil).ID
		ctx, cancel := context.WithCancel(t.Context())
		sent, done := make(chan *app.Record), make(chan error, 1)
		go func() {
			done <- r.Watch(ctx, olga, func(got *app.Record) error {
				sent <- got
				return nil
			})
		}()
		for end := time.Now().Add(patience); r.Watching("default") == 0; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatal("it does not watch")
			}
		}
		elsewhere := engine
		elsewhere.Namespace = "other"
		if _, _, err := r.Create(t.Context(), elsewhere, question()); err != nil {
			t.Fatal(err)
		}
		first := r.ask(nil)
		shows(t, sent, 1, consent.Pending)
		r.Changed("default", app.KindApproval, first.ID) // the event of that
		r.Changed("default", "run", first.ID)
		r.Changed("default", app.KindApproval, "apr_none")
		r.vote(alice, before, app.Vote{Approve: true})
		if got := receive(t, sent); got.ID != before || got.Standing() != consent.Granted {
			t.Errorf("it shows %s %s", got.ID, got.Standing())
		}
		// Nobody receives now, and votes are cast.
		slow := r.ask(func(q *app.Question) { q.Terms.Required = 10 }).ID
		for i := range 9 {
			r.vote(as(fmt.Sprintf("approver-%d", i), "approver"), slow, app.Vote{Approve: true})
		}
		last := int64(0)
		for last < 10 {
			got := receive(t, sent)
			if got.ID != slow || got.Version <= last {
				t.Fatalf("after version %d it shows %s at %d", last, got.ID, got.Version)
			}
			last = got.Version
		}
		cancel()
		r.ended(done)
		if n := r.Watching("default"); n != 0 {
			t.Errorf("%d watch still", n)
		}
	})
}
