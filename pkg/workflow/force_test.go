package workflow_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestForceEndsWaiting: S6.3. All that a run waits for is void once it is forced
// elsewhere: an approval, a child, branches.
func TestForceEndsWaiting(t *testing.T) {
	t.Parallel()
	m := machine(t, varied)
	start := started(t, m)
	start.State = "b"
	parked := start
	parked.Status = workflow.AwaitingApproval
	for name, run := range map[string]workflow.Run{
		"approval": parked,
		"child":    steps(t, m, start, workflow.Fire{Event: "CHILD", Child: machine(t, child), ChildID: "run_2"}).Run,
		"branches": steps(t, m, start, workflow.Fire{Event: "FORK"}, workflow.Bind{Branch: "x", SessionID: "ses_2"},
			workflow.Bind{Branch: "y", SessionID: "ses_3"}).Run,
	} {
		if run.Status == workflow.Running {
			t.Errorf("%s: the run does not wait", name)
		}
		out := m.Step(&run, workflow.Force{State: "a", Actor: "olga"}, noon)
		if next := out.Run; next.Status != workflow.Running || next.State != "a" || next.Child != nil || next.Fork != nil {
			t.Errorf("%s: %s in %s, %v, %+v", name, next.Status, next.State, next.Child, out.Rejection)
		}
	}
}
