package hook

import (
	"cmp"
	"context"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/await"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

const (
	// defaultPatience is that of hooks that do not say.
	defaultPatience = 10 * time.Second
	// decideTime is the part of a hook's patience for all work but waiting.
	decideTime = 3 * time.Second
)

// decide decides a call. One that policies ask people about waits for them, as long
// as the workflow says (meta.approval.wait_seconds) and the hook has patience, and
// is decided again then: the same call, by the same id, which the answer to ask does
// not use up (S7.6).
func (h *Handler) decide(
	ctx context.Context, call *policyv1.CheckToolCallRequest, wait, patience time.Duration,
) (*policyv1.CheckToolCallResponse, error) {
	asked, err := h.Policy.CheckToolCall(ctx, call)
	if err != nil || asked.GetDecision() != policyv1.Decision_DECISION_ASK {
		return asked, err
	}
	limit := min(wait, cmp.Or(patience, defaultPatience)-decideTime)
	if limit <= 0 || h.Approvals == nil || asked.GetApprovalId() == "" {
		return asked, nil
	}
	approval, err := await.Decision(ctx, h.Approvals, asked.GetApprovalId(), limit)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil || !await.Decided(approval):
		return asked, nil // it is pending, for all that is known
	}
	switch approval.GetStatus() {
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED, approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED:
		return h.Policy.CheckToolCall(ctx, call)
	default:
		return &policyv1.CheckToolCallResponse{
			Decision: policyv1.Decision_DECISION_ASK,
			Message:  approval.GetOutcome() + ". To ask again, make the call again.",
		}, nil
	}
}

// refuseAsked refuses a call that people have not approved. The agent's own prompt is not
// an answer to that: a person who sits at the terminal would let the call through without
// being asked who they are, and it would not be recorded. So the call is denied, and the
// denial says how it can be let through (S7.6, S9.3).
func (h *Handler) refuseAsked(asked *policyv1.CheckToolCallResponse, message string) outcome {
	reason := "Interlock asks people first: " + message
	if id := asked.GetApprovalId(); id != "" {
		reason += " " + brief.Asked(message, id, brief.ApprovalLink(h.PublicURL, id), "")
	}
	return outcome{verdict: deny, reason: reason}
}
