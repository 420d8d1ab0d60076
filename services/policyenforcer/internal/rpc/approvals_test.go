package rpc

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// asked is an approval service that keeps what it is asked.
type asked struct {
	approvalv1.ApprovalServiceClient
	last   *approvalv1.CreateApprovalRequest
	answer *approvalv1.Approval
}

func (a *asked) CreateApproval(_ context.Context, req *approvalv1.CreateApprovalRequest, _ ...grpc.CallOption) (*approvalv1.CreateApprovalResponse, error) {
	a.last = req
	return &approvalv1.CreateApprovalResponse{Approval: a.answer}, nil
}

// What arrives is the action that was digested, also when there is no input.
func TestRequestSendsExactlyTheAction(t *testing.T) {
	t.Parallel()
	subject := document.ObjectValue([]document.Member{{Name: "run_id", Value: document.StringValue("run_1")}})
	for name, data := range map[string]document.Value{
		"no input": {}, "null": document.NullValue(), "an object": document.ObjectValue(nil),
	} {
		service := &asked{answer: &approvalv1.Approval{ApprovalId: "apr_1", Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED}}
		action := consent.Action{Kind: consent.ToolCall, Subject: subject, Data: data}
		got, err := NewApprovals(service, nil).Request(t.Context(), "default", enforcer.Ask{Action: action})
		if err != nil || got.Status != consent.Granted || got.ID != "apr_1" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		sent := consent.Action{Kind: consent.ToolCall}
		for _, part := range []struct {
			text []byte
			into *document.Value
		}{{service.last.GetSubject(), &sent.Subject}, {service.last.GetData(), &sent.Data}} {
			if len(part.text) == 0 {
				continue
			}
			v, problem := document.Parse(part.text, document.Limits{})
			if problem != nil {
				t.Fatal(problem)
			}
			*part.into = v
		}
		if sent.Digest() != action.Digest() {
			t.Errorf("%s: another action arrives: %s", name, service.last)
		}
	}
}

// A call that was cut short after it had used its approval has it still; to every
// other call that is used.
func TestUsedIsGrantedToItsUser(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status       approvalv1.ApprovalStatus
		usedBy, asks string
		want         consent.Status
	}{
		{approvalv1.ApprovalStatus_APPROVAL_STATUS_USED, "call_1", "call_1", consent.Granted},
		{approvalv1.ApprovalStatus_APPROVAL_STATUS_USED, "call_1", "call_2", "USED"},
		{approvalv1.ApprovalStatus_APPROVAL_STATUS_USED, "", "", "USED"},
		{approvalv1.ApprovalStatus_APPROVAL_STATUS_STALE, "call_1", "call_1", consent.Stale},
		{approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING, "", "call_1", consent.Pending},
	} {
		service := &asked{answer: &approvalv1.Approval{ApprovalId: "apr_1", Status: tc.status, UsedBy: tc.usedBy}}
		got, err := NewApprovals(service, nil).Request(t.Context(), "default", enforcer.Ask{UsedBy: tc.asks})
		if err != nil || got.Status != tc.want || service.last.GetUsedBy() != tc.asks || !service.last.GetReuse() {
			t.Errorf("%q asks for what is %s by %q: %+v, %v, asked %v", tc.asks, tc.status, tc.usedBy, got, err, service.last)
		}
	}
}
