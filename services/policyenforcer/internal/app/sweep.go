package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
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
		Store: a.store, Clock: a.clock, Log: a.log, Kinds: []string{ledger.KindDecisions, quota.Kind, ledger.KindEvidence},
		Fire: a.fire, Interval: sweepInterval, Page: sweepPage, Slots: sweepSlots,
		Watch: a.Timers, Label: timerLabel,
	}
}

// timerLabel labels timers in metrics.
func timerLabel(timer store.Timer) string {
	if timer.Key.Kind == ledger.KindDecisions {
		return decisionlog.TimerLabel(timer)
	}
	return timer.Key.Kind
}

func (a *App) fire(ctx context.Context, timer store.Timer) error {
	switch timer.Key.Kind {
	case quota.Kind:
		return a.quota.Drop(ctx, timer)
	case ledger.KindEvidence:
		return a.Outcomes.Expire(ctx, timer)
	default:
		return a.decisions.Fire(ctx, timer)
	}
}
