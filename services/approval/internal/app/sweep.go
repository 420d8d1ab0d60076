package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

const (
	// sweepInterval is how late a timer may fire.
	sweepInterval = 250 * time.Millisecond
	// sweepPage is how many timers of a shard are read at once.
	sweepPage = 128
	// firedAgain is when a timer that could not be fired is tried again: later, so
	// that it does not keep others of its shard from their turn.
	firedAgain = 30 * time.Second
)

// every calls work at an interval until ctx ends.
func every(ctx context.Context, interval time.Duration, work func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		work(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep lets approvals expire and escalate, and drops old ones, until ctx ends. Any number of processes
// may sweep one store.
func (a *App) Sweep(ctx context.Context) {
	every(ctx, sweepInterval, a.SweepOnce)
	a.behind.Wait()
}

// SweepOnce fires what is due now.
func (a *App) SweepOnce(ctx context.Context) {
	for _, timer := range a.due(ctx, KindApproval, sweepPage) {
		if err := a.fire(ctx, timer); err != nil && ctx.Err() == nil {
			a.log.LogAttrs(ctx, slog.LevelWarn, "a timer could not be fired and is tried again",
				slog.String("of", timer.Key.String()), slog.Any("cause", err))
			a.postpone(ctx, timer, a.now().Add(firedAgain))
		}
	}
	for _, timer := range a.due(ctx, kindRetention, sweepPage) {
		if err := a.forget(ctx, timer); err != nil && ctx.Err() == nil {
			a.log.LogAttrs(ctx, slog.LevelWarn, "an old approval could not be dropped, which is tried again",
				slog.String("of", timer.Key.String()), slog.Any("cause", err))
			a.postpone(ctx, timer, a.now().Add(firedAgain))
		}
	}
}

// due answers timers of a kind that are due, a page of each shard that can be read.
func (a *App) due(ctx context.Context, kind string, page int) []store.Timer {
	timers, err := a.store.Due(ctx, a.now(), page, kind)
	if err != nil && ctx.Err() == nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "timers cannot be read", slog.String("kind", kind), slog.Any("cause", err))
	}
	return timers
}

// postpone puts off a timer, unless it was set anew or cleared meanwhile.
func (a *App) postpone(ctx context.Context, timer store.Timer, until time.Time) {
	_, err := a.store.Commit(ctx, store.Batch{Postpone: []store.Postpone{{Timer: timer, Until: until}}})
	if err != nil && ctx.Err() == nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "a timer could not be put off", slog.String("of", timer.Key.String()), slog.Any("cause", err))
	}
}

// fire lets time pass for an approval.
func (a *App) fire(ctx context.Context, timer store.Timer) error {
	before, err := a.load(ctx, timer.Key)
	if fault.ReasonOf(err) == fault.NotFound {
		return a.clear(ctx, timer, store.Check{Key: timer.Key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	now := a.now()
	result := pass(before.Approval, now)
	if !result.Changed {
		if before.NextDue().IsZero() {
			return a.clear(ctx, timer, store.Check{Key: timer.Key, Version: before.Version})
		}
		return nil // it was set for a later time meanwhile
	}
	t := &transaction{app: a, before: before, after: before.with(result.Approval), at: now}
	t.announce(interlock, result.Events)
	_, err = t.commit(ctx)
	switch {
	case lostRace(err):
		return nil // who was faster has set it anew
	case err != nil:
		return err
	}
	if t.decided() {
		a.settleBehind(ctx, t.after)
	}
	return nil
}

// clear forgets a timer that has nothing to do, as long as what says so stands.
func (a *App) clear(ctx context.Context, timer store.Timer, while store.Check) error {
	_, err := a.store.Commit(ctx, store.Batch{ClearTimers: []store.TimerID{timer.TimerID}, Checks: []store.Check{while}})
	if err != nil && !lostRace(err) {
		return fault.From(err)
	}
	return nil
}
