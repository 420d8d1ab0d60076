package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// sweepInterval is how late a timer may fire, and sweepPage how many of one kind and
// shard are fired at once.
const (
	sweepInterval = 500 * time.Millisecond
	sweepPage     = 128
)

// firedAgain is when a timer that could not be fired is tried again: later, so that
// it does not keep others from their turn.
const firedAgain = 30 * time.Second

// Sweep seals decisions, and drops old ones and counters of periods that are over,
// until ctx ends.
// Any number of processes may sweep one store.
func (a *App) Sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		a.SweepOnce(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// SweepOnce fires what is due now.
func (a *App) SweepOnce(ctx context.Context) {
	timers, err := a.store.Due(ctx, a.clock(), sweepPage, kindDecisions, kindSpend)
	if err != nil && ctx.Err() == nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "timers cannot be read", slog.Any("cause", err))
	}
	for _, timer := range timers {
		if ctx.Err() != nil {
			return
		}
		if err := a.fire(ctx, timer); err != nil && ctx.Err() == nil {
			a.log.LogAttrs(ctx, slog.LevelWarn, "a timer could not be fired and is tried again",
				slog.String("of", timer.Key.String()), slog.Any("cause", err))
			a.postpone(ctx, timer)
		}
	}
}

func (a *App) fire(ctx context.Context, timer store.Timer) error {
	switch {
	case timer.Key.Kind == kindSpend:
		return a.drop(ctx, timer)
	case timer.Name == forgetName:
		return a.forget(ctx, timer)
	default:
		return a.sealAll(ctx, timer.Key)
	}
}

// postpone puts off a timer that could not be fired.
func (a *App) postpone(ctx context.Context, timer store.Timer) {
	_, err := a.store.Commit(ctx, store.Batch{Postpone: []store.Postpone{{Timer: timer, Until: a.clock().Add(firedAgain)}}})
	if err != nil && ctx.Err() == nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "a timer could not be put off", slog.String("of", timer.Key.String()), slog.Any("cause", err))
	}
}
