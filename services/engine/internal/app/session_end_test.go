package app

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// S11.1, S6.6: a session's end holds its run, so that nobody escapes its rules by
// ending; the session's resumption lifts that hold, once, and no other.
func TestSessionEndHoldsTheRun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	is := func(status workflow.Status, held bool) {
		t.Helper()
		now, err := a.loadRun(t.Context(), runKey("default", run.ID))
		if err != nil || now.Status != status || now.Held != held {
			t.Fatalf("the run is %s, held %t (%v); want %s, held %t", now.Status, now.Held, err, status, held)
		}
	}
	obey := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // events come at least once
		obey(a.SessionEnded(t.Context(), "default", "e1", "ses_1", "s"))
		is(workflow.Paused, true)
	}
	if _, err := a.Resume(t.Context(), agent, run.ID, ""); fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("an agent resumes it: %v", err)
	}
	obey(a.SessionResumed(t.Context(), "default", "r1", "ses_1", "s"))
	is(workflow.Running, false)
	obey(a.SessionEnded(t.Context(), "default", "e1", "ses_1", "s"))
	is(workflow.Running, false) // that end is past

	if _, err := a.Pause(t.Context(), operator, run.ID, "lunch", ""); err != nil {
		t.Fatal(err)
	}
	obey(a.SessionEnded(t.Context(), "default", "e2", "s"))
	obey(a.SessionResumed(t.Context(), "default", "r2", "s"))
	is(workflow.Paused, true) // an operator's hold is not the session's to lift
	obey(a.SessionEnded(t.Context(), "default", "e3", "unknown"))
}
