package sdk

import (
	"context"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Approval is a question to humans (S9).
type Approval struct {
	ID string
	// Status is "PENDING", "GRANTED", "REJECTED", "EXPIRED", "CANCELLED", "USED" or
	// "STALE".
	Status string
	// Kind is "TOOL_CALL", "TRANSITION" or "PROCESS_STEP".
	Kind    string
	Message string
	// Outcome is how it stands, in one sentence for the agent; Reason why it was
	// cancelled or became stale.
	Outcome, Reason string
	// RunID is the run that it is about; empty for none.
	RunID     string
	ExpiresAt time.Time
}

// Granted is true when humans have approved: the approval is GRANTED, or was USED
// already, as that of a transition is.
func (a Approval) Granted() bool { return a.Status == "GRANTED" || a.Status == "USED" }

// WaitApproval waits until humans have decided an approval, no matter how long that
// takes, and returns it. It ends with ctx, which is an error. If the approval was
// granted, make exactly the same call again: it is allowed once.
func (c *Client) WaitApproval(ctx context.Context, id string) (Approval, error) {
	for failures := 0; ; {
		begun := time.Now()
		a, err := c.decided(ctx, id)
		if err == nil {
			return a, nil
		}
		if ctx.Err() != nil {
			return Approval{}, contextEnded(ctx, err)
		}
		f := fault.From(err)
		if !transient(f.Reason) {
			return Approval{}, f
		}
		if time.Since(begun) > steady {
			failures = 0
		}
		failures++
		if pause(ctx, delay(failures, f.RetryAfter)) != nil {
			return Approval{}, contextEnded(ctx, f)
		}
	}
}

// decided watches an approval until it is decided or the stream breaks.
func (c *Client) decided(ctx context.Context, id string) (Approval, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.approvals.WatchApproval(ctx, &approvalv1.WatchApprovalRequest{ApprovalId: id})
	if err != nil {
		return Approval{}, err
	}
	for {
		resp, err := stream.Recv()
		if err != nil {
			return Approval{}, broken(err)
		}
		switch a := resp.GetApproval(); a.GetStatus() {
		case approvalv1.ApprovalStatus_APPROVAL_STATUS_UNSPECIFIED, approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING:
		default:
			return Approval{
				ID: a.GetApprovalId(), Status: word(a.GetStatus(), "APPROVAL_STATUS_"), Kind: word(a.GetKind(), "APPROVAL_KIND_"),
				Message: a.GetMessage(), Outcome: a.GetOutcome(), Reason: a.GetReason(), RunID: a.GetRunId(), ExpiresAt: timeOf(a.GetExpiresAt()),
			}, nil
		}
	}
}
