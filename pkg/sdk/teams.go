package sdk

import (
	"context"
	"encoding/json"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// CreateComponent creates a component: its definition as JSON, or a value that encodes to
// it (S12).
func (g *teamGroup) CreateComponent(ctx context.Context, definition any, opts ...ChangeOption) (*statev1.Component, error) {
	body, err := encode("component", text(definition))
	if err != nil {
		return nil, err
	}
	resp, err := retry(ctx, g.components.CreateComponent, &statev1.CreateComponentRequest{Definition: body, IdempotencyKey: keyOf(opts)})
	return resp.GetComponent(), err
}

// GetComponent returns a component.
func (g *teamGroup) GetComponent(ctx context.Context, slug string) (*statev1.Component, error) {
	resp, err := retry(ctx, g.components.GetComponent, &statev1.GetComponentRequest{Slug: slug})
	return resp.GetComponent(), err
}

// ListComponents returns all components.
func (g *teamGroup) ListComponents(ctx context.Context) ([]*statev1.Component, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*statev1.Component, string, error) {
		resp, err := retry(ctx, g.components.ListComponents, &statev1.ListComponentsRequest{PageSize: size, PageToken: token})
		return resp.GetComponents(), resp.GetNextPageToken(), err
	})
}

// UpdateComponent replaces the definition of a component at a version; 0 for any.
func (g *teamGroup) UpdateComponent(ctx context.Context, slug string, definition any, expectedVersion int64) (*statev1.Component, error) {
	body, err := encode("component", text(definition))
	if err != nil {
		return nil, err
	}
	resp, err := retry(ctx, g.components.UpdateComponent, &statev1.UpdateComponentRequest{Slug: slug, Definition: body, ExpectedVersion: expectedVersion})
	return resp.GetComponent(), err
}

// DeleteComponent deletes a component at a version; 0 for any.
func (g *teamGroup) DeleteComponent(ctx context.Context, slug string, expectedVersion int64) error {
	_, err := retry(ctx, g.components.DeleteComponent, &statev1.DeleteComponentRequest{Slug: slug, ExpectedVersion: expectedVersion})
	return err
}

// BeginExecution begins a use of a component's values by the client's session; an empty slug is
// that of the session (S12.3).
func (g *teamGroup) BeginExecution(ctx context.Context, slug, subject string) (*statev1.Execution, error) {
	resp, err := retry(ctx, g.components.BeginExecution, &statev1.BeginExecutionRequest{Slug: slug, Session: g.session, Subject: subject})
	return resp.GetExecution(), err
}

// CommitExecution ends a use of a component's values with the values given: a JSON object.
func (g *teamGroup) CommitExecution(ctx context.Context, executionID string, values json.RawMessage) (*statev1.Execution, error) {
	resp, err := retry(ctx, g.components.CommitExecution, &statev1.CommitExecutionRequest{
		ExecutionId: executionID, Session: g.session, Change: &statev1.CommitExecutionRequest_Values{Values: values},
	})
	return resp.GetExecution(), err
}

// CreateAgent creates an agent, as an operator.
func (g *teamGroup) CreateAgent(ctx context.Context, spec *statev1.AgentSpec) (*statev1.Agent, error) {
	resp, err := retry(ctx, g.agents.CreateAgent, &statev1.CreateAgentRequest{Spec: spec})
	return resp.GetAgent(), err
}

// GetAgent returns an agent.
func (g *teamGroup) GetAgent(ctx context.Context, name string) (*statev1.Agent, error) {
	resp, err := retry(ctx, g.agents.GetAgent, &statev1.GetAgentRequest{Name: name})
	return resp.GetAgent(), err
}

// ListAgents returns all agents.
func (g *teamGroup) ListAgents(ctx context.Context) ([]*statev1.Agent, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*statev1.Agent, string, error) {
		resp, err := retry(ctx, g.agents.ListAgents, &statev1.ListAgentsRequest{PageSize: size, PageToken: token})
		return resp.GetAgents(), resp.GetNextPageToken(), err
	})
}

// UpdateAgent replaces an agent at a version; 0 for any.
func (g *teamGroup) UpdateAgent(ctx context.Context, spec *statev1.AgentSpec, expectedVersion int64) (*statev1.Agent, error) {
	resp, err := retry(ctx, g.agents.UpdateAgent, &statev1.UpdateAgentRequest{Spec: spec, ExpectedVersion: expectedVersion})
	return resp.GetAgent(), err
}

// DeleteAgent deletes an agent at a version; 0 for any.
func (g *teamGroup) DeleteAgent(ctx context.Context, name string, expectedVersion int64) error {
	_, err := retry(ctx, g.agents.DeleteAgent, &statev1.DeleteAgentRequest{Name: name, ExpectedVersion: expectedVersion})
	return err
}

// ComponentValues returns the values of a component for the client's session; an empty slug is that
// of the session (S12).
func (g *teamGroup) ComponentValues(ctx context.Context, slug, subject string) (*statev1.Execution, error) {
	resp, err := retry(ctx, g.components.GetComponentValues, &statev1.GetComponentValuesRequest{Slug: slug, Session: g.session, Subject: subject})
	return resp.GetExecution(), err
}
