package workflow_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestReservedNames: names that authors take for a protection are errors in every object that does not read them,
// and the message names the right field (S1.4).
func TestReservedNames(t *testing.T) {
	t.Parallel()
	const names = `calls only when unless facets timeout timeout_seconds after deadline max_duration stale remind not_before window allowed_paths
		denied_paths allowed_domains allowed_hosts readonly budget_usd max_cost change_freeze approvers`
	objects := map[string]string{
		"a state":           `"states": {"a": {NAME, "on": {"GO": "z"}}, "z": {"type": "final"}}`,
		"a final state":     `"states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final", NAME}}`,
		"a transition":      `"states": {"a": {"on": {"GO": {"target": "z", NAME}}}, "z": {"type": "final"}}`,
		"a branch":          `"states": {"a": {"on": {"GO": [{"target": "z", NAME}]}}, "z": {"type": "final"}}`,
		"meta":              `"meta": {NAME}, "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}`,
		"a guard":           `"guards": {"g": {"field": "x", "op": "exists", NAME}}, "states": {"a": {"on": {"GO": {"target": "z", "guard": "g"}}}, "z": {"type": "final"}}`,
		"a short guard":     `"guards": {"g": {"/x": 1, NAME}}, "states": {"a": {"on": {"GO": {"target": "z", "guard": "g"}}}, "z": {"type": "final"}}`,
		"an evidence":       `"evidence": {"e": {"approval": "a", NAME}}, "guards": {"g": {"evidence": "e"}}, "states": {"a": {"on": {"GO": {"target": "z", "guard": "g", "requires_approval": true}}}, "z": {"type": "final"}}`,
		"an interrupt":      `"interrupts": {"i": {"trigger": {"file_pattern": "x"}, "target": "h", NAME}}, "states": {"a": {"on": {"GO": "z"}}, "h": {"on": {"BACK": "$return"}}, "z": {"type": "final"}}`,
		"a trigger":         `"interrupts": {"i": {"trigger": {"file_pattern": "x", NAME}, "target": "h"}}, "states": {"a": {"on": {"GO": "z"}}, "h": {"on": {"BACK": "$return"}}, "z": {"type": "final"}}`,
		"a fork":            `"states": {"a": {"on": {"GO": {"fork": {"branches": {"x": {"initial": "b", "terminal": "c"}}, "on_complete": "z", NAME}}}}, "b": {"on": {"T": "c"}}, "c": {"type": "final"}, "z": {"type": "final"}}`,
		"an invoke":         `"states": {"a": {"on": {"GO": {"invoke": "w2", "on_complete": "z", NAME}}}, "z": {"type": "final"}}`,
		"an entry of calls": `"states": {"a": {"calls": [{"tool": "*", "only": {"/x": 1}, NAME}], "on": {"GO": "z"}}, "z": {"type": "final"}}`,
		"a command":         `"states": {"a": {"allowed_commands": [{"words": ["ls"], NAME}], "on": {"GO": "z"}}, "z": {"type": "final"}}`,
		"approval":          `"meta": {"approval": {"required": 1, NAME}}, "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}`,
		"the top":           `NAME, "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}`,
		"a jail":            `"states": {"a": {"jail": {"level": 1, NAME}, "on": {"GO": "z"}}, "z": {"type": "final"}}`,
	}
	// meant are the names that an object reads.
	meant := map[string]string{"a state": "calls", "a final state": "calls", "approval": "approvers", "an entry of calls": "only"}
	for object, template := range objects {
		base := strings.NewReplacer(", NAME", "", "NAME, ", "", "NAME", "").Replace(`{"id": "w", "initial": "a", ` + template + `}`)
		if _, problems := workflow.Parse([]byte(base)); problems.HasErrors() {
			t.Errorf("%s: %v", object, problems)
		}
		for name := range strings.FieldsSeq(names) {
			if meant[object] == name {
				continue
			}
			_, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", ` + strings.Replace(template, "NAME", `"`+name+`": 5`, 1) + `}`))
			said := ""
			for _, p := range problems {
				if p.Severity == document.SeverityError && strings.HasSuffix(p.Pointer, "/"+name) {
					said = p.Message
				}
			}
			if len(said) < 20 {
				t.Errorf("%s with %q: %v", object, name, problems)
			}
		}
	}
}
