package app

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/schedules"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sessionend"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// Upkeep fires the timers of runs, and forgets runs that ended long ago.
type Upkeep struct {
	ports      *ports.Ports
	runs       *Runs
	questions  *Questions
	settlement *Settlement
	ends       *Ends
	clocks     *Clocks
	schedules  *schedules.Schedules
	bound      bound
}

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
// endSweeper of sessions, until ctx ends.
func (up *Upkeep) Sweep(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { up.endSweeper().Run(ctx) })
	both.Go(func() { up.forgetter().Run(ctx) })
	both.Go(func() { up.clocks.sweeper().Run(ctx) })
	both.Go(func() { up.schedules.Sweeper().Run(ctx) })
	if up.ports.Approvals != nil {
		both.Go(func() {
			up.catchUp(ctx)
			up.sweeper().Run(ctx)
		})
	}
	both.Wait()
}

// catchUp looks at once after the approvals that another process has parked just before it ended,
// and may not have asked for.
func (up *Upkeep) catchUp(ctx context.Context) {
	s := up.sweeper()
	s.Clock = func() time.Time { return up.ports.Clock().Add(firstLook) }
	s.Once(ctx)
}

// SweepOnce does so for due timers.
func (up *Upkeep) SweepOnce(ctx context.Context) {
	up.endSweeper().Once(ctx)
	up.forgetter().Once(ctx)
	up.clocks.sweeper().Once(ctx)
	up.schedules.Sweeper().Once(ctx)
	if up.ports.Approvals != nil {
		up.sweeper().Once(ctx)
	}
}

// endSweeper receives the reports of the state-store about sessions.
func (up *Upkeep) endSweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: up.ports.Store, Clock: up.ports.Clock, Log: up.ports.Log, Kinds: []string{sessionend.Kind}, Fire: up.hear,
		Interval: endInterval, Page: sweepPage, Slots: sweepers, Limit: sweepLimit, Again: soon, Watch: up.ports.Timers,
	}
}

// soon returns when an end that could not be obeyed is tried again.
func soon(store.Timer, time.Time) time.Duration { return time.Second }

// hear obeys the last word on a session. Reports in between no longer matter.
func (up *Upkeep) hear(ctx context.Context, timer store.Timer) error {
	record, err := up.ports.Store.Get(ctx, timer.Key)
	if errors.Is(err, store.ErrNotFound) {
		return sweep.Clear(ctx, up.ports.Store, timer.TimerID, store.Check{Key: timer.Key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	word, err := sessionend.Read(record)
	if err != nil {
		return err
	}
	obey := up.ends.SessionResumed
	if word.Ended {
		obey = up.ends.SessionEnded
	}
	if err := obey(ctx, timer.Key.Namespace, word.Cause, word.ID, word.Name); err != nil {
		return err
	}
	_, err = up.ports.Store.Commit(ctx, sessionend.Heard(record))
	if retry.Lost(err) { // there is a newer word
		return nil
	}
	return err
}

// sweeper stops without the service of approvals: none can be looked after then.
func (up *Upkeep) sweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: up.ports.Store, Clock: up.ports.Clock, Log: up.ports.Log, Kinds: []string{ports.KindRun}, Fire: up.lookAfter,
		Interval: sweepInterval, Page: sweepPage, Slots: sweepers, Limit: sweepLimit, Again: untilNextLook, Stop: true, Watch: up.ports.Timers,
	}
}

// lookAfter does the due work for an approval, which may not be all.
func (up *Upkeep) lookAfter(ctx context.Context, timer store.Timer) error {
	approvalID, ours := strings.CutPrefix(timer.Name, timerPrefix)
	if !ours {
		return nil
	}
	s, err := up.settlement.reconcile(ctx, timer.Key, approvalID)
	switch {
	case s.over:
		return nil
	case s.nothing:
		return up.questions.endTimer(ctx, timer.Key, approvalID)
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
