package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// pause stops a run (S6.2). An operator can take hold of one that its agent has
// paused; nothing else is paused twice.
func (m *Machine) pause(run *Run, c Pause, now time.Time) Result {
	switch {
	case run.Status == Running:
	case run.Status == Paused && c.Operator && !run.Held:
	case run.Status == Waiting || run.Status == AwaitingApproval:
		return rejected(run, c, now, m.refused(run, RejectUnsupported,
			"pause refused: the run is %s, and this version of Interlock can not pause that; cancel it, or wait.", run.Status))
	default:
		return rejected(run, c, now, m.notRunning(run, "pause"))
	}
	return settle(run, c, now, EventPaused, c.Reason, func(next *Run) {
		next.Status, next.Held = Paused, c.Operator
	})
}

// resume continues a paused run. It is a new entry of the state: iterations
// begin again, context and transition count stay (S6.2).
func (m *Machine) resume(run *Run, c Resume, now time.Time) Result {
	switch {
	case run.Status.Ended():
		return rejected(run, c, now, m.notRunning(run, "resume"))
	case run.Status != Paused:
		return rejected(run, c, now, m.refused(run, RejectRunNotPaused,
			"resume refused: the run is %s in state %s, not PAUSED; go on with it.", run.Status, document.Quote(run.State)))
	}
	return settle(run, c, now, EventResumed, "", func(next *Run) {
		next.Status, next.Held = Running, false
		next.Entry++
	})
}

// cancel ends a run, whatever it waits for.
func (m *Machine) cancel(run *Run, c Cancel, now time.Time) Result {
	if run.Status.Ended() {
		return rejected(run, c, now, m.notRunning(run, "cancel"))
	}
	return settle(run, c, now, EventCancelled, c.Reason, func(next *Run) {
		next.Status, next.Held = Cancelled, false
	})
}

// settle builds the outcome of a change that stays in its state.
func settle(run *Run, cmd Command, now time.Time, kind, reason string, change func(*Run)) Result {
	out := Result{Run: *run, Changed: true}
	change(&out.Run)
	out.Run.Version++
	out.Run.UpdatedAt = now
	out.Entry = entryOf(&out.Run, kind, cmd.actor(), now)
	out.Entry.Reason = reason
	out.Events = []Event{{Type: kind, From: run.State, To: run.State, Reason: reason}}
	return out
}
