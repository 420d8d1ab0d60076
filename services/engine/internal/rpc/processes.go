package rpc

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
)

// Processes serves ProcessService. Their runs are those of RunService.
type Processes struct {
	enginev1.UnimplementedProcessServiceServer
	App  *app.App
	Runs *Runs
}

// RegisterProcess implements ProcessService.
func (s *Processes) RegisterProcess(ctx context.Context, req *enginev1.RegisterProcessRequest) (*enginev1.RegisterProcessResponse, error) {
	version, created, warnings, err := s.App.Registry.RegisterProcess(ctx, caller(ctx), req.GetDefinition(), terms(req))
	if err != nil {
		return nil, err
	}
	compiled, err := s.App.Registry.Compile(version)
	if err != nil {
		return nil, err
	}
	return &enginev1.RegisterProcessResponse{
		Process: processProto(version, compiled), Created: created, Warnings: problemsProto(warnings),
	}, nil
}

// GetProcess implements ProcessService.
func (s *Processes) GetProcess(ctx context.Context, req *enginev1.GetProcessRequest) (*enginev1.GetProcessResponse, error) {
	version, compiled, err := s.App.Registry.Process(ctx, rpc.Namespace(ctx), req.GetName(), req.GetVersion())
	if err == nil && req.GetVersion() != 0 {
		err = s.App.Registry.Standing(ctx, rpc.Namespace(ctx), version)
	}
	if err != nil {
		return nil, err
	}
	return &enginev1.GetProcessResponse{Process: processProto(version, compiled)}, nil
}

// ListProcesses implements ProcessService.
func (s *Processes) ListProcesses(ctx context.Context, req *enginev1.ListProcessesRequest) (*enginev1.ListProcessesResponse, error) {
	versions, next, err := s.App.Registry.Processes(ctx, rpc.Namespace(ctx), req.GetPageToken(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &enginev1.ListProcessesResponse{NextPageToken: next}
	for _, v := range versions {
		_, compiled, err := s.App.Registry.Process(ctx, rpc.Namespace(ctx), v.Name, v.Number)
		if err != nil {
			return nil, err
		}
		p := processProto(v, compiled)
		p.Definition = nil
		resp.Processes = append(resp.Processes, p)
	}
	return resp, nil
}

// StartProcess implements ProcessService.
func (s *Processes) StartProcess(ctx context.Context, req *enginev1.StartProcessRequest) (*enginev1.StartProcessResponse, error) {
	view, err := s.App.Starts.StartProcess(ctx, caller(ctx), app.Start{
		Workflow: req.GetProcess(), Version: req.GetVersion(), SessionID: req.GetSessionId(),
		Workspace: req.GetWorkspace(), IdempotencyKey: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.StartProcessResponse{Run: s.Runs.runProto(view), Turn: turnProto(view)}, nil
}

// AnswerQuestion implements ProcessService.
func (s *Processes) AnswerQuestion(ctx context.Context, req *enginev1.AnswerQuestionRequest) (*enginev1.AnswerQuestionResponse, error) {
	outcome, err := s.App.Moves.Answer(ctx, caller(ctx), app.Answer{
		Target: ports.Target{RunID: req.GetRunId(), SessionID: req.GetSessionId()},
		Answer: req.GetAnswer(), Note: req.GetNote(),
		ExpectedVersion: req.GetExpectedVersion(), IdempotencyKey: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.AnswerQuestionResponse{
		Accepted: outcome.Rejection == nil, Run: s.Runs.runProto(outcome.View), Turn: turnProto(outcome.View),
		Rejection: s.Runs.rejectionProto(outcome), ApprovalId: outcome.ApprovalID,
	}, nil
}

func processProto(v *registry.Version, compiled *process.Process) *enginev1.Process {
	return &enginev1.Process{
		ProcessId: v.ID, Name: v.Name, Version: v.Number, Digest: v.Digest, Definition: v.Definition,
		CreatedAt: timestamppb.New(v.CreatedAt), CreatedBy: v.CreatedBy, Tools: compiled.Tools(),
		LiveVersion: v.Live, Retired: retirementProto(v.Retired),
	}
}

func turnProto(v *app.View) *enginev1.Turn {
	turn, text := v.Turn()
	return &enginev1.Turn{
		InitialPrompt: turn.Prompt, Question: turn.Question, Answers: turn.Answers,
		Status: statuses[turn.Status], State: turn.State, Text: text,
	}
}
