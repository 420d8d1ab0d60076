package consent

import "time"

// NextDue returns when Tick must be called next; zero for never.
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

// Restore asks again after a restore from a backup of a time: people may have decided since,
// and that is lost. It happens once for a backup.
func (a *Approval) Restore(of time.Time) Result {
	if a.Status.Final() || !a.RestoredOf.Before(of) {
		return unchanged(a)
	}
	r := a.begin()
	next := r.Approval
	next.RestoredOf = of
	next.Reason = "the store was restored from a backup of " + stamp(of) + ", and later decisions are lost"
	r.announce(Event{Type: EventRestored, Eligible: next.Asked(next.Escalated), Reason: next.Reason})
	return *r
}

// Tick carries out due changes: the approval expires, or the fallback approvers are asked
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
