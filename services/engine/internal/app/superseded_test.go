package app

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// superseded is what takes the place of a run, whichever way it is asked for by id.
func superseded(t *testing.T, a *App, caller ports.Caller, runID string) string {
	t.Helper()
	var by [2]string
	for i, active := range []bool{false, true} {
		view, err := a.Reads.Get(t.Context(), caller, ports.Target{RunID: runID}, active)
		if err != nil {
			t.Fatal(err)
		}
		by[i] = view.SupersededBy
	}
	if by[0] != by[1] {
		t.Errorf("run %s is superseded by %q, and as the one in force by %q", runID, by[0], by[1])
	}
	return by[0]
}

// A run that is paused or has ended says which run its session drives instead, for its
// own rules no longer hold and the other's do.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	registerEscapes(t, g.App)
	want := func(what, runID, by string) {
		t.Helper()
		for _, caller := range []ports.Caller{agent, of("s", ""), operator} {
			if got := superseded(t, g.App, caller, runID); got != by {
				t.Errorf("%s: superseded by %q, want %q", what, got, by)
			}
		}
	}
	ended := g.start("free", "s")
	want("running", ended, "")
	accepted(t, g.App, ports.Target{RunID: ended}, "END", "", "")
	want("ended, and nothing else is driven", ended, "")
	paused := g.start("outer", "s")
	want("ended", ended, paused)
	child := accepted(t, g.App, ports.Target{RunID: paused}, "DELEGATE", "", "").Run.ID
	want("waiting for another", paused, "")
	if _, err := g.Moves.Pause(t.Context(), agent, paused, "", ""); err != nil {
		t.Fatal(err)
	}
	want("paused, and nothing else is driven", paused, "")
	want("paused with its parent", child, "")
	now := g.start("locked", "s")
	want("ended before", ended, now)
	want("paused before", paused, now)
	want("paused before with its parent", child, now)
	want("driven", now, "")
	if view, err := g.Reads.Get(t.Context(), agent, ports.Target{SessionID: "s"}, true); err != nil || view.SupersededBy != "" || view.Run.ID != now {
		t.Errorf("asked by session: %+v, %v", view, err)
	}
	// A session that takes a branch drives that run.
	fork := mustStart(t, g.App, agent, Start{Workflow: "nfork", SessionID: "F"}).ID
	accepted(t, g.App, ports.Target{SessionID: "F"}, "GO", "", "")
	if _, err := g.Branches.Bind(t.Context(), operator, Bind{RunID: fork, Branch: "b", SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	want("left for a branch", now, fork)
}

// S5.5, S2.9: a run that was invoked and has ended is no place to act in while the one
// that has invoked it continues, which may be nobody's session; nor afterwards, for that one
// may enforce always.
func TestEndedChildIsSuperseded(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"s", ""} {
		g := newGated(t)
		registerEscapes(t, g.App)
		parent := g.start("laround", session)
		child := accepted(t, g.App, ports.Target{RunID: parent}, "SUB", "", "").Run.ID
		if got := superseded(t, g.App, agent, child); got != "" {
			t.Errorf("while it is driven: by %q", got)
		}
		accepted(t, g.App, ports.Target{RunID: child}, "END", "", "")
		g.is(child, workflow.Completed, "y")
		if got := superseded(t, g.App, agent, child); got != parent {
			t.Errorf("ended: by %q, want %q", got, parent)
		}
		accepted(t, g.App, ports.Target{RunID: parent}, "END", "", "")
		if got := superseded(t, g.App, agent, child); got != parent {
			t.Errorf("after its parent: by %q, want %q", got, parent)
		}
	}
}
