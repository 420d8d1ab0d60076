package rest

import (
	"context"
	"io"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

type processClient struct{ *services }

func (p processClient) RegisterProcess(ctx context.Context, in *enginev1.RegisterProcessRequest, _ ...grpc.CallOption) (*enginev1.RegisterProcessResponse, error) {
	return play(ctx, p.services, "RegisterProcess", in, &enginev1.RegisterProcessResponse{Process: aProcess()})
}

func (p processClient) GetProcess(ctx context.Context, in *enginev1.GetProcessRequest, _ ...grpc.CallOption) (*enginev1.GetProcessResponse, error) {
	return play(ctx, p.services, "GetProcess", in, &enginev1.GetProcessResponse{Process: aProcess()})
}

func (p processClient) ListProcesses(ctx context.Context, in *enginev1.ListProcessesRequest, _ ...grpc.CallOption) (*enginev1.ListProcessesResponse, error) {
	return play(ctx, p.services, "ListProcesses", in, &enginev1.ListProcessesResponse{})
}

func (p processClient) StartProcess(ctx context.Context, in *enginev1.StartProcessRequest, _ ...grpc.CallOption) (*enginev1.StartProcessResponse, error) {
	return play(ctx, p.services, "StartProcess", in, &enginev1.StartProcessResponse{Run: aRun(), Turn: aTurn()})
}

func (p processClient) AnswerQuestion(ctx context.Context, in *enginev1.AnswerQuestionRequest, _ ...grpc.CallOption) (*enginev1.AnswerQuestionResponse, error) {
	return play(ctx, p.services, "Answer", in, &enginev1.AnswerQuestionResponse{Accepted: true, Run: aRun(), Turn: aTurn()})
}

type policyClient struct{ *services }

func (p policyClient) RegisterPolicy(ctx context.Context, in *policyv1.RegisterPolicyRequest, _ ...grpc.CallOption) (*policyv1.RegisterPolicyResponse, error) {
	return play(ctx, p.services, "PutPolicy", in, &policyv1.RegisterPolicyResponse{Policy: aPolicy()})
}

func (p policyClient) GetPolicy(ctx context.Context, in *policyv1.GetPolicyRequest, _ ...grpc.CallOption) (*policyv1.GetPolicyResponse, error) {
	return play(ctx, p.services, "GetPolicy", in, &policyv1.GetPolicyResponse{Policy: aPolicy()})
}

func (p policyClient) ListPolicies(ctx context.Context, in *policyv1.ListPoliciesRequest, _ ...grpc.CallOption) (*policyv1.ListPoliciesResponse, error) {
	return play(ctx, p.services, "ListPolicies", in, &policyv1.ListPoliciesResponse{})
}

func (p policyClient) PromotePolicy(ctx context.Context, in *policyv1.PromotePolicyRequest, _ ...grpc.CallOption) (*policyv1.PromotePolicyResponse, error) {
	return play(ctx, p.services, "Promote", in, &policyv1.PromotePolicyResponse{Policy: aPolicy()})
}

func (p policyClient) DeletePolicy(ctx context.Context, in *policyv1.DeletePolicyRequest, _ ...grpc.CallOption) (*policyv1.DeletePolicyResponse, error) {
	return play(ctx, p.services, "DeletePolicy", in, &policyv1.DeletePolicyResponse{})
}

func (p policyClient) AttachPolicy(ctx context.Context, in *policyv1.AttachPolicyRequest, _ ...grpc.CallOption) (*policyv1.AttachPolicyResponse, error) {
	return play(ctx, p.services, "Attach", in, &policyv1.AttachPolicyResponse{Policy: aPolicy()})
}

func (p policyClient) DetachPolicy(ctx context.Context, in *policyv1.DetachPolicyRequest, _ ...grpc.CallOption) (*policyv1.DetachPolicyResponse, error) {
	return play(ctx, p.services, "Detach", in, &policyv1.DetachPolicyResponse{Policy: aPolicy()})
}

func (p policyClient) ShadowWorkflow(ctx context.Context, in *policyv1.ShadowWorkflowRequest, _ ...grpc.CallOption) (*policyv1.ShadowWorkflowResponse, error) {
	return play(ctx, p.services, "ShadowWorkflow", in, &policyv1.ShadowWorkflowResponse{Digest: "abc"})
}

func (p policyClient) GetPolicyUsage(ctx context.Context, in *policyv1.GetPolicyUsageRequest, _ ...grpc.CallOption) (*policyv1.GetPolicyUsageResponse, error) {
	return play(ctx, p.services, "Usage", in, &policyv1.GetPolicyUsageResponse{})
}

func (p policyClient) SimulatePolicy(ctx context.Context, in *policyv1.SimulatePolicyRequest, _ ...grpc.CallOption) (*policyv1.SimulatePolicyResponse, error) {
	return play(ctx, p.services, "Simulate", in, &policyv1.SimulatePolicyResponse{})
}

type decisionClient struct{ *services }

// List answers the pages that the test put there, one after the other; then its
// error or answer.
func (d decisionClient) ListDecisions(ctx context.Context, in *policyv1.ListDecisionsRequest, _ ...grpc.CallOption) (*policyv1.ListDecisionsResponse, error) {
	d.mu.Lock()
	if len(d.pages) > 0 {
		page := d.pages[0]
		d.pages = d.pages[1:]
		d.mu.Unlock()
		return page, nil
	}
	d.mu.Unlock()
	return play(ctx, d.services, "ListDecisions", in, &policyv1.ListDecisionsResponse{})
}

func (d decisionClient) VerifyDecisions(ctx context.Context, in *policyv1.VerifyDecisionsRequest, _ ...grpc.CallOption) (*policyv1.VerifyDecisionsResponse, error) {
	return play(ctx, d.services, "Verify", in, &policyv1.VerifyDecisionsResponse{})
}

// approvalClient is what people may call: services do the rest.
type approvalClient struct {
	approvalv1.ApprovalServiceClient
	services *services
}

func (a approvalClient) GetApproval(ctx context.Context, in *approvalv1.GetApprovalRequest, _ ...grpc.CallOption) (*approvalv1.GetApprovalResponse, error) {
	return play(ctx, a.services, "GetApproval", in, &approvalv1.GetApprovalResponse{Approval: anApproval()})
}

func (a approvalClient) ListApprovals(ctx context.Context, in *approvalv1.ListApprovalsRequest, _ ...grpc.CallOption) (*approvalv1.ListApprovalsResponse, error) {
	return play(ctx, a.services, "ListApprovals", in, &approvalv1.ListApprovalsResponse{})
}

func (a approvalClient) DecideApproval(ctx context.Context, in *approvalv1.DecideApprovalRequest, _ ...grpc.CallOption) (*approvalv1.DecideApprovalResponse, error) {
	return play(ctx, a.services, "Decide", in, &approvalv1.DecideApprovalResponse{Approval: anApproval()})
}

func (a approvalClient) WatchApproval(ctx context.Context, in *approvalv1.WatchApprovalRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[approvalv1.WatchApprovalResponse], error) {
	if _, err := play(ctx, a.services, "Wait", in, in); err != nil {
		return nil, err
	}
	return waited{ctx: ctx, changes: a.services.waits}, nil
}

// waited is the client's end of a wait.
type waited struct {
	grpc.ClientStream
	ctx     context.Context
	changes <-chan *approvalv1.Approval
}

func (w waited) Recv() (*approvalv1.WatchApprovalResponse, error) {
	select {
	case a, open := <-w.changes:
		if !open {
			return nil, io.EOF
		}
		return &approvalv1.WatchApprovalResponse{Approval: a}, nil
	case <-w.ctx.Done():
		return nil, w.ctx.Err()
	}
}

var (
	_ enginev1.ProcessServiceClient    = processClient{}
	_ policyv1.PolicyServiceClient     = policyClient{}
	_ policyv1.DecisionServiceClient   = decisionClient{}
	_ approvalv1.ApprovalServiceClient = approvalClient{}
)

func aProcess() *enginev1.Process {
	return &enginev1.Process{
		Name: "triage", Version: 2, Digest: "abc", Definition: []byte(`{"name":"triage","n":1.0}`), Tools: []string{"process_step"},
		CreatedAt: noon, CreatedBy: "alice",
	}
}

func aTurn() *enginev1.Turn {
	return &enginev1.Turn{
		InitialPrompt: "Be kind.", Question: "Is it spam?", Answers: []string{"yes", "no"}, Status: enginev1.RunStatus_RUN_STATUS_RUNNING,
		State: "first", Text: "Is it spam?\nAnswer yes or no.",
	}
}

func aPolicy() *policyv1.Policy {
	return &policyv1.Policy{
		Name: "gate", Version: 3, Digest: "abc", Definition: []byte(`{"role":"deny","n":1.10}`), LiveVersion: 2, ShadowVersion: 3,
		Attachments: []*policyv1.Attachment{{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_WORKFLOW, Id: "deploy v1.0"}},
		CreatedAt:   noon, CreatedBy: "alice",
	}
}

// anApproval is one whose data no float64 could carry.
func anApproval() *approvalv1.Approval {
	return &approvalv1.Approval{
		ApprovalId: "apr_01", Kind: approvalv1.Kind_KIND_TRANSITION, Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING,
		Subject: []byte(`{"run_id":"run_01","run_version":7,"event":"STOP"}`), Data: []byte(`{"id":9007199254740993,"b":1.10}`),
		Editable: true, Digest: "d1", Asker: &approvalv1.Asker{Principal: "agent-7", SessionId: "ses_01", RootSessionId: "ses_00"},
		Message: "Stop it?", RunId: "run_01", Version: 4, Outcome: "approval apr_01 is pending",
		Terms: &approvalv1.Terms{
			Required: 2, DenyThreshold: 1, Eligible: &approvalv1.Approvers{Roles: []string{"approver"}}, ExpiresSeconds: 3600,
			EscalateAfterSeconds: 60, EscalateTo: &approvalv1.Approvers{Names: []string{"carol"}},
		},
		Votes:     []*approvalv1.Vote{{By: "alice", Role: "approver", Approve: true, Note: "fine", Time: noon}},
		Escalated: true, CreatedAt: noon, ExpiresAt: noon,
	}
}

const (
	jsonProcess = `"name":"triage","version":2,"digest":"abc","definition":{"name":"triage","n":1.0},"tools":["process_step"],` + jsonMade
	jsonTurn    = `{"initial_prompt":"Be kind.","question":"Is it spam?","answers":["yes","no"],"status":"RUNNING","state":"first",` +
		`"text":"Is it spam?\nAnswer yes or no."}`
	jsonPolicy = `"name":"gate","version":3,"digest":"abc","definition":{"role":"deny","n":1.10},"live_version":2,"shadow_version":3,` +
		`"attachments":[{"kind":"workflow","id":"deploy v1.0"}],` + jsonMade
	jsonApprovalHead = `{"approval_id":"apr_01","kind":"transition","status":"PENDING","run_id":"run_01",` +
		`"subject":{"run_id":"run_01","run_version":7,"event":"STOP"},"data":{"id":9007199254740993,"b":1.10},`
	jsonApprovalTail = `"editable":true,"digest":"d1","asker":{"principal":"agent-7","session_id":"ses_01","root_session_id":"ses_00"},` +
		`"message":"Stop it?","terms":{"required":2,"deny_threshold":1,"eligible":{"roles":["approver"],"names":[]},"expires_seconds":3600,` +
		`"escalate_after_seconds":60,"escalate_to":{"roles":[],"names":["carol"]}},` +
		`"votes":[{"by":"alice","role":"approver","approve":true,"note":"fine","time":"2026-03-04T12:00:00.005Z"}],"escalated":true,` +
		`"outcome":"approval apr_01 is pending","created_at":"2026-03-04T12:00:00.005Z","expires_at":"2026-03-04T12:00:00.005Z",`
	jsonApproval = jsonApprovalHead + jsonApprovalTail + `"version":4}`
)
