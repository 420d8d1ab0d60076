package toolcall_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestShellFailsClosed: S3.3. Until command lines are judged, a rule that would
// apply to one denies it; where none applies nothing changes.
func TestShellFailsClosed(t *testing.T) {
	t.Parallel()
	const unjudged = toolcall.CodeCommandUnparsable
	const ls = `{"command": "ls"}`
	for _, c := range []struct {
		state, tool, input string
		code               toolcall.Code
		says               string
	}{
		// allowed_commands, also empty, also without allowed_tools (R2).
		{`{"allowed_tools": ["Bash", "Edit"], "allowed_commands": ["ls"]}`, "Bash", ls, unjudged, "allowed_commands"},
		{`{"allowed_tools": ["Bash", "Edit"], "allowed_commands": []}`, "Bash", ls, unjudged, "allowed_commands"},
		{`{"allowed_commands": ["ls"]}`, "Bash", ls, unjudged, "allowed_commands"},
		{`{"allowed_commands": ["ls"]}`, "Read", ``, "", ""},
		// Write detection: allowed_tools with a shell and nothing that writes (R3).
		{`{"allowed_tools": ["Read", "Bash"]}`, "Bash", ls, unjudged, "must not write"},
		{`{"allowed_tools": ["Read", "Bash"]}`, "Read", ``, "", ""},
		{`{"allowed_tools": ["Bash", "Edit"], "disallowed_tools": ["Edit"]}`, "Bash", ls, unjudged, "must not write"},
		{`{"allowed_tools": ["Bash", "edit"]}`, "Bash", ls, unjudged, "must not write"},
		{`{"allowed_tools": ["Bash", "Edit"]}`, "Bash", ls, "", ""},
		{`{"allowed_tools": ["Bash", "Write"]}`, "Bash", ls, "", ""},
		{`{"allowed_tools": ["Bash", "apply_patch"]}`, "Bash", ls, "", ""},
		{`{"allowed_tools": ["Bash", "Notebook*"]}`, "Bash", ls, "", ""},
		{`{"allowed_tools": ["*"]}`, "Bash", ls, "", ""},
		{`{}`, "Bash", ls, "", ""},
		// blocked_env (R4).
		{`{"blocked_env": ["TOKEN"]}`, "Bash", ls, unjudged, "blocked_env"},
		{`{"allowed_tools": ["Bash", "Edit"], "blocked_env": ["TOKEN"]}`, "Bash", ls, unjudged, "blocked_env"},
		{`{"blocked_env": ["TOKEN"]}`, "Read", ``, "", ""},
		// The shell tool that the state names, and shells by other names.
		{`{"allowed_tools": ["run_it", "Bash", "Edit"], "allowed_commands": ["ls"], "allowed_commands_tool": "run_it"}`, "run_it", ls, unjudged, ""},
		{`{"allowed_tools": ["run_it", "Bash", "Edit"], "allowed_commands": ["ls"], "allowed_commands_tool": "run_it"}`, "Bash", ls, unjudged, ""},
		{`{"allowed_commands": ["ls"]}`, "bash", ls, unjudged, ""},
		{`{"allowed_commands": ["ls"]}`, "run_shell_command", ls, unjudged, ""},
		{`{"allowed_commands": ["ls"]}`, "RunInTerminal", ls, unjudged, ""},
		{`{"allowed_commands": ["ls"]}`, "mcp__desktop__execute_command", ls, unjudged, ""},
		{`{"allowed_commands": ["ls"]}`, "mcp__db__execute", ls, "", ""},
		// The gate comes first (S3 order).
		{`{"allowed_tools": ["Read"], "allowed_commands": ["ls"]}`, "Bash", ls, toolcall.CodeToolNotAllowed, ""},
		{`{"disallowed_tools": ["Bash"], "allowed_commands": ["ls"]}`, "Bash", `{}`, toolcall.CodeToolDisallowed, ""},
		// An input that is no command line.
		{`{"allowed_commands": ["ls"]}`, "Bash", ``, toolcall.CodeInvalidInput, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{}`, toolcall.CodeInvalidInput, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"cmd": "ls"}`, toolcall.CodeInvalidInput, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": ["ls"]}`, toolcall.CodeInvalidInput, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": {"x": 1}}`, toolcall.CodeInvalidInput, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": null}`, toolcall.CodeInvalidInput, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls", "command": "rm"}`, toolcall.CodeInvalidInput, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `"ls"`, toolcall.CodeInvalidInput, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"command": "ls"`, toolcall.CodeInvalidInput, "command"},
		{`{"allowed_commands": ["ls"]}`, "Bash", `{"Command": "ls"}`, toolcall.CodeInvalidInput, "command"},
	} {
		m, run := inState(t, c.state, `{}`)
		v := decide(m, run, c.tool, c.input)
		t.Logf("%s: %s %s", c.state, c.tool, c.input)
		want(t, m, run, v, c.code)
		if message := v.Message(m, run); !strings.Contains(message, c.says) {
			t.Errorf("the denial does not say %q: %s", c.says, message)
		}
	}
}

// TestEditLimitsFailClosed: S3.6. Until edits are measured, a limit on them
// denies them.
func TestEditLimitsFailClosed(t *testing.T) {
	t.Parallel()
	for state, says := range map[string]string{
		`{"max_edit_lines": 3}`:                              "max_edit_lines",
		`{"max_files_per_state": 2}`:                         "max_files_per_state",
		`{"max_edit_lines": 3, "max_files_per_state": 2}`:    "max_edit_lines",
		`{"context_budget_bytes": 1000}`:                     "context_budget_bytes",
		`{"allowed_tools": ["*"], "max_files_per_state": 1}`: "max_files_per_state",
	} {
		m, run := inState(t, state, `{}`)
		for _, tool := range []string{
			"Edit", "Write", "MultiEdit", "NotebookEdit", "write_file", "edit_file", "create_file", "apply_patch",
			"mcp__fs__write_file", "mcp__fs__edit_file", "str_replace_editor", "str_replace_based_edit_tool", "WRITE", "replace",
		} {
			v := decide(m, run, tool, `{"file_path": "a.go"}`)
			want(t, m, run, v, toolcall.CodeInvalidInput)
			if message := v.Message(m, run); !strings.Contains(message, says) || !strings.Contains(message, "this version") {
				t.Errorf("%s %s: %s", state, tool, message)
			}
		}
		for _, tool := range []string{"Read", "Grep", "mcp__fs__read_file", "Editor", "Rewrite", "credit"} {
			want(t, m, run, decide(m, run, tool, ``), "")
		}
	}
	m, run := inState(t, `{}`, `{}`)
	want(t, m, run, decide(m, run, "Edit", ``), "")
}
