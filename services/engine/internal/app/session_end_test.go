package app

import (
	"strings"
	"testing"
	"time"

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
		if err != nil || now.Status != status || now.Held() != held {
			t.Fatalf("the run is %s, held %t (%v); want %s, held %t", now.Status, now.Held(), err, status, held)
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

	obey(a.SessionEnded(t.Context(), "default", "e4", "s"))
	if _, err := a.Resume(t.Context(), operator, run.ID, ""); err != nil {
		t.Fatal(err)
	}
	is(workflow.Running, false) // an operator lifts both
	entries, _, err := a.History(t.Context(), operator, run.ID, Position{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range entries {
		types = append(types, e.Type)
	}
	if got := strings.Join(types, " "); got != "started paused resumed paused held hold.lifted held resumed" {
		t.Errorf("history: %s", got)
	}
}

// S6.2, S9.1: whatever becomes of an approval while the session is gone, the run
// continues when the session is resumed.
func TestSessionEndWhileParked(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(g *gated, id string){
		"rejected": func(g *gated, id string) { g.humans.decide(g.T, id, false, "not today", "") },
		"expired":  func(g *gated, _ string) { g.clock.Advance(25 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated(t)
			run := g.start("shipping", "s")
			id := g.park(run, "SHIP", "")
			if err := g.SessionEnded(t.Context(), "default", "e1", "s"); err != nil {
				t.Fatal(err)
			}
			decide(g, id)
			g.settle(run, id, true)
			if now := g.is(run, workflow.Paused, "ready"); !now.HeldFor(workflow.HoldSessionEnd) {
				t.Fatalf("held by %v", now.Holds)
			}
			if err := g.SessionResumed(t.Context(), "default", "r1", "s"); err != nil {
				t.Fatal(err)
			}
			if now := g.is(run, workflow.Running, "ready"); now.Held() {
				t.Errorf("held by %v", now.Holds)
			}
		})
	}
}
