package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

// Tasks serves TaskService.
type Tasks struct {
	statev1.UnimplementedTaskServiceServer
	App *app.App
}

// ClaimTasks implements TaskService.
func (s *Tasks) ClaimTasks(req *statev1.ClaimTasksRequest, stream grpc.ServerStreamingServer[statev1.ClaimTasksResponse]) error {
	ctx := stream.Context()
	runner := app.Runner{Name: req.GetRunner(), Labels: req.GetLabels(), MaxInFlight: int(req.GetMaxInFlight())}
	return s.App.Claim(ctx, caller(ctx, ""), runner, func(t *app.Task) error {
		return stream.Send(&statev1.ClaimTasksResponse{Task: taskProto(t)})
	})
}

// ExtendTask implements TaskService.
func (s *Tasks) ExtendTask(ctx context.Context, req *statev1.ExtendTaskRequest) (*statev1.ExtendTaskResponse, error) {
	expires, err := s.App.ExtendTask(ctx, caller(ctx, ""), req.GetTaskId(), req.GetClaimToken())
	if err != nil {
		return nil, err
	}
	return &statev1.ExtendTaskResponse{ClaimExpiresAt: timestamppb.New(expires)}, nil
}

// CompleteTask implements TaskService.
func (s *Tasks) CompleteTask(ctx context.Context, req *statev1.CompleteTaskRequest) (*statev1.CompleteTaskResponse, error) {
	m, err := s.App.AckTask(ctx, caller(ctx, ""), req.GetTaskId(), req.GetClaimToken(), req.GetResult())
	if err != nil {
		return nil, err
	}
	return &statev1.CompleteTaskResponse{Session: sessionProto(m)}, nil
}

// FailTask implements TaskService.
func (s *Tasks) FailTask(ctx context.Context, req *statev1.FailTaskRequest) (*statev1.FailTaskResponse, error) {
	m, err := s.App.FailTask(ctx, caller(ctx, ""), req.GetTaskId(), req.GetClaimToken(), req.GetError(), req.GetRetry())
	if err != nil {
		return nil, err
	}
	return &statev1.FailTaskResponse{Session: sessionProto(m)}, nil
}

// ListTasks implements TaskService.
func (s *Tasks) ListTasks(ctx context.Context, req *statev1.ListTasksRequest) (*statev1.ListTasksResponse, error) {
	terms, err := listing.Parse(req.GetFilter(), "session", "status")
	if err != nil {
		return nil, err
	}
	status, err := terms.OneOf("status", protomap.Names(statev1.TaskStatus_name, "TASK_STATUS_"))
	if err != nil {
		return nil, err
	}
	tasks, next, err := s.App.Tasks(ctx, caller(ctx, ""), app.TaskQuery{
		Session: terms["session"], Status: status, After: req.GetPageToken(), Limit: pageSize(req.GetPageSize()),
	})
	if err != nil {
		return nil, err
	}
	resp := &statev1.ListTasksResponse{NextPageToken: next}
	for _, t := range tasks {
		resp.Tasks = append(resp.Tasks, taskProto(t))
	}
	return resp, nil
}

func taskProto(t *app.Task) *statev1.Task {
	m := t.Member
	out := &statev1.Task{
		TaskId: t.ID, Kind: taskKinds[t.Kind], SessionId: m.ID, SessionName: m.Name, WorkflowStateId: m.StateID,
		Prompt: t.Prompt, Instructions: t.Instructions, Attempt: int32(t.Attempt), Callbacks: callbackProtos(t.Callbacks), Labels: m.Labels, // bounded
		Status: taskStatuses[app.StatusOf(t.Task)], Given: int32(t.Given), Runner: t.Runner, ClaimToken: t.Token, // bounded
		ClaimExpiresAt: stamp(t.Expires), CreatedAt: timestamppb.New(t.CreatedAt), Error: t.Error,
		ParentSessionId: m.ParentID, RootSessionId: m.RootID, DueAt: stamp(t.Due),
	}
	if t.Execution != nil {
		out.Execution = executionProto(t.Execution)
	}
	return out
}
