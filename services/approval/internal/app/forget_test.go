package app_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

const retained = 30 * 24 * time.Hour

// kept restarts the rig's own replica with a retention.
func (r *rig) kept(age time.Duration) *rig {
	r.retention = age
	r.App = r.replica(r.store)
	return r
}

// left counts the records that there are.
func (r *rig) left(kind string) int {
	r.Helper()
	page, err := r.store.List(r.Context(), store.Query{Namespace: "default", Kind: kind, Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	return len(page.Records)
}

// Approvals are dropped so long after they became final, with what names them; those
// that wait stay.
func TestRetention(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.kept(retained)
		q := question()
		q.Kind, q.Reuse = consent.ToolCall, true
		rejected, _, err := r.Create(t.Context(), engine, q)
		if err != nil {
			t.Fatal(err)
		}
		r.ask(func(q *app.Question) { q.Terms.TTL = 90 * 24 * time.Hour })
		expired := r.ask(func(q *app.Question) { q.Terms.TTL = time.Hour })
		r.advance(time.Hour)
		r.is(expired.ID, consent.Expired)
		r.advance(time.Hour)
		r.vote(alice, rejected.ID, app.Vote{})
		used := r.granted()
		if _, err := r.Consume(t.Context(), engine, used.ID, used.Digest, "x"); err != nil {
			t.Fatal(err)
		}
		r.advance(retained - time.Hour - 1)
		if n := r.left(app.KindApproval); n != 4 {
			t.Errorf("%d are left, of 4", n)
		}
		r.advance(1)
		if _, err := r.Get(t.Context(), olga, expired.ID); fault.ReasonOf(err) != fault.NotFound || r.left(app.KindApproval) != 3 {
			t.Errorf("what has expired first is there: %v", err)
		}
		r.advance(time.Hour - 1)
		r.is(rejected.ID, consent.Rejected)
		r.advance(1)
		if approvals, asks := r.left(app.KindApproval), r.left("approval_ask"); approvals != 1 || asks != 0 {
			t.Errorf("%d approvals and %d that name them are left, want that which waits", approvals, asks)
		}
		if names := r.timers("approval_retention"); len(names) != 1 {
			t.Errorf("there are timers: %q", names)
		}
		next, created, err := r.Create(t.Context(), engine, q)
		if err != nil || !created || next.ID == rejected.ID {
			t.Errorf("asked again: created %t, %+v, %v", created, next, err)
		}
	})
}

// What is asked anew is not lost with what it has replaced.
func TestRetentionKeepsTheNewQuestion(t *testing.T) {
	t.Parallel()
	r := here(t).kept(retained)
	q := question()
	q.Reuse, q.Terms.TTL = true, time.Hour
	ask := func(isNew bool) string {
		t.Helper()
		got, created, err := r.Create(t.Context(), engine, q)
		if err != nil || created != isNew {
			t.Fatalf("created %t, %v", created, err)
		}
		return got.ID
	}
	first := ask(true)
	r.advance(retained)
	second := ask(true)
	r.advance(time.Hour - 1)
	r.advance(0)
	r.is(first, consent.Expired)
	r.vote(alice, second, app.Vote{})
	r.advance(1)
	if _, err := r.Get(t.Context(), olga, first); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("the first is there: %v", err)
	}
	if got := ask(false); got != second {
		t.Errorf("it is answered %s, want %s", got, second)
	}
}

// Wherever it is cut short it goes on later; and who sets it to forever, or to longer,
// keeps what there is.
func TestRetentionIsSafe(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ {
		for _, kind := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied} {
			r := here(t).kept(retained)
			q := question()
			q.Reuse = true
			if _, _, err := r.Create(t.Context(), engine, q); err != nil {
				t.Fatal(err)
			}
			r.advance(24 * time.Hour)
			r.clock.Advance(retained)
			r.faulty(storetest.Nth(n, kind)).SweepOnce(t.Context())
			r.advance(30 * time.Second)
			if approvals, asks := r.left(app.KindApproval), r.left("approval_ask"); approvals+asks != 0 {
				t.Errorf("fault %d of commit %d: %d approvals and %d that name them are left", kind, n, approvals, asks)
			}
			if names := r.timers("approval_retention"); len(names) > 0 {
				t.Errorf("there are timers: %q", names)
			}
		}
	}
	for age, timers := range map[time.Duration]int{0: 0, 2 * retained: 1} {
		r := here(t).kept(retained)
		id := r.ask(nil).ID
		r.advance(24 * time.Hour)
		r.kept(age).advance(retained)
		r.is(id, consent.Expired)
		if names := r.timers("approval_retention"); len(names) != timers {
			t.Errorf("kept for %s there are the timers %q", age, names)
		}
	}
}
