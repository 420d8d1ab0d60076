package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// admitCall puts a call before the gate. Where policies ask people first, and the
// workflow says that calls wait for them (meta.approval.wait_seconds), it waits, and
// puts the same call before the gate again when they have decided (S7.6). nil means
// allowed; otherwise it is what the client is answered.
func (s *Server) admitCall(ctx context.Context, g *gated) *sdk.CallToolResult {
	denied := s.decide(ctx, g)
	if denied == nil {
		return nil
	}
	limit := time.Duration(g.at.run.GetApprovalWaitSeconds()) * time.Second
	if denied.ApprovalID == "" || denied.Decision != asks || limit <= 0 || s.cfg.Approvals == nil {
		return denied.resultFor(g.target.tool)
	}
	if invitation := s.invite(g.caller, denied.ApprovalID); invitation != nil {
		return invitation
	}
	approval, err := s.awaitDecision(g.caller.outgoing(ctx), g.caller, denied.ApprovalID, limit)
	switch {
	case ctx.Err() != nil:
		return refuseUndecided(ctx.Err()).resultFor(g.target.tool)
	case err != nil:
		return denied.resultFor(g.target.tool) // it waits, for all that is known
	}
	switch approval.GetStatus() {
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_UNSPECIFIED, approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING:
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED, approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED:
		// The gate says what follows from it.
		if denied = s.decide(ctx, g); denied == nil {
			return nil
		}
	default:
		denied.Message, denied.next = outcomeOf(approval), "The tool was not called. To ask again, make the call again."
	}
	return denied.resultFor(g.target.tool)
}

// asks is the decision that people must decide first.
const asks = "ASK"

// refuseAsked makes the refusal of a call that people must approve first.
func (s *Server) refuseAsked(res *policyv1.CheckToolCallResponse) refusal {
	r := refuseDecision(res)
	if r.Decision == asks && r.ApprovalID != "" {
		r.next = brief.Asked(r.ApprovalID, s.link(r.ApprovalID), s.cfg.ToolPrefix)
	}
	return r
}
