package toolcall_test

import (
	"encoding/json"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func lineInput(t *testing.T, line string) []byte {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	return input
}

// S9.6, R2: the pattern of a lease is an entry of allowed_commands, and whatever is in doubt
// does not match it.
func TestLeasePatternOfCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{"git push *", "git push origin main", true},
		{"git push *", "git push", false},
		{"git push", "git push", true},
		{"git push", "git push origin main", true},
		{"git push", "git pushx", false},
		{"git push *", "git pull origin", false},
		{"git push *", "git push origin a && git push origin b", true},
		{"git push *", "git push origin a; rm -rf /", false},
		{"git push *", "rm -rf / | git push origin", false},
		{"git push *", "git push $(rm x)", false},
		{"git push", "git push $(rm x)", false},
		{"git push *", "git push $BRANCH", false},
		{"git push *", "git push origin > out", false},
		{"git push *", "git push origin a >> ~/.bashrc", false},
		{"git push *", "FOO=1 git push origin", false},
		{"git push *", "GIT_SSH_COMMAND=evil git push origin", false},
		{"git push *", "export GIT_SSH_COMMAND=evil; git push origin", false},
		{"git push *", "sh -c 'git push origin'", false},
		{"git push *", "", false},
		{"git push *", "git push 'unclosed", false},
		{"git push *", "cd x && git push origin", false},
		{"npm run build", "npm run build", true},
	} {
		p, err := toolcall.NewLeasePattern(nil, "Bash", c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(nil, toolcall.Call{Tool: "Bash", Input: lineInput(t, c.line)}); got != c.want {
			t.Errorf("%q, %q: %t", c.pattern, c.line, got)
		}
	}
	p, err := toolcall.NewLeasePattern(nil, "Bash", "git push")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []toolcall.Call{
		{Tool: "Bash"},
		{Tool: "Bash", Input: []byte(`{}`)},
		{Tool: "Bash", Input: []byte(`{"command":"git push","env":{"A":"b"}}`)},
		{Tool: "Bash", Input: []byte(`{"command":"git push","cwd":"/elsewhere"}`)},
		{Tool: "powershell", Input: lineInput(t, "git push")},
		{Tool: "Write", Input: []byte(`{"command":"git push"}`)},
	} {
		if p.Match(nil, call) {
			t.Errorf("it matches %s %s", call.Tool, call.Input)
		}
	}
	for _, pattern := range []string{"@inert", "*", "* push", "g?t push", "[g]it push", " ", ""} {
		if _, err := toolcall.NewLeasePattern(nil, "Bash", pattern); err == nil {
			t.Errorf("%q names a program", pattern)
		}
	}
}

// S9.6: of a tool that runs no command lines, the pattern is of its input in canonical JSON.
func TestLeasePatternOfInputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, input string
		want           bool
	}{
		{`{"path":"docs/*"}`, `{ "path": "docs/a.md" }`, true},
		{`{"path":"docs/*"}`, `{"path":"src/a.go"}`, false},
		{`{"path":"docs/*"}`, `{"path":"docs/a","x":1}`, false},
		{`{"a":1,"b":[?]}`, `{"b":[2],"a":1.0}`, true},
		{`{"a":"?"}`, `{"a":"ä"}`, true},
		{`{"a":"?"}`, `{"a":"ab"}`, false},
		{`*`, `{"a":1}`, true},
		{`{}`, ``, true},
		{`*`, `[1]`, false},
		{`*`, `{"a":1`, false},
		{`{"a":[a-z]}`, `{"a":[1]}`, false},
	} {
		p, err := toolcall.NewLeasePattern(nil, "mcp__fs__write", c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(nil, toolcall.Call{Tool: "mcp__fs__write", Input: []byte(c.input)}); got != c.want {
			t.Errorf("%s, %s: %t", c.pattern, c.input, got)
		}
	}
	// A state may name a tool that runs command lines.
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a",
		"states": {"a": {"allowed_commands": ["ls"], "allowed_commands_tool": "mcp__fs__write", "on": {"X": "z"}}, "z": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	state := workflow.Compile(def, 1).State("a")
	p, err := toolcall.NewLeasePattern(nil, "mcp__fs__write", "*")
	if err != nil || p.Match(state, toolcall.Call{Tool: "mcp__fs__write", Input: lineInput(t, "rm x")}) {
		t.Errorf("a pattern of inputs matches a command line: %v", err)
	}
}
