package rpc

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
)

const gated = `{
	"id": "w", "initial": "planning", "meta": {"enforcement": "while_running"},
	"states": {"planning": {"allowed_tools": ["Read"], "max_iterations": 3, "on": {"GO": "done"}}, "done": {"type": "final"}}
}`

// S6.2: what is allowed because the run is paused is not allowed by its state: a
// hook that took it for that would skip the user's own permissions.
func TestLiftedEnforcementIsNoConsent(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(gated))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	s := NewEnforcer(nil, nil, nil, nil)
	for _, c := range []struct {
		status     workflow.Status
		tool       string
		decision   toolcall.Decision
		restricted bool
	}{
		{workflow.Running, "Read", toolcall.Allow, true},
		{workflow.Running, "Bash", toolcall.Deny, true},
		{workflow.Running, "transition", toolcall.Allow, true},
		{workflow.Paused, "Bash", toolcall.Allow, false},
		{workflow.Paused, "Read", toolcall.Allow, false},
		{workflow.Cancelled, "Bash", toolcall.Deny, true},
	} {
		run := &workflow.Run{
			ID: "run_1", Workflow: "w", WorkflowVersion: 1, Status: c.status, Lane: workflow.Lane{State: "planning"},
		}
		at := run.At("")
		resp := s.decisionProto(&check.Decision{
			Verdict: toolcall.Decide(m, &at, toolcall.Call{Tool: c.tool}), Tool: c.tool, Run: &at, Machine: m,
		})
		if resp.GetDecision() != decisions[c.decision] || resp.GetToolsRestricted() != c.restricted ||
			(len(resp.GetAllowedTools()) > 0) != c.restricted {
			t.Errorf("%s while %s: %+v", c.tool, c.status, resp)
		}
	}
}
