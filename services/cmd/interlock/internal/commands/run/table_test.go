package run

import (
	"bytes"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

func TestHistoryDetails(t *testing.T) {
	t.Parallel()
	for want, entry := range map[string]*enginev1.HistoryEntry{
		"":                                  {Type: enginev1.HistoryType_HISTORY_TYPE_STARTED},
		"because; by safe_next; branch a/b": {Rationale: "because", SafeNext: true, Branch: "a/b"},
		"branch lint; given to session s/1": {Branch: "lint", SessionId: "s/1"},
		"interrupt check; by a, b":          {Interrupt: "check", Files: []string{"a", "b"}},
		"run run_c":                         {ChildRunId: "run_c"},
		"run run_c has ended":               {ChildRunId: "run_c", Reason: "run run_c has ended"},
		"branch lint; fork GO succeeded -> done (lint SUCCEEDED, test CANCELLED), conflicts: k; fork UP failed -> bad ()": {
			Branch: "lint", Joins: []*enginev1.Join{
				{Event: "GO", To: "done", Succeeded: true, Conflicts: []string{"k"}, Branches: []*enginev1.BranchOutcome{
					{Name: "lint", Status: enginev1.BranchStatus_BRANCH_STATUS_SUCCEEDED}, {Name: "test", Status: enginev1.BranchStatus_BRANCH_STATUS_CANCELLED},
				}}, {Event: "UP", To: "bad"},
			},
		},
		"Edit ok, call c1":                 {ToolResult: &enginev1.ToolResult{Tool: "Edit", CallId: "c1", Ok: true}},
		"Bash failed, call c2, output cut": {ToolResult: &enginev1.ToolResult{Tool: "Bash", CallId: "c2", Truncated: true}},
	} {
		views := jsonview.HistoryOf([]*enginev1.HistoryEntry{entry})
		if got := details(&views[0]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// nested is a run seen from a branch of a fork in a branch.
func nested() *enginev1.Run {
	return &enginev1.Run{
		RunId: "run_1", Workflow: "ci\x1b", WorkflowVersion: 1, Status: enginev1.RunStatus_RUN_STATUS_HELD, State: "s",
		Holds: []*enginev1.Hold{
			{By: "olga", Cause: enginev1.HoldCause_HOLD_CAUSE_OPERATOR, Reason: "lunch"}, {By: "interlock", Cause: enginev1.HoldCause_HOLD_CAUSE_SESSION_END},
		},
		Branch: "a/b", BranchOver: true, Rules: &enginev1.StateRules{ToolsRestricted: true, CommandsRestricted: true}, Interrupt: &enginev1.Interruption{Name: "check", ReturnTo: "r"},
		Child: &enginev1.Invocation{RunId: "run_2", Workflow: "sub", Event: "ASK"},
		Fork: &enginev1.Fork{Event: "GO", State: "build", Join: enginev1.JoinMode_JOIN_MODE_ANY, OnComplete: "done", Branches: []*enginev1.ForkBranch{
			{Name: "a", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "x", Terminal: "y", Fork: &enginev1.Fork{
				Event: "DEEP", State: "x", Join: enginev1.JoinMode_JOIN_MODE_ALL, Current: "b", Branches: []*enginev1.ForkBranch{
					{Name: "b", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "s", Terminal: "t", SessionId: "z/1"},
				},
			}},
			{Name: "c", Status: enginev1.BranchStatus_BRANCH_STATUS_FAILED, State: "f", Terminal: "g"},
		}},
	}
}

func TestNestedForkInATable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printRun(show.Printer{Output: "table"}, &out, nested()); err != nil {
		t.Fatal(err)
	}
	const want = `run         run_1
workflow    ci⟦U+001B⟧ (version 1)
status      HELD
held        by operator olga: lunch
held        its session has ended
state       s
branch      a/b (over)
interrupt   check, $return leads to r
fork        GO in build (join any, on complete -> done)
- branch    a  ACTIVE  x (done at y)
  fork      DEEP in x (join all)
  - branch  b  ACTIVE  s (done at t)  session z/1
- branch    c  FAILED  f
waits for   run_2 of sub, invoked by ASK
tools       only Interlock's own
commands    none
tool calls  0 in this state
context     {}
version     0
`
	if out.String() != want {
		t.Errorf("got\n%s", &out)
	}
	view := jsonview.RunOf(nested())
	const line = "a/b:s (interrupt check) (waits for run_2)  [a ACTIVE x, a/b ACTIVE s, c FAILED f]"
	if got := whereabouts(&view); got != line {
		t.Errorf("got %s", got)
	}
}

// S2.9, S6.2: the permissions of a run follow from its status and its enforcement.
func TestToolsText(t *testing.T) {
	t.Parallel()
	none := "only Interlock's own"
	all := "all: enforcement is off"
	for _, c := range []struct{ status, success, always, lax string }{
		{"RUNNING", "Read", "Read", "Read"},
		{"AWAITING_APPROVAL", "Read", "Read", "Read"},
		{"PAUSED", none, none, all},
		{"HELD", none, none, none},
		{"COMPLETED", all, none, all},
		{"FAILED", "only tools that read", none, all},
		{"BLOCKED", none, none, none},
		{"CANCELLED", none, none, none},
	} {
		for enforcement, want := range map[string]string{"until_success": c.success, "always": c.always, "while_running": c.lax} {
			r := jsonview.Run{Status: c.status, Enforcement: enforcement, AllowedTools: &[]string{"Read"}}
			if got := toolsText(&r); got != want {
				t.Errorf("%s, %s: %q, want %q", c.status, enforcement, got, want)
			}
			r.SupersededBy = "run_2" // and judges no calls
			if got := toolsText(&r); got != none+": its session drives run run_2" {
				t.Errorf("%s, %s, superseded: %q", c.status, enforcement, got)
			}
		}
	}
}
