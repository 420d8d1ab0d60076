package sdk

import (
	"context"
	"encoding/json"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// The methods of this file read definitions and return the messages of the contract as they are.

// GetWorkflow returns a version of a workflow; 0 is the latest.
func (c *Client) GetWorkflow(ctx context.Context, name string, version int64) (*enginev1.Workflow, error) {
	resp, err := retry(ctx, c.workflows.GetWorkflow, &enginev1.GetWorkflowRequest{Name: name, Version: version})
	return resp.GetWorkflow(), err
}

// ListWorkflows returns the latest version of each workflow, without definitions.
func (c *Client) ListWorkflows(ctx context.Context) ([]*enginev1.Workflow, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*enginev1.Workflow, string, error) {
		resp, err := retry(ctx, c.workflows.ListWorkflows, &enginev1.ListWorkflowsRequest{PageSize: size, PageToken: token})
		return resp.GetWorkflows(), resp.GetNextPageToken(), err
	})
}

// GetProcess returns a version of a process; 0 is the latest.
func (c *Client) GetProcess(ctx context.Context, name string, version int64) (*enginev1.Process, error) {
	resp, err := retry(ctx, c.processes.GetProcess, &enginev1.GetProcessRequest{Name: name, Version: version})
	return resp.GetProcess(), err
}

// ListProcesses returns the latest version of each process.
func (c *Client) ListProcesses(ctx context.Context) ([]*enginev1.Process, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*enginev1.Process, string, error) {
		resp, err := retry(ctx, c.processes.ListProcesses, &enginev1.ListProcessesRequest{PageSize: size, PageToken: token})
		return resp.GetProcesses(), resp.GetNextPageToken(), err
	})
}

// GetPolicy returns a version of a policy; 0 is the live one.
func (c *Client) GetPolicy(ctx context.Context, name string, version int64) (*policyv1.Policy, error) {
	resp, err := retry(ctx, c.policies.GetPolicy, &policyv1.GetPolicyRequest{Name: name, Version: version})
	return resp.GetPolicy(), err
}

// ListPolicies returns all policies. It is for people.
func (c *Client) ListPolicies(ctx context.Context) ([]*policyv1.Policy, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*policyv1.Policy, string, error) {
		resp, err := retry(ctx, c.policies.ListPolicies, &policyv1.ListPoliciesRequest{PageSize: size, PageToken: token})
		return resp.GetPolicies(), resp.GetNextPageToken(), err
	})
}

// PolicyUsage returns the counts of a policy's limits for a principal and the client's
// session.
func (c *Client) PolicyUsage(ctx context.Context, name, principal string) ([]*policyv1.Usage, error) {
	resp, err := retry(ctx, c.policies.GetPolicyUsage, &policyv1.GetPolicyUsageRequest{Name: name, Principal: principal, SessionId: c.session})
	return resp.GetUsages(), err
}

// GetSchema returns a version of a schema; 0 is the latest.
func (c *Client) GetSchema(ctx context.Context, name string, version int64) (*statev1.Schema, error) {
	resp, err := retry(ctx, c.schemas.GetSchema, &statev1.GetSchemaRequest{Name: name, Version: version})
	return resp.GetSchema(), err
}

// ListSchemas returns the latest version of each schema.
func (c *Client) ListSchemas(ctx context.Context) ([]*statev1.Schema, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*statev1.Schema, string, error) {
		resp, err := retry(ctx, c.schemas.ListSchemas, &statev1.ListSchemasRequest{PageSize: size, PageToken: token})
		return resp.GetSchemas(), resp.GetNextPageToken(), err
	})
}

// ComponentValues returns the values of a component for the client's session; an empty slug is that
// of the session (S12).
func (c *Client) ComponentValues(ctx context.Context, slug, subject string) (*statev1.Execution, error) {
	resp, err := retry(ctx, c.components.GetComponentValues, &statev1.GetComponentValuesRequest{Slug: slug, Session: c.session, Subject: subject})
	return resp.GetExecution(), err
}

// GetQuestion returns the present question of the client's process.
func (c *Client) GetQuestion(ctx context.Context) (*Run, *enginev1.Turn, error) {
	return c.AnswerQuestion(ctx, "", "")
}

// GetSession returns a session by id or name, by default the client's.
func (c *Client) GetSession(ctx context.Context, id string) (Session, error) {
	resp, err := retry(ctx, c.sessions.GetSession, &statev1.GetSessionRequest{SessionId: first(id, c.session), Session: c.session})
	return sessionOf(resp.GetSession()), err
}

// ListSessions returns the sessions that the caller may see, newest first.
func (c *Client) ListSessions(ctx context.Context) ([]Session, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]Session, string, error) {
		resp, err := retry(ctx, c.sessions.ListSessions, &statev1.ListSessionsRequest{PageSize: size, PageToken: token, Session: c.session})
		return each(resp.GetSessions(), sessionOf), resp.GetNextPageToken(), err
	})
}

// ResumeSession resumes a session that has stopped: a runner starts its agent again with the prompt.
func (c *Client) ResumeSession(ctx context.Context, id, prompt string, opts ...ChangeOption) (Session, error) {
	resp, err := retry(ctx, c.sessions.ResumeSession, &statev1.ResumeSessionRequest{
		SessionId: first(id, c.session), Session: c.session, Prompt: prompt, IdempotencyKey: keyOf(opts),
	})
	return sessionOf(resp.GetSession()), err
}

// SessionResult returns the result of a session's agent as JSON; false when it has given none.
func (c *Client) SessionResult(ctx context.Context, id string) (json.RawMessage, bool, error) {
	resp, err := retry(ctx, c.sessions.GetSessionResult, &statev1.GetSessionResultRequest{SessionId: first(id, c.session), Session: c.session})
	return resp.GetResult(), resp.GetGiven(), err
}
