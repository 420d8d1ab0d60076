package consent

import "time"

// Consume uses a granted approval for the action of a digest. That works once,
// and for no other action than the one that was agreed to (S7.6, S9.2).
func (a *Approval) Consume(digest string, now time.Time) Result {
	switch {
	case a.Status != Granted:
		return a.refuse(CodeNotGranted, "%s, so it admits no call", a.Outcome())
	case !a.UsedAt.IsZero():
		return a.refuse(CodeUsed, "%s; it admits one action once, so ask again", a.Outcome())
	case a.Lapsed(now):
		return a.refuse(CodeLapsed, "%s; that time is over, so ask again", a.Outcome())
	case digest != a.Digest && a.Edit != nil && digest == a.Action.Digest():
		return a.refuse(CodeOtherAction, "%s; do it with that data", a.Outcome())
	case digest != a.Digest:
		return a.refuse(CodeOtherAction, "%s, for a different action; request this one", a.Outcome())
	}
	r := a.begin()
	r.Approval.UsedAt = now
	r.announce(Event{Type: EventUsed})
	return *r
}

// UseAgain returns the use of a used approval by another action, since the first failed.
func (a *Approval) UseAgain(now time.Time) Result {
	r := a.begin()
	r.Approval.UsedAt = now
	r.announce(Event{Type: EventUsed})
	return *r
}

// LapsesAt returns when an unused grant expires: as long after the decision as people had
// time for it. It is zero for others, and for grants that a run waits for: those are used
// as soon as the run can continue.
func (a *Approval) LapsesAt() time.Time {
	if a.Status != Granted || a.Action.Kind != ToolCall || !a.UsedAt.IsZero() {
		return time.Time{}
	}
	return a.DecidedAt.Add(a.Terms.TTL)
}

// Lapsed reports that a grant was not used in time.
func (a *Approval) Lapsed(now time.Time) bool {
	at := a.LapsesAt()
	return !at.IsZero() && !now.Before(at)
}

// Void notes that the granted action cannot be done any more, such as a transition whose
// guards fail by now (S9.1). A used approval is not void.
func (a *Approval) Void(reason string, now time.Time) Result {
	switch {
	case a.Status != Granted:
		return a.refuse(CodeNotGranted, "%s, so it cannot become stale", a.Outcome())
	case !a.UsedAt.IsZero():
		return a.refuse(CodeUsed, "%s, so it cannot become stale", a.Outcome())
	}
	r := a.begin()
	// It was decided before, and by others: neither is changed.
	r.Approval.Status, r.Approval.Reason = Stale, reason
	r.announce(Event{Type: EventStale, Reason: reason})
	return *r
}

// Cancel withdraws the question, because the answer is no longer needed.
func (a *Approval) Cancel(by, reason string, now time.Time) Result {
	if a.Status.Final() {
		return a.decided()
	}
	r := a.begin()
	r.Approval.By, r.Approval.Reason = by, reason
	if reason == "" {
		r.Approval.Reason = "no reason was given"
	}
	r.end(Cancelled, EventCancelled, now)
	return *r
}
