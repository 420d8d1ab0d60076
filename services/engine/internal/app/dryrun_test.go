package app

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// A dry run says what an event would come to, and leaves nothing behind: no version, no
// event, no question to humans, and no answer to a repeat.
func TestDryRun(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run := g.start("shipping", "s")
	before := g.types(run)
	dry := func(event string) *Outcome {
		t.Helper()
		outcome, err := g.Moves.Transition(t.Context(), agent, Transition{Target: ports.Target{RunID: run}, Event: event, IdempotencyKey: "k", DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		return outcome
	}
	if out := dry("SHIP"); out.Rejection != nil || out.ApprovalID != notAsked || out.View.Run.Status != workflow.AwaitingApproval {
		t.Errorf("of an event that humans approve: %+v", out)
	}
	if out := dry("NOTHING"); out.Rejection == nil || out.Rejection.Code != workflow.RejectUnknownEvent {
		t.Errorf("of an unknown event: %+v", out)
	}
	if out := dry("LOOK"); out.Rejection != nil || !out.Changed || out.View.Run.Version != 2 {
		t.Errorf("of an event: %+v", out)
	}
	if view := g.is(run, workflow.Running, "ready"); view.Version != 1 || g.types(run) != before || len(g.humans.asked) != 0 {
		t.Errorf("the run is at version %d after %s, and humans are asked %v", view.Version, g.types(run), g.humans.asked)
	}
	outcome, err := fire(g.App, agent, run, "LOOK", "", "k")
	if err != nil || outcome.Rejection != nil || !outcome.Changed {
		t.Errorf("the event itself: %+v, %v", outcome, err)
	}
	if _, err := g.Moves.Transition(t.Context(), agent, Transition{Target: ports.Target{RunID: run}, Event: "LOOK", ExpectedVersion: 1, DryRun: true}); err == nil {
		t.Error("a dry run on another version is answered")
	}
}
