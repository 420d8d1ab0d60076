package app

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/personread"
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

// S24.6: a workflow whose terms admit only registered people warns when too few of them could answer.
func TestNobodyCanAnswer(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	of := func(g *gated, approval string) string {
		t.Helper()
		src := []byte(`{"id": "w", "initial": "a", "meta": {"approval_mode": "ui", "approval": ` + approval + `},
			"states": {"a": {"on": {"PAY": {"target": "z", "requires_approval": true}}}, "z": {"type": "final"}}}`)
		problems, err := g.Registry.Validate(t.Context(), "default", src, false)
		if err != nil {
			t.Fatal(err)
		}
		_, _, warnings, err := g.Registry.Register(t.Context(), operator, src, "")
		if err != nil || len(warnings) != len(problems) {
			t.Fatalf("registered with %v, and validated with %v: %v", warnings, problems, err)
		}
		for _, p := range problems {
			if p.Code == "NOBODY_CAN_ANSWER" {
				return p.Pointer + " " + p.Message
			}
		}
		return ""
	}
	if said := of(g, `{"required": 5}`); said != "" {
		t.Errorf("tokens decide, too: %s", said)
	}
	for approval, want := range map[string]string{
		`{"presence": true}`: "/meta/approval nobody can answer such an approval now: it needs 1 of the registered people (role approver), each with a passkey",
		`{"quorum": {"required": 2, "distinct": "person"}}`:           "/meta/approval nobody can answer such an approval now: it needs 2",
		`{"terms": [{"when": {"/n": {"gte": 9}}, "presence": true}]}`: "/meta/approval/terms nobody",
	} {
		if said := of(g, approval); !strings.HasPrefix(said, want) {
			t.Errorf("%s: %q", approval, said)
		}
	}
	g = newGated(t)
	if _, err := g.store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: personread.Key, Expect: store.Absent, Data: []byte(
		`{"people":{"ann":{"name":"ann","roles":["approver"],"namespaces":["default"],"credentials":[{"id":"k","kind":"passkey"}]}}}`)}}}); err != nil {
		t.Fatal(err)
	}
	if said := of(g, `{"presence": true}`); said != "" {
		t.Errorf("ann could: %s", said)
	}
	if said := of(g, `{"presence": true, "required": 2}`); !strings.Contains(said, "there are 1") {
		t.Errorf("two are needed: %q", said)
	}
}
