package mcp

import (
	"cmp"
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/approvals"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
)

// admitCall puts a call before the gate. Where policies ask people first, and the
// workflow says that calls wait for them (meta.approval.wait_seconds), it waits, and puts
// the same call before the gate again when they have decided (S7.6). nil means allowed;
// otherwise it is the answer to the client.
func (s *Server) admitCall(ctx context.Context, g *gated) *sdk.CallToolResult {
	denied := s.decide(ctx, g)
	if denied == nil {
		return nil
	}
	limit := g.at.Run.GetWorkflowMeta().GetApprovalWait().AsDuration()
	if denied.ApprovalID == "" || denied.Decision != asks || limit <= 0 || s.cfg.Approvals == nil {
		return denied.ResultFor(g.target.Tool)
	}
	if invitation := s.desk.Invite(g.caller, denied.ApprovalID); invitation != nil {
		return invitation
	}
	approval, err := s.desk.Await(g.caller.Outgoing(ctx), g.caller, denied.ApprovalID, limit)
	switch {
	case ctx.Err() != nil:
		return s.refuseUndecided(ctx.Err()).ResultFor(g.target.Tool)
	case err != nil:
		return denied.ResultFor(g.target.Tool) // it waits, for all that is known
	}
	switch approval.GetStatus() {
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_UNSPECIFIED, approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING:
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED, approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED:
		// The gate decides on the consequence.
		if denied = s.decide(ctx, g); denied == nil {
			return nil
		}
	default:
		denied.Message, denied.Next = approvals.Outcome(approval), "The tool was not called. To ask again, make the call again."
	}
	return denied.ResultFor(g.target.Tool)
}

// asks is the decision that people must decide first.
const asks = "ASK"

// refuseAsked makes the refusal of a call that people must approve first.
func (s *Server) refuseAsked(res *policyv1.CheckToolCallResponse) *reply.Refusal {
	r := reply.Decision(res)
	if r.Decision == asks && r.ApprovalID != "" {
		r.Next = brief.Asked(r.ApprovalID, s.desk.Link(r.ApprovalID), s.cfg.ToolPrefix)
	}
	return r
}

// decide asks the gate. nil means allowed; every doubt is a refusal.
func (s *Server) decide(ctx context.Context, g *gated) *reply.Refusal {
	ctx, cancel := context.WithTimeout(g.caller.Outgoing(ctx), s.cfg.CheckTimeout)
	defer cancel()
	if !g.caller.Bound() {
		return s.withoutRun(ctx, g)
	}
	var err error
	g.at, err = caller.Locate(ctx, s.cfg.Runs, g.caller)
	switch {
	case err != nil && reply.IsNotFound(err) && g.caller.RunID == "":
		return s.withoutRun(ctx, g)
	case err != nil:
		return s.refuseUndecided(err)
	}
	judged := g.judgedName()
	g.judged = judged
	res, err := s.check(ctx, g, judged, g.callID)
	switch {
	case err != nil && reply.IsNotFound(err) && g.caller.RunID == "":
		return s.unjudged(g) // the session has left its run just now, and no other rules hold for it
	case err != nil:
		return s.refuseUndecided(err)
	}
	if r := s.verdict(g, res); r != nil {
		s.noteDenial(g.caller, res)
		return r
	}
	g.admitted = res
	if !sameVersion(g.at, res) {
		return s.confirm(ctx, g, judged)
	}
	return nil
}

// sameVersion reports whether a decision was made on exactly the observed run.
func sameVersion(at caller.Position, res *policyv1.CheckToolCallResponse) bool {
	return sameRun(at, res) && at.Run.GetVersion() == res.GetRunVersion()
}

// sameRun reports whether a decision was made on the run that was seen, in its branch.
func sameRun(at caller.Position, res *policyv1.CheckToolCallResponse) bool {
	return at.Run.GetRunId() == res.GetRunId() && at.Run.GetBranch() == res.GetBranch()
}

// judgedName returns the name to judge a call by: the one that was called, unless the
// state disallows the tool's other name. A process names tools as their servers do (S7.8).
func (g *gated) judgedName() string {
	rules := g.at.Run.GetRules()
	other := g.target.Other(g.name)
	switch {
	case other != "" && names(rules.GetDisallowedTools(), other):
		return other
	case g.at.Run.GetWorkflowMeta().GetProcess() && g.inProcess != "" && rules.GetToolsRestricted() &&
		!names(rules.GetAllowedTools(), g.name) && names(rules.GetAllowedTools(), g.inProcess):
		return g.inProcess
	}
	return g.name
}

// confirm looks again when the run was not, or is no more, the one that the call was
// prepared for: its name, and the environment of its server. A call that was admitted for
// another one is reported as not made.
func (s *Server) confirm(ctx context.Context, g *gated, judged string) *reply.Refusal {
	now, err := caller.Locate(ctx, s.cfg.Runs, g.caller)
	if err == nil && sameRun(now, g.admitted) {
		g.at = now
		if g.judgedName() == judged && (sameVersion(now, g.admitted) || !g.ownServer()) {
			return nil
		}
	}
	s.settle(ctx, g, reply.Refusal{Code: reply.CodeUpstreamFailed, Message: "refused: the state changed in between"}.Text())
	g.admitted = nil
	if err != nil && !reply.IsNotFound(err) {
		return s.refuseUndecided(err)
	}
	g.at = now
	name := g.judgedName()
	if name != g.name {
		// The other name is disallowed now: have that recorded and explained.
		if res, err := s.check(ctx, g, name, ""); err == nil && res.GetDecision() != policyv1.Decision_DECISION_ALLOW {
			return s.refuseAsked(res)
		}
	}
	return &reply.Refusal{
		Decision: "DENY", Code: reply.CodePolicyUnavailable, Lead: "Denied",
		Message: "the state changed while the call was judged; make it again",
	}
}

func (s *Server) check(ctx context.Context, g *gated, tool, callID string) (*policyv1.CheckToolCallResponse, error) {
	return s.cfg.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		RunId: g.caller.RunID, SessionId: g.caller.NamedSession(), Tool: tool, QualifiedTool: g.target.Qualified, Input: s.judgedInput(g), CallId: callID,
		JailLevel: int32(g.jail), Folder: g.folder, //nolint:gosec // 0 to 3
	})
}

// verdict returns nil for an ALLOW of exactly this call.
func (s *Server) verdict(g *gated, res *policyv1.CheckToolCallResponse) *reply.Refusal {
	allowed := res.GetDecision() == policyv1.Decision_DECISION_ALLOW
	switch {
	case allowed && g.linked: // which only this machine knows
		return refuseProtected(g)
	case allowed && (res.GetCallId() == "" || res.GetCallId() == g.callID):
		return nil
	case allowed:
		return &reply.Refusal{
			Decision: "DENY", Code: reply.CodePolicyUnavailable, Lead: "Denied",
			Message: "the policy service returned a decision for another call, so this one was denied",
		}
	}
	r := s.refuseAsked(res)
	if g.at.Run.GetSupersededBy() != "" {
		r.Next = goOn(g.at.Run)
	}
	return r
}

// goOn describes how the agent of a connection continues whose run its session has left
// for another.
func goOn(run *enginev1.Run) string {
	way := "/mcp?run=" + run.GetSupersededBy()
	if session := run.GetSessionId(); session != "" {
		way = fmt.Sprintf("/mcp?session=%s, or to %s", session, way)
	}
	return fmt.Sprintf("This connection names run %s, whose session now drives run %s: only Interlock's own tools are allowed here. Connect to %s.",
		run.GetRunId(), run.GetSupersededBy(), way)
}

// noteDenial notifies older clients when a denial shows that the run has moved.
func (s *Server) noteDenial(c caller.Caller, res *policyv1.CheckToolCallResponse) {
	if res.GetRunId() == "" || res.GetState() == "" {
		return
	}
	now := clients.Listing{RunID: res.GetRunId(), Branch: res.GetBranch(), State: res.GetState(), Status: brief.Judged}
	if res.GetCode() == policyv1.DecisionCode_DECISION_CODE_RUN_NOT_ACTIVE {
		now.Status = brief.Closed
	}
	s.sessions.Saw(c, now)
}

// Calls that no run is behind go through only where the gateway's settings let them, and
// policies that hold for their role or session hold for them there (S7).

// nameless stands for the session of callers that name none and have no token.
const nameless = "mcp-without-session"

// withoutRun decides a call of a caller that drives no run. There is no state that could
// allow one of the tool's names alone, so it is judged by the one with its server:
// policies mean that. ctx must be outgoing.
func (s *Server) withoutRun(ctx context.Context, g *gated) *reply.Refusal {
	if !s.cfg.AllowUnbound {
		return s.unjudged(g)
	}
	res, err := s.cfg.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		SessionId: cmp.Or(g.caller.NamedSession(), nameless), Tool: g.target.Qualified, Input: s.judgedInput(g), CallId: g.callID,
	})
	switch {
	case err != nil && reply.IsNotFound(err):
		return s.unjudged(g)
	case err != nil:
		return s.refuseUndecided(err)
	}
	if r := s.verdict(g, res); r != nil || res.GetRunId() == "" {
		return r
	}
	// A run has begun in the meantime.
	g.admitted, g.at = res, caller.Position{Asked: res.GetRunId()}
	return s.confirm(ctx, g, g.target.Qualified)
}

// unjudged handles a call without rules: it goes through where the gateway's settings let
// such calls.
func (s *Server) unjudged(g *gated) *reply.Refusal {
	if s.cfg.AllowUnbound && g.protected != "" {
		return refuseProtected(g)
	}
	if s.cfg.AllowUnbound {
		return nil
	}
	r := reply.NotBound()
	if g.caller.Bound() {
		r = reply.NoWorkflow(g.caller.SessionID, s.cfg.ToolPrefix)
	}
	r.Decision, r.Lead = "DENY", "Denied"
	return r
}

// refuseUndecided makes a refusal of a decision that could not be had.
func (s *Server) refuseUndecided(err error) *reply.Refusal {
	if s.cfg.Undecided != nil {
		s.cfg.Undecided(err)
	}
	r := reply.Fault(err, "Denied")
	r.Decision = "DENY"
	switch fault.Reason(r.Code) {
	case fault.InvalidRequest, fault.InvalidJSON, fault.TooLarge:
		r.Code = reply.CodeInvalidInput
	case fault.Unauthenticated, fault.PermissionDenied:
	default:
		r.Message = "no decision could be made, so the call was denied: " + r.Message
		r.Code, r.Next = reply.CodePolicyUnavailable, "The tool was not called. Try again."
	}
	return r
}
