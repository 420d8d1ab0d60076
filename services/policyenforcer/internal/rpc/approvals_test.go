package rpc

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// asked is an approval service that keeps what it is asked.
type asked struct {
	approvalv1.ApprovalServiceClient
	last *approvalv1.CreateRequest
}

func (a *asked) Create(_ context.Context, req *approvalv1.CreateRequest, _ ...grpc.CallOption) (*approvalv1.CreateResponse, error) {
	a.last = req
	return &approvalv1.CreateResponse{Approval: &approvalv1.Approval{ApprovalId: "apr_1", Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED}}, nil
}

// What arrives is the action that was digested, also when there is no input.
func TestRequestSendsExactlyTheAction(t *testing.T) {
	t.Parallel()
	subject := document.ObjectValue([]document.Member{{Name: "run_id", Value: document.StringValue("run_1")}})
	for name, data := range map[string]document.Value{
		"no input": {}, "null": document.NullValue(), "an object": document.ObjectValue(nil),
	} {
		service := &asked{}
		action := consent.Action{Kind: consent.ToolCall, Subject: subject, Data: data}
		got, err := NewApprovals(service).Request(t.Context(), "default", app.Ask{Action: action})
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
