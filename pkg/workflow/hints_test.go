package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// S15.12: a state without a model has the one of meta.default_model.
func TestDefaultModel(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "meta": {"default_model": "small"}, "states": {
		"a": {"model": "large", "on": {"GO": "b"}}, "b": {"on": {"GO": "c"}}, "c": {"model": 5, "on": {"GO": "z"}}, "z": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	for i, want := range []string{"large", "small", "small", "small"} {
		if got := def.States[i].Model; got != want {
			t.Errorf("%s has the model %q, want %q", def.States[i].Name, got, want)
		}
	}
}

// S1.4: where unknown fields are errors, a name that sounds like protection is met by how to get its effect.
func TestProtectiveNamesInTransitions(t *testing.T) {
	t.Parallel()
	for name, advice := range map[string]string{
		"timeout": `in a state write "after"`, "after": `"not_before" or "window"`, "when": "use a guard", "approvers": "meta.approval",
		"budget_usd": "budget_limit", "allowed_paths": `"calls": [{"capability": "*", "only": {"writes"`, "max_retries": "use one of the fields",
	} {
		for where, on := range map[string]string{
			"a transition": `{"target": "z", "` + name + `": 1}`, "a branch of a list": `[{"target": "z", "` + name + `": 1}]`,
		} {
			_, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": ` + on + `}}, "z": {"type": "final"}}}`))
			if text := fmt.Sprint(problems); !strings.Contains(text, advice) || !strings.Contains(text, "has no effect here") {
				t.Errorf("%s in %s: %s", name, where, text)
			}
		}
	}
	if _, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": {"target": "z", "colour": 1}}}, "z": {"type": "final"}}}`)); strings.Contains(fmt.Sprint(problems), "protects") {
		t.Error(problems)
	}
}
