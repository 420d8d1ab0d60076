// Package subagent gives the subagents of a coding agent sessions of their own. They
// share its conversation and its MCP connection; only its hook distinguishes them, by the
// id that the agent has given each.
package subagent

import (
	"context"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Session returns the name of a subagent's session: in the engine it drives the branch
// that the subagent was given (S5.3), in the state-store it is a child of the agent's
// (S11.1).
func Session(agentSession, id string) string { return agentSession + "/" + id }

// Join returns the session of a subagent in the state-store, and makes it when there is
// none. It returns nil where there is no shared state: the agent's own session, by id or
// name, is not known there, or has no state. A session of that name in another tree is an
// error.
func Join(ctx context.Context, sessions statev1.SessionServiceClient, agentSession, id string) (*statev1.Session, error) {
	agent, err := sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: agentSession})
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case agent.GetSession().GetWorkflowStateId() == "":
		return nil, nil
	}
	// By the name, however the agent's session was named: the hook and the MCP server may
	// use different names.
	name := Session(agent.GetSession().GetName(), id)
	known, err := sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: name, Session: agentSession})
	if fault.ReasonOf(err) != fault.NotFound {
		return known.GetSession(), err
	}
	// Another caller may make it at the same time: the same request answers both.
	made, err := sessions.CreateSession(ctx, &statev1.CreateSessionRequest{Name: name, Parent: agentSession, Session: agentSession})
	return made.GetSession(), err
}
