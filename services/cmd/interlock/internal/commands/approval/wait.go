package approval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type waitCommand struct {
	oneApproval
	Timeout time.Duration `help:"How long to wait; 0 for as long as it takes." default:"0s" placeholder:"DURATION"`
}

func (c *waitCommand) Run(ctx context.Context, io console.Streams) error {
	var last *approvalv1.Approval
	err := c.Ask(ctx, io, func(conn grpc.ClientConnInterface) (err error) {
		if err = c.resolve(ctx, conn); err != nil {
			return err
		}
		last, err = c.await(ctx, approvalv1.NewApprovalServiceClient(conn))
		return err
	})
	if err != nil {
		return err
	}
	if last == nil || ctx.Err() != nil {
		return fmt.Errorf("the server ended the wait for approval %s; wait again", c.ApprovalID)
	}
	view := jsonview.ApprovalOf(last)
	if err := printOutcome(c.Printer, io.Out, &view); err != nil {
		return err
	}
	switch last.GetStatus() {
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED, approvalv1.ApprovalStatus_APPROVAL_STATUS_USED:
		return nil
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING:
		return console.ErrWaits
	default:
		return console.ErrNo
	}
}

// await returns the approval as it is decided, or as it stands when the time is over.
func (c *waitCommand) await(
	ctx context.Context, approvals approvalv1.ApprovalServiceClient,
) (*approvalv1.Approval, error) {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	defer cancel()
	var last *approvalv1.Approval
	stream, err := approvals.WatchApproval(waiting, &approvalv1.WatchApprovalRequest{ApprovalId: c.ApprovalID})
	for err == nil {
		var change *approvalv1.WatchApprovalResponse
		if change, err = stream.Recv(); err != nil {
			break
		}
		last = change.GetApproval()
		if last.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING {
			return last, nil
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return last, nil
	case !c.over(ctx, waiting, err):
		return last, err
	case last != nil:
		return last, nil
	}
	resp, err := approvals.GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: c.ApprovalID})
	return resp.GetApproval(), err
}

// over reports that the wait has ended because its time is over: the server may
// notice that first.
func (c *waitCommand) over(ctx, waiting context.Context, err error) bool {
	if c.Timeout <= 0 || ctx.Err() != nil {
		return false
	}
	code := status.Code(err)
	return waiting.Err() != nil || code == codes.Canceled || code == codes.DeadlineExceeded
}
