package app

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/sweep"
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
	soonestLook, latestLook = 5 * time.Second, time.Minute
)

// Sweep looks after approvals that runs wait for until ctx ends.
func (a *App) Sweep(ctx context.Context) {
	if a.Approvals != nil {
		a.sweeper().Run(ctx)
	}
}

// SweepOnce looks after those that are due now.
func (a *App) SweepOnce(ctx context.Context) { a.sweeper().Once(ctx) }

// sweeper stops without the service of approvals: none can be looked after then.
func (a *App) sweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.store, Clock: a.clock, Log: a.log, Kinds: []string{KindRun}, Fire: a.lookAfter,
		Interval: sweepInterval, Page: sweepPage, Slots: sweepers, Limit: sweepLimit, Again: untilNextLook, Stop: true,
	}
}

// lookAfter does what there is to do for an approval, which may not be all.
func (a *App) lookAfter(ctx context.Context, timer store.Timer) error {
	approvalID, ours := strings.CutPrefix(timer.Name, timerPrefix)
	if !ours {
		return nil
	}
	s, err := a.reconcile(ctx, timer.Key, approvalID)
	switch {
	case s.over:
		return nil
	case s.nothing:
		return a.endTimer(ctx, timer.Key, approvalID)
	case err == nil:
		return sweep.ErrLater
	default:
		return err
	}
}

// untilNextLook is how long to wait before an approval is looked after again.
func untilNextLook(timer store.Timer, now time.Time) time.Duration {
	since, err := strconv.ParseInt(string(timer.Data), 10, 64)
	if err != nil {
		return latestLook
	}
	return min(max(now.Sub(time.Unix(0, since)), soonestLook), latestLook)
}
