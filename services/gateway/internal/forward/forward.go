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

func (s *workflows) Register(ctx context.Context, req *enginev1.RegisterRequest) (*enginev1.RegisterResponse, error) {
	return pass(ctx, req, s.client.Register)
}

func (s *workflows) Get(ctx context.Context, req *enginev1.WorkflowServiceGetRequest) (*enginev1.WorkflowServiceGetResponse, error) {
	return pass(ctx, req, s.client.Get)
}

func (s *workflows) List(ctx context.Context, req *enginev1.WorkflowServiceListRequest) (*enginev1.WorkflowServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *workflows) Validate(ctx context.Context, req *enginev1.ValidateRequest) (*enginev1.ValidateResponse, error) {
	return pass(ctx, req, s.client.Validate)
}

type runs struct {
	enginev1.UnimplementedRunServiceServer
	client enginev1.RunServiceClient
}

func (s *runs) Start(ctx context.Context, req *enginev1.StartRequest) (*enginev1.StartResponse, error) {
	return pass(ctx, req, s.client.Start)
}

func (s *runs) Get(ctx context.Context, req *enginev1.RunServiceGetRequest) (*enginev1.RunServiceGetResponse, error) {
	return pass(ctx, req, s.client.Get)
}

func (s *runs) List(ctx context.Context, req *enginev1.RunServiceListRequest) (*enginev1.RunServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *runs) Transition(ctx context.Context, req *enginev1.TransitionRequest) (*enginev1.TransitionResponse, error) {
	return pass(ctx, req, s.client.Transition)
}

func (s *runs) BindBranch(ctx context.Context, req *enginev1.BindBranchRequest) (*enginev1.BindBranchResponse, error) {
	return pass(ctx, req, s.client.BindBranch)
}

func (s *runs) Interrupt(ctx context.Context, req *enginev1.InterruptRequest) (*enginev1.InterruptResponse, error) {
	return pass(ctx, req, s.client.Interrupt)
}

func (s *runs) ForceState(ctx context.Context, req *enginev1.ForceStateRequest) (*enginev1.ForceStateResponse, error) {
	return pass(ctx, req, s.client.ForceState)
}

func (s *runs) Pause(ctx context.Context, req *enginev1.PauseRequest) (*enginev1.PauseResponse, error) {
	return pass(ctx, req, s.client.Pause)
}

func (s *runs) Resume(ctx context.Context, req *enginev1.ResumeRequest) (*enginev1.ResumeResponse, error) {
	return pass(ctx, req, s.client.Resume)
}

func (s *runs) Cancel(ctx context.Context, req *enginev1.CancelRequest) (*enginev1.CancelResponse, error) {
	return pass(ctx, req, s.client.Cancel)
}

func (s *runs) History(ctx context.Context, req *enginev1.HistoryRequest) (*enginev1.HistoryResponse, error) {
	return pass(ctx, req, s.client.History)
}

func (s *runs) Settle(ctx context.Context, req *enginev1.SettleRequest) (*enginev1.SettleResponse, error) {
	return pass(ctx, req, s.client.Settle)
}

func (s *runs) Watch(req *enginev1.WatchRequest, stream grpc.ServerStreamingServer[enginev1.WatchResponse]) error {
	upstream, err := s.client.Watch(rpc.Forward(stream.Context()), req)
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
