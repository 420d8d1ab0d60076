package forward

import (
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

type processes struct {
	enginev1.UnimplementedProcessServiceServer
	client enginev1.ProcessServiceClient
}

func (s *processes) RegisterProcess(ctx context.Context, req *enginev1.RegisterProcessRequest) (*enginev1.RegisterProcessResponse, error) {
	return pass(ctx, req, s.client.RegisterProcess)
}

func (s *processes) GetProcess(ctx context.Context, req *enginev1.GetProcessRequest) (*enginev1.GetProcessResponse, error) {
	return pass(ctx, req, s.client.GetProcess)
}

func (s *processes) ListProcesses(ctx context.Context, req *enginev1.ListProcessesRequest) (*enginev1.ListProcessesResponse, error) {
	return pass(ctx, req, s.client.ListProcesses)
}

func (s *processes) StartProcess(ctx context.Context, req *enginev1.StartProcessRequest) (*enginev1.StartProcessResponse, error) {
	return pass(ctx, req, s.client.StartProcess)
}

func (s *processes) AnswerQuestion(ctx context.Context, req *enginev1.AnswerQuestionRequest) (*enginev1.AnswerQuestionResponse, error) {
	return pass(ctx, req, s.client.AnswerQuestion)
}
