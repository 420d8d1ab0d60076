package toolcall_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestToolsThatTakeCommands: S3.3. A tool that takes a command line or code is judged where a state
// restricts commands, by any name.
func TestToolsThatTakeCommands(t *testing.T) {
	t.Parallel()
	const line, code = `{"command": "rm x"}`, `{"code": "import os"}`
	for _, c := range []struct {
		tool, input string
		denied      bool
	}{
		{"Monitor", `{"command": "rm x", "description": "x", "timeout_ms": 1}`, true},
		{"Monitor", `{"command": "ls", "description": "x", "timeout_ms": 1, "persistent": true}`, false},
		{"Workflow", `{"script": "x"}`, true},
		{"Workflow", `{"scriptPath": "x"}`, true},
		{"REPL", code, true},
		{"container.exec", line, true},
		{"mcp__sh__execute", line, true},
		{"mcp__sh__run", line, true},
		{"mcp__sh__run_script", line, true},
		{"mcp__sh__run_script", `{"script": "deploy"}`, true},
		{"mcp__term__send_keys", `{"keys": "rm x"}`, true},
		{"mcp__term__write_to_terminal", `{"text": "rm x"}`, true},
		{"mcp__x__frobnicate", line, true},
		{"mcp__x__frobnicate", `{"cmd": "rm x"}`, true},
		{"mcp__x__frobnicate", `{"Command": "rm x"}`, true},
		{"mcp__x__frobnicate", `{"command": ["rm", "x"]}`, true},
		{"mcp__x__frobnicate", `{"command": "ls"}`, false},
		{"mcp__x__frobnicate", `{"command-line": "rm x"}`, true},
		{"mcp__x__frobnicate", `{"args": {"command": "rm x"}}`, true},
		{"mcp__x__frobnicate", `{"steps": [{"cmd": ["rm", "x"]}]}`, true},
		{"mcp__x__frobnicate", `{"pad": "` + strings.Repeat("x", 2<<20) + `", "command": "rm x"}`, true},
		{"mcp__x__frobnicate", `{"pad": ` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `, "command": "rm x"}`, true},
		{"mcp__x__exec-code", `{}`, true},
		{"mcp__x__frobnicate", code, true},
		{"mcp__x__frobnicate", `{"script": "rm x"}`, true},
		{"mcp__py__execute_python", code, true},
		{"exec_command", `{"cmd": "rm x"}`, true},
		{"exec_command", `{"cmd": "ls", "workdir": ".", "yield_time_ms": 1}`, false},
		// Tools that only look so.
		{"mcp__shop__apply", `{"code": "SAVE-10"}`, false},
		{"mcp__fx__rate", `{"code": 978}`, false},
		{"mcp__x__search", `{"query": "command"}`, false},
		{"Read", `{"file_path": "a"}`, false},
	} {
		for _, state := range []string{
			`{"allowed_tools": ["Read", "Bash", "` + c.tool + `"]}`,
			`{"allowed_commands": ["ls", "cd"]}`,
		} {
			m, run := inState(t, state, `{}`)
			v := decide(m, run, c.tool, c.input)
			if got := v.Decision == toolcall.Deny; got != c.denied {
				t.Errorf("%s: %s %.80s: %s %s", state, c.tool, c.input, v.Decision, v.Message(m, run))
			}
		}
		m, run := inState(t, `{}`, `{}`)
		if v := decide(m, run, c.tool, c.input); v.Code == toolcall.CodeCommandNotAllowed || v.Code == toolcall.CodeCommandWrites {
			t.Errorf("%s %s: %s where nothing is restricted", c.tool, c.input, v.Code)
		}
	}
}
