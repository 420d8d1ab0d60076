package app

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// paying parks an event for as many people as its data needs.
const paying = `{"id": "paying", "initial": "ready", "meta": {"approval_mode": "ui", "approval": {"terms": [
	{"when": {"/n": {"gte": 100}}, "required": 2},
	{"when": {"/to": {"exists": true}}, "approvers": {"names": ["amir"]}}]}},
	"states": {"ready": {"on": {"PAY": {"target": "paid", "requires_approval": true}}}, "paid": {"type": "final"}}}`

// TestTermsOfAnEvent: S21.15: a transition is asked about under the terms that its data meets, and nobody edits that data. An event that
// only its sender could grant is refused.
func TestTermsOfAnEvent(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(paying), ""); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]int{`{"n": 7}`: 1, `{"n": 100}`: 2, `{"n": "7"}`: 2, ``: 2, `{"n": 7, "N": 200}`: 2} {
		run := g.start("paying", "")
		id := g.park(run, "PAY", data)
		asked := g.humans.asked["default/"+id]
		if asked == nil || asked.Editable || asked.Terms.Required != want || (len(asked.Terms.Also) == 1) != (want == 2) {
			t.Errorf("%s: asked for %+v", data, asked)
		}
	}
	run := g.start("paying", "")
	outcome, err := fire(g.App, agent, run, "PAY", `{"n": 7, "to": "eve"}`, "")
	if err != nil || outcome.Rejection == nil || !strings.Contains(outcome.Rejection.Message, "only you could grant it") {
		t.Errorf("%+v, %v", outcome, err)
	}
	g.is(run, workflow.Running, "ready")
}
