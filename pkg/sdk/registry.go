package sdk

import (
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// GetWorkflow returns a version of a workflow; 0 is the latest.
func (g *registryGroup) GetWorkflow(ctx context.Context, name string, version int64) (*enginev1.Workflow, error) {
	resp, err := retry(ctx, g.workflows.GetWorkflow, &enginev1.GetWorkflowRequest{Name: name, Version: version})
	return resp.GetWorkflow(), err
}

// ListWorkflows returns the latest version of each workflow, without definitions.
func (g *registryGroup) ListWorkflows(ctx context.Context) ([]*enginev1.Workflow, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*enginev1.Workflow, string, error) {
		resp, err := retry(ctx, g.workflows.ListWorkflows, &enginev1.ListWorkflowsRequest{PageSize: size, PageToken: token})
		return resp.GetWorkflows(), resp.GetNextPageToken(), err
	})
}

// GetProcess returns a version of a process; 0 is the latest.
func (g *registryGroup) GetProcess(ctx context.Context, name string, version int64) (*enginev1.Process, error) {
	resp, err := retry(ctx, g.processes.GetProcess, &enginev1.GetProcessRequest{Name: name, Version: version})
	return resp.GetProcess(), err
}

// ListProcesses returns the latest version of each process.
func (g *registryGroup) ListProcesses(ctx context.Context) ([]*enginev1.Process, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*enginev1.Process, string, error) {
		resp, err := retry(ctx, g.processes.ListProcesses, &enginev1.ListProcessesRequest{PageSize: size, PageToken: token})
		return resp.GetProcesses(), resp.GetNextPageToken(), err
	})
}

// GetPolicy returns a version of a policy; 0 is the live one.
func (g *registryGroup) GetPolicy(ctx context.Context, name string, version int64) (*policyv1.Policy, error) {
	resp, err := retry(ctx, g.policies.GetPolicy, &policyv1.GetPolicyRequest{Name: name, Version: version})
	return resp.GetPolicy(), err
}

// ListPolicies returns all policies. It is for people.
func (g *registryGroup) ListPolicies(ctx context.Context) ([]*policyv1.Policy, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*policyv1.Policy, string, error) {
		resp, err := retry(ctx, g.policies.ListPolicies, &policyv1.ListPoliciesRequest{PageSize: size, PageToken: token})
		return resp.GetPolicies(), resp.GetNextPageToken(), err
	})
}

// UsageOf says for whom the counts of a policy's limits are; without a member those per principal and per human are left out.
type UsageOf struct {
	// Principal is the name of one.
	Principal string
	// Human is the name of a person, or the issuer, # and the name there.
	Human string
}

// PolicyUsage returns the counts of a policy's limits for a principal, a human and the client's
// session.
func (g *registryGroup) PolicyUsage(ctx context.Context, name string, of UsageOf) ([]*policyv1.Usage, error) {
	resp, err := retry(ctx, g.policies.GetPolicyUsage, &policyv1.GetPolicyUsageRequest{
		Name: name, Principal: of.Principal, Human: of.Human, SessionId: g.session,
	})
	return resp.GetUsages(), err
}

// GetSchema returns a version of a schema; 0 is the latest.
func (g *registryGroup) GetSchema(ctx context.Context, name string, version int64) (*statev1.Schema, error) {
	resp, err := retry(ctx, g.schemas.GetSchema, &statev1.GetSchemaRequest{Name: name, Version: version})
	return resp.GetSchema(), err
}

// ListSchemas returns the latest version of each schema.
func (g *registryGroup) ListSchemas(ctx context.Context) ([]*statev1.Schema, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*statev1.Schema, string, error) {
		resp, err := retry(ctx, g.schemas.ListSchemas, &statev1.ListSchemasRequest{PageSize: size, PageToken: token})
		return resp.GetSchemas(), resp.GetNextPageToken(), err
	})
}
