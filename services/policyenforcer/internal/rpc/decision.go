package rpc

import (
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// decisions and codes are the core's words in the contract's.
var (
	decisions = protomap.Enums[toolcall.Decision, policyv1.Decision](policyv1.Decision_value, "DECISION_")
	codes     = protomap.Enums[toolcall.Code, policyv1.DecisionCode](policyv1.DecisionCode_value, "DECISION_CODE_")
)

func (s *Enforcer) decisionProto(d *check.Decision) *policyv1.CheckToolCallResponse {
	resp := &policyv1.CheckToolCallResponse{
		Decision: decisions[d.Verdict.Decision], Code: codes[d.Verdict.Code],
		Message: d.Message, CallId: d.CallID, Iterations: d.Iterations, ApprovalId: d.ApprovalID,
	}
	if j := d.Jail; j != nil && d.Verdict.Decision == toolcall.Allow {
		resp.Jail = jailProto(j)
	}
	if d.Run == nil || d.Unbound {
		return resp // the run is unknown, or there is none
	}
	state := d.Machine.State(d.Run.State)
	resp.RunId, resp.RunVersion, resp.State, resp.Branch = d.Run.ID, d.Run.Version, d.Run.State, d.Run.Branch
	if !d.Lifted() {
		resp.ToolsRestricted, resp.AllowedTools = state.ToolsRestricted, state.AllowedTools
		resp.MaxIterations = state.MaxIterations
	}
	resp.LegalEvents = s.legal.Of(state)
	return resp
}

func interruptedProto(in *enforcer.Interrupted) *policyv1.Interrupted {
	if in == nil {
		return nil
	}
	return &policyv1.Interrupted{
		Name: in.Name, From: in.From, To: in.Run.State,
		Notice: toolcall.InterruptNotice(in.Machine, in.Run, in.Name, in.From),
	}
}
