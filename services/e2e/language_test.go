package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
)

// guarded restricts commands, edits and results, and checks every migration.
const guarded = `{
  "id": "guarded", "initial": "working", "meta": {"capture_output": true},
  "interrupts": {"migration": {"trigger": {"file_pattern": "db/**/*.sql"}, "target": "checking"}},
  "states": {
    "working": {
      "allowed_tools": ["Read", "Bash", "Edit", "Write"], "allowed_commands": ["go test", "git status"], "blocked_env": ["TOKEN"],
      "max_edit_lines": 3, "max_files_per_state": 2, "context_budget_bytes": 1000,
      "on": {"AGAIN": "working", "DONE": "done"}},
    "checking": {"allowed_tools": ["Bash"], "allowed_commands": ["make check"], "instructions": "Run make check.",
      "on": {"OK": "$return", "BROKEN": "failed"}},
    "done": {"type": "final"}, "failed": {"type": "final"}
  }
}`

// pipeline forks into three branches, one of which invokes a workflow.
const pipeline = `{
  "id": "pipeline", "initial": "building", "context": {"built": false},
  "states": {
    "building": {"allowed_tools": ["Edit"], "on": {"BUILT": {"fork": {"branches": {
        "lint": {"initial": "lint_run", "terminal": "lint_done"},
        "types": {"initial": "types_run", "terminal": "types_done"},
        "tests": {"initial": "tests_run", "terminal": "tests_done"}},
      "on_complete": "ready", "on_fail": "failed"}}}},
    "lint_run": {"allowed_tools": ["Lint"], "max_iterations": 2, "on": {"OK": "lint_done", "BAD": "failed"}}, "lint_done": {"type": "final"},
    "types_run": {"allowed_tools": ["Types"], "on": {"OK": "types_done"}}, "types_done": {"type": "final"},
    "tests_run": {"allowed_tools": ["Tests"], "on": {
      "RUN": {"invoke": "pipeline-suite", "on_complete": "tests_done", "on_fail": "failed", "input": {"kind": "all"}}}},
    "tests_done": {"type": "final"},
    "ready": {"allowed_tools": ["Ship"], "on": {"SHIP": "shipped"}},
    "shipped": {"type": "final"}, "failed": {"type": "final"}
  }
}`

const pipelineSuite = `{
  "id": "pipeline-suite", "initial": "unit",
  "states": {"unit": {"allowed_tools": ["UnitTest"], "on": {"GREEN": "green", "RED": "failed"}},
    "green": {"type": "final"}, "failed": {"type": "final"}}
}`

// checkInput asks about a call with an input.
func (c *caller) checkInput(t testing.TB, req *policyv1.CheckToolCallRequest, decision policyv1.Decision, code string) *policyv1.CheckToolCallResponse {
	t.Helper()
	d := must[*policyv1.CheckToolCallResponse](t)(c.policy.CheckToolCall(within(t), req))
	if d.GetDecision() != decision || codeOf(d) != code {
		t.Fatalf("%s %s: %v %s (%s), want %v %s", req.GetTool(), req.GetInput(), d.GetDecision(), codeOf(d), d.GetMessage(), decision, code)
	}
	return d
}

// limitsOnInputs: S3.3, S3.6, S3.7 over any replica.
func limitsOnInputs(t *testing.T, w *world) {
	callers := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	callers[0].register(t, guarded)
	id := callers[0].begin(t, &enginev1.StartRunRequest{Workflow: "guarded", Workspace: "/repo"}).GetRunId()
	ask := func(i int, tool, input string, decision policyv1.Decision, code string) *policyv1.CheckToolCallResponse {
		t.Helper()
		return callers[i].checkInput(t, &policyv1.CheckToolCallRequest{RunId: id, Tool: tool, Input: []byte(input)}, decision, code)
	}
	ask(0, "Bash", `{"command": "go test ./... 2>&1"}`, allow, "")
	ask(1, "Bash", `{"command": "go test && rm -rf /"}`, deny, "COMMAND_NOT_ALLOWED")
	ask(0, "Bash", `{"command": "go test $TOKEN"}`, deny, "ENV_BLOCKED")
	ask(1, "Bash", `{"command": "go test ("}`, deny, "COMMAND_UNPARSABLE")
	ask(0, "Bash", `{"line": "go test"}`, deny, "INVALID_INPUT")
	ask(1, "Write", `{"file_path": "/repo/a.go", "content": "1\n2\n3\n4\n"}`, deny, "EDIT_TOO_LARGE")
	ask(0, "Write", `{"file_path": "/repo/a.go", "content": "1\n2\n3\n"}`, allow, "")
	ask(1, "Edit", `{"file_path": "./a.go", "old_string": "1", "new_string": "2"}`, allow, "")
	ask(1, "Write", `{"file_path": "x/../b.go", "content": "1"}`, allow, "")
	ask(0, "Write", `{"file_path": "c.go", "content": "1"}`, deny, "TOO_MANY_FILES")
	ask(1, "Write", `{"path": "c.go"}`, deny, "INVALID_INPUT")
	if got := callers[0].get(t, id); got.GetUsage().GetFilesChanged() != 2 || got.GetRules().GetMaxFilesPerState() != 2 || got.GetUsage().GetIterations() != 4 {
		t.Errorf("%d of %d files, %d iterations", got.GetUsage().GetFilesChanged(), got.GetRules().GetMaxFilesPerState(), got.GetUsage().GetIterations())
	}
	read := ask(0, "Read", `{}`, allow, "")
	report := must[*policyv1.ReportToolCallResponse](t)(callers[1].policy.ReportToolCall(within(t),
		&policyv1.ReportToolCallRequest{RunId: id, CallId: read.GetCallId(), Tool: "Read", Ok: true, ResultBytes: 1000, Output: []byte("text")}))
	if !strings.Contains(report.GetWarning(), "1000") || report.GetRun().GetUsage().GetContextBytes() != 1000 {
		t.Errorf("a spent budget is reported as %v", report)
	}
	ask(1, "Read", `{}`, deny, "CONTEXT_BUDGET")
	callers[0].move(t, id, "AGAIN")
	ask(0, "Read", `{}`, allow, "")
	history := must[*enginev1.GetRunHistoryResponse](t)(callers[1].runs.GetRunHistory(within(t), &enginev1.GetRunHistoryRequest{RunId: id}))
	if results := slices.DeleteFunc(history.GetEntries(), func(e *enginev1.HistoryEntry) bool { return e.GetToolResult() == nil }); len(results) != 1 ||
		string(results[0].GetToolResult().GetOutput()) != "text" || results[0].GetRunVersion() != 1 {
		t.Errorf("the history keeps the results %v", results)
	}
}

// interrupts: S4, over any replica.
func interrupts(t *testing.T, w *world) {
	c, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	c.register(t, guarded)
	id := c.begin(t, &enginev1.StartRunRequest{Workflow: "guarded", Workspace: "/repo"}).GetRunId()
	edit := func(path string) *policyv1.ReportToolCallResponse {
		t.Helper()
		d := c.checkInput(t, &policyv1.CheckToolCallRequest{
			RunId: id, Tool: "Edit", Input: fmt.Appendf(nil, `{"file_path": %q, "old_string": "a", "new_string": "b"}`, path),
		}, allow, "")
		return must[*policyv1.ReportToolCallResponse](t)(other.policy.ReportToolCall(within(t),
			&policyv1.ReportToolCallRequest{RunId: id, CallId: d.GetCallId(), Tool: "Edit", Ok: true}))
	}
	if got := edit("/repo/main.go"); got.GetInterrupt() != nil || got.GetRun().GetState() != "working" {
		t.Errorf("a file that nothing watches: %v", got)
	}
	got := edit("/repo/db/2024/1.sql")
	in := got.GetInterrupt()
	if in.GetName() != "migration" || in.GetFrom() != "working" || in.GetTo() != "checking" || got.GetRun().GetState() != "checking" ||
		got.GetRun().GetInterrupt().GetReturnTo() != "working" {
		t.Fatalf("a migration is edited: %v", got)
	}
	if n := in.GetNotice(); !strings.HasPrefix(n, "[INTERLOCK INTERRUPT]") || !strings.Contains(n, "make check") || !strings.Contains(n, "OK") {
		t.Errorf("the notice does not tell what to do: %s", n)
	}
	other.expect(t, id, "Edit", deny, "TOOL_NOT_ALLOWED")
	back := other.move(t, id, "OK")
	if back.GetState() != "working" || back.GetInterrupt() != nil || back.GetUsage().GetFilesChanged() != 0 || back.GetEntry() != 3 {
		t.Errorf("returned to %v", back)
	}
	r := c.fire(t, id, "OK", "").GetRejection()
	if r.GetCode() != enginev1.RejectionCode_REJECTION_CODE_UNKNOWN_EVENT {
		t.Errorf("OK outside of the handler: %v", r)
	}
	events := w.events(t, bus.Subject{Namespace: w.namespace, Entity: "run", ID: id})
	for _, want := range []string{"started", "interrupt.fired", "transitioned"} {
		if ev := events.next(t); ev.GetType() != want {
			t.Errorf("announced %v, want %s", ev, want)
		}
	}
}

// forks: S5.1 to S5.4 with a session for two of three branches, on two replicas.
func forks(t *testing.T, w *world) {
	main, sub := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	main.register(t, pipelineSuite)
	main.register(t, pipeline)
	id := main.begin(t, &enginev1.StartRunRequest{Workflow: "pipeline", SessionId: "main"}).GetRunId()
	forked := main.moveWith(t, id, "BUILT", `{"built": true}`)
	if forked.GetBranch() != "lint" || forked.GetState() != "lint_run" || len(forked.GetFork().GetBranches()) != 3 {
		t.Fatalf("forked into %v", forked)
	}
	main.expect(t, id, "Lint", allow, "")
	main.expect(t, id, "Types", deny, "TOOL_NOT_ALLOWED")
	for _, branch := range []string{"types", "tests"} {
		run := must[*enginev1.BindBranchResponse](t)(sub.runs.BindBranch(within(t),
			&enginev1.BindBranchRequest{Workflow: "pipeline", Branch: branch, SessionId: "sub-" + branch})).GetRun()
		if run.GetBranch() != branch || run.GetState() != branch+"_run" {
			t.Fatalf("bound to %v", run)
		}
	}
	bySession := func(session, tool string, decision policyv1.Decision, code string) {
		t.Helper()
		sub.checkInput(t, &policyv1.CheckToolCallRequest{SessionId: session, Tool: tool}, decision, code)
	}
	bySession("sub-types", "Types", allow, "")
	bySession("sub-types", "Lint", deny, "TOOL_NOT_ALLOWED")
	send := func(c *caller, session, event, data string) *enginev1.Run {
		t.Helper()
		resp := must[*enginev1.TransitionRunResponse](t)(c.runs.TransitionRun(within(t),
			&enginev1.TransitionRunRequest{SessionId: session, Event: event, Data: []byte(data)}))
		if !resp.GetAccepted() {
			t.Fatalf("%s of %s: %s", event, session, resp.GetRejection().GetMessage())
		}
		return resp.GetRun()
	}
	// S5.5 inside of a branch: the child is judged, the branch waits.
	if child := send(sub, "sub-tests", "RUN", ""); child.GetWorkflow() != "pipeline-suite" || child.GetParentRunId() != id {
		t.Fatalf("invoked %v", child)
	}
	bySession("sub-tests", "UnitTest", allow, "")
	bySession("sub-tests", "Tests", deny, "TOOL_NOT_ALLOWED")
	if run := send(main, "main", "OK", `{"lint": "clean"}`); run.GetStatus() != enginev1.RunStatus_RUN_STATUS_WAITING {
		t.Errorf("with all other branches taken the main session is %v", run)
	}
	main.expect(t, id, "Lint", deny, "RUN_NOT_ACTIVE")
	send(sub, "sub-types", "OK", `{"types": "sound"}`)
	if run := send(sub, "sub-types", "BRANCH_DONE:types", ""); !run.GetBranchOver() {
		t.Errorf("the branch that is done is %v", run)
	}
	bySession("sub-types", "Types", deny, "RUN_NOT_ACTIVE")
	send(sub, "sub-tests", "GREEN", `{"passed": 12}`)
	joined := main.get(t, id)
	want := `{"built":true,"lint":"clean","types":"sound","results":{"RUN":{"kind":"all","passed":12}}}`
	if joined.GetState() != "ready" || joined.GetFork() != nil || string(joined.GetContext()) != want {
		t.Errorf("joined as %v", joined)
	}
	for _, branch := range []string{"lint", "types", "tests"} {
		if resp := main.fire(t, id, "BRANCH_DONE:"+branch, ""); !resp.GetAccepted() || resp.GetNote() == "" {
			t.Errorf("BRANCH_DONE:%s after the join: %v", branch, resp)
		}
	}
	bySession("main", "Ship", allow, "")
	bySession("sub-types", "Ship", deny, "RUN_NOT_ACTIVE")
	contiguous(t, id, main.history(t, id))
}

// oneJoin: branches end at the same time on two replicas; exactly one of them
// joins.
func oneJoin(t *testing.T, w *world) {
	callers := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	callers[0].register(t, pipelineSuite)
	callers[0].register(t, strings.Replace(pipeline, `"on": {
      "RUN"`, `"on": {"OK": "tests_done", "RUN"`, 1))
	ctx := within(t)
	for range 10 {
		id := callers[0].start(t, "pipeline").GetRunId()
		callers[0].move(t, id, "BUILT")
		var joined atomic.Int64
		all(t, 3, func(i int) error {
			resp, err := callers[i%2].runs.TransitionRun(ctx,
				&enginev1.TransitionRunRequest{RunId: id, Branch: []string{"lint", "types", "tests"}[i], Event: "OK"})
			switch {
			case err != nil:
				return err
			case !resp.GetAccepted():
				return errors.New(resp.GetRejection().GetMessage())
			case resp.GetRun().GetFork() == nil:
				joined.Add(1)
			}
			return nil
		})
		joins := 0
		for _, e := range callers[1].history(t, id) {
			joins += len(e.GetJoins())
		}
		if got := callers[1].get(t, id); joins != 1 || joined.Load() != 1 || got.GetState() != "ready" {
			t.Fatalf("%d joins, seen by %d; the run is %v", joins, joined.Load(), got)
		}
	}
}

// invokes: S5.5, S5.6 by run and by session.
func invokes(t *testing.T, w *world) {
	c, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	c.register(t, `{"id": "outer", "initial": "a", "states": {
	  "a": {"allowed_tools": ["Outer"], "on": {"TEST": {"invoke": "pipeline-suite", "on_complete": "b", "on_fail": "failed"}}},
	  "b": {"allowed_tools": ["Outer"], "on": {"END": "done"}}, "done": {"type": "final"}, "failed": {"type": "final"}}}`)
	id := c.begin(t, &enginev1.StartRunRequest{Workflow: "outer", SessionId: "s"}).GetRunId()
	r := c.fire(t, id, "TEST", "").GetRejection()
	if r.GetCode() != enginev1.RejectionCode_REJECTION_CODE_UNKNOWN_WORKFLOW {
		t.Fatalf("without the workflow: %v", r)
	}
	c.register(t, pipelineSuite)
	child := c.move(t, id, "TEST")
	if parent := other.get(t, id); parent.GetStatus() != enginev1.RunStatus_RUN_STATUS_WAITING || parent.GetChild().GetRunId() != child.GetRunId() {
		t.Errorf("the parent is %v", parent)
	}
	// A call is the same under any run of the family that names it.
	for _, asked := range [][2]string{{id, child.GetRunId()}, {child.GetRunId(), id}, {id, id}} {
		d := other.expect(t, asked[0], "UnitTest", allow, "")
		report := must[*policyv1.ReportToolCallResponse](t)(c.policy.ReportToolCall(within(t),
			&policyv1.ReportToolCallRequest{RunId: asked[1], CallId: d.GetCallId(), Tool: "UnitTest", Ok: true}))
		if !report.GetAccounted() || report.GetRun().GetRunId() != child.GetRunId() {
			t.Errorf("checked as %s and reported as %s: %v", asked[0], asked[1], report)
		}
	}
	other.expect(t, id, "Outer", deny, "TOOL_NOT_ALLOWED")
	if got := other.move(t, id, "GREEN"); got.GetRunId() != id || got.GetState() != "b" {
		t.Errorf("afterwards %v", got)
	}
	c.expect(t, id, "Outer", allow, "")
	c.expect(t, id, "UnitTest", deny, "TOOL_NOT_ALLOWED")
	// It has reached its final state (S2.9), but naming it must not lift the rules of the run
	// that continues.
	c.expect(t, child.GetRunId(), "Anything", deny, "RUN_NOT_ACTIVE")
}

// forceState: S6.3, S15.7. Agents force where the workflow lets them.
func forceState(t *testing.T, w *world) {
	c := w.as(t, auth.Operator)
	c.register(t, bugfix)
	c.register(t, strings.Replace(strings.Replace(bugfix, `"id": "bugfix"`, `"id": "debugged"`, 1), `"context"`, `"meta": {"debug": true, "enforcement": "while_running"}, "context"`, 1))
	force := func(run, state, context string) *enginev1.ForceStateResponse {
		return must[*enginev1.ForceStateResponse](t)(c.runs.ForceState(within(t),
			&enginev1.ForceStateRequest{RunId: run, State: state, Context: []byte(context)}))
	}
	if got := force(c.start(t, "bugfix").GetRunId(), "testing", ""); got.GetRejection().GetCode() != enginev1.RejectionCode_REJECTION_CODE_DEBUG_DISABLED {
		t.Errorf("without debug: %v", got)
	}
	id := c.start(t, "debugged").GetRunId()
	c.register(t, strings.Replace(strings.Replace(bugfix, `"id": "bugfix"`, `"id": "kept"`, 1), `"context"`, `"meta": {"debug": "operator", "enforcement": "while_running"}, "context"`, 1))
	agent := w.as(t, auth.Agent).runs
	for workflow, accepted := range map[string]bool{"debugged": true, "kept": false} {
		got := must[*enginev1.ForceStateResponse](t)(agent.ForceState(within(t),
			&enginev1.ForceStateRequest{RunId: c.start(t, workflow).GetRunId(), State: "testing"}))
		if got.GetAccepted() != accepted {
			t.Errorf("an agent forces %s: %v", workflow, got)
		}
	}
	if got := force(id, "nowhere", ""); got.GetAccepted() {
		t.Errorf("to no state: %v", got)
	}
	if got := force(id, "testing", `{"test_result": "pass"}`); !got.GetAccepted() || got.GetRun().GetState() != "testing" {
		t.Errorf("forced: %v", got)
	}
	c.move(t, id, "SHIP")
	if history := c.history(t, id); history[1].GetType() != enginev1.HistoryType_HISTORY_TYPE_FORCED {
		t.Errorf("recorded as %v", history[1])
	}
}
