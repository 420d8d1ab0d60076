package app_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

// slow is a store of a sweep that is slow: things happen between its steps.
type slow struct {
	store.Store
	read, clear, postpone sync.Once
	afterDue              func() // once timers were read
	beforeClear           func() // before one is cleared because it has nothing to do
	beforePostpone        func() // before one that could not be fired is put off
}

func (s *slow) Due(ctx context.Context, now time.Time, limit int, kinds ...string) ([]store.Timer, error) {
	timers, err := s.Store.Due(ctx, now, limit, kinds...)
	if len(timers) > 0 && s.afterDue != nil {
		s.read.Do(s.afterDue)
	}
	return timers, err
}

func (s *slow) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	if len(batch.ClearTimers) > 0 && len(batch.Puts) == 0 && s.beforeClear != nil {
		s.clear.Do(s.beforeClear)
	}
	if len(batch.Postpone) > 0 {
		s.postpone.Do(s.beforePostpone)
	}
	return s.Store.Commit(ctx, batch)
}

// A sweep that finds nothing to do for a timer clears it; not the one that was set
// since for another reason, or its claim would never lapse.
func TestSweepKeepsTheTimerOfANewClaim(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "s", Prompt: "go"})
		task := r.task(r.App, "s")
		r.clock.Advance(30*time.Second - 1)
		late := &slow{
			Store:    r.store,
			afterDue: func() { r.clock.Advance(-1); r.ack(task); r.clock.Advance(1) }, // just in time, by its own clock
			beforeClear: func() {
				if _, err := r.ResumeSession(r.Context(), operator, "s", "again", ""); err != nil {
					r.Error(err)
				}
				r.task(r.App, "s")
			},
		}
		r.clock.Advance(1)
		r.replica(late).SweepOnce(r.Context())
		r.is("s", "RUNNING SKIPPED 0 RESUME CLAIMED")
		r.advance(30 * time.Second)
		r.is("s", "FINISHED SKIPPED 0 RESUME READY")
	})
}

// So for a state whose root continues, and ends again while it is swept.
func TestSweepKeepsTheTimerOfANewEnd(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{Retention: time.Hour}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		r.stop("root", session.Stop{})
		r.clock.Advance(time.Hour)
		late := &slow{
			Store: r.store,
			afterDue: func() {
				if _, err := r.ResumeSession(r.Context(), operator, "root", "", ""); err != nil {
					r.Error(err)
				}
			},
			beforeClear: func() { r.stop("root", session.Stop{}) },
		}
		r.replica(late).SweepOnce(r.Context())
		r.advance(time.Hour - 1)
		r.readAt(id, 0)
		r.advance(1)
		r.gone(id)
	})
}

// A timer that could not be fired is put off; not the one that was set since.
func TestSweepPutsOffNoNewerTimer(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{Retention: 10 * time.Second}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		r.stop("root", session.Stop{})
		lease, err := r.Lock(r.Context(), operator, id, "h", time.Minute, 0, "")
		if err != nil {
			r.Fatal(err)
		}
		r.clock.Advance(10 * time.Second)
		endAgain := func() {
			if err := r.Unlock(r.Context(), operator, id, lease.Token); err != nil {
				r.Error(err)
			}
			if _, err := r.ResumeSession(r.Context(), operator, "root", "", ""); err != nil {
				r.Error(err)
			}
			r.stop("root", session.Stop{})
		}
		r.replica(&slow{Store: r.store, beforePostpone: endAgain}).SweepOnce(r.Context())
		r.advance(10*time.Second - 1)
		r.readAt(id, 0)
		r.advance(1)
		r.gone(id)
	})
}

// A retention that was made longer since holds for states whose time was set before.
func TestRetentionIsMadeLonger(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{Retention: time.Hour}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		r.stop("root", session.Stop{})
		r.cfg.Retention = 3 * time.Hour
		r.App = r.replica(r.store)
		r.advance(time.Hour)
		r.advance(2*time.Hour - 1)
		r.readAt(id, 0)
		r.advance(1)
		r.gone(id)
		// Or is forever by now.
		r.cfg.Retention = time.Hour
		r.App = r.replica(r.store)
		id = r.state("root 2", anything, `{}`).Key.ID
		r.stop("root 2", session.Stop{})
		r.cfg.Retention = 0
		r.App = r.replica(r.store)
		r.advance(100 * time.Hour)
		r.readAt(id, 0)
		r.noTimers()
	})
}
