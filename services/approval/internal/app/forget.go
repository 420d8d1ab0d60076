package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// retentionTimer is when a decided approval is dropped.
func (r *Record) retentionTimer() store.TimerID {
	return store.TimerID{Key: store.Key{Namespace: r.Namespace, Kind: kindRetention, ID: r.ID}, Name: "drop"}
}

// forget drops an approval that is old, and before it what names it: of a question
// whose approval is gone it could not be told whether that is yet to be made.
func (a *App) forget(ctx context.Context, timer store.Timer) error {
	key := approvalKey(timer.Key.Namespace, timer.Key.ID)
	r, err := a.load(ctx, key)
	if fault.ReasonOf(err) == fault.NotFound {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	if a.retention <= 0 || !r.Status.Final() { // there was an end to it when the timer was set
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: key, Version: r.Version})
	}
	if due := r.DecidedAt.Add(a.retention); due.After(a.now()) { // and another one
		timer.Due = due
		_, err := a.store.Commit(ctx, store.Batch{SetTimers: []store.Timer{timer}})
		return err
	}
	ask := askKey(r.Namespace, r.RunID, r.Question())
	last, version, err := a.asked(ctx, ask)
	if err != nil {
		return err
	}
	if last == r.ID {
		_, err := a.store.Commit(ctx, store.Batch{Deletes: []store.Check{{Key: ask, Version: version}}})
		if err != nil && !retry.Lost(err) {
			return fault.From(err)
		}
	}
	_, err = a.store.Commit(ctx, store.Batch{
		Deletes: []store.Check{{Key: key, Version: r.Version}}, ClearTimers: []store.TimerID{timer.TimerID, r.timer()},
	})
	if err != nil && !retry.Lost(err) { // it was used meanwhile, and goes the next time
		return fault.From(err)
	}
	return nil
}
