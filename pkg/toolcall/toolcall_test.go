package toolcall_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// inState compiles a workflow around one state and starts a run in it.
func inState(t testing.TB, state, meta string) (*workflow.Machine, *workflow.View) {
	t.Helper()
	src := `{"id": "w", "initial": "a", "meta": ` + meta + `, "states": {"a": ` +
		strings.TrimSuffix(strings.TrimSpace(state), "}")
	if strings.TrimSpace(state) != "{}" {
		src += ", "
	}
	src += `"on": {"GO": "done", "FAIL": "failed"}}, "done": {"type": "final"}, "failed": {"type": "final"}}}`
	def, problems := workflow.Parse([]byte(src))
	if problems.HasErrors() {
		t.Fatalf("%s is not valid: %v", src, problems)
	}
	m := workflow.Compile(def, 1)
	out := m.Start(workflow.StartParams{ID: "run_1", Owner: "ann"}, "ann", time.Time{})
	return m, new(out.Run.At(""))
}

func decide(m *workflow.Machine, run *workflow.View, tool, input string) toolcall.Verdict {
	return toolcall.Decide(m, run, toolcall.Call{Tool: tool, Input: []byte(input)})
}

// want checks a verdict; an empty code is an allowance, and so is NOT_ENFORCED. All others must
// have their sentence, and that one its reason.
func want(t *testing.T, m *workflow.Machine, run *workflow.View, v toolcall.Verdict, code toolcall.Code) {
	t.Helper()
	decision := toolcall.Deny
	if code == "" || code == toolcall.CodeNotEnforced {
		decision = toolcall.Allow
	}
	if v.Decision != decision || v.Code != code {
		t.Errorf("%q: %s %s, want %s %s", v.Tool, v.Decision, v.Code, decision, code)
	}
	if message := v.Message(m, run); (message == "") != (code == "") {
		t.Errorf("%q: %s says %q", v.Tool, v.Decision, message)
	}
	if code != "" && v.Counted {
		t.Errorf("%q: a call with code %s is counted", v.Tool, v.Code)
	}
}

const reading = `{"allowed_tools": ["Read", "Grep", "mcp__fs__*"], "disallowed_tools": ["mcp__fs__write*"], "max_iterations": 10}`

// TestGate: S3.1, codes and sentences.
func TestGate(t *testing.T) {
	t.Parallel()
	m, run := inState(t, reading, `{}`)
	for tool, code := range map[string]toolcall.Code{
		"Read": "", "Grep": "", "mcp__fs__read_file": "",
		"Edit": toolcall.CodeToolNotAllowed, "read": toolcall.CodeToolNotAllowed, "Read\x20": toolcall.CodeToolNotAllowed,
		"Re\u0301ad": toolcall.CodeToolNotAllowed, "*": toolcall.CodeToolNotAllowed, "mcp__*": toolcall.CodeToolNotAllowed,
		"read_file": toolcall.CodeToolNotAllowed, "../Read": toolcall.CodeToolNotAllowed,
		"mcp__fs__write_file": toolcall.CodeToolDisallowed,
		"":                    toolcall.CodeInvalidInput,
	} {
		want(t, m, run, decide(m, run, tool, ""), code)
	}
	message := decide(m, run, "Edit", "").Message(m, run)
	for _, part := range []string{`"Edit"`, `"a"`, "Read, Grep, mcp__fs__*", "GO -> done", "FAIL -> failed"} {
		if !strings.Contains(message, part) {
			t.Errorf("the denial does not say %s: %s", part, message)
		}
	}
	if strings.Contains(decide(m, run, "Ed\u202eit\x00", "").Message(m, run), "\u202e") {
		t.Error("a message repeats invisible characters")
	}
	m, run = inState(t, `{"allowed_tools": []}`, `{}`)
	want(t, m, run, decide(m, run, "Read", ""), toolcall.CodeToolNotAllowed)
	m, run = inState(t, `{}`, `{}`)
	want(t, m, run, decide(m, run, "Anything", ""), "")
	want(t, m, run, decide(m, run, "", ""), toolcall.CodeInvalidInput)
}

// TestIterations: S3.2. The calls that count, and their limits; the counting itself is the
// store's.
func TestIterations(t *testing.T) {
	t.Parallel()
	m, run := inState(t, reading, `{}`)
	if v := decide(m, run, "Read", ""); !v.Counted || v.MaxIterations != 10 {
		t.Errorf("an allowed call: %+v", v)
	}
	if v := decide(m, run, "ToolSearch", ""); v.Decision != toolcall.Allow || v.Counted {
		t.Errorf("the tool that finds tools: %+v", v)
	}
	if v := decide(m, run, "transition", ""); v.Counted || v.MaxIterations != 0 {
		t.Errorf("an own tool: %+v", v)
	}
	v := toolcall.IterationLimitReached(m, run, 10)
	want(t, m, run, v, toolcall.CodeMaxIterations)
	if message := v.Message(m, run); !strings.Contains(message, "limit of 10") || !strings.Contains(message, "GO -> done") {
		t.Errorf("message: %s", message)
	}
	m, run = inState(t, `{}`, `{}`)
	if v := decide(m, run, "Read", ""); !v.Counted || v.MaxIterations != 0 {
		t.Errorf("without a limit: %+v", v)
	}
	run.State, run.Status = "done", workflow.Completed
	if v := decide(m, run, "Read", ""); v.Counted {
		t.Errorf("after the end: %+v", v)
	}
}

// TestOwnTools: S3. Exactly these names, and no one else's.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	m, run := inState(t, `{"allowed_tools": [], "disallowed_tools": ["*"]}`, `{}`)
	names := strings.Fields(`transition get_state list_workflows load_workflow create_workflow pause deactivate force_state
		get_status wait process_step state_create state_read state_update state_patch state_schema wait_approval
		session_result start_agent_session component_read component_update`)
	for _, name := range names {
		for _, prefix := range []string{
			"", "statewright_", "interlock_", "mcp__interlock__", "mcp__statewright__statewright_",
			"mcp__interlock__statewright_", "mcp__interlock__interlock_",
			"mcp__plugin_interlock_interlock__", "mcp__plugin_statewright_statewright__statewright_",
		} {
			tool := prefix + name
			if !toolcall.Own(tool) {
				t.Errorf("%s is not own", tool)
			}
			want(t, m, run, decide(m, run, tool, ""), "")
			for _, foreign := range []string{
				"mcp__evil__" + tool, tool + " ", " " + tool, tool + "2", "x" + tool, tool + "\x00", tool + "\u200b",
				strings.ToUpper(tool), strings.Replace(tool, "t", "T", 1), strings.Replace(tool, "a", "\u0430", 1),
				"mcp__interlock2__" + name, "mcp__statewright__" + name, "mcp__interlock_" + name,
				"Mcp__interlock__" + name, "mcp__mcp__interlock__" + name, "statewright_mcp__interlock__" + name,
				"statewright_statewright_" + name, "interlock_statewright_" + name, "statewright-" + name,
			} {
				if foreign != tool && toolcall.Own(foreign) {
					t.Errorf("%q is taken for own", foreign)
				}
			}
		}
	}
	for _, tool := range []string{"mcp__interlock__shell", "mcp__interlock__interlock_shell", "mcp__interlock__statewright_shell"} {
		if !toolcall.Own(tool) {
			t.Errorf("%s is not own", tool)
		}
	}
	for _, tool := range []string{
		"shell", "statewright_shell", "interlock_shell", "mcp__evil__shell", "mcp__interlock__shell2", "mcp__interlock__Shell", "mcp__statewright__statewright_shell",
		"", "statewright_", "mcp__interlock__", "mcp__statewright__statewright_", "*", "transition*", "mcp__interlock__*", "state_delete",
		"mcp__plugin_interlock__transition", "mcp__plugin_evil_interlock__transition", "mcp__plugin_interlock_evil__transition",
	} {
		if toolcall.Own(tool) {
			t.Errorf("%q is taken for own", tool)
		}
	}
}

// TestStatus: S2.9, S6.1, S6.2, the first check of S3.
func TestStatus(t *testing.T) {
	t.Parallel()
	const no, unlisted, off = toolcall.CodeRunNotActive, toolcall.CodeToolNotAllowed, toolcall.CodeNotEnforced
	for _, c := range []struct {
		status workflow.Status
		state  string
		// codes of Read (listed) and Edit (not listed), by meta.enforcement
		success, always, running [2]toolcall.Code
	}{
		{workflow.Running, "a", [2]toolcall.Code{"", unlisted}, [2]toolcall.Code{"", unlisted}, [2]toolcall.Code{"", unlisted}},
		{workflow.Waiting, "a", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}}, // for a child, or for branches that others work in
		{workflow.AwaitingApproval, "a", [2]toolcall.Code{"", unlisted}, [2]toolcall.Code{"", unlisted}, [2]toolcall.Code{"", unlisted}},
		{workflow.Completed, "done", [2]toolcall.Code{off, off}, [2]toolcall.Code{no, no}, [2]toolcall.Code{off, off}},
		{workflow.Failed, "failed", [2]toolcall.Code{"", no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{off, off}},
		{workflow.Failed, "a", [2]toolcall.Code{"", no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}}, // it failed on the way
		{workflow.Completed, "a", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
		{workflow.Paused, "a", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{off, off}},
		{workflow.Held, "a", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
		{workflow.Cancelled, "a", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
		{workflow.Cancelled, "done", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
		{workflow.Blocked, "a", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
		{"", "a", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
		{"running", "a", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
		{workflow.Running, "gone", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
		{workflow.Failed, "gone", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
		{workflow.Running, "", [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}, [2]toolcall.Code{no, no}},
	} {
		for meta, codes := range map[string][2]toolcall.Code{
			`{}`:                               c.success,
			`{"enforcement": "until_success"}`: c.success,
			`{"enforcement": "always"}`:        c.always,
			`{"enforcement": "while_running"}`: c.running,
		} {
			m, run := inState(t, reading, meta)
			run.Status, run.State = c.status, c.state
			if c.status == workflow.Held {
				run.Holds = []workflow.Hold{{Cause: workflow.HoldSessionEnd}}
			}
			t.Logf("%s in %q, meta %s", c.status, c.state, meta)
			want(t, m, run, decide(m, run, "Read", ""), codes[0])
			want(t, m, run, decide(m, run, "Edit", ""), codes[1])
			want(t, m, run, decide(m, run, "transition", ""), "")
		}
	}
}

// TestNotEnforced: S2.9, a call without a rule has the reason, and self-protection judges it all the same.
func TestNotEnforced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status              workflow.Status
		state, meta, reason string
	}{
		{workflow.Paused, "a", `{"enforcement": "while_running"}`, "run paused by agent"},
		{workflow.Completed, "done", `{}`, "run has ended"},
		{workflow.Completed, "done", `{"enforcement": "while_running"}`, "run has ended"},
		{workflow.Failed, "failed", `{"enforcement": "while_running"}`, "run has ended"},
	} {
		m, run := inState(t, reading, c.meta)
		run.Status, run.State = c.status, c.state
		for _, tool := range []string{"Write", "Deploy", "mcp__fs__write_file"} {
			v := decide(m, run, tool, `{}`)
			want(t, m, run, v, toolcall.CodeNotEnforced)
			if v.Message(m, run) != c.reason || v.Tool != tool {
				t.Errorf("%s under %s: %+v", c.status, c.meta, v)
			}
		}
		want(t, m, run, decide(m, run, "Bash", `{"command": "cat .interlock/tokens.json"}`), toolcall.CodeSelfProtected)
		want(t, m, run, decide(m, run, "pause", `{}`), "")
	}
	if v := toolcall.NotEnforced("Read", toolcall.NoRun); v.Decision != toolcall.Allow || v.Message(nil, nil) != "no run" {
		t.Errorf("without a run: %+v", v)
	}
}

// S6.6: a denial names who holds the run and why, which need not be an operator.
func TestHeldRunSaysWhoHoldsIt(t *testing.T) {
	t.Parallel()
	for words, holds := range map[string][]workflow.Hold{
		"its session has ended":             {{Cause: workflow.HoldSessionEnd, By: "ann"}},
		`operator "ann" holds it ("lunch")`: {{Cause: workflow.HoldOperator, By: "ann", Reason: "lunch"}},
		`session has ended, until the session or an operator resumes it; operator "ann"`: {
			{Cause: workflow.HoldSessionEnd}, {Cause: workflow.HoldOperator, By: "ann"},
		},
	} {
		m, run := inState(t, reading, `{}`)
		run.Status, run.Holds = workflow.Held, holds
		if got := decide(m, run, "Edit", "").Message(m, run); !strings.Contains(got, words) {
			t.Errorf("%q does not say %q", got, words)
		}
	}
}

// TestBranches: S5.1, S5.2, S5.3. In a fork a call is judged in the caller's own
// branch; no tool is open in one that has ended, nor where others do the work.
func TestBranches(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "m", "meta": {"enforcement": "while_running"}, "states": {
	 "m": {"allowed_tools": ["Task"], "on": {"GO": {"fork": {"branches": {
	    "p": {"initial": "p0", "terminal": "pz"}, "q": {"initial": "q0", "terminal": "qz"}}, "on_complete": "done"}}}},
	 "p0": {"allowed_tools": ["Read"], "on": {"OK": "pz"}}, "pz": {"type": "final"},
	 "q0": {"allowed_tools": ["Edit"], "on": {"OK": "qz"}}, "qz": {"type": "final"},
	 "done": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	const no, unlisted, off = toolcall.CodeRunNotActive, toolcall.CodeToolNotAllowed, toolcall.CodeNotEnforced
	run := m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1"}, "ann", time.Time{}).Run
	for _, c := range []struct {
		name string
		cmd  workflow.Command
		// codes of Read, Edit and Task, by branch.
		want map[string][3]toolcall.Code
	}{
		{"forked", workflow.Fire{Event: "GO"}, map[string][3]toolcall.Code{
			"": {"", unlisted, unlisted}, "p": {"", unlisted, unlisted}, "q": {unlisted, "", unlisted}, "r": {no, no, no},
		}},
		{"p is over", workflow.Fire{Event: "OK"}, map[string][3]toolcall.Code{
			"": {unlisted, "", unlisted}, "p": {no, no, no}, "q": {unlisted, "", unlisted},
		}},
		{"q is another session's", workflow.Bind{Branch: "q", SessionID: "ses_2"}, map[string][3]toolcall.Code{
			"": {no, no, no}, "p": {no, no, no}, "q": {unlisted, "", unlisted},
		}},
		{"paused", workflow.Pause{}, map[string][3]toolcall.Code{"": {off, off, off}, "p": {no, no, no}, "q": {off, off, off}}},
		{"held", workflow.Pause{Hold: workflow.HoldOperator}, map[string][3]toolcall.Code{"": {no, no, no}, "p": {no, no, no}, "q": {no, no, no}}},
		{"resumed", workflow.Resume{Lifts: []workflow.HoldCause{workflow.HoldOperator}}, map[string][3]toolcall.Code{"": {no, no, no}, "p": {no, no, no}, "q": {unlisted, "", unlisted}}},
		// S2.9: the run has ended, and with it its branches.
		{"joined", workflow.Fire{Event: "OK", Branch: "q"}, map[string][3]toolcall.Code{"": {off, off, off}, "p": {off, off, off}, "q": {off, off, off}}},
	} {
		out := m.Step(&run, c.cmd, time.Time{})
		if !out.Changed {
			t.Fatalf("%s: %+v", c.name, out.Rejection)
		}
		run = out.Run
		for branch, codes := range c.want {
			at := run.At(branch)
			for i, tool := range []string{"Read", "Edit", "Task"} {
				t.Logf("%s: %s in branch %q, %s in %q", c.name, tool, branch, at.Status, at.State)
				want(t, m, &at, decide(m, &at, tool, ""), codes[i])
			}
			want(t, m, &at, decide(m, &at, "transition", ""), "")
		}
	}
}

// TestForeignRun: a call is never judged by another version's rules.
func TestForeignRun(t *testing.T) {
	t.Parallel()
	m, run := inState(t, `{}`, `{}`)
	run.WorkflowVersion = 2
	want(t, m, run, decide(m, run, "Read", ""), toolcall.CodeRunNotActive)
	run.WorkflowVersion, run.Workflow = 1, "other"
	want(t, m, run, decide(m, run, "Read", ""), toolcall.CodeRunNotActive)
	want(t, nil, run, decide(nil, run, "Read", ""), toolcall.CodePolicyUnavailable)
	want(t, m, nil, decide(m, nil, "Read", ""), toolcall.CodePolicyUnavailable)
}

// TestUnavailable: S7.2, without a known run the call is denied with a sentence.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	v := toolcall.Unavailable()
	want(t, nil, nil, v, toolcall.CodePolicyUnavailable)
	if (toolcall.Verdict{}).Decision == toolcall.Allow {
		t.Error("no verdict is an allowance")
	}
}

// TestVerdictKeeps: a verdict survives being stored for repeats.
func TestVerdictKeeps(t *testing.T) {
	t.Parallel()
	m, run := inState(t, reading, `{}`)
	for _, v := range []toolcall.Verdict{
		decide(m, run, "Read", ""), decide(m, run, "Edit", ""), toolcall.IterationLimitReached(m, run, 10), toolcall.Unavailable(),
		decide(m, run, "mcp__fs__edit_file", `{"path": "a.go", "edits": [{"oldText": "x", "newText": "y"}]}`),
		toolcall.FileLimitReached(m, run, toolcall.Files{"a.go"}, []string{"b.go"}), toolcall.ContextBudgetSpent(m, run, 10),
	} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var again toolcall.Verdict
		if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(again, v) || again.Message(m, run) != v.Message(m, run) {
			t.Errorf("%+v became %+v (%v)", v, again, err)
		}
	}
}
