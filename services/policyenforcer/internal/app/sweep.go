package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// sweepInterval is how late a timer may fire, sweepPage how many of one kind and shard one
// sweep fires, and sweepSlots how many at once: seals of many runs share the store's commits.
const (
	sweepInterval = 500 * time.Millisecond
	sweepPage     = 128
	sweepSlots    = 16
)

// Sweep seals decisions, and drops old ones and counters of periods that are over,
// until ctx ends.
func (a *App) Sweep(ctx context.Context) { a.sweeper().Run(ctx) }

// SweepOnce fires what is due now.
func (a *App) SweepOnce(ctx context.Context) { a.sweeper().Once(ctx) }

func (a *App) sweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.store, Clock: a.clock, Log: a.log, Kinds: []string{ledger.KindDecisions, kindSpend, ledger.KindEvidence},
		Fire: a.fire, Interval: sweepInterval, Page: sweepPage, Slots: sweepSlots,
		Watch: a.Timers, Label: timerLabel,
	}
}

// timerLabel tells seals from what drops old ones.
func timerLabel(timer store.Timer) string {
	if timer.Name == forgetName {
		return "decisions_retention"
	}
	return timer.Key.Kind
}

// Unsealed is the age of the oldest decision that should be part of its chain and is not; 0
// when all are that should be.
func (a *App) Unsealed() time.Duration {
	if late := a.Timers.Late(ledger.KindDecisions); late > 0 {
		return late + sealEvery
	}
	return 0
}

func (a *App) fire(ctx context.Context, timer store.Timer) error {
	switch {
	case timer.Key.Kind == kindSpend:
		return a.drop(ctx, timer)
	case timer.Key.Kind == ledger.KindEvidence:
		return a.expire(ctx, timer)
	case timer.Name == forgetName:
		return a.forget(ctx, timer)
	default:
		return a.sealAll(ctx, timer.Key)
	}
}
