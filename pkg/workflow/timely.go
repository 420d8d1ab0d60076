package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// timely refuses a transition that comes too early (S25.6), or outside of its window (S25.7).
func (m *Machine) timely(at *View, d *decision, c *Fire, now time.Time) *Rejection {
	if d.taken == nil {
		return nil
	}
	if left := d.taken.notBefore - at.Clock.Elapsed(now); d.taken.notBefore > 0 && left > 0 && !m.anyTime {
		return m.refusals().refused(*at, RejectTooEarly,
			"event %s refused in state %s: it is possible after %s in the state, in %s. No change was made; try it again then. %s",
			document.Quote(c.Event), document.Quote(at.State), ShortDuration(d.taken.notBefore), ShortDuration(roundUp(left)), m.State(at.State).moves)
	}
	if d.taken.window == "" || m.open(d.taken.window, c, now) {
		return nil
	}
	if d.outside = d.taken.outsideAsks && !m.approvalAdvisory(); d.outside && c.ApprovalID != "" {
		return nil
	}
	next := "it does not open again"
	if opens := m.definition.Windows.Opens(d.taken.window, now); !opens.IsZero() {
		next = "it opens at " + opens.Format(time.RFC3339)
	}
	return m.refusals().refused(*at, RejectOutsideWindow,
		"event %s refused in state %s: window %s is closed; %s. No change was made; try it again then, or ask an operator. %s",
		document.Quote(c.Event), document.Quote(at.State), document.Quote(d.taken.window), next, m.State(at.State).moves)
}

// open reports that a window is open.
func (m *Machine) open(window string, c *Fire, now time.Time) bool {
	if m.anyTime {
		return !c.Closed
	}
	return m.definition.Windows.Open(window, now)
}

// expired refuses an act that comes after the deadline of the run, which ends it at once.
func (m *Machine) expired(run *Run, cmd Command, now time.Time) *Rejection {
	switch cmd.(type) {
	case Fire, Divert, Bind, Grant, Force:
	default:
		return nil
	}
	if m.anyTime || m.definition.Meta.Deadline == nil || run.Deadline.IsZero() || run.Status.Ended() || now.Before(run.Deadline) {
		return nil
	}
	return m.refusals().refused(run.whole(), RejectRunNotRunning, "the deadline of the run, %s, is over, and it ends now; start a new run.",
		run.Deadline.UTC().Format(time.RFC3339))
}
