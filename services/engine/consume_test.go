package engine_test

import (
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/consent"
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

// The event of a decision does what follows for the run, however often it comes, and
// for no run that does not wait for it.
func TestConsumeApprovals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.park().GetRun().GetRunId()
	if err := r.humans.decide(consent.Decision{Approve: true}); err != nil {
		t.Fatal(err)
	}
	for name, changed := range map[string]*eventv1.ApprovalChanged{
		"a tool's call": {Kind: "tool_call", RunId: run}, "no run's": {Kind: "transition"}, "an unknown run's": {Kind: "transition", RunId: "run_none"},
	} {
		if err := r.obey(changed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	status := func() enginev1.RunStatus {
		resp, err := r.runs.GetRun(t.Context(), &enginev1.GetRunRequest{RunId: run})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetRun().GetStatus()
	}
	if got := status(); got != enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL {
		t.Fatalf("the run is %s", got)
	}
	for range 2 {
		if err := r.obey(&eventv1.ApprovalChanged{Kind: "transition", RunId: run}); err != nil {
			t.Error(err)
		}
	}
	if got := status(); got != enginev1.RunStatus_RUN_STATUS_COMPLETED {
		t.Errorf("the run is %s", got)
	}
}

// obey handles the event that the last question was granted.
func (r *rig) obey(changed *eventv1.ApprovalChanged) error {
	r.Helper()
	changed.Status = "GRANTED"
	event, err := bus.Encode(&eventv1.Event{
		Namespace: "default", Entity: "approval", EntityId: r.humans.last, Type: consent.EventGranted, Version: 2,
		Payload: &eventv1.Event_ApprovalChanged{ApprovalChanged: changed},
	})
	if err != nil {
		r.Fatal(err)
	}
	return r.engine.ConsumeApproval()(r.Context(), &bus.Delivery{Message: bus.Message{Payload: event.Payload}})
}
