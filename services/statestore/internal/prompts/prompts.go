// Package prompts writes the texts for the agents of sessions (S15.2).
package prompts

import (
	"context"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/placeholder"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"

	"github.com/interlock-run/interlock/services/statestore/internal/agents"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
)

// Prompts writes the texts for the agents of sessions.
type Prompts struct {
	ports      *ports.Ports
	states     *states.States
	schemas    *schemas.Schemas
	executions *components.Executions
	agents     *agents.Agents
}

// New returns the prompts.
func New(p *ports.Ports, states *states.States, schemas *schemas.Schemas, executions *components.Executions, agents *agents.Agents) *Prompts {
	return &Prompts{ports: p, states: states, schemas: schemas, executions: executions, agents: agents}
}

// Of returns the text for an agent in the task that its session is to have next.
func (ps *Prompts) Of(ctx context.Context, m *member.Member, next *session.Session) (string, error) {
	switch next.Task.Kind {
	case session.KindStateUpdate:
		return ps.Update(ctx, m, next.Task.Attempt)
	case session.KindCallback:
		return session.CallbackPrompt(next.Task.Callbacks, ps.ports.Config.ToolPrefix), nil
	default:
		return ps.filled(ctx, m, next.Prompt)
	}
}

// NothingToUpdate is the text for an agent whose state was deleted just after it was
// asked to update it.
const NothingToUpdate = "The workflow state was deleted: no update is needed. You may stop.\n"

// Update asks for the report of a session, with the state and the schema as
// they are now. NOT_FOUND when the state is gone.
func (ps *Prompts) Update(ctx context.Context, m *member.Member, attempt int) (string, error) {
	st, err := ps.states.Load(ctx, ports.StateKey(m.Key.Namespace, m.StateID))
	if err != nil {
		return "", err
	}
	schema, err := ps.schemas.Compile(ctx, m.Key.Namespace, st.SchemaName, st.SchemaVersion)
	if err != nil {
		return "", err
	}
	return session.UpdatePrompt(attempt, ps.ports.Config.Session.MaxAttempts, session.Shared{
		Data: st.Data.String(), Schema: string(schema.Text), Version: st.Version, Prefix: ps.ports.Config.ToolPrefix,
	}), nil
}

// Instructions returns the instructions of the agent that a session was started from, filled in
// as a prompt is; empty for none, and of an agent that was deleted.
func (ps *Prompts) Instructions(ctx context.Context, m *member.Member) (string, error) {
	if m.Agent == "" {
		return "", nil
	}
	_, agent, err := ps.agents.Find(ctx, m.Key.Namespace, m.Agent)
	if agent == nil || err != nil {
		return "", err
	}
	return ps.filled(ctx, m, agent.Instructions)
}

// filled puts values of the state and of components into the places of a prompt that refer
// to them (S15.2). There is no run, so there is no context.
func (ps *Prompts) filled(ctx context.Context, m *member.Member, prompt string) (string, error) {
	if !placeholder.Has(prompt) {
		return prompt, nil
	}
	caller := ports.Caller{Namespace: m.Key.Namespace, Principal: auth.Principal{Name: m.Owner, Role: auth.Operator}, Session: m.ID}
	known := map[placeholder.Reference]document.Value{}
	for _, r := range placeholder.References(prompt) {
		v, err := ps.referred(ctx, caller, m, r)
		switch fault.ReasonOf(err) {
		case "":
			known[r] = v
		case fault.NotFound, fault.InvalidRequest, fault.PermissionDenied, fault.SessionEnded: // it is missing
		default:
			return "", err
		}
	}
	return placeholder.Fill(prompt, func(r placeholder.Reference) (document.Value, bool) {
		v := known[r]
		return v, !v.IsZero()
	}), nil
}

// referred returns the value of a reference in a session's prompt; missing if there is
// none.
func (ps *Prompts) referred(ctx context.Context, caller ports.Caller, m *member.Member, r placeholder.Reference) (document.Value, error) {
	switch {
	case r.Kind == placeholder.State && m.StateID != "":
		st, err := ps.states.Load(ctx, ports.StateKey(m.Key.Namespace, m.StateID))
		if err != nil {
			return document.Value{}, err
		}
		v, _ := placeholder.Lookup(st.Data, r.Name)
		return v, nil
	case r.Kind == placeholder.Component:
		execution, err := ps.executions.Read(ctx, caller, components.Scope{Slug: r.Slug})
		if err != nil {
			return document.Value{}, err
		}
		v, _ := placeholder.Lookup(execution.Values, r.Name)
		return v, nil
	default:
		return document.Value{}, nil
	}
}
