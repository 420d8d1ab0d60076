package rules_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestRulesOfCommandsJudgeAllThatRunsThem: S7.1. Rules of a policy about bash restrict every call
// that runs commands by its tool's name or its input, and allow none of them.
func TestRulesOfCommandsJudgeAllThatRunsThem(t *testing.T) {
	t.Parallel()
	const padding = 2 << 20
	for _, c := range []struct {
		tool, input string
		runs        bool
	}{
		{"Runner", `{"command": "ls"}`, true},
		{"mcp__x__frobnicate", `{"command": "ls"}`, true},
		{"mcp__x__frobnicate", `{"cmd": "ls"}`, true},
		{"mcp__x__frobnicate", `{"COMMAND": "ls"}`, true},
		{"mcp__x__frobnicate", `{"command-line": "ls"}`, true},
		{"mcp__x__frobnicate", `{"shell_command": "ls"}`, true},
		{"mcp__x__frobnicate", `{"\u0063ommand": "ls"}`, true},
		{"mcp__x__frobnicate", `{"command": ["ls", "-l"]}`, true},
		{"mcp__x__frobnicate", `{"commands": ["ls"]}`, true},
		{"mcp__x__frobnicate", `{"command": {"text": "ls"}}`, true},
		{"mcp__x__frobnicate", `{"args": {"command": "ls"}}`, true},
		{"mcp__x__frobnicate", `{"steps": [{"note": 1}, {"run": {"cmd": "ls"}}]}`, true},
		{"mcp__x__frobnicate", `{"spec": {"containers": [{"command": ["sh", "-c"]}]}}`, true},
		{"mcp__x__frobnicate", `{"code": "import os"}`, true},
		{"mcp__x__frobnicate", `{"script": "deploy"}`, true},
		{"mcp__x__frobnicate", `{"argv": ["ls"]}`, true},
		{"mcp__x__frobnicate", `{"pad": "` + strings.Repeat("x", padding) + `", "command": "ls"}`, true},
		{"mcp__x__frobnicate", strings.Repeat(`{"a":`, 80) + `1` + strings.Repeat(`}`, 80), true}, // unknowable
		{"mcp__x__frobnicate", `{"command": "ls"`, true},
		{"mcp__x__frobnicate", `{"a": 1, "a": 2}`, true},
		{"mcp__x__execute", ``, true},
		{"mcp__py__execute_python", ``, true},
		{"mcp__x__exec-code", ``, true},
		{"REPL", `{}`, true},
		{"Workflow", `{}`, true},
		{"Monitor", `{}`, true},
		// Calls that only look so.
		{"mcp__x__frobnicate", ``, false},
		{"mcp__x__frobnicate", `{}`, false},
		{"mcp__x__search", `{"query": "command"}`, false},
		{"mcp__x__frobnicate", `{"text": "{\"command\": 1}"}`, false},
		{"mcp__shop__apply", `{"code": "SAVE-10"}`, false},
		{"mcp__notion__append", `{"blocks": [{"type": "code", "code": {"rich_text": []}}]}`, false},
		{"mcp__x__frobnicate", `{"on": {"command": true}}`, false},
		{"mcp__fs__write_file", `{"path": "a", "content": "b"}`, false},
		{"str_replace_based_edit_tool", `{"command": "view", "path": "a"}`, false},
		{"SlashCommand", `{"command": "/review"}`, false},
		{"Read", `{"file_path": "a"}`, false},
	} {
		call := rules.Call{Tool: c.tool, Input: []byte(c.input), Principal: "amir", Session: "s", Now: noon}
		shown := c.input[:min(len(c.input), 60)]
		for policy, restricted := range map[string]string{
			`"deny": [{"capability": "bash"}], "allow": [{"capability": "*"}]`: "DENY POLICY_DENIED /deny/0",
			`"deny": [{"capability": "ba*"}]`:                                  "DENY POLICY_DENIED /deny/0",
			`"ask": [{"capability": "bash"}]`:                                  "ASK APPROVAL_REQUIRED /ask/0",
		} {
			set := compile(t, `{"role": "agent", `+policy+`}`)
			v := set.Decide(call, nil)
			if got := decisionOf(&v) == restricted; got != c.runs {
				t.Errorf("%s: %s %s: %s", policy, c.tool, shown, decisionOf(&v))
			}
			if said := v.Explain(); c.runs && !strings.Contains(said, "runs commands") && v.Capability() != "bash" {
				t.Errorf("%s: %s", c.tool, said)
			}
			if why := set.Explain(call); why.Rules[0].Matches != c.runs {
				t.Errorf("%s: %s %s: the rule matches: %t", policy, c.tool, shown, why.Rules[0].Matches)
			}
		}
		limited := compile(t, `{"role": "agent", "allow": [{"capability": "bash", "rate_limit": {"max_calls": 1, "window_seconds": 60}}]}`)
		if v := limited.Decide(call, nil); len(v.Spends) == 1 != c.runs {
			t.Errorf("%s %s spends %d", c.tool, shown, len(v.Spends))
		}
		// To allow shells is not to allow every tool that has one.
		only := compile(t, `{"role": "agent", "default": "deny", "allow": [{"capability": "bash"}]}`)
		if v := only.Decide(call, nil); v.Decision == toolcall.Allow && v.Capability() != "bash" {
			t.Errorf("%s %s is allowed with bash", c.tool, shown)
		}
	}
}
