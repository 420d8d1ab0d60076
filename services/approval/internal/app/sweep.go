package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

const (
	// sweepInterval is how late a timer may fire.
	sweepInterval = 250 * time.Millisecond
	// sweepPage is how many timers of a kind and shard are read at once.
	sweepPage = 128
)

// Sweep lets approvals expire and escalate, and drops old ones, until ctx ends.
func (a *App) Sweep(ctx context.Context) {
	a.sweeper().Run(ctx)
	a.behind.Wait()
}

// SweepOnce fires due timers.
func (a *App) SweepOnce(ctx context.Context) { a.sweeper().Once(ctx) }

func (a *App) sweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.store, Clock: a.now, Log: a.log, Kinds: []string{KindApproval, kindRetention, ledger.KindLease},
		Fire: func(ctx context.Context, timer store.Timer) error {
			switch {
			case timer.Key.Kind == ledger.KindLease:
				return a.fireLease(ctx, timer)
			case timer.Key.Kind == kindRetention:
				return a.forget(ctx, timer)
			case timer.Name == restoredName:
				return a.askAgain(ctx, timer)
			default:
				return a.fire(ctx, timer)
			}
		},
		Interval: sweepInterval, Page: sweepPage, Watch: a.timers,
	}
}

// fire lets time pass for an approval.
func (a *App) fire(ctx context.Context, timer store.Timer) error {
	before, err := a.load(ctx, timer.Key)
	if fault.ReasonOf(err) == fault.NotFound {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: timer.Key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	now := a.now()
	result := pass(before.Approval, now)
	if !result.Changed {
		if before.NextDue().IsZero() {
			return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: timer.Key, Version: before.Version})
		}
		return nil // it was set for a later time in the meantime
	}
	t := &transaction{app: a, before: before, after: before.with(result.Approval), at: now}
	t.announce(interlock, result.Events)
	_, err = t.commit(ctx)
	switch {
	case retry.Lost(err):
		return nil // who was faster has set it anew
	case err != nil:
		return err
	}
	if t.decided() {
		a.tellEngineBehind(ctx, t.after)
	}
	return nil
}

// retentionTimer returns when a decided approval is dropped.
func (r *Record) retentionTimer() store.TimerID {
	return store.TimerID{Key: store.Key{Namespace: r.Namespace, Kind: kindRetention, ID: r.ID}, Name: "drop"}
}

// forget drops an approval that is old, and before it the records that name it: a
// question whose approval is gone would look as if that were yet to be made.
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
	if err := a.forgetLease(ctx, r); err != nil {
		return err
	}
	gone, err := a.forgetTurns(ctx, r)
	if err != nil {
		return err
	}
	_, err = a.store.Commit(ctx, store.Batch{
		Deletes: append(gone, store.Check{Key: key, Version: r.Version}), ClearTimers: []store.TimerID{timer.TimerID, r.timer()},
	})
	if err != nil && !retry.Lost(err) { // it was used in the meantime, and is retried by the next sweep
		return fault.From(err)
	}
	return nil
}

// SweepAndSettle fires due timers, and returns when the engine was notified of it.
func (a *App) SweepAndSettle(ctx context.Context) {
	a.SweepOnce(ctx)
	a.behind.Wait()
}

// pass lets time pass for an approval. It expires when its time is up, and not when that
// is recorded.
func pass(a *consent.Approval, now time.Time) consent.Result {
	if now.After(a.ExpiresAt) {
		now = a.ExpiresAt
	}
	return a.Tick(now)
}
