package app_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// A use that was cut short is repeated by what it was for, and by nothing else; and
// not when its repeats are not known any more.
func TestUseIsRepeatable(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		q := question()
		q.Kind, q.Reuse, q.UsedBy = consent.ToolCall, true, "call_1"
		ask := func() (*app.Record, bool) {
			t.Helper()
			got, created, err := r.Create(t.Context(), engine, q)
			if err != nil {
				t.Fatal(err)
			}
			return got, created
		}
		first, _ := ask()
		r.vote(alice, first.ID, app.Vote{Approve: true})
		// The store has used it, and the caller does not learn that.
		_, err := r.faulty(storetest.Nth(1, storetest.FailedButApplied)).Consume(t.Context(), engine, first.ID, first.Digest, "call_1", "")
		r.refused(err, fault.CommitUncertain)
		r.clock.Advance(time.Hour - 1)
		for range 2 {
			got, created := ask()
			if created || got.ID != first.ID || got.Standing() != consent.Used || got.UsedBy != "call_1" {
				t.Fatalf("created %t: %s, used by %q", created, got.Standing(), got.UsedBy)
			}
			if _, err := r.Consume(t.Context(), engine, got.ID, got.Digest, "call_1", ""); err != nil {
				t.Error(err)
			}
		}
		for what, change := range map[string]func(*app.Question){
			"another asker":  func(q *app.Question) { q.Asker.Principal = "agent-8" },
			"another action": func(q *app.Question) { q.Data = nil },
			"other terms":    func(q *app.Question) { q.Terms.Required = 2 },
			"another run":    func(q *app.Question) { q.RunID = "run_2" },
		} {
			kept := q
			change(&q)
			if got, created := ask(); !created {
				t.Errorf("%s is answered %s", what, got.ID)
			}
			q = kept
		}
		r.clock.Advance(1)
		second, created := ask()
		if !created {
			t.Error("what was used long ago admits its use again")
		}
		// Nor is it what nothing has used, nor what something else has used for good.
		for _, next := range []app.Question{{}, {UsedBy: "call_2", SettledUse: "call_1"}} {
			r.vote(alice, second.ID, app.Vote{Approve: true})
			if _, err := r.Consume(t.Context(), engine, second.ID, second.Digest, "call_1", ""); err != nil {
				t.Fatal(err)
			}
			q.UsedBy, q.SettledUse = next.UsedBy, next.SettledUse
			if second, created = ask(); !created {
				t.Errorf("%+v is answered what call_1 has used", next)
			}
		}
		r.said(first.ID, "requested by agent-7", "voted by alice", "granted by alice", "used by engine")
	})
}

// A use that came to nothing is taken over, by one.
func TestUseIsTakenOver(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		q := question()
		q.Kind, q.Reuse, q.UsedBy = consent.ToolCall, true, "call_1"
		asked, _, err := r.Create(t.Context(), engine, q)
		if err != nil {
			t.Fatal(err)
		}
		r.vote(alice, asked.ID, app.Vote{Approve: true})
		use := func(usedBy, insteadOf string) error {
			_, err := r.Consume(t.Context(), engine, asked.ID, asked.Digest, usedBy, insteadOf)
			return err
		}
		if err := use("call_1", ""); err != nil {
			t.Fatal(err)
		}
		q.UsedBy = "call_2"
		got, created, err := r.Create(t.Context(), engine, q)
		if err != nil || created || got.UsedBy != "call_1" || got.Standing() != consent.Used {
			t.Errorf("created %t: %s, used by %q, %v", created, got.Standing(), got.UsedBy, err)
		}
		r.refused(use("call_2", ""), fault.FailedPrecondition)
		r.refused(use("call_2", "call_0"), fault.FailedPrecondition)
		for range 2 {
			if err := use("call_2", "call_1"); err != nil {
				t.Fatal(err)
			}
		}
		r.refused(use("call_3", "call_1"), fault.FailedPrecondition)
		r.refused(use("call_1", ""), fault.FailedPrecondition)
		r.clock.Advance(time.Hour)
		r.refused(use("call_3", "call_2"), fault.FailedPrecondition)
		r.said(asked.ID, "requested by agent-7", "voted by alice", "granted by alice", "used by engine", "used by engine")
	})
}

// Who has named an approval that another question got in the meantime is not answered that.
func TestNamedForAnotherQuestion(t *testing.T) {
	t.Parallel()
	r := here(t)
	q := question()
	q.Kind, q.Reuse, q.ID = consent.ToolCall, true, "apr_named"
	_, _, err := r.faulty(storetest.Nth(2, storetest.Failed)).Create(t.Context(), engine, q)
	r.refused(err, fault.Unavailable)
	other := r.ask(func(q *app.Question) { q.ID, q.Asker.Principal = "apr_named", "agent-8" })
	r.vote(alice, other.ID, app.Vote{Approve: true})
	q.ID = ""
	got, created, err := r.Create(t.Context(), engine, q)
	if err != nil || !created || got.ID == other.ID || got.Asker.Principal != "agent-7" {
		t.Errorf("created %t: %+v, %v", created, got, err)
	}
}
