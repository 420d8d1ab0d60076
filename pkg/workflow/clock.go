package workflow

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Clock measures how long a lane has been in its state (S25.1): from its arrival from another state, without the time in
// which the clock stood still.
type Clock struct {
	// Since is when the lane arrived.
	Since time.Time
	// Stood is the time in which the clock stood still until it ran last.
	Stood time.Duration
	// Stopped is since when it stands still, and zero while it runs.
	Stopped time.Time
	// Reminded counts the reminders of the state that were given.
	Reminded int
	// Blocked are the delays of transitions that were due, and that no guard let through; Retry is when they are tried again first.
	Blocked []time.Duration
	Retry   time.Time
}

// RetryBlocked is how long a transition that was due, and that no guard let through, waits for its next try.
const RetryBlocked = time.Minute

// Elapsed returns the time on the clock.
func (c *Clock) Elapsed(now time.Time) time.Duration {
	if !c.Stopped.IsZero() {
		now = c.Stopped
	}
	return max(0, now.Sub(c.Since)-c.Stood)
}

// Running reports that the clock does not stand still.
func (c *Clock) Running() bool { return c.Stopped.IsZero() }

// at returns when the clock shows a time, if it runs on.
func (c *Clock) at(d time.Duration) time.Time { return c.Since.Add(c.Stood).Add(d) }

// stop lets the clock stand still.
func (c *Clock) stop(now time.Time) {
	if c.Stopped.IsZero() {
		c.Stopped = now
	}
}

// start lets the clock run on.
func (c *Clock) start(now time.Time) {
	if !c.Stopped.IsZero() {
		c.Stood += max(0, now.Sub(c.Stopped))
		c.Stopped = time.Time{}
	}
}

// DueKind is what a clock makes due.
type DueKind string

// The kinds, in the order in which those of one moment are carried out.
const (
	// DueDeadline ends the run by meta.deadline.
	DueDeadline DueKind = "deadline"
	// DueFork ends a fork by its "after".
	DueFork DueKind = "fork"
	// DueAfter takes a transition of "after".
	DueAfter DueKind = "after"
	// DueStale is the end of the patience with a silent lane. Only the caller of the machine knows how long that has been
	// silent.
	DueStale DueKind = "stale"
	// DueReminder gives a reminder of "remind".
	DueReminder DueKind = "remind"
	// DueSchedule is a time of the schedule that has started the run, and DueTrigger a start of it by an operator.
	DueSchedule DueKind = "schedule"
	DueTrigger  DueKind = "trigger"
)

// Due is one thing that time brings about in a run, and when.
type Due struct {
	Kind DueKind
	// Branch is the lane, as View.Branch.
	Branch string
	// After is the time of the clock at which it is due; of a deadline, the time since the run began.
	After time.Duration
	// At is when it is due, if no clock stands still before.
	At time.Time
	// Event is the name by which the history has it; empty for a reminder.
	Event string
	// Blocked is true of a transition that was due, and that no guard let through: it is tried again.
	Blocked bool
	// Targets are the states that it may lead to, in definition order. Shared: read only.
	Targets []string
	// Holds is true of a silence after which the run is held.
	Holds bool
}

// timerPrefix begins the names of the events of clocks. No event of a workflow begins so (S1.4).
const timerPrefix = "$"

// Events of clocks; those of "after" and of a fork have the delay behind a colon.
const (
	eventAfter    = timerPrefix + "after:"
	eventStale    = timerPrefix + "stale"
	eventDeadline = timerPrefix + "deadline"
)

// ByClock reports that an event is one of a clock, which no caller can fire.
func ByClock(event string) bool { return strings.HasPrefix(event, timerPrefix) }

// Dues returns what time will bring about in the run as it stands now, by the time at which it is due. It has no silence:
// that depends on calls.
func (m *Machine) Dues(run *Run) []Due {
	if run.Status.Ended() {
		return nil
	}
	var all []Due
	if at := run.Deadline; !at.IsZero() && m.definition.Meta.Deadline != nil && !run.HeldFor(HoldOperator) {
		all = append(all, Due{Kind: DueDeadline, After: at.Sub(run.CreatedAt), At: at, Event: eventDeadline, Targets: m.expires})
	}
	if !m.clocksRun(run.Status) {
		return all
	}
	run.eachFork(func(at *cursor) {
		if at.Fork.Clock.Running() {
			all = m.timesOfFork(all, at)
		}
	})
	run.eachLane(func(path []int) {
		if at := run.lane(path); at.Clock.Running() {
			all = m.timesOfLane(all, &at)
		}
	})
	slices.SortStableFunc(all, func(a, b Due) int { return a.At.Compare(b.At) })
	return all
}

// clocksRun reports that the clocks of lanes run. They stand still in a hold, and in a pause by which an agent lifts
// enforcement (S25.2).
func (m *Machine) clocksRun(status Status) bool {
	return status.moves() || status == Paused && m.Enforcement().Keeps()
}

// timesOfFork appends what the clock of a fork makes due.
func (m *Machine) timesOfFork(all []Due, at *cursor) []Due {
	w := m.State(at.State).ways[at.Fork.Event]
	if w == nil || w.fork == nil || w.fork.After == 0 {
		return all
	}
	return append(all, Due{
		Kind: DueFork, Branch: at.Branch, After: w.fork.After, At: at.Fork.Clock.at(w.fork.After), Event: afterEvent(w.fork.After),
		Targets: w.fork.fails(),
	})
}

// timesOfLane appends what the clock of a lane makes due.
func (m *Machine) timesOfLane(all []Due, at *cursor) []Due {
	state := m.State(at.State)
	for i := range state.After {
		t := &state.After[i]
		due := Due{Kind: DueAfter, Branch: at.Branch, After: t.Delay, At: at.Clock.at(t.Delay), Event: t.Event, Targets: t.targets}
		if slices.Contains(at.Clock.Blocked, t.Delay) {
			due.Blocked, due.At = true, at.Clock.Retry
		}
		all = append(all, due)
	}
	if n := at.Clock.Reminded; n < len(state.Remind) {
		all = append(all, Due{Kind: DueReminder, Branch: at.Branch, After: state.Remind[n], At: at.Clock.at(state.Remind[n])})
	}
	return all
}

// StopCause is why a clock stands still (S25.2).
type StopCause string

// The causes of clocks that stand still.
const (
	// StoppedByHold is a hold of an operator, of silence, or of the end of the session.
	StoppedByHold StopCause = "hold"
	// StoppedByPause is a pause by the agent.
	StoppedByPause StopCause = "pause"
	// StoppedByApproval is a question to people in the lane.
	StoppedByApproval StopCause = "approval"
	// StoppedByBranches is a fork that the lane is in.
	StoppedByBranches StopCause = "branches"
)

// StoppedDue is what a clock that stands still makes due once it has run on for the time that is left.
type StoppedDue struct {
	// Due has no At.
	Due
	Left time.Duration
	By   StopCause
}

// StoppedDues returns what the clocks that stand still make due once they run on, by the time that is left.
func (m *Machine) StoppedDues(run *Run) []StoppedDue {
	if run.Status.Ended() {
		return nil
	}
	var all []StoppedDue
	stopped := func(c *Clock, by StopCause, dues []Due) {
		for _, d := range dues {
			left := max(0, d.After-c.Elapsed(c.Stopped))
			d.At = time.Time{}
			all = append(all, StoppedDue{Due: d, Left: left, By: by})
		}
	}
	ofRun := StoppedByPause
	if run.Held() {
		ofRun = StoppedByHold
	}
	moves := m.clocksRun(run.Status)
	run.eachFork(func(at *cursor) {
		if !at.Clock.Running() {
			stopped(&at.Clock, StoppedByBranches, m.timesOfLane(nil, at))
		}
		if !at.Fork.Clock.Running() {
			stopped(&at.Fork.Clock, ofRun, m.timesOfFork(nil, at))
		}
	})
	run.eachLane(func(path []int) {
		at := run.lane(path)
		switch {
		case at.Clock.Running():
		case moves && at.Approval.Pending():
			stopped(&at.Clock, StoppedByApproval, m.timesOfLane(nil, &at))
		default:
			stopped(&at.Clock, ofRun, m.timesOfLane(nil, &at))
		}
	})
	slices.SortStableFunc(all, func(a, b StoppedDue) int { return cmp.Compare(a.Left, b.Left) })
	return all
}

// eachFork visits the lanes that are in branches, from outside in.
func (r *Run) eachFork(visit func(at *cursor)) {
	var down func(path []int, f *ForkProgress)
	down = func(path []int, f *ForkProgress) {
		if f == nil {
			return
		}
		at := r.lane(path)
		visit(&at)
		for i := range f.Branches {
			if b := &f.Branches[i]; b.Status == BranchActive {
				down(append(slices.Clip(path), i), b.Fork)
			}
		}
	}
	down(nil, r.Fork)
}

// keepClocks lets the clocks of the lanes run, or stand still, as the run is now (S25.2).
func (s *stepper) keepClocks(now time.Time) {
	run := &s.out.Run
	if run.Status.Ended() {
		return
	}
	moves := s.m.clocksRun(run.Status)
	run.eachFork(func(at *cursor) {
		fork := *at.Fork
		if fork.Clock.turn(moves, now) {
			s.setForkAt(at.path, &fork)
		}
	})
	if run.Fork != nil {
		run.eachFork(func(at *cursor) { s.turnLane(at.path, false, now) })
	}
	run.eachLane(func(path []int) { s.turnLane(path, moves, now) })
}

// turnLane lets the clock of a lane run, unless people are asked there and its state does not want that.
func (s *stepper) turnLane(path []int, moves bool, now time.Time) {
	lane := *s.out.Run.lane(path).Lane
	if lane.Clock.turn(moves && (!lane.Approval.Pending() || s.m.State(lane.State).RunsAsked), now) {
		s.out.Run.setLane(path, lane)
	}
}

// turn lets the clock run or stand still, and reports whether that changes it.
func (c *Clock) turn(runs bool, now time.Time) (changed bool) {
	if runs == c.Running() {
		return false
	}
	if runs {
		c.start(now)
	} else {
		c.stop(now)
	}
	return true
}
