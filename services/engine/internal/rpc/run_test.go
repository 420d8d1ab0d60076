package rpc

import (
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/prototest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/internal/halts"
)

const everything = `{
	"id": "all", "initial": "work",
	"meta": {"deadline": {"after": "8h", "target": "end"}, "debug": true, "capture_output": true, "enforcement": "always", "policy": ["p"],
		"approval": {"wait_seconds": 20}},
	"guards": {"g": {"field": "n", "op": "eq", "value": 1}, "h": {"evidence": "ci"}},
	"evidence": {"ci": {"tool": "mcp__ci__status", "output": {"pointer": "/ok", "op": "eq", "value": true}}},
	"states": {
		"work": {
			"instructions": "Do it.", "model": "opus", "thinking_level": "high", "allowed_tools": ["Read"], "disallowed_tools": ["Bash"], "allowed_commands": ["ls"],
			"blocked_env": ["TOKEN"], "env_overrides": {"A": "b"}, "max_iterations": 9, "max_edit_lines": 8, "max_files_per_state": 7,
			"context_budget_bytes": 6,
			"on": {
				"GO": {"target": "end", "guards": ["g"], "requires_approval": true},
				"FORK": {"fork": {"branches": {"b": {"initial": "one", "terminal": "two"}}, "join": "all", "on_complete": "end", "on_fail": "end"}}
			}
		},
		"one": {"after": {"1h": {"target": "two", "guard": "g"}}, "on": {"OK": "two"}}, "two": {"type": "final"}, "end": {"type": "final"}
	}
}`

// Each field of a run says something in one of the views of runs.
func TestRunIsComplete(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(everything))
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	empty, problem := document.Parse([]byte(`{"n":1}`), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	lane := func(state, approval string, outcome workflow.ApprovalOutcome) workflow.Lane {
		return workflow.Lane{
			State: state, Entry: 2, Context: empty, Clock: workflow.Clock{Since: noon, Blocked: []time.Duration{time.Hour}},
			Interrupt: &workflow.Interruption{Name: "check", ReturnTo: "work"},
			Child:     &workflow.Invocation{RunID: "run_3", Workflow: "sub", Event: "ASK"},
			Approval: &workflow.Approval{
				ID: approval, Event: "GO", To: "end", Message: "Go?", Actor: "amir", Since: noon, Outcome: outcome, Note: "no", DecidedBy: "olga",
			},
		}
	}
	run := &workflow.Run{
		ID: "run_2", Workflow: "all", WorkflowVersion: 3, SessionID: "s", Workspace: "/w", Claimed: true, Schedule: "nightly", Version: 4, TransitionCount: 5,
		Status: workflow.Running, Lane: lane("work", "apr_1", ""), CreatedAt: noon, UpdatedAt: noon, Deadline: noon.Add(8 * time.Hour),
		Parent: &workflow.Parent{RunID: "run_1", Root: "run_0"},
		Holds:  []workflow.Hold{{By: "olga", Cause: workflow.HoldOperator, Reason: "lunch", Since: noon}},
	}
	forked := *run
	forked.Fork = &workflow.ForkProgress{Event: "FORK", Current: "b", Branches: []workflow.BranchProgress{{
		Name: "b", Status: workflow.BranchActive, SessionID: "s", Lane: lane("one", "apr_2", workflow.ApprovalRejected),
	}}}
	paused := forked
	branch := paused.Fork.Branches[0]
	branch.Clock.Stopped = noon.Add(time.Minute)
	paused.Fork = &workflow.ForkProgress{Event: "FORK", Branches: []workflow.BranchProgress{branch}}
	s := NewRuns(nil)
	var runs []*enginev1.Run
	for _, at := range []workflow.View{run.At(""), forked.At("b"), forked.At("gone"), paused.At("b")} {
		out := s.runProto(&app.View{
			Run: at.Run, At: at, Machine: workflow.Compile(def, 3), Process: &process.Process{}, SupersededBy: "run_9", LastActivity: noon,
			Silences: []workflow.Due{{Kind: workflow.DueStale, At: noon, Event: "$stale", Holds: true}},
			Freeze:   &workflow.Freeze{ID: "frz_1", Reason: "end of the year", By: "olga", Until: noon},
			Halt:     &halts.Halt{ID: "halt_1", Scope: halts.Scope{Kind: halts.Workflow, Name: "ship"}, Reason: "INC-42", By: "olga", At: noon},
			Evidence: []evidence.Status{
				{Name: "tests", Held: true, Since: noon, Needs: "needs tests", Tree: "tree:sha256:00"}, {Name: "ci", VoidedBy: "an edit", Missing: "needs ci", Needs: "needs ci"},
			},
		})
		out.Usage = usageProto(app.Usage{Iterations: 1, ContextBytes: 2, FilesChanged: 3})
		runs = append(runs, out)
	}
	prototest.Said(t, runs)
	if over := runs[2]; !over.GetBranchOver() || len(over.GetRules().GetAllowedTools()) > 0 || !over.GetRules().GetToolsRestricted() || over.GetApproval() != nil {
		t.Errorf("a branch that is over allows %v", over)
	}
}
