// Package await waits for decisions of humans (S9.5). It makes no decision.
package await

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Waits between tries while the approval service is away.
const (
	firstRetry   = 100 * time.Millisecond
	longestRetry = 5 * time.Second
)

// Decided reports whether humans have no more to say on an approval. An unknown status is
// not decided.
func Decided(a *approvalv1.Approval) bool {
	switch a.GetStatus() {
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_UNSPECIFIED, approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING:
		return false
	default:
		return true
	}
}

// Decision waits until an approval is decided, limit has passed or ctx has ended,
// and returns how it was seen last. A service that is away in the meantime is asked
// again. The error says why it was never seen.
func Decision(
	ctx context.Context, approvals approvalv1.ApprovalServiceClient, id string, limit time.Duration,
) (*approvalv1.Approval, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last *approvalv1.Approval
	for pause := firstRetry; ; pause = min(2*pause, longestRetry) {
		seen, err := follow(ctx, approvals, id)
		if seen != nil {
			last, pause = seen, firstRetry
		}
		switch {
		case Decided(last), last != nil && ctx.Err() != nil:
			return last, nil
		case ctx.Err() != nil, !passing(err):
			return nil, err
		}
		retry := time.NewTimer(pause)
		select {
		case <-retry.C:
		case <-ctx.Done():
		}
		retry.Stop()
	}
}

// follow watches an approval until it is decided or the stream ends, and answers
// how it was seen last and why the stream has ended.
func follow(ctx context.Context, approvals approvalv1.ApprovalServiceClient, id string) (last *approvalv1.Approval, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := approvals.WatchApproval(ctx, &approvalv1.WatchApprovalRequest{ApprovalId: id})
	for err == nil && !Decided(last) {
		var now *approvalv1.WatchApprovalResponse
		if now, err = stream.Recv(); err == nil {
			last = now.GetApproval()
		}
	}
	return last, err
}

// passing reports whether another try may succeed.
func passing(err error) bool {
	if err == nil || errors.Is(err, io.EOF) {
		return true
	}
	switch fault.ReasonOf(err).Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.ResourceExhausted, codes.Internal:
		return true
	default:
		return false
	}
}
