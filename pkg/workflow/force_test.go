package workflow_test

import (
	"testing"
	"time"

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

// S25.1: a jump into the state that a lane is in keeps the clock of the state; one into another state begins anew.
func TestForceKeepsTheClock(t *testing.T) {
	t.Parallel()
	m := machine(t, `{"id":"w","initial":"a","meta":{"debug":true,"enforcement":"while_running"},"states":{
		"a":{"after":{"1h":"done"},"on":{"GO":"b"}},"b":{"after":{"1h":"done"},"on":{"DONE":"done"}},"done":{"type":"final"}}}`)
	run := m.Start(workflow.StartParams{ID: "run_1", Owner: "ann"}, "ann", noon).Run
	later := noon.Add(30 * time.Minute)
	for state, due := range map[string]time.Time{"a": noon.Add(time.Hour), "b": later.Add(time.Hour)} {
		out := m.Step(&run, workflow.Force{State: state, Actor: "agent", Agent: true}, later)
		if all := m.Dues(&out.Run); out.Rejection != nil || len(all) != 1 || !all[0].At.Equal(due) {
			t.Errorf("into %s: %v, %+v", state, out.Rejection, all)
		}
	}
}
