// Package forward serves the services' contracts at the edge and passes every
// call on, so that callers need one address. It must never decide anything: the
// caller's own credentials go along, and the services judge them.
package forward

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// Register adds the contracts to a server, passed on to these connections.
func Register(r grpc.ServiceRegistrar, engine, policy, state, approval grpc.ClientConnInterface) {
	enginev1.RegisterWorkflowServiceServer(r, &workflows{client: enginev1.NewWorkflowServiceClient(engine)})
	enginev1.RegisterRunServiceServer(r, &runs{client: enginev1.NewRunServiceClient(engine)})
	enginev1.RegisterProcessServiceServer(r, &processes{client: enginev1.NewProcessServiceClient(engine)})
	policyv1.RegisterPolicyEnforcerServiceServer(r, &enforcer{client: policyv1.NewPolicyEnforcerServiceClient(policy)})
	registerPolicies(r, policy)
	registerState(r, state)
	approvalv1.RegisterApprovalServiceServer(r, &approvals{client: approvalv1.NewApprovalServiceClient(approval)})
}

// pass makes one unary call for the caller.
func pass[Req, Resp any](ctx context.Context, req Req, call func(context.Context, Req, ...grpc.CallOption) (Resp, error)) (Resp, error) {
	return call(rpc.Forward(ctx), req)
}

type workflows struct {
	enginev1.UnimplementedWorkflowServiceServer
	client enginev1.WorkflowServiceClient
}

func (s *workflows) RegisterWorkflow(ctx context.Context, req *enginev1.RegisterWorkflowRequest) (*enginev1.RegisterWorkflowResponse, error) {
	return pass(ctx, req, s.client.RegisterWorkflow)
}

func (s *workflows) GetWorkflow(ctx context.Context, req *enginev1.GetWorkflowRequest) (*enginev1.GetWorkflowResponse, error) {
	return pass(ctx, req, s.client.GetWorkflow)
}

func (s *workflows) ListWorkflows(ctx context.Context, req *enginev1.ListWorkflowsRequest) (*enginev1.ListWorkflowsResponse, error) {
	return pass(ctx, req, s.client.ListWorkflows)
}

func (s *workflows) ValidateWorkflow(ctx context.Context, req *enginev1.ValidateWorkflowRequest) (*enginev1.ValidateWorkflowResponse, error) {
	return pass(ctx, req, s.client.ValidateWorkflow)
}

type runs struct {
	enginev1.UnimplementedRunServiceServer
	client enginev1.RunServiceClient
}

func (s *runs) StartRun(ctx context.Context, req *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error) {
	return pass(ctx, req, s.client.StartRun)
}

func (s *runs) GetRun(ctx context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
	return pass(ctx, req, s.client.GetRun)
}

func (s *runs) ListRuns(ctx context.Context, req *enginev1.ListRunsRequest) (*enginev1.ListRunsResponse, error) {
	return pass(ctx, req, s.client.ListRuns)
}

func (s *runs) TransitionRun(ctx context.Context, req *enginev1.TransitionRunRequest) (*enginev1.TransitionRunResponse, error) {
	return pass(ctx, req, s.client.TransitionRun)
}

func (s *runs) BindBranch(ctx context.Context, req *enginev1.BindBranchRequest) (*enginev1.BindBranchResponse, error) {
	return pass(ctx, req, s.client.BindBranch)
}

func (s *runs) InterruptRun(ctx context.Context, req *enginev1.InterruptRunRequest) (*enginev1.InterruptRunResponse, error) {
	return pass(ctx, req, s.client.InterruptRun)
}

func (s *runs) ForceState(ctx context.Context, req *enginev1.ForceStateRequest) (*enginev1.ForceStateResponse, error) {
	return pass(ctx, req, s.client.ForceState)
}

func (s *runs) PauseRun(ctx context.Context, req *enginev1.PauseRunRequest) (*enginev1.PauseRunResponse, error) {
	return pass(ctx, req, s.client.PauseRun)
}

func (s *runs) ResumeRun(ctx context.Context, req *enginev1.ResumeRunRequest) (*enginev1.ResumeRunResponse, error) {
	return pass(ctx, req, s.client.ResumeRun)
}

func (s *runs) CancelRun(ctx context.Context, req *enginev1.CancelRunRequest) (*enginev1.CancelRunResponse, error) {
	return pass(ctx, req, s.client.CancelRun)
}

func (s *runs) GetRunHistory(ctx context.Context, req *enginev1.GetRunHistoryRequest) (*enginev1.GetRunHistoryResponse, error) {
	return pass(ctx, req, s.client.GetRunHistory)
}

func (s *runs) SettleApproval(ctx context.Context, req *enginev1.SettleApprovalRequest) (*enginev1.SettleApprovalResponse, error) {
	return pass(ctx, req, s.client.SettleApproval)
}

func (s *runs) WatchRun(req *enginev1.WatchRunRequest, stream grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error {
	upstream, err := s.client.WatchRun(rpc.Forward(stream.Context()), req)
	if err != nil {
		return err
	}
	return copyAll(upstream.Recv, stream.Send)
}

type enforcer struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
	client policyv1.PolicyEnforcerServiceClient
}

func (s *enforcer) CheckToolCall(ctx context.Context, req *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
	return pass(ctx, req, s.client.CheckToolCall)
}

func (s *enforcer) ReportToolCall(ctx context.Context, req *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
	return pass(ctx, req, s.client.ReportToolCall)
}

func (s *enforcer) CheckToolCalls(stream grpc.BidiStreamingServer[policyv1.CheckToolCallsRequest, policyv1.CheckToolCallsResponse]) error {
	ctx, cancel := context.WithCancel(rpc.Forward(stream.Context()))
	defer cancel()
	upstream, err := s.client.CheckToolCalls(ctx)
	if err != nil {
		return err
	}
	go func() {
		// The caller's end of the stream becomes the upstream's; a broken one
		// ends both. Answers under way still come back.
		if copyAll(stream.Recv, upstream.Send) != nil || upstream.CloseSend() != nil {
			cancel()
		}
	}()
	done := make(chan error, 1)
	go func() { done <- copyAll(upstream.Recv, stream.Send) }()
	select {
	case err := <-done:
		return err
	case <-rpc.Draining(ctx):
		_ = upstream.CloseSend() // what was sent is still answered
		return <-done
	}
}

// copyAll passes messages on until the first side ends; its end is no error.
func copyAll[M any](receive func() (M, error), send func(M) error) error {
	for {
		m, err := receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := send(m); err != nil {
			return err
		}
	}
}
