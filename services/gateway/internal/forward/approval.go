package forward

import (
	"context"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
)

type approvals struct {
	approvalv1.UnimplementedApprovalServiceServer
	client approvalv1.ApprovalServiceClient
}

func (s *approvals) Create(ctx context.Context, req *approvalv1.CreateRequest) (*approvalv1.CreateResponse, error) {
	return pass(ctx, req, s.client.Create)
}

func (s *approvals) Get(ctx context.Context, req *approvalv1.GetRequest) (*approvalv1.GetResponse, error) {
	return pass(ctx, req, s.client.Get)
}

func (s *approvals) List(ctx context.Context, req *approvalv1.ListRequest) (*approvalv1.ListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *approvals) Decide(ctx context.Context, req *approvalv1.DecideRequest) (*approvalv1.DecideResponse, error) {
	return pass(ctx, req, s.client.Decide)
}

func (s *approvals) Cancel(ctx context.Context, req *approvalv1.CancelRequest) (*approvalv1.CancelResponse, error) {
	return pass(ctx, req, s.client.Cancel)
}

func (s *approvals) Consume(ctx context.Context, req *approvalv1.ConsumeRequest) (*approvalv1.ConsumeResponse, error) {
	return pass(ctx, req, s.client.Consume)
}

func (s *approvals) Void(ctx context.Context, req *approvalv1.VoidRequest) (*approvalv1.VoidResponse, error) {
	return pass(ctx, req, s.client.Void)
}

func (s *approvals) Wait(req *approvalv1.WaitRequest, stream grpc.ServerStreamingServer[approvalv1.WaitResponse]) error {
	upstream, err := s.client.Wait(rpc.Forward(stream.Context()), req)
	if err != nil {
		return err
	}
	return copyAll(upstream.Recv, stream.Send)
}

func (s *approvals) Watch(req *approvalv1.WatchRequest, stream grpc.ServerStreamingServer[approvalv1.WatchResponse]) error {
	upstream, err := s.client.Watch(rpc.Forward(stream.Context()), req)
	if err != nil {
		return err
	}
	return copyAll(upstream.Recv, stream.Send)
}
