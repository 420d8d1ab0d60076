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

func (s *policies) RegisterPolicy(ctx context.Context, req *policyv1.RegisterPolicyRequest) (*policyv1.RegisterPolicyResponse, error) {
	return pass(ctx, req, s.client.RegisterPolicy)
}

func (s *policies) GetPolicy(ctx context.Context, req *policyv1.GetPolicyRequest) (*policyv1.GetPolicyResponse, error) {
	return pass(ctx, req, s.client.GetPolicy)
}

func (s *policies) ListPolicies(ctx context.Context, req *policyv1.ListPoliciesRequest) (*policyv1.ListPoliciesResponse, error) {
	return pass(ctx, req, s.client.ListPolicies)
}

func (s *policies) PromotePolicy(ctx context.Context, req *policyv1.PromotePolicyRequest) (*policyv1.PromotePolicyResponse, error) {
	return pass(ctx, req, s.client.PromotePolicy)
}

func (s *policies) DeletePolicy(ctx context.Context, req *policyv1.DeletePolicyRequest) (*policyv1.DeletePolicyResponse, error) {
	return pass(ctx, req, s.client.DeletePolicy)
}

func (s *policies) AttachPolicy(ctx context.Context, req *policyv1.AttachPolicyRequest) (*policyv1.AttachPolicyResponse, error) {
	return pass(ctx, req, s.client.AttachPolicy)
}

func (s *policies) DetachPolicy(ctx context.Context, req *policyv1.DetachPolicyRequest) (*policyv1.DetachPolicyResponse, error) {
	return pass(ctx, req, s.client.DetachPolicy)
}

func (s *policies) ShadowWorkflow(ctx context.Context, req *policyv1.ShadowWorkflowRequest) (*policyv1.ShadowWorkflowResponse, error) {
	return pass(ctx, req, s.client.ShadowWorkflow)
}

func (s *policies) GetPolicyUsage(ctx context.Context, req *policyv1.GetPolicyUsageRequest) (*policyv1.GetPolicyUsageResponse, error) {
	return pass(ctx, req, s.client.GetPolicyUsage)
}

func (s *policies) SimulatePolicy(ctx context.Context, req *policyv1.SimulatePolicyRequest) (*policyv1.SimulatePolicyResponse, error) {
	return pass(ctx, req, s.client.SimulatePolicy)
}

type decisions struct {
	policyv1.UnimplementedDecisionServiceServer
	client policyv1.DecisionServiceClient
}

func (s *decisions) ListDecisions(ctx context.Context, req *policyv1.ListDecisionsRequest) (*policyv1.ListDecisionsResponse, error) {
	return pass(ctx, req, s.client.ListDecisions)
}

func (s *decisions) VerifyDecisions(ctx context.Context, req *policyv1.VerifyDecisionsRequest) (*policyv1.VerifyDecisionsResponse, error) {
	return pass(ctx, req, s.client.VerifyDecisions)
}
