package owntools

import (
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/subagent"
)

// Subagents of a coding agent share the agent's MCP connection, and so its
// session. For each to work in a branch of its own (S5.3), and to report for itself
// (S11.2), the agent's hook adds the subagent's id to the calls of own tools.

// agentParam is the argument that the hook adds.
var agentParam = arguments.Param{
	Name: "agent", Kind: document.String, Unnamed: true,
	Description: "Set by the coding agent's hook for subagents; leave it out.",
}

// actor returns the caller that acts by a call of an own tool: the subagent that the call
// names, when it drives a run itself or is about to, or else the connection's session. A
// connection that is bound to a run has no subagents.
func (t *runTools) actor(ctx context.Context, c caller.Caller, args arguments.Values) (caller.Caller, *reply.Refusal) {
	agent := args.Text(agentParam.Name)
	if agent == "" || c.RunID != "" || c.SessionID == "" {
		return c, nil
	}
	sub, refused := subagentOf(c, agent)
	if refused != nil {
		return c, refused
	}
	if args.Text("branch") != "" {
		return sub, nil
	}
	_, err := t.cfg.Runs.GetRun(ctx, &enginev1.GetRunRequest{SessionId: sub.SessionID})
	switch {
	case err == nil:
		return sub, nil
	case reply.IsNotFound(err):
		return c, nil
	}
	return c, reply.Fault(err, "")
}

// actor returns the caller that acts on a shared state: the subagent that the call
// names, with a session of its own below the connection's, or else the connection's
// session. Where that one shares no state, its subagents have none of their own.
func (t *sharedTools) actor(ctx context.Context, c caller.Caller, args arguments.Values) (caller.Caller, *reply.Refusal) {
	switch {
	case t.cfg.States == nil || t.cfg.Sessions == nil || t.cfg.Schemas == nil:
		return c, &reply.Refusal{Code: string(fault.Unavailable), Message: "this server is not connected to a state-store, so there are no shared states; the operator can connect one"}
	case c.RunID != "":
		return c, &reply.Refusal{Code: reply.CodeNotBound, Message: "This connection is bound to the run " + c.RunID + ", and sessions share states, not runs. " + nameSession}
	case c.SessionID == "":
		return c, &reply.Refusal{Code: reply.CodeNotBound, Message: "This connection does not belong to a session, and sessions share states. " + nameSession}
	}
	agent := args.Text(agentParam.Name)
	if agent == "" {
		return c, nil
	}
	sub, refused := subagentOf(c, agent)
	if refused != nil {
		return c, refused
	}
	joined, err := subagent.Join(ctx, t.cfg.Sessions, c.SessionID, agent)
	switch {
	case err != nil:
		return c, reply.Fault(err, "")
	case joined == nil:
		return c, nil
	}
	sub.SessionID = joined.GetName()
	return sub, nil
}

// nameSession says how a connection names its session.
const nameSession = "Connect to /mcp?session=NAME, or send the header " + caller.SessionHeader + "; on stdio set INTERLOCK_SESSION."

// subagentOf returns one of the caller's subagents.
func subagentOf(c caller.Caller, id string) (caller.Caller, *reply.Refusal) {
	sub := c
	sub.SessionID = subagent.Session(c.SessionID, id)
	if err := sub.Validate(); err != nil {
		return c, &reply.Refusal{Code: reply.CodeInvalidArgument, Message: "with the argument \"agent\", " + err.Error()}
	}
	return sub, nil
}
