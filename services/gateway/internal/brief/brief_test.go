package brief_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

const running = enginev1.RunStatus_RUN_STATUS_RUNNING

func testing1() *enginev1.Run {
	return &enginev1.Run{
		RunId: "run_1", Workflow: "deploy", WorkflowVersion: 2, Status: running, State: "testing",
		Rules: &enginev1.StateRules{ToolsRestricted: true, AllowedTools: []string{"Read", "Bash"}, Instructions: "Run the tests.", LegalEvents: []*enginev1.LegalEvent{
			{Event: "DEPLOY", Targets: []string{"deploying"}, Guards: []string{"tests_passed"}, RequiresApproval: true},
			{Event: "FAIL", Targets: []string{"failed", "retrying"}},
		}},
		Usage: &enginev1.Usage{}, WorkflowMeta: &enginev1.WorkflowMeta{Enforcement: "while_running"},
	}
}

// TestState: the first lines are phase, tools, transitions and instructions, the rest are
// facts that agents act on (S3.2, S3.3, S3.4, S3.6, S3.7).
func TestState(t *testing.T) {
	t.Parallel()
	run := testing1()
	run.Rules.DisallowedTools = []string{"WebFetch"}
	run.Usage.Iterations, run.Rules.MaxIterations = 3, 5
	run.Rules.MaxEditLines, run.Rules.MaxFilesPerState, run.Usage.FilesChanged = 20, 3, 1
	run.Rules.ContextBudgetBytes, run.Usage.ContextBytes = 50_000, 41_000
	run.Rules.CommandsRestricted, run.Rules.AllowedCommands = true, []string{"pytest", "npm test"}
	run.Rules.BlockedEnv = []string{"PROD_DB_URL", "TOKEN"}
	run.Rules.EnvOverrides = []*enginev1.EnvVar{{Name: "NODE_ENV", Value: "staging"}, {Name: "A", Value: "x y\n"}}
	want := `Phase: testing. Tools: Read, Bash.
Transitions: DEPLOY -> deploying [guards: tests_passed] [needs approval], FAIL -> failed | retrying.
Instructions: Run the tests.
Disallowed tools: WebFetch.
Iterations: 3 of 5 used, 2 left.
Edits: at most 20 lines each; 1 of 3 files changed, 2 left.
Context budget: 41000 of 50000 bytes of tool results used, 9000 left.
Allowed commands: "pytest", "npm test".
Blocked environment variables: PROD_DB_URL, TOKEN.
Environment: NODE_ENV="staging", A="x y\n".
Run: run_1 of deploy version 2, RUNNING.`
	if got := brief.State(run, ""); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := brief.Injected(run); got != want {
		t.Errorf("injected\n%s", got)
	}
	for _, row := range []struct {
		change func(*enginev1.Run)
		want   string
	}{
		{func(r *enginev1.Run) { r.Rules.ToolsRestricted, r.Rules.LegalEvents = false, nil }, "Tools: any.\nTransitions: none.\nInstructions:"},
		{func(r *enginev1.Run) { r.Rules.AllowedTools = nil }, "Tools: none.\nTransitions: DEPLOY"},
		{func(r *enginev1.Run) { r.Usage.Iterations, r.Rules.MaxIterations = 9, 5 }, "0 left; fire an event with x_transition now.\n"},
		{func(r *enginev1.Run) { r.Rules.MaxFilesPerState = 2 }, "Edits: 0 of 2 files changed, 2 left.\n"},
		{func(r *enginev1.Run) { r.Rules.MaxEditLines = 2 }, "Edits: at most 2 lines each.\n"},
		{func(r *enginev1.Run) { r.Rules.ContextBudgetBytes, r.Usage.ContextBytes = 10, 12 }, "12 of 10 bytes of tool results used, 0 left.\n"},
		{func(r *enginev1.Run) { r.Rules.CommandsRestricted = true }, "Allowed commands: none.\n"},
	} {
		run := testing1()
		row.change(run)
		if got := brief.State(run, "x_"); !strings.Contains(got, row.want) {
			t.Errorf("want %q, got\n%s", row.want, got)
		}
	}
}

// TestStatus: what a status leaves open (S2.9, S6.1, S6.2). Limits and
// instructions are for agents that can act.
func TestStatus(t *testing.T) {
	t.Parallel()
	const none = "Tools: none.\nTransitions: none.\n"
	for _, row := range []struct {
		name     string
		change   func(*enginev1.Run)
		standing brief.ToolStatus
		waits    bool
		want     []string
	}{
		{"running", func(*enginev1.Run) {}, brief.Judged, false, []string{"Tools: Read, Bash.", "Instructions:"}},
		{
			"awaiting approval", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL }, brief.Judged, true,
			[]string{"Tools: Read, Bash.", "It waits for a human", "x_wait returns"},
		},
		{"waiting for a run", func(r *enginev1.Run) {
			r.Status, r.Child = enginev1.RunStatus_RUN_STATUS_WAITING, &enginev1.Invocation{RunId: "run_2", Workflow: "suite", Event: "TEST"}
		}, brief.Closed, true, []string{none, "It waits for the run run_2 of suite, which it invoked", "x_wait returns"}},
		{"waiting for branches", func(r *enginev1.Run) {
			r.Status, r.Fork = enginev1.RunStatus_RUN_STATUS_WAITING, &enginev1.Fork{Event: "GO", State: "testing", OnComplete: "done"}
		}, brief.Closed, true, []string{none, "It waits for other branches"}},
		{
			"paused", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_PAUSED }, brief.Open, false,
			[]string{"Tools: any.\nTransitions: none.\n", `Resume it with x_load_workflow(name="deploy", resume=true).`},
		},
		{
			"paused as a child", func(r *enginev1.Run) { r.Status, r.ParentRunId = enginev1.RunStatus_RUN_STATUS_PAUSED, "run_0" }, brief.Open, false,
			[]string{"invoked by the run run_0", "is resumed with that run"},
		},
		{
			"held", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_HELD }, brief.Closed, false,
			[]string{none, "An operator holds it"},
		},
		{
			"held for its session", func(r *enginev1.Run) {
				r.Status = enginev1.RunStatus_RUN_STATUS_HELD
				r.Holds = []*enginev1.Hold{{Cause: enginev1.HoldCause_HOLD_CAUSE_SESSION_END}}
			}, brief.Closed, false, []string{none, "Its session has ended: calls are denied until the session or an operator resumes it."},
		},
		{
			"held for both", func(r *enginev1.Run) {
				r.Status = enginev1.RunStatus_RUN_STATUS_HELD
				r.Holds = []*enginev1.Hold{{Cause: enginev1.HoldCause_HOLD_CAUSE_SESSION_END}, {Cause: enginev1.HoldCause_HOLD_CAUSE_OPERATOR}}
			}, brief.Closed, false, []string{none, "An operator holds it"},
		},
		{
			"paused, and kept", func(r *enginev1.Run) {
				r.Status, r.WorkflowMeta.Enforcement = enginev1.RunStatus_RUN_STATUS_PAUSED, "until_success"
			}, brief.Closed, false,
			[]string{none, "Its workflow keeps its agents, so only Interlock's own tools are allowed."},
		},
		{
			"succeeded", func(r *enginev1.Run) {
				r.Status, r.Rules.LegalEvents, r.WorkflowMeta.Enforcement = enginev1.RunStatus_RUN_STATUS_COMPLETED, nil, "until_success"
			}, brief.Open, false,
			[]string{"Tools: any.\n", "It has ended"},
		},
		{
			"failed, and kept", func(r *enginev1.Run) {
				r.Status, r.Rules.LegalEvents, r.WorkflowMeta.Enforcement = enginev1.RunStatus_RUN_STATUS_FAILED, nil, "until_success"
			}, brief.Closed, false,
			[]string{"It has failed: only tools that read are allowed, until you begin the same workflow anew with x_load_workflow"},
		},
		{
			"of an unknown enforcement", func(r *enginev1.Run) {
				r.Status, r.Rules.LegalEvents, r.WorkflowMeta.Enforcement = enginev1.RunStatus_RUN_STATUS_COMPLETED, nil, "later"
			}, brief.Closed, false, nil,
		},
		{
			"completed", func(r *enginev1.Run) { r.Status, r.Rules.LegalEvents = enginev1.RunStatus_RUN_STATUS_COMPLETED, nil }, brief.Open, false,
			[]string{"Tools: any.\n", "COMPLETED. It has ended; begin another with x_load_workflow."},
		},
		{"failed where it stood", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_FAILED }, brief.Closed, false, []string{none}},
		{"blocked", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_BLOCKED }, brief.Closed, false, []string{none}},
		{"cancelled", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_CANCELLED }, brief.Closed, false, []string{none}},
		{"of the future", func(r *enginev1.Run) { r.Status = 99 }, brief.Closed, false, []string{none}},
		{
			"a branch that is over", func(r *enginev1.Run) { r.Branch, r.BranchOver, r.Fork = "lint", true, &enginev1.Fork{Event: "GO"} }, brief.Closed, true,
			[]string{none, "Branch: lint. It has ended: no more calls are allowed here."},
		},
		{
			"a branch of a fork that is over", func(r *enginev1.Run) { r.Branch, r.BranchOver = "lint", true }, brief.Closed, false,
			[]string{none, "It has ended and its fork has joined"},
		},
		{
			"an interrupt", func(r *enginev1.Run) {
				r.Interrupt = &enginev1.Interruption{Name: "pb_check", ReturnTo: "implementing"}
			}, brief.Judged, false,
			[]string{"Interrupt: pb_check is being handled; $return leads back to implementing."},
		},
		{"a child", func(r *enginev1.Run) { r.ParentRunId = "run_0" }, brief.Judged, false, []string{"Child run: invoked by the run run_0"}},
	} {
		run := testing1()
		row.change(run)
		if got := brief.ToolStatusOf(run); got != row.standing {
			t.Errorf("%s: standing %d, want %d", row.name, got, row.standing)
		}
		if got := brief.Waits(run); got != row.waits {
			t.Errorf("%s: waits %v", row.name, got)
		}
		text := brief.State(run, "x_")
		for _, want := range row.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: want %q, got\n%s", row.name, want, text)
			}
		}
		if acts := strings.Contains(text, "Instructions:"); acts != (row.standing == brief.Judged) {
			t.Errorf("%s: instructions %v\n%s", row.name, acts, text)
		}
	}
}

// ci is a run in the branches of a fork, one of which is in branches itself.
func ci() *enginev1.Run {
	run := testing1()
	run.State, run.Branch = "types_run", "types"
	run.Fork = &enginev1.Fork{
		Event: "BUILD_DONE", State: "building", Join: enginev1.JoinMode_JOIN_MODE_ALL, OnComplete: "deploying", OnFail: "failed", Current: "types",
		Branches: []*enginev1.ForkBranch{
			{Name: "lint", Status: enginev1.BranchStatus_BRANCH_STATUS_SUCCEEDED, State: "lint_done", Terminal: "lint_done"},
			{Name: "types", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "types_run", Terminal: "types_done"},
			{Name: "scan", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "scan_run", Terminal: "scan_done", SessionId: "s1/a1", Fork: &enginev1.Fork{
				Event: "SPLIT", State: "scan_run", Branches: []*enginev1.ForkBranch{
					{Name: "deep", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "deep_run", Terminal: "deep_done", SessionId: "s1/a2"},
					{Name: "flat", Status: enginev1.BranchStatus_BRANCH_STATUS_FAILED, State: "flat_bad", Terminal: "flat_done"},
				},
			}},
			{Name: "docs", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "docs_run", Terminal: "docs_done"},
		},
	}
	return run
}

// TestFork: which branches are open, who works where, and what comes next (S5.2,
// S5.3).
func TestFork(t *testing.T) {
	t.Parallel()
	got := brief.State(ci(), "x_")
	want := `Branch: types. Reaching types_done completes it.
Fork: BUILD_DONE in building; it continues to deploying when all branches are complete; when one fails, it continues to failed.
Branches: lint is complete, types is open in types_run (yours), scan is open in scan_run (itself in branches), ` +
		`scan/deep is open in deep_run (used by session "s1/a2"), scan/flat has failed in flat_bad, docs is open in docs_run (free).
A subagent gets a free branch with x_load_workflow(name="deploy", branch=NAME); the remaining branches follow when this branch has ended.
Run: run_1`
	if !strings.Contains(got, want) {
		t.Errorf("got\n%s", got)
	}
	// For a session in another branch, the current one is nobody's to take.
	run := ci()
	run.Branch, run.Fork.Branches = "docs", run.Fork.Branches[1:]
	run.Fork.Branches[2].SessionId = "s1/a3"
	got = brief.State(run, "")
	if !strings.Contains(got, "types is open in types_run (used by sessions without their own branch)") || strings.Contains(got, "A subagent") {
		t.Errorf("got\n%s", got)
	}
	run = ci()
	run.Fork.Join, run.Fork.OnFail = enginev1.JoinMode_JOIN_MODE_ANY, ""
	run.Fork.Branches = run.Fork.Branches[:2]
	got = brief.State(run, "")
	if !strings.Contains(got, "it continues to deploying when one branch is complete; when all have failed, the run fails.") || strings.Contains(got, "A subagent") {
		t.Errorf("got\n%s", got)
	}
}

// TestInjectedBounds: whatever a workflow holds, the description stays within what
// agents take, names transitions first, and tells the run last.
func TestInjectedBounds(t *testing.T) {
	t.Parallel()
	long := func(prefix string, n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("%s%04d_%s", prefix, i, strings.Repeat("n", 100))
		}
		return out
	}
	run := ci()
	run.State, run.Workflow, run.Branch = strings.Repeat("s", 128), strings.Repeat("w", 128), "types"
	run.Rules.AllowedTools, run.Rules.DisallowedTools, run.Rules.BlockedEnv = long("tool", 3000), long("not", 3000), long("ENV", 3000)
	run.Rules.CommandsRestricted, run.Rules.AllowedCommands = true, long("command ", 3000)
	run.Rules.Instructions = strings.Repeat("é", 100_000)
	run.Rules.MaxIterations, run.Rules.MaxEditLines, run.Rules.MaxFilesPerState, run.Rules.ContextBudgetBytes = 1<<62, 1<<62, 1<<62, 1<<62
	run.Interrupt = &enginev1.Interruption{Name: strings.Repeat("i", 128), ReturnTo: strings.Repeat("r", 128)}
	run.ParentRunId = strings.Repeat("p", 128)
	run.Rules.LegalEvents = nil
	for _, event := range long("EVENT", 3000) {
		run.Rules.LegalEvents = append(run.GetRules().GetLegalEvents(), &enginev1.LegalEvent{Event: event, Targets: long("t", 10), Guards: long("g", 10)})
	}
	for _, v := range long("VAR", 3000) {
		run.Rules.EnvOverrides = append(run.GetRules().GetEnvOverrides(), &enginev1.EnvVar{Name: v, Value: strings.Repeat("\x00", 10_000)})
	}
	run.Fork.Event, run.Fork.State = strings.Repeat("e", 128), strings.Repeat("s", 128)
	run.Fork.OnComplete, run.Fork.OnFail = strings.Repeat("c", 128), strings.Repeat("f", 128)
	for _, b := range long("branch", 3000) {
		run.Fork.Branches = append(run.Fork.Branches, &enginev1.ForkBranch{
			Name: b, Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: strings.Repeat("b", 128), SessionId: strings.Repeat("x", 256),
		})
	}
	got := brief.Injected(run)
	if len(got) > brief.MaxBytes || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
	lines := strings.Split(got, "\n")
	if !strings.HasPrefix(lines[1], "Transitions: EVENT0000") || !strings.HasSuffix(lines[1], " more.") {
		t.Errorf("transitions: %s", lines[1])
	}
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "Run: run_1 of w") || !strings.HasSuffix(last, "RUNNING.") {
		t.Errorf("the run: %s", last)
	}

	// Many events of usual names are all named, and instructions are cut last.
	run = testing1()
	run.Rules.Instructions = strings.Repeat("é", brief.MaxBytes)
	run.Rules.LegalEvents = nil
	for i := range 150 {
		run.Rules.LegalEvents = append(run.GetRules().GetLegalEvents(), &enginev1.LegalEvent{
			Event: fmt.Sprintf("EVENT_%03d", i), Targets: []string{fmt.Sprintf("state_number_%03d", i)}, Guards: []string{"tests_passed"},
		})
	}
	got = brief.Injected(run)
	for _, e := range run.GetRules().GetLegalEvents() {
		if !strings.Contains(got, e.GetEvent()) {
			t.Errorf("%s is not named", e.GetEvent())
		}
	}
	if len(got) > brief.MaxBytes || len(got) < brief.MaxBytes-100 || !utf8.ValidString(got) || !strings.Contains(got, "[cut: they have 19000 bytes") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
	if !strings.Contains(brief.State(run, ""), run.GetRules().GetInstructions()) {
		t.Error("who asks for the state does not get the instructions whole")
	}
}
