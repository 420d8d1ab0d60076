package mcp

import (
	"context"
	"fmt"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// Calls that no run is behind go through only where the gateway was told to let them,
// and policies that hold for their role or session hold for them there (S7).

// nameless stands for the session of callers that name none and have no token.
const nameless = "mcp-without-session"

// withoutRun decides a call of a caller that drives no run. There is no state that
// could allow one of the tool's names alone, so it is judged by the one that tells its
// server: policies mean that. ctx must be outgoing.
func (s *Server) withoutRun(ctx context.Context, g *gated) *refusal {
	if !s.cfg.AllowUnbound {
		return s.unjudged(g)
	}
	session := sessionOf(g.caller)
	if session == "" {
		session = nameless
	}
	res, err := s.cfg.Policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
		SessionId: session, Tool: g.target.qualified, Input: g.input, CallId: g.callID,
	})
	switch {
	case err != nil && isNotFound(err):
		return nil // nothing holds for it
	case err != nil:
		r := refuseUndecided(err)
		return &r
	}
	if r := s.verdict(g, res); r != nil || res.GetRunId() == "" {
		return r
	}
	// A run has begun meanwhile.
	g.admitted, g.at = res, standing{asked: res.GetRunId()}
	return s.confirm(ctx, g, g.target.qualified)
}

// unjudged answers a call that nothing holds for: it goes through where the gateway
// was told to let such calls.
func (s *Server) unjudged(g *gated) *refusal {
	if s.cfg.AllowUnbound {
		return nil
	}
	r := s.notBound()
	if g.caller.Bound() {
		r = s.noWorkflow(g.caller)
	}
	r.Decision, r.lead = "DENY", "Denied"
	return &r
}

// goOn says how the agent of a connection goes on whose run its session has left for
// another.
func goOn(run *enginev1.Run) string {
	way := "/mcp?run=" + run.GetSupersededBy()
	if session := run.GetSessionId(); session != "" {
		way = fmt.Sprintf("/mcp?session=%s, or to %s", session, way)
	}
	return fmt.Sprintf("This connection names run %s, whose session drives run %s now: only Interlock's own tools are open here. Connect to %s.",
		run.GetRunId(), run.GetSupersededBy(), way)
}
