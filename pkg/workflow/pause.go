package workflow

import (
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// pause stops a run, or holds it for a cause (S6.2). A run that is stopped already takes a
// hold, unless it is held for the same cause.
func (m *Machine) pause(run *Run, c Pause, now time.Time) Result {
	again := run.Status.Stopped() && c.Hold != "" && !run.HeldFor(c.Hold)
	if !run.Status.moves() && !again {
		return rejected(run, c, now, m.refusals().notRunning(run.whole(), "pause"))
	}
	s := m.begin(run, c.Actor, now)
	s.hold(run, c)
	return s.finish()
}

// hold pauses the run, or holds it for a cause.
func (s *stepper) hold(run *Run, c Pause) {
	kind := EventPaused
	s.out.Run.Status = Paused
	if c.Hold != "" {
		kind, s.out.Run.Status = EventHeld, Held
		s.out.Run.Holds = append(slices.Clip(run.Holds), Hold{By: c.Actor, Cause: c.Hold, Reason: c.Reason, Since: s.out.Entry.Time})
		s.out.Entry.HoldCauses = []HoldCause{c.Hold}
	}
	s.stay(kind, c.Reason)
}

// resume lifts holds, and continues the paused run when none is left. That is a new
// entry of the state, in every lane: iterations begin again; context, transition
// count, return stack, fork and parked transitions stay. A run that the end of its
// session alone has held continues in the same entries, or its agent could begin
// them again by ending the session (S6.2).
func (m *Machine) resume(run *Run, c Resume, now time.Time) Result {
	var kept []Hold
	for _, h := range run.Holds {
		if !slices.Contains(c.Lifts, h.Cause) {
			kept = append(kept, h)
		}
	}
	switch {
	case run.Status.Ended():
		return rejected(run, c, now, m.refusals().notRunning(run.whole(), "resume"))
	case !run.Status.Stopped():
		return rejected(run, c, now, m.refusals().refused(run.whole(), RejectRunNotPaused,
			"resume refused: the run is %s in state %s, neither PAUSED nor HELD; continue with it.", run.Status, document.Quote(run.State)))
	case len(kept) > 0 && len(kept) == len(run.Holds):
		return rejected(run, c, now, m.refusals().notRunning(run.whole(), "resume"))
	}
	s := m.begin(run, c.Actor, now)
	s.out.Run.Holds, s.out.Entry.HoldCauses = kept, lifted(run.Holds, kept)
	if len(kept) > 0 {
		s.stay(EventHoldLifted, HeldBy(kept))
		return s.finish()
	}
	s.out.Run.Status = Running
	if !run.heldBySessionAlone() {
		run.eachLane(func(path []int) {
			next := *s.out.Run.lane(path).Lane
			next.Entry = s.newEntry()
			s.out.Run.setLane(path, next)
		})
	}
	s.stay(EventResumed, "")
	return s.finish()
}

// cancel ends a run, in spite of all that it waits for.
func (m *Machine) cancel(run *Run, c Cancel, now time.Time) Result {
	if run.Status.Ended() {
		return rejected(run, c, now, m.refusals().notRunning(run.whole(), "cancel"))
	}
	s := m.begin(run, c.Actor, now)
	s.out.Run.Status = Cancelled
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
