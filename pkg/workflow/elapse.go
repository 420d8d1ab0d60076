package workflow

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// Elapse carries out what time has made due (S25). It is refused as NOT_DUE where that is not so any more: the lane has
// moved on, or its clock stood still.
type Elapse struct {
	// Due is one of Machine.Dues, or the silence of a lane by its Kind, Branch and After: the time that it is silent.
	Due Due
	// Evidence is how that of the run stands now; see Fire.Evidence.
	Evidence evidence.Statuses
	Actor    string
}

func (c Elapse) actor() string { return c.Actor }

// elapse carries out what is due.
func (m *Machine) elapse(run *Run, c *Elapse, now time.Time) Result {
	if c.Due.Kind == DueStale {
		return m.silent(run, c, now)
	}
	dues := m.Dues(run)
	i := slices.IndexFunc(dues, func(d Due) bool {
		return d.Kind == c.Due.Kind && d.Branch == c.Due.Branch && d.After == c.Due.After
	})
	if i < 0 || dues[i].At.After(now) && !m.anyTime {
		return m.notDue(run, c, now)
	}
	c.Due = dues[i]
	switch c.Due.Kind {
	case DueDeadline:
		return m.expire(run, c, now)
	case DueFork:
		return m.endFork(run, c, now)
	case DueReminder:
		return m.remind(run, c, now)
	default:
		return m.elapseAfter(run, c, now)
	}
}

func (m *Machine) notDue(run *Run, c *Elapse, now time.Time) Result {
	return rejected(run, *c, now, m.refusals().refused(run.whole(), RejectNotDue, "%s of the run is not due; no action is needed.", c.Due.Kind))
}

// caused begins the step of a clock in a lane.
func (m *Machine) caused(at *cursor, c *Elapse, now time.Time) *stepper {
	s := m.begin(at.Run, c.Actor, now)
	s.cause = &Cause{Kind: c.Due.Kind, After: c.Due.After, Due: c.Due.At}
	s.out.Entry.Cause, s.out.Entry.Branch, s.out.Entry.From, s.out.Entry.To = s.cause, at.Branch, at.State, at.State
	return s
}

// elapseAfter takes a transition of "after". Where its guards do not pass it is blocked, which the first try announces.
func (m *Machine) elapseAfter(run *Run, c *Elapse, now time.Time) Result {
	at := run.locate(c.Due.Branch, false)
	fire := Fire{Event: c.Due.Event, Actor: c.Actor, Evidence: c.Evidence, timed: true}
	d, r := m.decide(&at, &fire, now)
	if r == nil {
		s := m.caused(&at, c, now)
		s.take(&at, &d, &fire)
		if r = s.refusal; r == nil {
			return s.finish()
		}
	}
	if c.Due.Blocked {
		return rejected(run, *c, now, r)
	}
	s := m.caused(&at, c, now)
	next := *at.Lane
	next.Clock.Blocked, next.Clock.Retry = append(slices.Clip(next.Clock.Blocked), c.Due.After), now.Add(RetryBlocked)
	s.out.Run.setLane(at.path, next)
	e := &s.out.Entry
	e.Type, e.Event, e.Guards, e.Reason = EventTimerBlocked, c.Due.Event, d.results, r.public
	s.announce(Event{
		Type: EventTimerBlocked, Event: c.Due.Event, From: at.State, To: at.State, Branch: at.Branch,
		Guards: guardNames(d.results, false), Reason: r.public,
	})
	return s.finish()
}

// remind announces how long the lane has been in its state.
func (m *Machine) remind(run *Run, c *Elapse, now time.Time) Result {
	at := run.locate(c.Due.Branch, false)
	s := m.caused(&at, c, now)
	next := *at.Lane
	next.Clock.Reminded++
	s.out.Run.setLane(at.path, next)
	reason := fmt.Sprintf("the run has been in state %s for %s", document.Quote(at.State), ShortDuration(c.Due.After))
	s.out.Entry.Type, s.out.Entry.Reason = EventReminded, reason
	s.announce(Event{Type: EventReminded, From: at.State, To: at.State, Branch: at.Branch, Reason: reason})
	return s.finish()
}

// Due returns the end of the patience with a lane that has made no progress since then.
func (s *Stale) Due(branch string, since, at time.Time) Due {
	due := Due{Kind: DueStale, Branch: branch, After: at.Sub(since).Round(time.Second), At: at, Event: eventStale, Holds: s.Hold}
	if s.Target != "" {
		due.Targets = []string{s.Target}
	}
	return due
}

// silent acts on a lane that makes no progress (S25.5).
func (m *Machine) silent(run *Run, c *Elapse, now time.Time) Result {
	at := run.locate(c.Due.Branch, false)
	stale := m.State(at.State).Stale
	if stale == nil || at.Over || at.Status != Running || c.Due.After < stale.After {
		return m.notDue(run, c, now)
	}
	c.Due.Event = eventStale
	reason := fmt.Sprintf("no progress for %s in state %s", ShortDuration(c.Due.After.Truncate(time.Second)), document.Quote(at.State))
	switch {
	case m.comesByClock(at.State, m.states[stale.Target]):
		return rejected(run, *c, now, m.refusals().byFreeze(at.View, eventStale+" to "+document.Quote(stale.Target)))
	case stale.Target != "":
		return m.leaveBy(&at, c, stale.Target, reason, now)
	case stale.Hold:
		s := m.caused(&at, c, now)
		s.hold(run, Pause{Reason: reason, Hold: HoldStale, Actor: c.Actor})
		return s.finish()
	}
	s := m.caused(&at, c, now)
	s.out.Entry.Type, s.out.Entry.Reason = EventSilent, reason
	s.announce(Event{Type: EventSilent, From: at.State, To: at.State, Branch: at.Branch, Reason: reason})
	return s.finish()
}

// expire ends a run by its deadline, wherever it is (S25.8).
func (m *Machine) expire(run *Run, c *Elapse, now time.Time) Result {
	at := run.lane(nil)
	reason := fmt.Sprintf("the run has taken %s, its deadline", ShortDuration(c.Due.After))
	return m.leaveBy(&at, c, m.definition.Meta.Deadline.Target, reason, now)
}

// leaveBy takes a lane into a state, in spite of all that it waits for.
func (m *Machine) leaveBy(at *cursor, c *Elapse, target, reason string, now time.Time) Result {
	to := m.State(target)
	if !to.Known() {
		return rejected(at.Run, *c, now, m.refusals().refused(at.View, RejectUnsupported, "the workflow has no state %s.", document.Quote(target)))
	}
	s := m.caused(at, c, now)
	s.out.Run.TransitionCount++
	s.out.Run.forgetJoins(at.Branch)
	next := *at.Lane
	e := &s.out.Entry
	e.Type, e.Event, e.To, e.Reason = EventTransitioned, c.Due.Event, to.Name, reason
	s.announce(Event{Type: EventTransitioned, Event: c.Due.Event, From: at.State, To: to.Name, Branch: at.Branch, Reason: reason})
	if len(at.path) == 0 {
		s.out.Run.Status, s.out.Run.Holds = Running, nil // a pause is over, and what it waited for is void
	}
	s.enter(at, next, to)
	if s.refusal != nil {
		return rejected(at.Run, *c, now, s.refusal)
	}
	return s.finish()
}

// endFork fails a fork whose branches have taken too long.
func (m *Machine) endFork(run *Run, c *Elapse, now time.Time) Result {
	path, _ := run.Fork.find(c.Due.Branch)
	at := run.lane(path)
	s := m.caused(&at, c, now)
	s.out.Run.TransitionCount++
	s.out.Run.forgetJoins(at.Branch)
	e := &s.out.Entry
	e.Type, e.Event = EventTransitioned, c.Due.Event
	reason := fmt.Sprintf("the branches of event %s have taken %s", document.Quote(at.Fork.Event), ShortDuration(c.Due.After))
	s.because(reason)
	s.announce(Event{Type: EventTransitioned, Event: c.Due.Event, From: at.State, Branch: at.Branch, Reason: reason})
	w := m.State(at.State).ways[at.Fork.Event]
	e.To = s.enterBy(&at, *at.Lane, w.fail, "the fork of "+document.Quote(at.Fork.Event)+" was not done in time and has no on_fail")
	s.out.Events[0].To = e.To
	return s.finish()
}

// deadline returns when a run that begins now must have ended, within that of its parent.
func (m *Machine) deadline(begun, parent time.Time) time.Time {
	own := m.definition.Meta.Deadline
	if own == nil {
		return parent
	}
	at := begun.Add(own.After)
	if !parent.IsZero() && parent.Before(at) {
		return parent
	}
	return at
}

// roundUp returns a time in whole seconds, at least one.
func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// afterEvent names the event of a delay.
func afterEvent(d time.Duration) string { return eventAfter + ShortDuration(d) }
