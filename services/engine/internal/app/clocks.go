package app

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// Clocks carries out what time brings about in runs (S25).
type Clocks struct {
	ports    *ports.Ports
	registry *registry.Registry
	runs     *Runs
	changes  *Changes
	gaps     *gaps
}

const (
	// clockInterval is how late a clock may be.
	clockInterval = 250 * time.Millisecond
	// clockPage is how many timers of a shard are read at once.
	clockPage = 1024
	// clockSlots are how many runs are moved at once: commits of many are made together.
	clockSlots = 256
	// mostElapses bounds what one timer carries out: the rest follows in the next sweep.
	mostElapses = 32
)

// sweeper fires the timers of clocks.
func (c *Clocks) sweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: c.ports.Store, Clock: c.ports.Clock, Log: c.ports.Log, Kinds: []string{ledger.KindClock}, Begin: c.gaps.look, Fire: c.fire,
		Interval: clockInterval, Page: clockPage, Slots: clockSlots, Limit: sweepLimit, Again: soon, Watch: c.ports.Timers,
	}
}

// fire carries out what is due in a run, and sets the timer anew. One that is not as it was read any more is left to its next turn.
func (c *Clocks) fire(ctx context.Context, timer store.Timer) error {
	f := &firing{Clocks: c, key: runKey(timer.Key.Namespace, timer.Key.ID), timer: timer}
	return retry.Run(ctx, "the clock of run "+f.key.ID, func() error {
		if f.again {
			if stands, err := standing(ctx, c.ports.Store, timer); err != nil || !stands {
				return err
			}
		}
		err := f.carryOut(ctx)
		f.again = true
		return err
	})
}

// firing is a timer that is fired. The first try decides by the run in memory, since each of its commits has the version of
// the run; the others read it.
type firing struct {
	*Clocks
	key   store.Key
	timer store.Timer
	again bool
}

// carryOut is one try of fire.
func (f *firing) carryOut(ctx context.Context) error {
	for done := range mostElapses {
		run, m, err := f.load(ctx, f.key, f.again && done == 0)
		switch {
		case fault.ReasonOf(err) == fault.NotFound:
			return sweep.Clear(ctx, f.ports.Store, f.timer.TimerID, store.Check{Key: f.key, Version: store.Absent})
		case err != nil:
			return err
		}
		work := f.due(run, m, f.timer)
		if work != nil && work.silence == nil {
			if work, err = f.silenceFirst(ctx, f.key, run, m, work); err != nil {
				return err
			}
		}
		if work == nil && done > 0 { // the last change has set the timer
			return nil
		}
		if work == nil {
			return f.rearm(ctx, f.key, run, m, f.timer)
		}
		over, err := f.elapse(ctx, work)
		switch {
		case errors.Is(err, errTimerGone) && work.silence.TimerID != f.timer.TimerID:
		case errors.Is(err, errTimerGone):
			return nil
		case err != nil || over:
			return err
		}
	}
	return nil
}

// errTimerGone is the error of a change by a timer that is not as it was read any more.
var errTimerGone = errors.New("the timer was cleared or set anew")

// standing reports whether a timer is as it was read.
func standing(ctx context.Context, st store.Store, timer store.Timer) (bool, error) {
	now, err := st.Timers(ctx, timer.TimerID)
	return len(now) == 1 && now[0].Due.Equal(timer.Due) && bytes.Equal(now[0].Data, timer.Data), retry.Fault(err)
}

// load returns a run and its machine. One that is not fresh may be old: a commit must check its version.
func (c *Clocks) load(ctx context.Context, key store.Key, fresh bool) (*workflow.Run, definition.Compiled, error) {
	load := c.runs.cached
	if fresh {
		load = c.runs.load
	}
	run, err := load(ctx, key)
	if err != nil {
		return nil, definition.Compiled{}, err
	}
	m, err := c.registry.Machine(ctx, key.Namespace, run.Workflow, run.WorkflowVersion)
	return run, m, err
}

// elapsing is what a timer has made due.
type elapsing struct {
	due workflow.Due
	// silence is the timer of a silent lane; nil for what clocks make due.
	silence *store.Timer
}

// due returns what a timer has made due in a run as it is now, or nil.
func (c *Clocks) due(run *workflow.Run, m definition.Compiled, timer store.Timer) *elapsing {
	now := c.ports.Clock().UTC()
	dues := c.dues(m, run)
	past := func(blocked bool) int {
		return slices.IndexFunc(dues, func(d workflow.Due) bool { return d.Blocked == blocked && !d.At.After(now) })
	}
	first := past(false)
	if branch, since, ok := ledger.SilentBranch(timer); ok {
		if first >= 0 && dues[first].At.Before(timer.Due) {
			return &elapsing{due: dues[first]}
		}
		at := run.At(branch)
		stale := m.State(at.State).Stale
		if stale == nil || at.Over || at.Branch != branch || at.Status != workflow.Running || timer.Due.After(now) || since.Before(c.gaps.last().Gap) {
			return nil
		}
		due := workflow.Due{Kind: workflow.DueStale, Branch: branch, After: now.Sub(since), At: timer.Due}
		return &elapsing{due: due, silence: &timer}
	}
	if first < 0 { // what a guard stops keeps nothing else from its turn
		first = past(true)
	}
	if first < 0 {
		return nil
	}
	return &elapsing{due: dues[first]}
}

// silenceFirst returns the silence of a lane that was due before something else, or that.
func (c *Clocks) silenceFirst(ctx context.Context, key store.Key, run *workflow.Run, m definition.Compiled, work *elapsing) (*elapsing, error) {
	if !m.KnowsSilence() {
		return work, nil
	}
	for _, at := range awaited(m.Machine, run) {
		timers, err := c.ports.Store.Timers(ctx, ledger.SilenceTimerID(key, at.Branch))
		if err != nil {
			return nil, retry.Fault(err)
		}
		for _, timer := range timers {
			if silence := c.due(run, m, timer); silence != nil && timer.Due.Before(work.due.At) {
				work = silence
			}
		}
	}
	return work, nil
}

// elapse carries out one thing that is due; done where the timer has no more work now.
func (f *firing) elapse(ctx context.Context, work *elapsing) (done bool, err error) {
	by := ports.System(f.key.Namespace)
	outcome, err := f.changes.change(ctx, by, request{
		op: authority.Elapse, target: ports.Target{RunID: f.key.ID, Branch: work.due.Branch}, timer: work.silence, once: true, fresh: f.again,
		command: workflow.Elapse{Due: work.due, Actor: by.Principal.Name},
	})
	switch {
	case err != nil:
		return false, err
	case outcome.Rejection == nil:
		return work.silence != nil, nil
	case outcome.Rejection.Code == workflow.RejectNotDue:
		return false, &store.ConflictError{Key: f.key}
	case work.silence != nil: // a freeze stops it, and its timer is set
		return true, nil
	case outcome.Rejection.Code == workflow.RejectFrozen && work.due.Kind != workflow.DueAfter: // the run may not end, and nothing else is in time
		return true, f.putOff(ctx, f.key, f.timer)
	default: // its guards do not pass
		return true, f.postpone(ctx, f.key)
	}
}

// postpone tries a blocked transition again later.
func (c *Clocks) postpone(ctx context.Context, key store.Key) error {
	run, m, err := c.load(ctx, key, true)
	if err != nil {
		return err
	}
	now := c.ports.Clock().UTC()
	next := now.Add(workflow.RetryBlocked)
	for _, due := range c.dues(m, run) {
		if !due.Blocked && due.At.Before(next) {
			next = due.At
		}
	}
	_, err = c.ports.Store.Commit(ctx, store.Batch{
		Checks: []store.Check{{Key: key, Version: run.Version}}, SetTimers: []store.Timer{ledger.DueTimer(key, next)},
	})
	return retry.Fault(err)
}

// putOff tries all that is due in a run again later, and the timer that has fired, if that is another one.
func (c *Clocks) putOff(ctx context.Context, key store.Key, fired store.Timer) error {
	run, _, err := c.load(ctx, key, true)
	if err != nil {
		return err
	}
	later := c.ports.Clock().UTC().Add(workflow.RetryBlocked)
	timers := []store.Timer{ledger.DueTimer(key, later)}
	if fired.TimerID != timers[0].TimerID {
		fired.Due = later
		timers = append(timers, fired)
	}
	_, err = c.ports.Store.Commit(ctx, store.Batch{Checks: []store.Check{{Key: key, Version: run.Version}}, SetTimers: timers})
	return retry.Fault(err)
}

// rearm sets a timer that has no work now to when it has, or clears it.
func (c *Clocks) rearm(ctx context.Context, key store.Key, run *workflow.Run, m definition.Compiled, timer store.Timer) error {
	batch := store.Batch{Checks: []store.Check{{Key: key, Version: run.Version}}, Unchanged: []store.Timer{timer}}
	if again, has := c.again(key, run, m, timer); has {
		batch.SetTimers = []store.Timer{again}
	} else {
		batch.ClearTimers = []store.TimerID{timer.TimerID}
	}
	if restored := c.gaps.last().Restored; timer.Name == ledger.DueTimerID(key).Name && !timer.Due.After(restored) && len(batch.SetTimers) > 0 {
		event, err := c.waits(key.Namespace, run, m, batch.SetTimers[0].Due)
		if err != nil {
			return err
		}
		batch.Events = append(batch.Events, event)
	}
	_, err := c.ports.Store.Commit(ctx, batch)
	return retry.Fault(err)
}

// waits announces that a run has time, since its store was restored from a backup, before what fell due is carried out.
func (c *Clocks) waits(namespace string, run *workflow.Run, m definition.Compiled, until time.Time) (store.Event, error) {
	first := m.Dues(run)[0]
	at := run.At(first.Branch)
	event, err := c.changes.announce.RunEvent(namespace, ports.System(namespace).Principal.Name, run, &workflow.Event{
		Type: workflow.EventTimerRestored, Event: first.Event, From: at.State, To: at.State, Branch: first.Branch,
		Reason: "the clock of the run was due before the store was restored from a backup; it waits until " + until.UTC().Format(time.RFC3339),
		Cause:  &workflow.Cause{Kind: first.Kind, After: first.After, Due: first.At},
	}, c.ports.Clock().UTC())
	if err != nil {
		return event, fault.From(err)
	}
	return event, nil
}

// again returns a timer that has no work now, as it is set anew.
func (c *Clocks) again(key store.Key, run *workflow.Run, m definition.Compiled, timer store.Timer) (again store.Timer, has bool) {
	now := c.ports.Clock().UTC()
	branch, since, silence := ledger.SilentBranch(timer)
	if !silence {
		next, has := earliest(c.dues(m, run), now)
		return ledger.DueTimer(key, next), has
	}
	at := run.At(branch)
	stale := m.State(at.State).Stale
	if gap := c.gaps.last().Gap; stale != nil && !at.Over && at.Branch == branch && at.Status == workflow.Running && since.Before(gap) {
		return ledger.SilenceTimer(key, branch, stale, false, gap), true
	}
	return again, false
}

// dues returns what time brings about in a run. What fell due before the store was restored waits for a while (S25.2).
func (c *Clocks) dues(m definition.Compiled, run *workflow.Run) []workflow.Due {
	dues := m.Dues(run)
	restored := c.gaps.last().Restored
	for i := range dues {
		if d := &dues[i]; !d.At.After(restored) {
			d.At = restored.Add(min(d.After, restoreGrace))
		}
	}
	slices.SortStableFunc(dues, func(a, b workflow.Due) int { return a.At.Compare(b.At) })
	return dues
}

// nextDue returns when the clocks of a run make something due next.
func nextDue(m definition.Compiled, run *workflow.Run, now time.Time) (at time.Time, has bool) {
	if m.Machine == nil {
		return at, false
	}
	return earliest(m.Dues(run), now)
}

// earliest returns when the first of dues has to be looked at.
func earliest(dues []workflow.Due, now time.Time) (at time.Time, has bool) {
	for _, due := range dues {
		if due.Blocked && due.At.Before(now) {
			due.At = now
		}
		if !has || due.At.Before(at) {
			at, has = due.At, true
		}
	}
	return at, has
}

// clockTimers returns the timers of clocks that the commit of a step sets and clears.
func (s *step) clockTimers(now time.Time) (set []store.Timer, clears []store.TimerID) {
	run := &s.out.Run
	next, has := nextDue(s.m, run, now)
	had := false
	if s.before != nil {
		_, had = nextDue(s.from, s.before, now)
	}
	switch {
	case has:
		set = append(set, ledger.DueTimer(s.key, next))
	case had:
		clears = append(clears, ledger.DueTimerID(s.key))
	}
	active := run.Status == workflow.Running || run.Status == workflow.Waiting
	switch {
	case active && (s.before == nil || s.out.Entry.Cause == nil):
		set = append(set, ledger.ActivityTimer(s.key, now))
	case !active && s.before != nil:
		clears = append(clears, ledger.ActivityTimerID(s.key))
	}
	return set, clears
}

// awaited returns the lanes of a run whose silence counts.
func awaited(m *workflow.Machine, run *workflow.Run) []workflow.View {
	if !m.KnowsSilence() || run.Status.Ended() {
		return nil
	}
	return slices.DeleteFunc(run.Lanes(), func(at workflow.View) bool {
		return at.Status != workflow.Running || m.State(at.State).Stale == nil
	})
}
