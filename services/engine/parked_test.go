package engine_test

import (
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

const gated = `{"id": "gated", "initial": "a", "meta": {"approval_mode": "ui", "policy": "guard", "approval": {"wait_seconds": 20}}, "states": {
	"a": {"on": {"GO": {"target": "z", "requires_approval": true, "approval_message": "Go?"}}}, "z": {"type": "final"}}}`

// park starts a run of a workflow that asks, and fires its event.
func (r *rig) park() *enginev1.TransitionRunResponse {
	r.Helper()
	if _, err := r.workflows.RegisterWorkflow(r.Context(), &enginev1.RegisterWorkflowRequest{Definition: []byte(gated)}); err != nil {
		r.Fatal(err)
	}
	started, err := r.runs.StartRun(r.Context(), &enginev1.StartRunRequest{Workflow: "gated"})
	if err != nil {
		r.Fatal(err)
	}
	parked, err := r.runs.TransitionRun(r.Context(), &enginev1.TransitionRunRequest{RunId: started.GetRun().GetRunId(), Event: "GO", Data: []byte(`{"n": 9007199254740993}`)})
	if err != nil {
		r.Fatal(err)
	}
	return parked
}

// What is parked is accepted, and says what it waits for.
func TestParkedOverTheContract(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parked := r.park()
	run := parked.GetRun()
	a := run.GetApproval()
	if !parked.GetAccepted() || parked.GetApprovalId() != r.humans.last || parked.GetNote() == "" || parked.GetRejection() != nil {
		t.Errorf("the answer is %v", parked)
	}
	if run.GetStatus() != enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL || !a.GetPending() || a.GetApprovalId() != parked.GetApprovalId() ||
		a.GetEvent() != "GO" || a.GetTo() != "z" || a.GetMessage() != "Go?" || a.GetAskedBy() != "amir" || a.GetSince() == nil {
		t.Errorf("the run is %v", run)
	}
	if run.GetWorkflowMeta().GetApprovalWait().AsDuration() != 20*time.Second || len(run.GetWorkflowMeta().GetPolicies()) != 1 || run.GetWorkflowMeta().GetProcess() {
		t.Errorf("waits %s, policies %q, process %t", run.GetWorkflowMeta().GetApprovalWait().AsDuration(), run.GetWorkflowMeta().GetPolicies(), run.GetWorkflowMeta().GetProcess())
	}
	if got := string(r.humans.asked[r.humans.last].req.GetData()); got != `{"n":9007199254740993}` {
		t.Errorf("asked with %s", got)
	}
	refused, err := r.runs.TransitionRun(t.Context(), &enginev1.TransitionRunRequest{RunId: run.GetRunId(), Event: "GO"})
	if err != nil || refused.GetAccepted() || refused.GetRejection().GetCode() != enginev1.RejectionCode_REJECTION_CODE_APPROVAL_PENDING {
		t.Errorf("%v, %v", refused, err)
	}
}
