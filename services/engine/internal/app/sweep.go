package app

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
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

// firstLook is when the timer looks after an approval first: when no call that was
// made at once is under way any more.
const firstLook = 5 * time.Second

// approvalTimer is the timer that looks after an approval.
func approvalTimer(run store.Key, approvalID string) store.TimerID {
	return store.TimerID{Key: run, Name: timerPrefix + approvalID}
}

const timerPrefix = "approval/"

// newTimer looks after an approval from due on. since is when it was asked for.
func newTimer(run store.Key, approvalID string, since, due time.Time) store.Timer {
	return store.Timer{
		TimerID: approvalTimer(run, approvalID), Due: due, Data: strconv.AppendInt(nil, since.UnixNano(), 10),
	}
}

// timers are set by the commit of a step: for what it has parked, and, when the run is
// resumed, for what was granted in the meantime.
func (s *step) timers(now time.Time) []store.Timer {
	var timers []store.Timer
	before, resumed := s.waited(), s.before != nil && s.before.Status == workflow.Paused && s.out.Run.Status != workflow.Paused
	for _, id := range s.out.Run.Approvals() {
		at, _ := s.out.Run.Asking(id)
		switch parked := !slices.Contains(before, id); {
		case parked:
			timers = append(timers, newTimer(s.key, id, at.Approval.Since, now.Add(firstLook)))
		case resumed:
			timers = append(timers, newTimer(s.key, id, at.Approval.Since, now))
		}
	}
	return timers
}

// waited are the approvals that the run waited for before the step.
func (s *step) waited() []string {
	if s.before == nil {
		return nil
	}
	return s.before.Approvals()
}
