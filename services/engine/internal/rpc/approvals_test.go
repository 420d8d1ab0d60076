package rpc

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// namespaceOf is the namespace that a call goes out in.
func namespaceOf(ctx context.Context) string {
	md, _ := metadata.FromOutgoingContext(ctx)
	return strings.Join(md.Get(rpc.NamespaceKey), ",")
}

// approvals returns one approval, and keeps what it was asked.
type approvals struct {
	approvalv1.ApprovalServiceClient
	answer    *approvalv1.Approval
	created   *approvalv1.CreateApprovalRequest
	namespace string
}

func (a *approvals) CreateApproval(ctx context.Context, req *approvalv1.CreateApprovalRequest, _ ...grpc.CallOption) (*approvalv1.CreateApprovalResponse, error) {
	a.created, a.namespace = req, namespaceOf(ctx)
	return &approvalv1.CreateApprovalResponse{}, nil
}

func (a *approvals) GetApproval(ctx context.Context, _ *approvalv1.GetApprovalRequest, _ ...grpc.CallOption) (*approvalv1.GetApprovalResponse, error) {
	a.namespace = namespaceOf(ctx)
	return &approvalv1.GetApprovalResponse{Approval: a.answer}, nil
}

func TestCreateOverTheContract(t *testing.T) {
	t.Parallel()
	service := &approvals{}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer of-the-caller")
	err := NewApprovals(service, nil).Create(ctx, "blue", "run_1", consent.Request{
		ID: "apr_1", Action: consent.Action{Kind: consent.ProcessStep, Subject: document.ObjectValue(nil)},
		Asker: consent.Asker{Principal: "amir", SessionID: "s", RootSession: "top"}, Message: strings.Repeat("é", 9000),
		Terms: consent.Terms{Required: 2, TTL: time.Hour},
	})
	req := service.created
	if err != nil || service.namespace != "blue" {
		t.Fatalf("in %q, %v", service.namespace, err)
	}
	if n := len([]rune(req.GetMessage())); n != longestMessage || req.GetKind() != approvalv1.ApprovalKind_APPROVAL_KIND_PROCESS_STEP || req.GetData() != nil ||
		req.GetAsker().GetRootSessionId() != "top" || req.GetTerms().GetRequired() != 2 || req.GetRunId() != "run_1" || req.GetReuse() {
		t.Errorf("message of %d characters in %v", n, req.GetAsker())
	}
}

func TestApprovalFromTheContract(t *testing.T) {
	t.Parallel()
	service := &approvals{answer: &approvalv1.Approval{
		ApprovalId: "apr_1", RunId: "run_1", Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION, Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_USED,
		Subject: []byte(`{"run_version":3}`), Data: []byte(`{"n":1}`), EditedData: []byte(`{"n":9007199254740993}`), EditedBy: "alice", Digest: "d",
		Votes:  []*approvalv1.Vote{{By: "alice", Role: approvalv1.ApproverRole_APPROVER_ROLE_APPROVER, Approve: true, Note: "ok"}},
		UsedAt: timestamppb.New(time.Unix(1, 0)), Terms: &approvalv1.Terms{Required: 1},
	}}
	a, err := NewApprovals(service, nil).Get(t.Context(), "blue", "apr_1")
	if err != nil || service.namespace != "blue" {
		t.Fatalf("in %q, %v", service.namespace, err)
	}
	if a.Status != consent.Granted || a.UsedAt.IsZero() || a.Action.Kind != consent.Transition || a.Edit.Data.String() != `{"n":9007199254740993}` ||
		a.RunID != "run_1" || a.Votes[0].Name != "alice" || !strings.Contains(a.Outcome(), `granted by "alice" ("ok"), with data that "alice" has edited`) {
		t.Errorf("%+v: %s", a, a.Outcome())
	}
	service.answer.Status = 99 // of a later release: it is not decided for this one
	if a, err := NewApprovals(service, nil).Get(t.Context(), "blue", "apr_1"); err != nil || a.Status == consent.Granted || a.Status == consent.Pending {
		t.Errorf("%+v, %v", a, err)
	}
	service.answer.EditedData = []byte(`{`)
	if a, err := NewApprovals(service, nil).Get(t.Context(), "blue", "apr_1"); err == nil {
		t.Errorf("half of an edit is %+v", a.Edit)
	}
}
