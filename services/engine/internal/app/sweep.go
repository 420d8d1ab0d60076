package app

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sessionend"
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
	// An approval that waits is looked after as often as it is old, within these: its
	// decision is reported at once, and this is for lost reports.
	soonestLook, latestLook = 5 * time.Second, time.Minute
	// endInterval is how late a session's end may hold its run.
	endInterval = 250 * time.Millisecond
)

// Sweep looks after approvals that runs wait for, and carries out the consequences of the
// ends of sessions, until ctx ends.
func (a *App) Sweep(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { a.ends().Run(ctx) })
	both.Go(func() { a.forgetter().Run(ctx) })
	if a.Approvals != nil {
		both.Go(func() {
			a.catchUp(ctx)
			a.sweeper().Run(ctx)
		})
	}
	both.Wait()
}

// catchUp looks at once after the approvals that another process has parked just before it ended,
// and may not have asked for.
func (a *App) catchUp(ctx context.Context) {
	s := a.sweeper()
	s.Clock = func() time.Time { return a.clock().Add(firstLook) }
	s.Once(ctx)
}

// SweepOnce does so for due timers.
func (a *App) SweepOnce(ctx context.Context) {
	a.ends().Once(ctx)
	a.forgetter().Once(ctx)
	if a.Approvals != nil {
		a.sweeper().Once(ctx)
	}
}

// ends receives the reports of the state-store about sessions.
func (a *App) ends() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.store, Clock: a.clock, Log: a.log, Kinds: []string{sessionend.Kind}, Fire: a.hear,
		Interval: endInterval, Page: sweepPage, Slots: sweepers, Limit: sweepLimit, Again: soon, Watch: a.Timers,
	}
}

// soon returns when an end that could not be obeyed is tried again.
func soon(store.Timer, time.Time) time.Duration { return time.Second }

// hear obeys the last word on a session. Reports in between no longer matter.
func (a *App) hear(ctx context.Context, timer store.Timer) error {
	record, err := a.store.Get(ctx, timer.Key)
	if errors.Is(err, store.ErrNotFound) {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: timer.Key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	word, err := sessionend.Read(record)
	if err != nil {
		return err
	}
	obey := a.SessionResumed
	if word.Ended {
		obey = a.SessionEnded
	}
	if err := obey(ctx, timer.Key.Namespace, word.Cause, word.ID, word.Name); err != nil {
		return err
	}
	_, err = a.store.Commit(ctx, sessionend.Heard(record))
	if retry.Lost(err) { // there is a newer word
		return nil
	}
	return err
}

// sweeper stops without the service of approvals: none can be looked after then.
func (a *App) sweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.store, Clock: a.clock, Log: a.log, Kinds: []string{KindRun}, Fire: a.lookAfter,
		Interval: sweepInterval, Page: sweepPage, Slots: sweepers, Limit: sweepLimit, Again: untilNextLook, Stop: true, Watch: a.Timers,
	}
}

// lookAfter does the due work for an approval, which may not be all.
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

// untilNextLook returns how long to wait before an approval is looked after again.
func untilNextLook(timer store.Timer, now time.Time) time.Duration {
	since, err := strconv.ParseInt(string(timer.Data), 10, 64)
	if err != nil {
		return latestLook
	}
	return min(max(now.Sub(time.Unix(0, since)), soonestLook), latestLook)
}
