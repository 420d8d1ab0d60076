package workflow_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// S17.2: an agreement of humans counts in another version only where it is the same
// question about the same transition.
func TestAgreementMovesWithTheSameWay(t *testing.T) {
	t.Parallel()
	const text = `{
		"id": "w", "initial": "a", "context": {"n": 1}, "meta": {"approval_mode": "ui"},
		"states": {
			"a": {"on": {"ASK": {"target": "b", "guard": "g", "requires_approval": true, "approval_message": "ship?"}, "GO": "c"}},
			"b": {"on": {"BACK": "a", "GO": "c"}}, "c": {"on": {"END": "done"}}, "done": {"type": "final"}
		},
		"guards": {"g": {"field": "n", "op": "lt", "value": 5}}, "evidence": {"yes": {"approval": "a"}}
	}`
	compile := func(text string, version int64) *workflow.Machine {
		def, problems := workflow.Parse([]byte(text))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		return workflow.Compile(def, version)
	}
	old := compile(text, 1)
	run := old.Start(workflow.StartParams{ID: "run"}, "x", at).Run
	run = old.Step(&run, workflow.Fire{Event: "ASK", ApprovalID: "apr_1", Actor: "x"}, at).Run
	run = old.Step(&run, workflow.Grant{ApprovalID: "apr_1", Actor: "alice"}, at).Run
	if run.State != "b" || len(run.Approved) != 1 {
		t.Fatalf("%+v", run)
	}
	for _, c := range []struct {
		name, was, is string
		states        map[string]string
		kept          bool
	}{
		{name: "the same", kept: true},
		{name: "something else is changed", was: `"BACK": "a", `, kept: true},
		{name: "the state has another name", was: `"b"`, is: `"next"`, states: map[string]string{"b": "next"}, kept: true},
		{name: "it leads elsewhere", was: `"target": "b"`, is: `"target": "c"`},
		{name: "other words", was: `ship?`, is: `deploy?`},
		{name: "another bound", was: `"value": 5`, is: `"value": 500`},
		{name: "no guard", was: `"guard": "g", `},
		{name: "nobody is asked there", was: `"guard": "g", "requires_approval": true, "approval_message": "ship?"}, "GO": "c"`, is: `"guard": "g"}, "GO": {"target": "c", "requires_approval": true}`},
		{name: "others are asked", was: `"approval_mode": "ui"`, is: `"approval_mode": "ui", "approval": {"required": 2}`},
	} {
		changed := strings.ReplaceAll(text, c.was, c.is)
		if c.was == "" {
			changed = text
		}
		out := old.Step(&run, workflow.Migrate{To: compile(changed, 2), States: c.states, Actor: "olga"}, at)
		if out.Rejection != nil {
			t.Errorf("%s: %s", c.name, out.Rejection.Message)
			continue
		}
		if kept := len(out.Run.Approved) == 1; kept != c.kept {
			t.Errorf("%s: kept %t, want %t: %s", c.name, kept, c.kept, out.Entry.Reason)
		}
	}
}

// S17.4: a move by a plan alone is of a run that was never moved, also when the run has come back to
// its version since the plan was held against it.
func TestUnmovedRunsOnly(t *testing.T) {
	t.Parallel()
	const text = `{"id": "w", "initial": "a", "states": {"a": {"on": {"END": "done"}}, "done": {"type": "final"}}}`
	def, problems := workflow.Parse([]byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	one, two := workflow.Compile(def, 1), workflow.Compile(def, 2)
	run := one.Start(workflow.StartParams{ID: "run"}, "x", at).Run
	alone := workflow.Migrate{From: 1, To: two, Unmoved: true, Actor: "olga"}
	if out := one.Step(&run, alone, at); !out.Changed {
		t.Errorf("a run that was never moved: %+v", out.Rejection)
	}
	run = one.Step(&run, workflow.Migrate{To: two, Actor: "olga"}, at).Run
	run = two.Step(&run, workflow.Migrate{To: one, Actor: "olga"}, at).Run
	if out := one.Step(&run, alone, at); out.Changed || out.Rejection == nil || !strings.Contains(out.Rejection.Message, "another version") {
		t.Errorf("a run that has come back: %+v", out)
	}
}
