package toolcall_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestCalls judges calls by the conditions of a state (S21.10): every entry that is about the tool must
// hold, false has priority over doubt, and without facts all are in doubt.
func TestCalls(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "meta": {"enforcement": "always"}, "states": {
		"a": {"allowed_tools": ["mcp__db__query", "mcp__db__list", "Bash"], "calls": [
			{"tool": "mcp__db__*", "only": {"/region": "eu"}},
			{"tool": "mcp__db__query", "only": {"/limit": {"lte": 100}, "/ids/*": {"each": "some", "or": 0, "lt": 9}}},
			{"capability": "bash", "only": {"command": ["git log", "ls"]}},
			{"tool": "mcp__db__list", "only": {"any": [{"/page": 1}, {"all": [{"caller.role": "operator"}, {"caller.name": "kim"}]}]}}
		], "on": {"DONE": "z"}}, "z": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	run := &workflow.Run{Workflow: "w", WorkflowVersion: 1, ID: "r", Status: workflow.Running, Lane: workflow.Lane{State: "a", Entry: 1}}
	at := run.At("")
	for _, row := range []struct {
		tool, input string
		code        toolcall.Code
		says        string
	}{
		{"mcp__db__query", `{"region": "eu", "limit": 100, "ids": [1]}`, "", ""},
		{"mcp__db__query", `{"region": "eu", "limit": 100, "ids": []}`, toolcall.CodeCallNotAllowed, `/ids/* must be {"each":"some","or":0,"lt":9}, and there is none`},
		{"mcp__db__query", `{"region": "eu", "limit": 101, "ids": [1]}`, toolcall.CodeCallNotAllowed, `/limit must be {"lte":100}, and is 101`},
		{"mcp__db__query", `{"region": "us"}`, toolcall.CodeCallNotAllowed, `/region must be "eu", and is "us"`},
		{"mcp__db__query", `{"region": "eu", "ids": [1]}`, toolcall.CodeCallUnclear, "/limit, which is missing. Send it"},
		{"mcp__db__query", `{"region": "eu", "Region": "us", "limit": 1, "ids": [1]}`, toolcall.CodeCallUnclear, "region"},
		{"mcp__db__query", `{"region": "eu", "limit": "1", "ids": [1]}`, toolcall.CodeCallUnclear, "must be a number"},
		{"mcp__db__query", `{"region": "eu", "limit": 1, "limit": 2}`, toolcall.CodeInvalidInput, ""},
		{"mcp__db__list", `{"region": "eu", "page": 1}`, "", ""},
		{"mcp__db__list", `{"region": "eu", "page": 2}`, toolcall.CodeCallUnclear, "does not hold: /page must be 1, and is 2; it looks at facts that a call cannot change."},
		{"mcp__db__list", `{}`, toolcall.CodeCallUnclear, "/region"},
		{"mcp__db__drop", `{"region": "eu"}`, toolcall.CodeToolNotAllowed, ""},
		{"Bash", `{"command": "git log | ls"}`, "", ""},
		{"Bash", `{"command": "git log; cat x"}`, toolcall.CodeCallNotAllowed, "command"},
	} {
		call := toolcall.Call{Tool: row.tool, Input: []byte(row.input)}
		v := toolcall.Decide(m, &at, facet.InRun(m, &at, call))
		if v.Code != row.code || (v.Decision == toolcall.Allow) != (row.code == "") {
			t.Errorf("%s %s: %s %s, want %q", row.tool, row.input, v.Decision, v.Code, row.code)
		}
		if message := v.Message(m, &at); strings.Contains(message, "kim") || strings.Contains(message, "\"operator") {
			t.Errorf("%s %s: the agent learns who may call (S21.9): %s", row.tool, row.input, message)
		}
		if message := v.Message(m, &at); !strings.Contains(message, row.says) || strings.Contains(message, "..") {
			t.Errorf("%s %s: %s, want %q", row.tool, row.input, message, row.says)
		}
		if v := toolcall.Decide(m, &at, call); v.Decision == toolcall.Allow {
			t.Errorf("%s %s is allowed without facts", row.tool, row.input)
		}
	}
}
