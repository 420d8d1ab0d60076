package session

import "time"

// NextDue is when Tick must be called next, or Cleaned when Cleanup is set; zero
// for never.
func (s *Session) NextDue() time.Time {
	if s.Cleanup {
		return s.EndedAt
	}
	t := s.Task
	switch {
	case t == nil:
		return time.Time{}
	case t.Leased():
		return earlier(t.Deadline, t.Expires)
	case t.Ready:
		return t.Deadline
	default:
		return earlier(t.Deadline, t.Due)
	}
}

// earlier is the first of two times, of which a may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// due is true for a time that has come; the zero time never does.
func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// Tick does what is due: a task that may be taken, a lease that has lapsed, an
// attempt that took too long (S11.3). When more than one thing is due, it does the
// first; NextDue then tells to call it again.
func (s *Session) Tick(c Clock) Result {
	t := s.Task
	switch {
	case t == nil:
		return unchanged(s)
	case due(t.Deadline, c.Now):
		// Also while no runner has it, so that an attempt whose runners die ends.
		r := s.begin(c)
		r.announceTask(TaskDropped, t)
		r.forget()
		if !t.Stopped {
			r.stop(Stop{Error: "the agent did not stop within " + c.config().AttemptTimeout.String()}, c)
		}
		return r.finish(c)
	case t.Leased() && due(t.Expires, c.Now):
		r := s.begin(c)
		r.announceTask(TaskLapsed, t)
		r.giveAgain(c.Now)
		return r.finish(c)
	case !t.Leased() && !t.Ready && due(t.Due, c.Now):
		r := s.begin(c)
		r.Session.Task.Ready = true
		r.Changed = true
		return *r
	default:
		return unchanged(s)
	}
}
