package toolcall_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// failed is a run that has failed, of a workflow whose states allow everything.
func failed(t *testing.T, meta string) (*workflow.Machine, *workflow.View) {
	t.Helper()
	m, run := inState(t, `{}`, meta)
	out := m.Step(run.Run, workflow.Fire{Event: "FAIL"}, time.Time{})
	if out.Run.Status != workflow.Failed {
		t.Fatalf("the run is %s", out.Run.Status)
	}
	at := out.Run.At("")
	return m, &at
}

// TestAfterFailure: S2.9. After a failure only tools that read are allowed, and any doubt denies.
func TestAfterFailure(t *testing.T) {
	t.Parallel()
	m, run := failed(t, `{
		"read_tools": ["mcp__docs__*", "mcp__fs__*", "Ledger", "Write", "mcp__db__execute"], "tools": ["Ledger", "Save"],
		"edit_tools": {"mcp__fs__put": {"kind": "write", "path": "p", "content": "c"}}}`)
	file := `{"file_path": "/workspace/a.go"}`
	for _, c := range []struct {
		tool, input string
		allowed     bool
	}{
		{"Read", file, true},
		{"Read", ``, true},
		{"Grep", `{"pattern": "x"}`, true},
		{"Glob", `{"pattern": "**/*.go"}`, true},
		{"LS", `{"path": "/workspace"}`, true},
		{"NotebookRead", `{"notebook_path": "/workspace/a.ipynb"}`, true},
		{"BashOutput", `{"bash_id": "1"}`, true},
		{"TodoWrite", `{"todos": []}`, true},
		{"AskUserQuestion", `{}`, true},
		{"ExitPlanMode", `{}`, true},
		{"Task", `{"prompt": "look"}`, true}, // the calls of a subagent are judged
		{"ToolSearch", `{"query": "x"}`, true},
		{"mcp__docs__search", `{"q": "x"}`, true},
		{"Ledger", `{}`, true},
		{"str_replace_based_edit_tool", `{"command": "view", "path": "/workspace/a.go"}`, true},
		{"transition", `{}`, true},
		{"load_workflow", `{"name": "w"}`, true},
		{"mcp__interlock__get_state", `{}`, true},

		{"Write", `{"file_path": "/workspace/a.go", "content": "x"}`, false}, // though it is declared to read
		{"Write", ``, false},
		{"Edit", `{"file_path": "/workspace/a.go", "old_string": "a", "new_string": "b"}`, false},
		{"MultiEdit", file, false},
		{"NotebookEdit", `{}`, false},
		{"apply_patch", `{"input": "*** Begin Patch"}`, false},
		{"write_file", `{"path": "a", "content": "x"}`, false},
		{"str_replace_based_edit_tool", `{"command": "create", "path": "/workspace/a.go", "file_text": "x"}`, false},
		{"str_replace_based_edit_tool", `{}`, false},
		{"WebFetch", `{"url": "https://example.com/?x=secret"}`, false},
		{"WebSearch", `{"query": "secret"}`, false},
		{"Skill", `{"skill": "deploy"}`, false},
		{"SlashCommand", `{"command": "/deploy"}`, false},
		{"KillShell", `{}`, false},
		{"Task", `{"prompt": "continue", "run_in_background": true}`, false},
		{"Agent", `{"prompt": "look"}`, true},
		{"Agent", `{"prompt": "look", "isolation": null}`, true},
		{"Agent", `{"prompt": "look", "isolation": "remote"}`, false},
		{"Agent", `{"prompt": "look", "isolation": "worktree"}`, false},
		{"Task", `{"prompt": "look", "isolation": "vm"}`, false},
		{"Task", `{"prompt": "look", "isolation": {"kind": "worktree"}}`, false},
		{"Task", `{"prompt": "look", "isolation": ""}`, false},
		{"Monitor", `{"command": "ls"}`, false},
		{"Save", `{}`, false},
		{"Unheard", `{}`, false},
		{"read", file, false},
		{"Read ", file, false},
		{"", file, false},
		{"mcp__github__create_issue", `{}`, false},
		{"mcp__docs", `{}`, false},
		{"mcp__other__read_file", file, false},
		{"mcp__fs__read_file", file, true},
		{"mcp__fs__put", `{"p": "a", "c": "x"}`, false}, // a wildcard makes no edit a read
		{"mcp__fs__put", `{}`, false},
		{"mcp__fs__write_file", `{"path": "a", "content": "x"}`, false},
		{"mcp__fs__move_file", `{"source": "a", "destination": "b"}`, false},
		{"mcp__db__execute", `{"sql": "drop table x"}`, false}, // a shell by its name
		{"mcp__evil__transition", `{}`, false},
	} {
		v := decide(m, run, c.tool, c.input)
		code := toolcall.CodeRunNotActive
		switch {
		case c.allowed:
			code = ""
		case c.tool == "":
			code = toolcall.CodeInvalidInput
		}
		t.Logf("%s %s", c.tool, c.input)
		want(t, m, run, v, code)
		if v.Counted {
			t.Error("it is counted")
		}
		const teaches = "the run has FAILED. Only tools that read and Interlock's own are allowed; start a new run of the same workflow, or ask an operator."
		if message := v.Message(m, run); code == toolcall.CodeRunNotActive && !strings.HasSuffix(message, teaches) {
			t.Errorf("it says %q", message)
		}
	}
}

// TestLinesAfterFailure: S2.9. A shell is a tool that reads where its line is proved to. The proofs of
// pkg/shell are tested there.
func TestLinesAfterFailure(t *testing.T) {
	t.Parallel()
	m, run := failed(t, `{"commands": {"peek": "reads"}, "read_tools": ["Bash"]}`)
	for want, lines := range map[bool][]string{
		true: {
			"ls -l", "cat a.go | head -5", "git status && git diff", "grep -rn TODO . | wc -l", "find . -name '*.go'", "cd sub; ls", "sed -n 1,20p a.go",
			"cat $(git ls-files | head -1)", "ls 2>/dev/null", "jq .a b.json",
		},
		false: {
			"rm a", "mv a b", "touch a", "tee a", "sed -i s/a/b/ a", "git commit -am x", "git push", "git push origin main --force", "git checkout -- .", "git stash",
			"python x.py", "python3 -c 'print(1)'", "node -e 1", "bash x.sh", "sh -c ls", "make", "go test ./...", "pytest", "npm test", "./x",
			"curl https://example.com", "wget -q x", "dig $(cat secret).example.com", "getent hosts x", "nc x 80", "ssh x", "kubectl get pods", "gh pr view",
			"cat a > b", "cat a >> b", "ls &> b", "echo x > /dev/tcp/x/80", "cat < /dev/tcp/x/80", "env", "env X=1 ls", "X=1 ls", "export X=1; ls", "PATH=. ls",
			"find . -delete", "find . -exec rm {} +", "xargs rm < a", "cat $(touch x)", "ls `rm x`", "ls >(rm x)", "$CMD", "eval ls", "source x", "awk '{print}' a",
			"kill 1", "sudo ls", "peek a", "nothing-that-is-known", "ls; unknown", "ls | sh", "cat a\nrm a", "ls &&", "", " # nothing",
		},
	} {
		for _, line := range lines {
			input, err := json.Marshal(map[string]string{"command": line})
			if err != nil {
				t.Fatal(err)
			}
			code := toolcall.CodeRunNotActive
			if want {
				code = ""
			}
			t.Log(line)
			wantCode(t, m, run, "Bash", string(input), code)
			wantCode(t, m, run, "run_shell_command", string(input), code)
			wantCode(t, m, run, "mcp__desktop__bash", string(input), toolcall.CodeRunNotActive) // whose machine is it
			wantCode(t, m, run, "write_stdin", string(input), toolcall.CodeRunNotActive)        // into the program that runs
			wantCode(t, m, run, "powershell", string(input), toolcall.CodeRunNotActive)
		}
	}
	for _, input := range []string{
		``, `null`, `[]`, `"ls"`, `{}`, `{"command": null}`, `{"command": ["ls"]}`, `{"script": "ls"}`, `{"command": "ls", "env": {"PATH": "."}}`,
		`{"command": "ls", "shell": "python"}`, `{"command": "ls", "dangerouslyDisableSandbox": true}`, `{"command": "ls", "command": "rm x"}`, `{"command": "ls"`,
	} {
		t.Log(input)
		wantCode(t, m, run, "Bash", input, toolcall.CodeRunNotActive)
	}
	wantCode(t, m, run, "Bash", `{"command": "ls", "description": "look", "timeout": 1000}`, "")
	wantCode(t, m, run, "Bash", `{"command": "cat .interlock/tokens.json"}`, toolcall.CodeSelfProtected)
	wantCode(t, m, run, "Read", `{"file_path": "/workspace/.interlock/tokens.json"}`, toolcall.CodeSelfProtected)
}

func wantCode(t *testing.T, m *workflow.Machine, run *workflow.View, tool, input string, code toolcall.Code) {
	t.Helper()
	want(t, m, run, decide(m, run, tool, input), code)
}

// TestNamedShellAfterFailure: S2.9. The tool that some state names in allowed_commands_tool is a
// shell after the end, too, in spite of other declarations.
func TestNamedShellAfterFailure(t *testing.T) {
	t.Parallel()
	m, run := inState(t, `{"allowed_commands": ["ls"], "allowed_commands_tool": "mcp__box__go", "allowed_tools": ["mcp__box__go"]}`, `{"read_tools": ["mcp__box__*"]}`)
	out := m.Step(run.Run, workflow.Fire{Event: "FAIL"}, time.Time{})
	at := out.Run.At("")
	for input, code := range map[string]toolcall.Code{
		`{"command": "rm x"}`: toolcall.CodeRunNotActive, `{"script": "rm x"}`: toolcall.CodeRunNotActive, `{}`: toolcall.CodeRunNotActive,
		`{"command": "ls"}`: toolcall.CodeRunNotActive, // it may only type it in somewhere
	} {
		wantCode(t, m, &at, "mcp__box__go", input, code)
	}
	wantCode(t, m, &at, "mcp__box__list", `{}`, "")
}

// TestFailureInABranch: S2.9, S5.3. Where a run has failed, sessions of its branches may do no more
// than its own; the end of an invoked run gives no rights.
func TestFailureInABranch(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "m", "states": {
	 "m": {"on": {"GO": {"fork": {"branches": {
	    "p": {"initial": "p0", "terminal": "pz"}, "q": {"initial": "q0", "terminal": "qz"}}, "on_complete": "done", "on_fail": "failed"}}}},
	 "p0": {"on": {"OK": "pz", "BAD": "failed"}}, "pz": {"type": "final"},
	 "q0": {"on": {"OK": "qz"}}, "qz": {"type": "final"},
	 "done": {"type": "final"}, "failed": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	for _, parent := range []*workflow.Parent{nil, {RunID: "run_0", Root: "run_0", Depth: 1}} {
		run := m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1", Parent: parent}, "ann", time.Time{}).Run
		for _, cmd := range []workflow.Command{
			workflow.Fire{Event: "GO"},
			workflow.Bind{Branch: "q", SessionID: "ses_2"},
			workflow.Fire{Event: "BAD", Branch: "p"},
			workflow.Fire{Event: "OK", Branch: "q"},
		} {
			out := m.Step(&run, cmd, time.Time{})
			if out.Rejection != nil {
				t.Fatalf("%+v: %s", cmd, out.Rejection.Message)
			}
			run = out.Run
			if run.Status.Ended() {
				break
			}
		}
		if run.Status != workflow.Failed {
			t.Fatalf("the run is %s", run.Status)
		}
		lost := run.Lost("q")
		readCode := toolcall.Code("")
		if parent != nil {
			readCode = toolcall.CodeRunNotActive
		}
		wantCode(t, m, &lost, "Read", `{}`, readCode)
		wantCode(t, m, &lost, "Edit", `{}`, toolcall.CodeRunNotActive)
	}
}
