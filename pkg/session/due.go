package session

import "time"

// NextDue returns when Tick must be called next, or Cleaned when Cleanup is set; zero for
// never.
func (s *Session) NextDue() time.Time {
	if s.Cleanup {
		return s.EndedAt
	}
	t := s.Task
	switch {
	case t == nil:
		return s.Deadline
	case t.Claimed():
		return first(t.Deadline, t.Expires)
	case t.Ready:
		return first(s.Deadline, t.Deadline)
	default:
		return first(s.Deadline, t.Deadline, t.Due)
	}
}

// first returns the earliest of times, of which any may be none.
func first(times ...time.Time) time.Time {
	var earliest time.Time
	for _, at := range times {
		if !at.IsZero() && (earliest.IsZero() || at.Before(earliest)) {
			earliest = at
		}
	}
	return earliest
}

// due reports whether a time has come; the zero time never has.
func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// Tick carries out due changes: a task that may be taken, a claim that has lapsed, an
// attempt that took too long (S11.3). When more than one thing is due, it does the first;
// NextDue then asks for another call.
func (s *Session) Tick(c Clock) Result {
	t := s.Task
	switch {
	case !t.Claimed() && due(s.Deadline, c.Now):
		cmd := Stop{}
		if s.Update == UpdatePending {
			// The caller that asked for the report in place has not come back: that is an attempt,
			// and the next one begins there too.
			cmd = Stop{InPlace: true, Error: "the agent did not come back within " + c.config().AttemptTimeout.String()}
		}
		r := s.begin(c)
		r.endWork(cmd, c)
		return r.finish(c)
	case t == nil:
		return unchanged(s)
	case due(t.Deadline, c.Now):
		// Also while no runner has it, so that an attempt whose runners die ends.
		r := s.begin(c)
		r.announceTask(TaskDropped, t)
		r.forget()
		if !t.Stopped {
			r.endWork(Stop{Error: "the agent did not stop within " + c.config().AttemptTimeout.String()}, c)
		}
		return r.finish(c)
	case t.Claimed() && due(t.Expires, c.Now):
		r := s.begin(c)
		r.announceTask(TaskLapsed, t)
		r.giveAgain(c.Now)
		return r.finish(c)
	case !t.Claimed() && !t.Ready && due(t.Due, c.Now):
		r := s.begin(c)
		r.Session.Task.Ready = true
		r.Changed = true
		return *r
	default:
		return unchanged(s)
	}
}
