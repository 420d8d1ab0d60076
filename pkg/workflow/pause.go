package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// pause stops a run (S6.2). An operator can take hold of one that its agent has
// paused; nothing else is paused twice.
func (m *Machine) pause(run *Run, c Pause, now time.Time) Result {
	switch {
	case run.Status.moves():
	case run.Status == Paused && c.Operator && !run.Held:
	default:
		return rejected(run, c, now, m.notRunning(run, "pause"))
	}
	s := m.begin(run, c.Actor, now)
	s.out.Run.Status, s.out.Run.Held = Paused, c.Operator
	s.stay(EventPaused, c.Reason)
	return s.finish()
}

// resume continues a paused run. It is a new entry of the state, in every lane:
// iterations begin again; context, transition count, return stack, fork and parked
// transitions stay (S6.2).
func (m *Machine) resume(run *Run, c Resume, now time.Time) Result {
	switch {
	case run.Status.Ended():
		return rejected(run, c, now, m.notRunning(run, "resume"))
	case run.Status != Paused:
		return rejected(run, c, now, m.refused(run, RejectRunNotPaused,
			"resume refused: the run is %s in state %s, not PAUSED; go on with it.", run.Status, document.Quote(run.State)))
	}
	s := m.begin(run, c.Actor, now)
	s.out.Run.Status, s.out.Run.Held = Running, false
	run.eachLane(func(path []int) {
		at := s.out.Run.project(path)
		next := at.lane()
		next.Entry = s.newEntry()
		s.out.Run.setLaneAt(path, next)
	})
	s.stay(EventResumed, "")
	return s.finish()
}

// cancel ends a run, whatever it waits for.
func (m *Machine) cancel(run *Run, c Cancel, now time.Time) Result {
	if run.Status.Ended() {
		return rejected(run, c, now, m.notRunning(run, "cancel"))
	}
	s := m.begin(run, c.Actor, now)
	s.out.Run.Status, s.out.Run.Held = Cancelled, false
	s.out.Run.Fork, s.out.Run.Child = nil, nil
	s.stay(EventCancelled, c.Reason)
	return s.finish()
}

// stay records a change that leaves the run in its state.
func (s *stepper) stay(kind, reason string) {
	run := &s.out.Run
	e := &s.out.Entry
	e.Type, e.From, e.To, e.Reason = kind, run.State, run.State, reason
	s.announce(Event{Type: kind, From: run.State, To: run.State, Reason: reason})
}
