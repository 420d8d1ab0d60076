package verify_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// ruled are the rules of a state, and what goes with the definition.
var ruled = []string{
	``, `"allowed_tools": []`, `"allowed_tools": ["Read"]`, `"allowed_tools": ["Read", "Bash"]`, `"allowed_tools": ["Bash", "Edit"]`, `"allowed_tools": ["mcp__ci__*"]`,
	`"allowed_tools": ["*"]`, `"disallowed_tools": ["Write"]`, `"disallowed_tools": ["Bash"]`, `"disallowed_tools": ["mcp__*"]`,
	`"allowed_commands": []`, `"allowed_commands": ["*"]`, `"allowed_commands": ["git"]`, `"allowed_commands": ["git status"]`, `"allowed_commands": ["git *"]`,
	`"allowed_commands": ["rm"]`, `"allowed_commands": ["*", "rm"]`, `"allowed_commands": ["python3 *", "make"]`, `"allowed_commands": ["sh -c *"]`,
	`"allowed_tools": ["Read", "Bash"], "allowed_commands": ["*"]`, `"allowed_tools": ["Read", "Bash"], "allowed_commands": ["rm"]`,
	`"allowed_tools": ["Read", "Bash"], "allowed_commands": ["*", "rm"]`, `"allowed_tools": ["Read", "Bash"], "allowed_commands": ["git"]`,
	`"allowed_tools": ["Read", "Bash"], "allowed_commands": ["git commit"]`, `"allowed_tools": ["Read", "Bash"], "allowed_commands": ["make"]`,
	`"allowed_tools": ["Read", "Bash"], "allowed_commands": ["make"], "opaque_commands": "deny"`, `"allowed_tools": ["Read", "Bash"], "opaque_commands": "deny"`,
	`"allowed_commands": ["ls"], "allowed_commands_tool": "Shell"`, `"allowed_commands": ["ls"]`, `"allowed_tools": ["Shell"], "allowed_commands_tool": "Shell"`,
	`"blocked_env": ["TOKEN"]`, `"blocked_env": ["TOKEN"], "allowed_commands": ["printenv TOKEN", "env", "cat *"]`, `"blocked_env": ["TOKEN"], "allowed_commands": ["*"]`,
	`"blocked_env": ["HOME"]`, `"env_overrides": {"PATH": "/bin"}`, `"max_edit_lines": 2`, `"max_files_per_state": 1`, `"max_iterations": 3`,
	`"jail": 2`, `"allowed_tools": ["Read", "Bash"], "jail": {"level": 1, "hosts": ["a.example"], "write": ["out"]}`,
}

var asked = []string{
	`Read {}`, `Write {"file_path":"a","content":"b"}`, `Edit {"file_path":"a","old_string":"b","new_string":"1\n2\n3\n4"}`, `Edit {"file_path":"a"}`, `WebFetch {}`, `mcp__ci__go {}`, `mcp__db__go {}`,
	`Bash {"command":"git status"}`, `Bash {"command":"git commit -m x"}`, `Bash {"command":"git status && rm -rf a"}`, `Bash {"command":"rm a"}`, `Bash {"command":"ls"}`,
	`Bash {"command":"ls > a"}`, `Bash {"command":"make"}`, `Bash {"command":"python3 x.py"}`, `Bash {"command":"sh -c 'rm a'"}`, `Bash {"command":"echo $TOKEN"}`,
	`Bash {"command":"printenv TOKEN"}`, `Bash {"command":"env"}`, `Bash {"command":"cat $TOKEN"}`, `Bash {"command":"TOKEN=1 ls"}`, `Bash {"command":"$(rm a)"}`,
	`Bash {"command":"unheard-of a"}`, `Bash {}`, `Shell {"command":"ls"}`, `Shell {"command":"rm a"}`, `Shell {"command":"git status"}`, `Bash {"command":"cat a"}`, `Bash {"command":"env rm a"}`,
}

// Of every two states: what a plan proves to be no gain allows no call that was denied (S17.3).
func TestNoCallIsGainedUnseen(t *testing.T) {
	t.Parallel()
	machine := func(rules string, version int64) *workflow.Machine {
		comma := ""
		if rules != "" {
			comma = ", "
		}
		return workflow.Compile(mustParse(t, fmt.Sprintf(`{"id": "w", "initial": "a", "states": {"a": {%s%s"on": {"GO": "z"}}, "z": {"type": "final"}}}`, rules, comma)), version)
	}
	decide := func(m *workflow.Machine) (allowed []bool) {
		run := m.Start(workflow.StartParams{ID: "run_1", Context: document.ObjectValue(nil)}, "agent", noon).Run
		at := run.At("")
		for _, call := range asked {
			var tool string
			var input json.RawMessage
			if _, err := fmt.Sscanf(call, "%s", &tool); err != nil {
				t.Fatal(err)
			}
			input = json.RawMessage(call[len(tool)+1:])
			allowed = append(allowed, toolcall.Decide(m, &at, toolcall.Call{Tool: tool, Input: input}).Decision == toolcall.Allow)
		}
		return allowed
	}
	answers := make([][]bool, len(ruled))
	for i, rules := range ruled {
		answers[i] = decide(machine(rules, 1))
	}
	proved, gained := 0, 0
	for i, was := range ruled {
		for j, is := range ruled {
			plan := migrate.New(&migrate.Migration{From: machine(was, 1), To: machine(is, 2)}, explore.Bounds{MaxStates: 100})
			if plan.Verdict != verify.Proved {
				gained++
				continue
			}
			proved++
			for k, call := range asked {
				if answers[j][k] && !answers[i][k] {
					t.Errorf("{%s} becomes {%s}, which is said to allow nothing new: %s", was, is, call)
				}
			}
		}
	}
	if proved < len(ruled)*3 || gained < len(ruled)*3 {
		t.Errorf("%d proved, %d not", proved, gained)
	}
}
