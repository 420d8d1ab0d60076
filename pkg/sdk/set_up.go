package sdk

import (
	"context"
	"encoding/json"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// The methods of this file are for the set-up before agents work, and return the messages of the
// contract as they are.

// CreateComponent creates a component: its definition as JSON, or a value that encodes to
// it (S12).
func (c *Client) CreateComponent(ctx context.Context, definition any, opts ...ChangeOption) (*statev1.Component, error) {
	body, err := encode("component", text(definition))
	if err != nil {
		return nil, err
	}
	resp, err := retry(ctx, c.components.CreateComponent, &statev1.CreateComponentRequest{Definition: body, IdempotencyKey: keyOf(opts)})
	return resp.GetComponent(), err
}

// GetComponent returns a component.
func (c *Client) GetComponent(ctx context.Context, slug string) (*statev1.Component, error) {
	resp, err := retry(ctx, c.components.GetComponent, &statev1.GetComponentRequest{Slug: slug})
	return resp.GetComponent(), err
}

// ListComponents returns all components.
func (c *Client) ListComponents(ctx context.Context) ([]*statev1.Component, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*statev1.Component, string, error) {
		resp, err := retry(ctx, c.components.ListComponents, &statev1.ListComponentsRequest{PageSize: size, PageToken: token})
		return resp.GetComponents(), resp.GetNextPageToken(), err
	})
}

// UpdateComponent replaces the definition of a component at a version; 0 for any.
func (c *Client) UpdateComponent(ctx context.Context, slug string, definition any, expectedVersion int64) (*statev1.Component, error) {
	body, err := encode("component", text(definition))
	if err != nil {
		return nil, err
	}
	resp, err := retry(ctx, c.components.UpdateComponent, &statev1.UpdateComponentRequest{Slug: slug, Definition: body, ExpectedVersion: expectedVersion})
	return resp.GetComponent(), err
}

// DeleteComponent deletes a component at a version; 0 for any.
func (c *Client) DeleteComponent(ctx context.Context, slug string, expectedVersion int64) error {
	_, err := retry(ctx, c.components.DeleteComponent, &statev1.DeleteComponentRequest{Slug: slug, ExpectedVersion: expectedVersion})
	return err
}

// BeginExecution begins a use of a component's values by the client's session; an empty slug is
// that of the session (S12.3).
func (c *Client) BeginExecution(ctx context.Context, slug, subject string) (*statev1.Execution, error) {
	resp, err := retry(ctx, c.components.BeginExecution, &statev1.BeginExecutionRequest{Slug: slug, Session: c.session, Subject: subject})
	return resp.GetExecution(), err
}

// CommitExecution ends a use of a component's values with the values given: a JSON object.
func (c *Client) CommitExecution(ctx context.Context, executionID string, values json.RawMessage) (*statev1.Execution, error) {
	resp, err := retry(ctx, c.components.CommitExecution, &statev1.CommitExecutionRequest{
		ExecutionId: executionID, Session: c.session, Change: &statev1.CommitExecutionRequest_Values{Values: values},
	})
	return resp.GetExecution(), err
}

// CreateAgent creates an agent, as an operator.
func (c *Client) CreateAgent(ctx context.Context, spec *statev1.AgentSpec) (*statev1.Agent, error) {
	resp, err := retry(ctx, c.agents.CreateAgent, &statev1.CreateAgentRequest{Spec: spec})
	return resp.GetAgent(), err
}

// GetAgent returns an agent.
func (c *Client) GetAgent(ctx context.Context, name string) (*statev1.Agent, error) {
	resp, err := retry(ctx, c.agents.GetAgent, &statev1.GetAgentRequest{Name: name})
	return resp.GetAgent(), err
}

// ListAgents returns all agents.
func (c *Client) ListAgents(ctx context.Context) ([]*statev1.Agent, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*statev1.Agent, string, error) {
		resp, err := retry(ctx, c.agents.ListAgents, &statev1.ListAgentsRequest{PageSize: size, PageToken: token})
		return resp.GetAgents(), resp.GetNextPageToken(), err
	})
}

// UpdateAgent replaces an agent at a version; 0 for any.
func (c *Client) UpdateAgent(ctx context.Context, spec *statev1.AgentSpec, expectedVersion int64) (*statev1.Agent, error) {
	resp, err := retry(ctx, c.agents.UpdateAgent, &statev1.UpdateAgentRequest{Spec: spec, ExpectedVersion: expectedVersion})
	return resp.GetAgent(), err
}

// DeleteAgent deletes an agent at a version; 0 for any.
func (c *Client) DeleteAgent(ctx context.Context, name string, expectedVersion int64) error {
	_, err := retry(ctx, c.agents.DeleteAgent, &statev1.DeleteAgentRequest{Name: name, ExpectedVersion: expectedVersion})
	return err
}

// StartProcess starts a run of a process for the client's session; version 0 is the latest (S8).
func (c *Client) StartProcess(ctx context.Context, process string, version int64, opts ...ChangeOption) (*Run, *enginev1.Turn, error) {
	resp, err := retry(ctx, c.processes.StartProcess, &enginev1.StartProcessRequest{
		Process: process, Version: version, SessionId: c.session, IdempotencyKey: keyOf(opts),
	})
	if err != nil {
		return nil, nil, err
	}
	return runOf(resp.GetRun()), resp.GetTurn(), nil
}

// AnswerQuestion answers the question of the client's process, and returns the next one. A refusal
// is a [*RejectedError]; an answer that waits for a human an [*ApprovalRequiredError].
func (c *Client) AnswerQuestion(ctx context.Context, answer, note string, opts ...ChangeOption) (*Run, *enginev1.Turn, error) {
	run, session := c.driven()
	resp, err := retry(ctx, c.processes.AnswerQuestion, &enginev1.AnswerQuestionRequest{
		RunId: run, SessionId: session, Answer: answer, Note: note, IdempotencyKey: keyOf(opts),
	})
	switch {
	case err != nil:
		return nil, nil, err
	case resp.GetRejection() != nil:
		return nil, resp.GetTurn(), rejected(resp.GetRejection())
	case resp.GetApprovalId() != "" && resp.GetRun().GetStatus() == enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL:
		return runOf(resp.GetRun()), resp.GetTurn(), &ApprovalRequiredError{
			Code: CodeApprovalRequired, Message: "a human must approve this answer first", ApprovalID: resp.GetApprovalId(),
		}
	default:
		return runOf(resp.GetRun()), resp.GetTurn(), nil
	}
}

// ListLeases returns the leases of a run by which calls pass without another question, newest first;
// of all runs when it is empty (S9.6). It is for people.
func (c *Client) ListLeases(ctx context.Context, runID string) ([]*approvalv1.Lease, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*approvalv1.Lease, string, error) {
		resp, err := retry(ctx, c.approvals.ListLeases, &approvalv1.ListLeasesRequest{PageSize: size, PageToken: token, RunId: runID})
		return resp.GetLeases(), resp.GetNextPageToken(), err
	})
}

// RevokeLease ends a lease, as an operator or approver.
func (c *Client) RevokeLease(ctx context.Context, id string) (*approvalv1.Lease, error) {
	resp, err := retry(ctx, c.approvals.RevokeLease, &approvalv1.RevokeLeaseRequest{LeaseId: id})
	return resp.GetLease(), err
}
