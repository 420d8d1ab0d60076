package forward

import (
	"context"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// registerPolicies adds the contracts of policies and of the log of decisions.
func registerPolicies(r grpc.ServiceRegistrar, policy grpc.ClientConnInterface) {
	policyv1.RegisterPolicyServiceServer(r, &policies{client: policyv1.NewPolicyServiceClient(policy)})
	policyv1.RegisterDecisionServiceServer(r, &decisions{client: policyv1.NewDecisionServiceClient(policy)})
}

type policies struct {
	policyv1.UnimplementedPolicyServiceServer
	client policyv1.PolicyServiceClient
}

func (s *policies) Put(ctx context.Context, req *policyv1.PutRequest) (*policyv1.PutResponse, error) {
	return pass(ctx, req, s.client.Put)
}

func (s *policies) Get(ctx context.Context, req *policyv1.PolicyServiceGetRequest) (*policyv1.PolicyServiceGetResponse, error) {
	return pass(ctx, req, s.client.Get)
}

func (s *policies) List(ctx context.Context, req *policyv1.PolicyServiceListRequest) (*policyv1.PolicyServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *policies) Promote(ctx context.Context, req *policyv1.PromoteRequest) (*policyv1.PromoteResponse, error) {
	return pass(ctx, req, s.client.Promote)
}

func (s *policies) Delete(ctx context.Context, req *policyv1.PolicyServiceDeleteRequest) (*policyv1.PolicyServiceDeleteResponse, error) {
	return pass(ctx, req, s.client.Delete)
}

func (s *policies) Attach(ctx context.Context, req *policyv1.AttachRequest) (*policyv1.AttachResponse, error) {
	return pass(ctx, req, s.client.Attach)
}

func (s *policies) Detach(ctx context.Context, req *policyv1.DetachRequest) (*policyv1.DetachResponse, error) {
	return pass(ctx, req, s.client.Detach)
}

func (s *policies) ShadowWorkflow(ctx context.Context, req *policyv1.ShadowWorkflowRequest) (*policyv1.ShadowWorkflowResponse, error) {
	return pass(ctx, req, s.client.ShadowWorkflow)
}

func (s *policies) Usage(ctx context.Context, req *policyv1.UsageRequest) (*policyv1.UsageResponse, error) {
	return pass(ctx, req, s.client.Usage)
}

func (s *policies) Simulate(ctx context.Context, req *policyv1.SimulateRequest) (*policyv1.SimulateResponse, error) {
	return pass(ctx, req, s.client.Simulate)
}

type decisions struct {
	policyv1.UnimplementedDecisionServiceServer
	client policyv1.DecisionServiceClient
}

func (s *decisions) List(ctx context.Context, req *policyv1.DecisionServiceListRequest) (*policyv1.DecisionServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *decisions) Verify(ctx context.Context, req *policyv1.VerifyRequest) (*policyv1.VerifyResponse, error) {
	return pass(ctx, req, s.client.Verify)
}
