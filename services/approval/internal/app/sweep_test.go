package app_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// An approval asks others at its age, and expires by itself; nobody has rejected it
// (S9.3, S9.5).
func TestEscalatesAndExpires(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		id := r.ask(func(q *app.Question) {
			q.Terms = consent.Terms{TTL: time.Hour, Escalation: consent.Escalation{
				After: 10 * time.Minute, To: consent.Approvers{Roles: []string{"operator"}},
			}}
		}).ID
		r.advance(10*time.Minute - 1)
		_, err := r.Decide(t.Context(), olga, id, app.Vote{Approve: true})
		r.refused(err, fault.PermissionDenied)
		if got := r.is(id, consent.Pending); got.Escalated {
			t.Error("it has escalated too early")
		}
		r.advance(1)
		if got := r.is(id, consent.Pending); !got.Escalated || got.Version != 2 {
			t.Errorf("it is %+v", got.Approval)
		}
		r.advance(50*time.Minute - 1)
		r.is(id, consent.Pending)
		r.advance(1)
		if record := r.stored(id); record.Labels["status"] != "EXPIRED" {
			t.Errorf("it is stored as %v", record.Labels)
		}
		r.advance(time.Hour)
		r.said(id, "requested by agent-7", "escalated by interlock", "expired by interlock")
		if names := r.timers(); len(names) > 0 {
			t.Errorf("there are timers: %q", names)
		}
		r.seen.mu.Lock()
		defer r.seen.mu.Unlock()
		if ev := r.seen.events[1].GetApprovalChanged(); !slices.Equal(ev.GetRoles(), []string{"operator"}) || ev.GetStatus() != "PENDING" {
			t.Errorf("the escalation is announced as %v", ev)
		}
	})
}

// Many replicas sweep one store: each approval expires once.
func TestManySweep(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		engine := &told{}
		r.with(engine, nil)
		var want []string
		for range 50 {
			id := r.ask(func(q *app.Question) { q.Terms.TTL = time.Hour }).ID
			want = append(want, id)
		}
		r.clock.Advance(time.Hour)
		var all sync.WaitGroup
		for _, a := range []*app.App{r.App, r.replica(r.open()), r.replica(r.open())} {
			all.Go(func() { a.SweepOnce(t.Context()); a.WaitSettled() })
		}
		all.Wait()
		for _, id := range want {
			r.said(id, "requested by agent-7", "expired by interlock")
		}
		if names := r.timers(); len(names) > 0 {
			t.Errorf("there are timers: %q", names)
		}
	})
}

// slow is a store of a sweep that is slow: something happens after timers were read.
type slow struct {
	store.Store
	once sync.Once
	then func()
}

func (s *slow) Due(ctx context.Context, now time.Time, limit int, kinds ...string) ([]store.Timer, error) {
	timers, err := s.Store.Due(ctx, now, limit, kinds...)
	if len(timers) > 0 {
		s.once.Do(s.then)
	}
	return timers, err
}

// A sweep that comes late does nothing to what was decided, or has escalated, since
// it has read the timers.
func TestLateSweep(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		terms := func(q *app.Question) {
			q.Terms = consent.Terms{TTL: time.Hour, Escalation: consent.Escalation{After: time.Minute}}
		}
		decided, escalated := r.ask(terms).ID, r.ask(terms).ID
		r.clock.Advance(time.Minute)
		late := &slow{Store: r.store, then: func() {
			r.vote(alice, decided, app.Vote{Approve: true})
			r.SweepOnce(t.Context())
		}}
		r.replica(late).SweepOnce(t.Context())
		r.is(decided, consent.Granted)
		r.said(decided, "requested by agent-7", "escalated by interlock", "voted by alice", "granted by alice")
		r.said(escalated, "requested by agent-7", "escalated by interlock")
		r.advance(59 * time.Minute)
		r.is(escalated, consent.Expired)
		r.said(escalated, "requested by agent-7", "escalated by interlock", "expired by interlock")
	})
}

// A timer without its approval, or of a decided one, is cleared; one that cannot be
// fired now is fired later.
func TestTimersThatHaveNothingToDo(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		done := r.granted()
		gone := store.Key{Namespace: "default", Kind: app.KindApproval, ID: "apr_gone"}
		for _, timer := range []store.TimerID{app.DueTimer(done), {Key: gone, Name: "due"}} {
			_, err := r.store.Commit(t.Context(), store.Batch{SetTimers: []store.Timer{{TimerID: timer, Due: r.clock.Now()}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		r.advance(0)
		if names := r.timers(); len(names) > 0 {
			t.Errorf("there are timers: %q", names)
		}
		id := r.ask(func(q *app.Question) { q.Terms.TTL = time.Hour }).ID
		r.clock.Advance(time.Hour)
		r.faulty(storetest.Nth(1, storetest.Failed)).SweepOnce(t.Context())
		r.advance(30*time.Second - 1)
		r.said(id, "requested by agent-7")
		r.advance(1)
		r.said(id, "requested by agent-7", "expired by interlock")
	})
}

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
		if _, err := r.Consume(t.Context(), engine, used.ID, used.Digest, "x", ""); err != nil {
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

// Wherever it is cut short it continues later; and who sets it to forever, or to longer,
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
