package app

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

const (
	// sweepInterval is how late a timer may fire.
	sweepInterval = time.Second
	// sweepPage is how many timers of a shard are read at once.
	sweepPage = 16
	// sweepers look after that many approvals at once, each for that long at most.
	sweepers   = 16
	sweepLimit = 10 * time.Second
	// An approval that waits is looked after as often as it is old, within these:
	// its decision is told at once, and this is for what got lost.
	soonest, latest = 5 * time.Second, time.Minute
)

// Sweep looks after approvals that runs wait for until ctx ends. Any number of
// processes may sweep one store.
func (a *App) Sweep(ctx context.Context) {
	if a.Approvals == nil {
		return
	}
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

// SweepOnce looks after those that are due now.
func (a *App) SweepOnce(ctx context.Context) {
	timers, err := a.store.Due(ctx, a.clock(), sweepPage, KindRun)
	if err != nil && ctx.Err() == nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "timers cannot be read", slog.Any("cause", err))
	}
	// Without the service none can be looked after: the rest waits for the next time.
	within, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	var failures atomic.Int64
	slots := make(chan struct{}, sweepers)
	for _, timer := range timers {
		if !strings.HasPrefix(timer.Name, timerPrefix) {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			err := a.lookAfter(within, timer)
			if err == nil {
				return
			}
			if reason := fault.ReasonOf(err); reason == fault.Unavailable || reason == fault.DeadlineExceeded {
				stop()
			}
			if failures.Add(1) == 1 && ctx.Err() == nil {
				a.log.LogAttrs(ctx, slog.LevelWarn, "an approval cannot be looked after, and is later",
					slog.String("timer", timer.Name), slog.String("of", timer.Key.String()), slog.Any("cause", err))
			}
		})
	}
	group.Wait()
}

// lookAfter does what there is to do for an approval, and comes back later when that
// is not all.
func (a *App) lookAfter(ctx context.Context, timer store.Timer) error {
	if ctx.Err() != nil {
		return nil
	}
	approvalID := strings.TrimPrefix(timer.Name, timerPrefix)
	within, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	s, err := a.settleOnce(within, timer.Key, approvalID)
	switch {
	case s.over:
		return nil
	case s.nothing:
		return a.endTimer(ctx, timer.Key, approvalID)
	case ctx.Err() != nil:
		return nil // it is due again at once
	}
	now := a.clock()
	_, failed := a.store.Commit(ctx, store.Batch{Postpone: []store.Postpone{{Timer: timer, Until: now.Add(pause(timer, now))}}})
	return errors.Join(err, failed)
}

// pause is how long to wait before an approval is looked after again.
func pause(timer store.Timer, now time.Time) time.Duration {
	since, err := strconv.ParseInt(string(timer.Data), 10, 64)
	if err != nil {
		return latest
	}
	return min(max(now.Sub(time.Unix(0, since)), soonest), latest)
}
