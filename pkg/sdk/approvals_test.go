package sdk

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// fakeApprovals streams what send sends, by the number of the stream.
type fakeApprovals struct {
	approvalv1.UnimplementedApprovalServiceServer
	opened log[int]
	send   func(n int, send func(id string, status approvalv1.ApprovalStatus) error) error
}

func (f *fakeApprovals) WatchApprovals(_ *approvalv1.WatchApprovalsRequest, stream grpc.ServerStreamingServer[approvalv1.WatchApprovalsResponse]) error {
	f.opened.add(1)
	return f.send(len(f.opened.all()), func(id string, status approvalv1.ApprovalStatus) error {
		return stream.Send(&approvalv1.WatchApprovalsResponse{Approval: &approvalv1.Approval{ApprovalId: id, Status: status}})
	})
}

// A watch of approvals continues after a break, and ends with a refusal or its context.
func TestWatchApprovals(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const pending, granted = approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING, approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED
		approvals := &fakeApprovals{send: func(n int, send func(string, approvalv1.ApprovalStatus) error) error {
			switch n {
			case 1:
				return errors.Join(send("apr_1", pending), fault.New(fault.Unavailable, "it broke").GRPCStatus().Err())
			case 2:
				return nil // the stream ends where it should not
			case 3:
				return send("apr_1", granted)
			default:
				return fault.New(fault.PermissionDenied, "not for agents").GRPCStatus().Err()
			}
		}}
		c := New(connect(t, fakes{approvals: approvals}), Options{})
		var seen []ApprovalStatus
		var last error
		for a, err := range c.WatchApprovals(t.Context()) {
			if last = err; err == nil {
				seen = append(seen, a.Status)
			}
		}
		if len(seen) != 2 || seen[0] != ApprovalPending || seen[1] != ApprovalGranted || Reason(last) != fault.PermissionDenied || len(approvals.opened.all()) != 4 {
			t.Errorf("%v, %v after %d streams", seen, last, len(approvals.opened.all()))
		}
		approvals.send = func(int, func(string, approvalv1.ApprovalStatus) error) error {
			return fault.New(fault.Unavailable, "down").GRPCStatus().Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, err := range c.WatchApprovals(ctx) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Error(last)
		}
	})
}
