package mcp

import (
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
)

// Subagents of a coding agent share the agent's MCP connection, and so its
// session. For each to work in a branch of its own (S5.3), the agent's hook adds
// the subagent's id to the calls of own tools: SESSION/AGENT is a session.

// agentParam is the argument that the hook adds.
var agentParam = param{
	name: "agent", kind: document.String, unnamed: true,
	description: "Set by the coding agent's hook for subagents; leave it out.",
}

// actor is who acts by a call of an own tool: the subagent that the call names,
// when it drives something itself or is about to, or else the connection's
// session. A connection that is bound to a run has no subagents.
func (s *Server) actor(ctx context.Context, c caller, args arguments) (caller, *refusal) {
	agent := args.str(agentParam.name)
	if agent == "" || c.RunID != "" || c.SessionID == "" {
		return c, nil
	}
	sub := c
	sub.SessionID += "/" + agent
	if err := sub.validate(); err != nil {
		return c, &refusal{Code: codeInvalidArgument, Message: "with the argument \"agent\", " + err.Error()}
	}
	if args.str("branch") != "" {
		return sub, nil
	}
	_, err := s.cfg.Runs.Get(ctx, &enginev1.RunServiceGetRequest{SessionId: sub.SessionID})
	switch {
	case err == nil:
		return sub, nil
	case isNotFound(err):
		return c, nil
	}
	r := refuseFault(err, "")
	return c, &r
}
