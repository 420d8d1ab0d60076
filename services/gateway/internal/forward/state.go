package forward

import (
	"context"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// registerState adds the contracts of the state-store.
func registerState(r grpc.ServiceRegistrar, state grpc.ClientConnInterface) {
	statev1.RegisterSchemaServiceServer(r, &schemas{client: statev1.NewSchemaServiceClient(state)})
	statev1.RegisterStateServiceServer(r, &states{client: statev1.NewStateServiceClient(state)})
	statev1.RegisterSessionServiceServer(r, &sessions{client: statev1.NewSessionServiceClient(state)})
	statev1.RegisterTaskServiceServer(r, &tasks{client: statev1.NewTaskServiceClient(state)})
	statev1.RegisterComponentServiceServer(r, &components{client: statev1.NewComponentServiceClient(state)})
}

type schemas struct {
	statev1.UnimplementedSchemaServiceServer
	client statev1.SchemaServiceClient
}

func (s *schemas) RegisterSchema(ctx context.Context, req *statev1.RegisterSchemaRequest) (*statev1.RegisterSchemaResponse, error) {
	return pass(ctx, req, s.client.RegisterSchema)
}

func (s *schemas) GetSchema(ctx context.Context, req *statev1.GetSchemaRequest) (*statev1.GetSchemaResponse, error) {
	return pass(ctx, req, s.client.GetSchema)
}

func (s *schemas) ListSchemas(ctx context.Context, req *statev1.ListSchemasRequest) (*statev1.ListSchemasResponse, error) {
	return pass(ctx, req, s.client.ListSchemas)
}

func (s *schemas) ListSchemaVersions(ctx context.Context, req *statev1.ListSchemaVersionsRequest) (*statev1.ListSchemaVersionsResponse, error) {
	return pass(ctx, req, s.client.ListSchemaVersions)
}

type states struct {
	statev1.UnimplementedStateServiceServer
	client statev1.StateServiceClient
}

func (s *states) CreateState(ctx context.Context, req *statev1.CreateStateRequest) (*statev1.CreateStateResponse, error) {
	return pass(ctx, req, s.client.CreateState)
}

func (s *states) GetState(ctx context.Context, req *statev1.GetStateRequest) (*statev1.GetStateResponse, error) {
	return pass(ctx, req, s.client.GetState)
}

func (s *states) ListStates(ctx context.Context, req *statev1.ListStatesRequest) (*statev1.ListStatesResponse, error) {
	return pass(ctx, req, s.client.ListStates)
}

func (s *states) UpdateState(ctx context.Context, req *statev1.UpdateStateRequest) (*statev1.UpdateStateResponse, error) {
	return pass(ctx, req, s.client.UpdateState)
}

func (s *states) MigrateState(ctx context.Context, req *statev1.MigrateStateRequest) (*statev1.MigrateStateResponse, error) {
	return pass(ctx, req, s.client.MigrateState)
}

func (s *states) DeleteState(ctx context.Context, req *statev1.DeleteStateRequest) (*statev1.DeleteStateResponse, error) {
	return pass(ctx, req, s.client.DeleteState)
}

func (s *states) GetStateHistory(ctx context.Context, req *statev1.GetStateHistoryRequest) (*statev1.GetStateHistoryResponse, error) {
	return pass(ctx, req, s.client.GetStateHistory)
}

func (s *states) LockState(ctx context.Context, req *statev1.LockStateRequest) (*statev1.LockStateResponse, error) {
	return pass(ctx, req, s.client.LockState)
}

func (s *states) UnlockState(ctx context.Context, req *statev1.UnlockStateRequest) (*statev1.UnlockStateResponse, error) {
	return pass(ctx, req, s.client.UnlockState)
}

func (s *states) WatchState(req *statev1.WatchStateRequest, stream grpc.ServerStreamingServer[statev1.WatchStateResponse]) error {
	upstream, err := s.client.WatchState(rpc.Forward(stream.Context()), req)
	if err != nil {
		return err
	}
	return copyAll(upstream.Recv, stream.Send)
}

type sessions struct {
	statev1.UnimplementedSessionServiceServer
	client statev1.SessionServiceClient
}

func (s *sessions) CreateSession(ctx context.Context, req *statev1.CreateSessionRequest) (*statev1.CreateSessionResponse, error) {
	return pass(ctx, req, s.client.CreateSession)
}

func (s *sessions) GetSession(ctx context.Context, req *statev1.GetSessionRequest) (*statev1.GetSessionResponse, error) {
	return pass(ctx, req, s.client.GetSession)
}

func (s *sessions) ListSessions(ctx context.Context, req *statev1.ListSessionsRequest) (*statev1.ListSessionsResponse, error) {
	return pass(ctx, req, s.client.ListSessions)
}

func (s *sessions) StopSession(ctx context.Context, req *statev1.StopSessionRequest) (*statev1.StopSessionResponse, error) {
	return pass(ctx, req, s.client.StopSession)
}

func (s *sessions) ResumeSession(ctx context.Context, req *statev1.ResumeSessionRequest) (*statev1.ResumeSessionResponse, error) {
	return pass(ctx, req, s.client.ResumeSession)
}

func (s *sessions) GrantStateAccess(ctx context.Context, req *statev1.GrantStateAccessRequest) (*statev1.GrantStateAccessResponse, error) {
	return pass(ctx, req, s.client.GrantStateAccess)
}

type tasks struct {
	statev1.UnimplementedTaskServiceServer
	client statev1.TaskServiceClient
}

func (s *tasks) LeaseTasks(req *statev1.LeaseTasksRequest, stream grpc.ServerStreamingServer[statev1.LeaseTasksResponse]) error {
	upstream, err := s.client.LeaseTasks(rpc.Forward(stream.Context()), req)
	if err != nil {
		return err
	}
	return copyAll(upstream.Recv, stream.Send)
}

func (s *tasks) ExtendTask(ctx context.Context, req *statev1.ExtendTaskRequest) (*statev1.ExtendTaskResponse, error) {
	return pass(ctx, req, s.client.ExtendTask)
}

func (s *tasks) CompleteTask(ctx context.Context, req *statev1.CompleteTaskRequest) (*statev1.CompleteTaskResponse, error) {
	return pass(ctx, req, s.client.CompleteTask)
}

func (s *tasks) FailTask(ctx context.Context, req *statev1.FailTaskRequest) (*statev1.FailTaskResponse, error) {
	return pass(ctx, req, s.client.FailTask)
}

func (s *tasks) ListTasks(ctx context.Context, req *statev1.ListTasksRequest) (*statev1.ListTasksResponse, error) {
	return pass(ctx, req, s.client.ListTasks)
}

type components struct {
	statev1.UnimplementedComponentServiceServer
	client statev1.ComponentServiceClient
}

func (s *components) CreateComponent(ctx context.Context, req *statev1.CreateComponentRequest) (*statev1.CreateComponentResponse, error) {
	return pass(ctx, req, s.client.CreateComponent)
}

func (s *components) GetComponent(ctx context.Context, req *statev1.GetComponentRequest) (*statev1.GetComponentResponse, error) {
	return pass(ctx, req, s.client.GetComponent)
}

func (s *components) ListComponents(ctx context.Context, req *statev1.ListComponentsRequest) (*statev1.ListComponentsResponse, error) {
	return pass(ctx, req, s.client.ListComponents)
}

func (s *components) UpdateComponent(ctx context.Context, req *statev1.UpdateComponentRequest) (*statev1.UpdateComponentResponse, error) {
	return pass(ctx, req, s.client.UpdateComponent)
}

func (s *components) DeleteComponent(ctx context.Context, req *statev1.DeleteComponentRequest) (*statev1.DeleteComponentResponse, error) {
	return pass(ctx, req, s.client.DeleteComponent)
}

func (s *components) BeginExecution(ctx context.Context, req *statev1.BeginExecutionRequest) (*statev1.BeginExecutionResponse, error) {
	return pass(ctx, req, s.client.BeginExecution)
}

func (s *components) CommitExecution(ctx context.Context, req *statev1.CommitExecutionRequest) (*statev1.CommitExecutionResponse, error) {
	return pass(ctx, req, s.client.CommitExecution)
}

func (s *components) GetComponentValues(ctx context.Context, req *statev1.GetComponentValuesRequest) (*statev1.GetComponentValuesResponse, error) {
	return pass(ctx, req, s.client.GetComponentValues)
}
