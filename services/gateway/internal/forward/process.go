package forward

import (
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

type processes struct {
	enginev1.UnimplementedProcessServiceServer
	client enginev1.ProcessServiceClient
}

func (s *processes) Register(ctx context.Context, req *enginev1.ProcessServiceRegisterRequest) (*enginev1.ProcessServiceRegisterResponse, error) {
	return pass(ctx, req, s.client.Register)
}

func (s *processes) Get(ctx context.Context, req *enginev1.ProcessServiceGetRequest) (*enginev1.ProcessServiceGetResponse, error) {
	return pass(ctx, req, s.client.Get)
}

func (s *processes) List(ctx context.Context, req *enginev1.ProcessServiceListRequest) (*enginev1.ProcessServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *processes) Start(ctx context.Context, req *enginev1.ProcessServiceStartRequest) (*enginev1.ProcessServiceStartResponse, error) {
	return pass(ctx, req, s.client.Start)
}

func (s *processes) Answer(ctx context.Context, req *enginev1.AnswerRequest) (*enginev1.AnswerResponse, error) {
	return pass(ctx, req, s.client.Answer)
}
