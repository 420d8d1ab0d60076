package sdktest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/sdk"
)

// runID is the run of every session.
const runID = "run_of_the_fake"

type enforcer struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
	fake *Fake
}

// CheckToolCall implements the service.
func (e *enforcer) CheckToolCall(_ context.Context, req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
	f := e.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	if first, known := f.answers[req.GetCallId()]; known && !req.GetDryRun() {
		if first == nil {
			return nil, fault.New(fault.IdempotencyMismatch, "call %q was withdrawn; use a new call_id", req.GetCallId())
		}
		return first, nil
	}
	r := f.ruleOf(req.GetTool())
	resp := &policyv1.CheckToolCallResponse{Decision: r.decision, Code: r.code, Message: r.message, CallId: req.GetCallId(), RunId: runID, State: "open"}
	if r.decision == policyv1.Decision_DECISION_ASK {
		f.ask(req, resp)
	}
	if resp.GetDecision() == policyv1.Decision_DECISION_ALLOW && req.GetJailLevel() > 0 && !f.jailless {
		resp.Jail = &policyv1.Jail{Level: req.GetJailLevel(), Digest: "sha256:of-the-fake", Profile: []byte("{}")}
	}
	if req.GetDryRun() {
		resp.CallId = ""
	} else if resp.GetDecision() != policyv1.Decision_DECISION_ASK {
		f.answers[req.GetCallId()] = resp
	}
	f.calls = append(f.calls, Call{
		Tool: req.GetTool(), CallID: resp.GetCallId(), Session: req.GetSessionId(), Input: string(req.GetInput()),
		Decision: verdicts[resp.GetDecision()], Code: codeOf(resp.GetCode()), Folder: req.GetFolder(),
		QualifiedTool: req.GetQualifiedTool(), DryRun: req.GetDryRun(), JailLevel: int(req.GetJailLevel()),
	})
	return resp, nil
}

var verdicts = map[policyv1.Decision]sdk.Verdict{
	policyv1.Decision_DECISION_ALLOW: sdk.Allow, policyv1.Decision_DECISION_ASK: sdk.Ask, policyv1.Decision_DECISION_DENY: sdk.Deny,
}

func codeOf(code policyv1.DecisionCode) sdk.Code {
	if code == 0 {
		return ""
	}
	return sdk.Code(code.String()[len("DECISION_CODE_"):])
}

// ask fills the decision on a call that humans are asked about. A granted approval admits it once. The caller
// holds mu.
func (f *Fake) ask(req *policyv1.CheckToolCallRequest, resp *policyv1.CheckToolCallResponse) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", req.GetSessionId(), req.GetTool(), req.GetInput()))
	digest := hex.EncodeToString(sum[:])
	resp.Code, resp.Message = policyv1.DecisionCode_DECISION_CODE_APPROVAL_PENDING, "Tool "+req.GetTool()+" needs the approval of a human."
	for id, a := range f.approvals {
		if a.GetDigest() != digest || a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_USED {
			continue
		}
		resp.ApprovalId = id
		switch {
		case a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED:
			resp.Decision, resp.Code, resp.Message = policyv1.Decision_DECISION_DENY, policyv1.DecisionCode_DECISION_CODE_POLICY_DENIED, a.GetOutcome()
		case a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED:
			resp.Decision, resp.Code, resp.Message = policyv1.Decision_DECISION_ALLOW, 0, ""
			if !req.GetDryRun() {
				f.change(id, a, approvalv1.ApprovalStatus_APPROVAL_STATUS_USED, "granted and used")
			}
		}
		return
	}
	resp.Code = policyv1.DecisionCode_DECISION_CODE_APPROVAL_REQUIRED
	if req.GetDryRun() {
		return
	}
	resp.ApprovalId = fmt.Sprintf("apr_%d", len(f.approvals)+1)
	f.approvals[resp.GetApprovalId()] = &approvalv1.Approval{
		ApprovalId: resp.GetApprovalId(), Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL,
		Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING, Digest: digest,
	}
}

// ReportToolCall implements the service.
func (e *enforcer) ReportToolCall(_ context.Context, req *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
	f := e.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	if first, known := f.reported[req.GetCallId()]; known {
		return first, nil
	}
	answer, known := f.answers[req.GetCallId()]
	accounted := answer.GetDecision() == policyv1.Decision_DECISION_ALLOW
	if !known && req.GetNotExecuted() {
		f.answers[req.GetCallId()] = nil
	}
	resp := &policyv1.ReportToolCallResponse{Accounted: accounted, Run: run()}
	f.reported[req.GetCallId()] = resp
	f.reports = append(f.reports, Report{
		Tool: req.GetTool(), CallID: req.GetCallId(), OK: req.GetOk(), Accounted: accounted, Output: string(req.GetOutput()),
		FilesChanged: req.GetFilesChanged(), CostUSD: req.GetCostUsd(), OutcomeUnknown: req.GetOutcomeUnknown(),
		Background: req.GetBackground(), BackgroundEnded: req.GetBackgroundEnded(), NotExecuted: req.GetNotExecuted(),
	})
	return resp, nil
}

type approvals struct {
	approvalv1.UnimplementedApprovalServiceServer
	fake *Fake
}

func (a *approvals) get(id string) (*approvalv1.Approval, <-chan struct{}, error) {
	a.fake.mu.Lock()
	defer a.fake.mu.Unlock()
	if found := a.fake.approvals[id]; found != nil {
		return found, a.fake.changed, nil
	}
	return nil, nil, fault.New(fault.NotFound, "the fake has no approval %q", id)
}

// GetApproval implements the service.
func (a *approvals) GetApproval(_ context.Context, req *approvalv1.GetApprovalRequest) (*approvalv1.GetApprovalResponse, error) {
	found, _, err := a.get(req.GetApprovalId())
	return &approvalv1.GetApprovalResponse{Approval: found}, err
}

// WatchApproval implements the service.
func (a *approvals) WatchApproval(req *approvalv1.WatchApprovalRequest, stream grpc.ServerStreamingServer[approvalv1.WatchApprovalResponse]) error {
	for {
		found, changed, err := a.get(req.GetApprovalId())
		if err != nil {
			return err
		}
		if err := stream.Send(&approvalv1.WatchApprovalResponse{Approval: found}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

type runs struct {
	enginev1.UnimplementedRunServiceServer
	fake *Fake
}

func run() *enginev1.Run {
	return &enginev1.Run{RunId: runID, Workflow: "fake", WorkflowVersion: 1, Status: enginev1.RunStatus_RUN_STATUS_RUNNING, State: "open", Version: 1}
}

// StartRun implements the service.
func (r *runs) StartRun(_ context.Context, req *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error) {
	started := run()
	started.Workflow, started.SessionId = req.GetWorkflow(), req.GetSessionId()
	return &enginev1.StartRunResponse{Run: started}, nil
}

// GetRun implements the service.
func (r *runs) GetRun(context.Context, *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
	return &enginev1.GetRunResponse{Run: run()}, nil
}

// TransitionRun implements the service.
func (r *runs) TransitionRun(_ context.Context, req *enginev1.TransitionRunRequest) (*enginev1.TransitionRunResponse, error) {
	r.fake.mu.Lock()
	defer r.fake.mu.Unlock()
	r.fake.events = append(r.fake.events, req.GetEvent())
	return &enginev1.TransitionRunResponse{Accepted: true, Run: run()}, nil
}
