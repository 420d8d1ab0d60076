package workflow

import "time"

// divert leaves for the handler of an interrupt. It fires only where the lane can
// move, in a state that is not final, and not while an interrupt is handled
// already (S4.1, S4.4). It never fires into a branch: from elsewhere the branch's
// terminal would end the run, past the join. Validation reports such a target.
func (m *Machine) divert(run *Run, c Divert, now time.Time) Result {
	h := m.handlers[c.Interrupt]
	if h == nil {
		return unchanged(run, c.Actor, now, "the workflow has no such interrupt.")
	}
	at := run.locate(c.Branch, c.Lost)
	state := m.State(at.State)
	switch {
	case at.Over || at.Status != Running || !state.Known() || state.Final:
		return unchanged(run, c.Actor, now, "interrupts do not fire here.")
	case at.interrupted():
		return unchanged(run, c.Actor, now, "an interrupt is already being handled.")
	case h.inBranch:
		return unchanged(run, c.Actor, now, "the handler's state belongs to a fork's branch, which only the fork can enter; an interrupt needs its own state.")
	case state == h.target:
		return unchanged(run, c.Actor, now, "the run is already in the handler's state.")
	}
	s := m.begin(run, c.Actor, now)
	e := &s.out.Entry
	e.Type, e.Branch, e.From, e.To = EventInterrupted, at.Branch, at.State, h.target.Name
	e.Interrupt, e.Files = c.Interrupt, c.Files
	s.announce(Event{
		Type: EventInterrupted, From: at.State, To: h.target.Name, Branch: at.Branch,
		Interrupt: c.Interrupt, Files: c.Files,
	})
	next := *at.Lane
	next.Interrupt = &Interruption{Name: c.Interrupt, ReturnTo: at.State, Clock: at.Clock}
	next.Interrupt.Clock.stop(now)
	s.enter(&at, next, h.target)
	return s.finish()
}

// interrupted reports that a lane, or one that it was forked from, is in a handler:
// the branches of a handler's fork are part of it (S4.1).
func (at *cursor) interrupted() bool {
	l := &at.Run.Lane
	for _, i := range at.path {
		if l.Interrupt != nil {
			return true
		}
		l = &l.Fork.Branches[i].Lane
	}
	return l.Interrupt != nil
}

// handling reports that a state belongs to the handler of an interrupt.
func (m *Machine) handling(in *Interruption, state *StateView) bool {
	h := m.handlers[in.Name]
	return h != nil && h.states[state]
}
