package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

const (
	// sweepInterval bounds the lateness of timers.
	sweepInterval = 500 * time.Millisecond
	// sweepPage bounds the timers of one kind and shard that one sweep fires.
	sweepPage = 128
	// sweepSlots bounds the timers that fire at once: seals of many runs share the store's commits.
	sweepSlots = 16
)

// Sweep seals decisions, and drops old ones and counters of periods that are over, until ctx ends.
func (a *App) Sweep(ctx context.Context) { a.sweep.Run(ctx) }

// SweepOnce fires the timers that are due.
func (a *App) SweepOnce(ctx context.Context) { a.sweep.Once(ctx) }

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
		return a.Log.Fire(ctx, timer)
	}
}
