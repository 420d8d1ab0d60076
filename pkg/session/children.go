package session

// Receive takes the callback of a child (S11.4). It is delivered with all that
// wait, in one resumption, when no other is under way.
func (s *Session) Receive(cb Callback, c Clock) Result {
	if s.Status == Ended {
		return unchanged(s) // it was ended in spite of outstanding work
	}
	r := s.begin(c)
	r.Session.Callbacks = append(r.Session.Callbacks, cb)
	r.Events = append(r.Events, Event{Type: EventCallback, Callback: &cb})
	return r.finish(c)
}

// ChildOpened counts a child that has begun, or begun again. A session that has ended is
// open again for the child's callback, unless it was dismissed: that is not a child's to
// take back (S11.1).
func (s *Session) ChildOpened(c Clock) Result {
	r := s.begin(c)
	if !s.Dismissed {
		r.reopen()
	}
	r.Session.OpenChildren++
	r.Changed = true
	return *r
}

// ChildEnded counts a child that has ended.
func (s *Session) ChildEnded(c Clock) Result {
	r := s.begin(c)
	r.Session.OpenChildren = max(0, r.Session.OpenChildren-1)
	return r.finish(c)
}
