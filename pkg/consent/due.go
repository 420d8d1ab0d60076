package consent

import "time"

// NextDue is when Tick must be called next; zero for never.
func (a *Approval) NextDue() time.Time {
	switch {
	case a.Status.Final():
		return time.Time{}
	case !a.Escalated && !a.EscalatesAt.IsZero():
		return a.EscalatesAt
	default:
		return a.ExpiresAt
	}
}

// Tick does what is due: the approval expires, or the fallback approvers are asked
// (S9.3, S9.5).
func (a *Approval) Tick(now time.Time) Result {
	switch {
	case a.Status.Final():
		return unchanged(a)
	case !now.Before(a.ExpiresAt):
		r := a.begin()
		r.end(Expired, EventExpired, now)
		return *r
	case !a.Escalated && a.escalated(now):
		r := a.begin()
		r.Approval.Escalated = true
		r.announce(Event{Type: EventEscalated, Eligible: a.Terms.Escalation.To})
		return *r
	default:
		return unchanged(a)
	}
}
