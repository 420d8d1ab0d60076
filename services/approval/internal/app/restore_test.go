package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// restored sets what a restore from a backup of some time ago sets on an approval.
func (r *rig) restored(id string, ago time.Duration) (waits bool) {
	r.Helper()
	now := r.clock.Now()
	timer, waits, err := app.AskAgain(r.stored(id), now.Add(-ago), now)
	if err != nil {
		r.Fatal(err)
	}
	if waits {
		if _, err := r.store.Commit(r.Context(), store.Batch{SetTimers: []store.Timer{timer}}); err != nil {
			r.Fatal(err)
		}
	}
	return waits
}

// What was pending when a backup was made is asked again when it is restored: everybody who was told is
// told again, and learns why. Messages have ids that none has had before.
func TestAskedAgainAfterARestore(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		in := newInbox(t, r.clock)
		r.with(nil, receivers(t, in.URL))
		asked := r.ask(nil)
		gone := r.ask(func(q *app.Question) { q.Terms = consent.Terms{TTL: time.Minute} })
		decided := r.granted()
		r.deliver(time.Hour)
		in.has(t, "approval.requested PENDING", "approval.requested EXPIRED", "approval.requested GRANTED",
			"approval.voted GRANTED", "approval.granted GRANTED")
		if r.restored(decided.ID, time.Minute) {
			t.Error("what was decided is asked again")
		}
		if !r.restored(asked.ID, 10*time.Minute) || !r.restored(gone.ID, 10*time.Minute) {
			t.Error("what waits is not asked again")
		}
		r.advance(0)
		got := r.is(asked.ID, consent.Pending)
		const says = "is asked again: the store was restored from a backup of 2026-01-01T00:50:00Z"
		if !strings.Contains(got.Outcome(), says) || got.Version != 2 {
			t.Errorf("version %d: %s", got.Version, got.Outcome())
		}
		r.is(gone.ID, consent.Expired)
		r.deliver(0)
		in.has(t, "approval.restored PENDING", "approval.expired EXPIRED")
		r.said(asked.ID, "requested by agent-7", "restored by interlock")
		r.said(gone.ID, "requested by agent-7", "expired by interlock")
		r.advance(time.Minute)
		r.said(asked.ID, "requested by agent-7", "restored by interlock")
		final := r.vote(alice, asked.ID, app.Vote{Approve: true})
		if final.Reason != "" || final.Version != 3 {
			t.Errorf("it was decided: %+v", final.Approval)
		}
		r.deliver(0)
		in.has(t, "approval.granted GRANTED", "approval.voted GRANTED")
		if !slices.Contains(in.ids, "default.approval."+asked.ID+".3.granted@2026-01-01T00:50:00Z") {
			t.Errorf("the messages have the ids %s", in.ids)
		}
		for _, name := range r.timers() {
			if strings.Contains(name, "restored") {
				t.Errorf("there is the timer %s", name)
			}
		}
	})
}

// Many replicas ask again once; a restore of an approval that is deleted or decided in between asks
// nobody.
func TestAskedAgainOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		asked, decided := r.ask(nil), r.ask(nil)
		for _, id := range []string{asked.ID, decided.ID} {
			if !r.restored(id, time.Minute) {
				r.Error("it is not asked again")
			}
		}
		r.vote(alice, decided.ID, app.Vote{Approve: true})
		r.advance(0)
		r.replica(r.open()).SweepOnce(r.Context())
		r.said(asked.ID, "requested by agent-7", "restored by interlock")
		r.said(decided.ID, "requested by agent-7", "voted by alice", "granted by alice")
		r.restored(asked.ID, time.Minute) // the same restore, begun anew
		r.advance(0)
		r.said(asked.ID, "requested by agent-7", "restored by interlock")
		timer, _, err := app.AskAgain(store.Record{
			Key:    store.Key{Namespace: "default", Kind: app.KindApproval, ID: "apr_gone"},
			Labels: map[string]string{"status": "PENDING"},
		}, r.clock.Now(), r.clock.Now())
		if err != nil {
			r.Fatal(err)
		}
		if _, err := r.store.Commit(r.Context(), store.Batch{SetTimers: []store.Timer{timer}}); err != nil {
			r.Fatal(err)
		}
		r.advance(0)
		for _, name := range r.timers() {
			if strings.Contains(name, "restored") {
				r.Errorf("there is the timer %s", name)
			}
		}
	})
}
