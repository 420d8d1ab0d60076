package app_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// Approvals that wait are counted, and the oldest is the one that was asked for first,
// whichever is due first.
func TestWaiting(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		waits := func(want int64, oldest string) {
			t.Helper()
			n, since, err := r.Waiting(r.Context())
			if err != nil || n != want || !since.Equal(typeid.Time(oldest)) {
				t.Errorf("%d wait since %s, %v; want %d since %s", n, since, err, want, typeid.Time(oldest))
			}
		}
		waits(0, "")
		ttl := func(d time.Duration) func(*app.Question) { return func(q *app.Question) { q.Terms.TTL = d } }
		first := r.ask(ttl(9 * time.Hour)).ID
		for typeid.Time(typeid.New(typeid.Approval)).Equal(typeid.Time(first)) { // ids tell milliseconds apart
		}
		second := r.ask(ttl(time.Hour)).ID
		r.ask(ttl(9 * time.Hour))
		waits(3, first)
		r.vote(alice, first, app.Vote{Approve: true})
		r.is(first, consent.Granted)
		waits(2, second)
		r.advance(time.Hour)
		r.advance(9 * time.Hour)
		waits(0, "")
	})
}
