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

func (s *approvals) CreateApproval(ctx context.Context, req *approvalv1.CreateApprovalRequest) (*approvalv1.CreateApprovalResponse, error) {
	return pass(ctx, req, s.client.CreateApproval)
}

func (s *approvals) GetApproval(ctx context.Context, req *approvalv1.GetApprovalRequest) (*approvalv1.GetApprovalResponse, error) {
	return pass(ctx, req, s.client.GetApproval)
}

func (s *approvals) ListApprovals(ctx context.Context, req *approvalv1.ListApprovalsRequest) (*approvalv1.ListApprovalsResponse, error) {
	return pass(ctx, req, s.client.ListApprovals)
}

func (s *approvals) DecideApproval(ctx context.Context, req *approvalv1.DecideApprovalRequest) (*approvalv1.DecideApprovalResponse, error) {
	return pass(ctx, req, s.client.DecideApproval)
}

func (s *approvals) CancelApproval(ctx context.Context, req *approvalv1.CancelApprovalRequest) (*approvalv1.CancelApprovalResponse, error) {
	return pass(ctx, req, s.client.CancelApproval)
}

func (s *approvals) ConsumeApproval(ctx context.Context, req *approvalv1.ConsumeApprovalRequest) (*approvalv1.ConsumeApprovalResponse, error) {
	return pass(ctx, req, s.client.ConsumeApproval)
}

func (s *approvals) VoidApproval(ctx context.Context, req *approvalv1.VoidApprovalRequest) (*approvalv1.VoidApprovalResponse, error) {
	return pass(ctx, req, s.client.VoidApproval)
}

func (s *approvals) WatchApproval(req *approvalv1.WatchApprovalRequest, stream grpc.ServerStreamingServer[approvalv1.WatchApprovalResponse]) error {
	upstream, err := s.client.WatchApproval(rpc.Forward(stream.Context()), req)
	if err != nil {
		return err
	}
	return copyAll(upstream.Recv, stream.Send)
}

func (s *approvals) WatchApprovals(req *approvalv1.WatchApprovalsRequest, stream grpc.ServerStreamingServer[approvalv1.WatchApprovalsResponse]) error {
	upstream, err := s.client.WatchApprovals(rpc.Forward(stream.Context()), req)
	if err != nil {
		return err
	}
	return copyAll(upstream.Recv, stream.Send)
}
