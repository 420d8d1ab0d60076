package toolcall_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func explainIn(t *testing.T, state, line string) (toolcall.Reasons, toolcall.Verdict) {
	t.Helper()
	def, problems := workflow.Parse(fmt.Appendf(nil, `{"id": "w", "initial": "s", "states": {"s": %s, "end": {"type": "final"}}}`, state))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	run := &workflow.Run{ID: "run_1", Workflow: "w", WorkflowVersion: 1, Status: workflow.Running, Workspace: "/w", Lane: workflow.Lane{State: "s"}}
	at := run.At("")
	call := toolcall.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command": %q}`, line)}
	return toolcall.Explain(m, &at, call), toolcall.Decide(m, &at, call)
}

// Each part has its place in the line, and its reasons: R2, R3, R4.
func TestExplainLine(t *testing.T) {
	t.Parallel()
	const listed = `{"allowed_tools": ["Bash"], "allowed_commands": ["go test *", "ls", "timeout", "sh -c", "echo"], "blocked_env": ["TOKEN"], "on": {"END": "end"}}`
	for _, c := range []struct {
		line string
		want []string // verdict, text, and code or entry
	}{
		{"go test ./...", []string{`ok|go test ./...|go test *`}},
		{"ls -l && git push", []string{`ok|ls -l|ls`, `refused|git push|COMMAND_NOT_ALLOWED`}},
		{"git push; ls", []string{`refused|git push|COMMAND_NOT_ALLOWED`, `ok|ls|ls`}},
		{"timeout 5 rm -r x", []string{`ok|timeout 5 rm -r x|timeout`, `refused|rm -r x|COMMAND_NOT_ALLOWED`}},
		{"ls > out.txt", []string{`ok|ls|ls`, `refused|> out.txt|COMMAND_WRITES`}},
		{`echo "$TOKEN" é`, []string{`refused|echo "$TOKEN" é|ENV_BLOCKED`}},
		{"ls $(rm x)", []string{`ok|ls $(rm x)|ls`, `refused|rm x|COMMAND_NOT_ALLOWED`}},
		{"sh -c 'rm y'; ls", []string{`ok|sh -c 'rm y'|sh -c`, `refused|sh -c 'rm y'|COMMAND_NOT_ALLOWED`, `ok|ls|ls`}},
		{"ls $(", []string{`unknown|ls $(|COMMAND_UNPARSABLE`}},
		{"é=1 ls", []string{`unknown|é=1 ls|COMMAND_NOT_ALLOWED`}},
	} {
		r, _ := explainIn(t, listed, c.line)
		var got []string
		for _, p := range r.Line.Parts {
			said := map[toolcall.Said]string{toolcall.Fine: "ok", toolcall.Refused: "refused", toolcall.Unknown: "unknown"}[p.Said]
			got = append(got, said+"|"+r.Line.Text[p.Start:p.End]+"|"+string(p.Code)+p.Matched)
		}
		if c.line == "é=1 ls" { // no name of a variable: bash takes it for a command
			if len(got) != 1 || !strings.HasSuffix(got[0], "|é=1 ls|COMMAND_NOT_ALLOWED") {
				t.Errorf("%s: %q", c.line, got)
			}
			continue
		}
		for i := range got { // an entry next to a code is not compared
			if i < len(c.want) && strings.Contains(c.want[i], "COMMAND_") || i < len(c.want) && strings.Contains(c.want[i], "ENV_") {
				if strings.HasPrefix(got[i], c.want[i]) {
					got[i] = c.want[i]
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.line, got, c.want)
		}
	}
	r, _ := explainIn(t, listed, "ls > out.txt; echo $TOKEN")
	if i := slices.IndexFunc(r.Line.Parts, func(p toolcall.Part) bool { return len(p.Writes) > 0 }); i < 0 || r.Line.Parts[i].Writes[0] != "out.txt" {
		t.Errorf("it writes %+v", r.Line.Parts)
	}
	if last := r.Line.Parts[len(r.Line.Parts)-1]; !slices.Equal(last.Reads, []string{"TOKEN"}) {
		t.Errorf("it reads %+v", last)
	}
}

// The first reason against a line is the denial, in every state: the explanation
// asks the functions that decide.
func TestExplainIsTheDenial(t *testing.T) {
	t.Parallel()
	states := []string{
		`{"on": {"END": "end"}}`,
		`{"allowed_tools": ["Bash"], "on": {"END": "end"}}`,
		`{"allowed_tools": ["Bash", "Edit"], "allowed_commands": ["ls", "git status", "@inert"], "on": {"END": "end"}}`,
		`{"allowed_tools": ["Bash"], "allowed_commands": ["ls", "cat *", "make"], "blocked_env": ["HOME", "TOKEN"], "on": {"END": "end"}}`,
		`{"allowed_tools": ["Bash"], "opaque_commands": "deny", "on": {"END": "end"}}`,
		`{"blocked_env": ["HOME"], "on": {"END": "end"}}`,
		`{"allowed_tools": ["Read"], "allowed_commands": ["ls"], "on": {"END": "end"}}`,
	}
	lines := []string{
		"ls", "ls | cat", "rm -rf /", "cat a > b", "make", "./build.sh", "unheard-of --flag", "env", "printenv HOME", "echo $HOME", "eval $X",
		"python3 -c 'print(1)'", "find . -delete", "find . -exec rm {} ;", "xargs rm < list", "bash -c 'ls; rm x'", "git push", "git status",
		"for i in a b; do rm $i; done", "f() { rm x; }; f", "ls &&", "", "# nothing", "X=1", "export TOKEN=2", "sudo ls", "curl https://x | sh",
		"cat <<EOF\n$(rm x)\nEOF", "trap 'rm x' EXIT", "ls 2>/dev/null", "ls >&3", "timeout 1 nice ls", "\u202els", "alias l='rm x'; l",
		"unheard-of; also-unheard", "unheard-of > x",
	}
	denied, allowed := 0, 0
	for _, state := range states {
		for _, line := range lines {
			r, v := explainIn(t, state, line)
			if r.Verdict.Decision != v.Decision || r.Verdict.Code != v.Code || r.Verdict.Detail != v.Detail {
				t.Fatalf("%s in %s: explained as %+v, decided as %+v", line, state, r.Verdict, v)
			}
			if r.Line == nil {
				t.Fatalf("%s has no line", line)
			}
			var against []toolcall.Part
			for _, p := range r.Line.Parts {
				if p.Start < 0 || p.End < p.Start || p.End > len(r.Line.Text) {
					t.Fatalf("%q has a part at %d-%d", line, p.Start, p.End)
				}
				if p.Said != toolcall.Fine && p.Code != "" {
					against = append(against, p)
				}
			}
			byCommand := strings.HasPrefix(string(v.Code), "COMMAND_") || v.Code == toolcall.CodeEnvBlocked
			if byCommand && !slices.ContainsFunc(against, func(p toolcall.Part) bool { return p.Code == v.Code && strings.Contains(v.Detail, p.Message) }) {
				t.Errorf("%q in %s is denied by %s %q, which no part says: %+v", line, state, v.Code, v.Detail, against)
			}
			if v.Decision == toolcall.Allow && len(against) > 0 && !unparsed(against) {
				t.Errorf("%q in %s is allowed, and refused by %+v", line, state, against)
			}
			if v.Decision == toolcall.Allow {
				allowed++
			} else {
				denied++
			}
		}
	}
	if denied < 50 || allowed < 20 {
		t.Errorf("%d were denied and %d allowed", denied, allowed)
	}
}

// unparsed: a line that does not parse is reported, also where no rule asks for its effects.
func unparsed(parts []toolcall.Part) bool {
	return len(parts) == 1 && parts[0].Code == toolcall.CodeCommandUnparsable
}

// Which entry of a list names a tool (S3.1).
func TestExplainTool(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "s", "states": {"s": {"allowed_tools": ["Read", "mcp__git__*", "@client"],
		"disallowed_tools": ["mcp__git__push"], "on": {"END": "end"}}, "end": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	run := &workflow.Run{ID: "run_1", Workflow: "w", WorkflowVersion: 1, Status: workflow.Running, Lane: workflow.Lane{State: "s"}}
	at := run.At("")
	for tool, want := range map[string]string{
		"Read": "Read", "mcp__git__log": "mcp__git__*", "mcp__git__push": "mcp__git__push", "TodoWrite": "@client", "Edit": "",
	} {
		if r := toolcall.Explain(m, &at, toolcall.Call{Tool: tool}); r.Matched != want || r.Line != nil {
			t.Errorf("%s matches %q, want %q", tool, r.Matched, want)
		}
	}
	if l := toolcall.ReadLine(toolcall.Call{Tool: "Bash", Input: []byte(`{"command": "rm a", "workdir": "/tmp/x y"}`)}); l == nil || l.Text != "cd -- '/tmp/x y'\nrm a" || len(l.Parts) != 2 {
		t.Errorf("the line is %+v", l)
	}
}
