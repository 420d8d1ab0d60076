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

func (s *schemas) Register(ctx context.Context, req *statev1.SchemaServiceRegisterRequest) (*statev1.SchemaServiceRegisterResponse, error) {
	return pass(ctx, req, s.client.Register)
}

func (s *schemas) Get(ctx context.Context, req *statev1.SchemaServiceGetRequest) (*statev1.SchemaServiceGetResponse, error) {
	return pass(ctx, req, s.client.Get)
}

func (s *schemas) List(ctx context.Context, req *statev1.SchemaServiceListRequest) (*statev1.SchemaServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *schemas) ListVersions(ctx context.Context, req *statev1.SchemaServiceListVersionsRequest) (*statev1.SchemaServiceListVersionsResponse, error) {
	return pass(ctx, req, s.client.ListVersions)
}

type states struct {
	statev1.UnimplementedStateServiceServer
	client statev1.StateServiceClient
}

func (s *states) Create(ctx context.Context, req *statev1.StateServiceCreateRequest) (*statev1.StateServiceCreateResponse, error) {
	return pass(ctx, req, s.client.Create)
}

func (s *states) Get(ctx context.Context, req *statev1.StateServiceGetRequest) (*statev1.StateServiceGetResponse, error) {
	return pass(ctx, req, s.client.Get)
}

func (s *states) List(ctx context.Context, req *statev1.StateServiceListRequest) (*statev1.StateServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *states) Update(ctx context.Context, req *statev1.StateServiceUpdateRequest) (*statev1.StateServiceUpdateResponse, error) {
	return pass(ctx, req, s.client.Update)
}

func (s *states) Migrate(ctx context.Context, req *statev1.StateServiceMigrateRequest) (*statev1.StateServiceMigrateResponse, error) {
	return pass(ctx, req, s.client.Migrate)
}

func (s *states) Delete(ctx context.Context, req *statev1.StateServiceDeleteRequest) (*statev1.StateServiceDeleteResponse, error) {
	return pass(ctx, req, s.client.Delete)
}

func (s *states) History(ctx context.Context, req *statev1.StateServiceHistoryRequest) (*statev1.StateServiceHistoryResponse, error) {
	return pass(ctx, req, s.client.History)
}

func (s *states) Lock(ctx context.Context, req *statev1.StateServiceLockRequest) (*statev1.StateServiceLockResponse, error) {
	return pass(ctx, req, s.client.Lock)
}

func (s *states) Unlock(ctx context.Context, req *statev1.StateServiceUnlockRequest) (*statev1.StateServiceUnlockResponse, error) {
	return pass(ctx, req, s.client.Unlock)
}

func (s *states) Watch(req *statev1.StateServiceWatchRequest, stream grpc.ServerStreamingServer[statev1.StateServiceWatchResponse]) error {
	upstream, err := s.client.Watch(rpc.Forward(stream.Context()), req)
	if err != nil {
		return err
	}
	return copyAll(upstream.Recv, stream.Send)
}

type sessions struct {
	statev1.UnimplementedSessionServiceServer
	client statev1.SessionServiceClient
}

func (s *sessions) Create(ctx context.Context, req *statev1.SessionServiceCreateRequest) (*statev1.SessionServiceCreateResponse, error) {
	return pass(ctx, req, s.client.Create)
}

func (s *sessions) Get(ctx context.Context, req *statev1.SessionServiceGetRequest) (*statev1.SessionServiceGetResponse, error) {
	return pass(ctx, req, s.client.Get)
}

func (s *sessions) List(ctx context.Context, req *statev1.SessionServiceListRequest) (*statev1.SessionServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *sessions) Stop(ctx context.Context, req *statev1.SessionServiceStopRequest) (*statev1.SessionServiceStopResponse, error) {
	return pass(ctx, req, s.client.Stop)
}

func (s *sessions) Resume(ctx context.Context, req *statev1.SessionServiceResumeRequest) (*statev1.SessionServiceResumeResponse, error) {
	return pass(ctx, req, s.client.Resume)
}

func (s *sessions) Grant(ctx context.Context, req *statev1.SessionServiceGrantRequest) (*statev1.SessionServiceGrantResponse, error) {
	return pass(ctx, req, s.client.Grant)
}

type tasks struct {
	statev1.UnimplementedTaskServiceServer
	client statev1.TaskServiceClient
}

func (s *tasks) Lease(req *statev1.TaskServiceLeaseRequest, stream grpc.ServerStreamingServer[statev1.TaskServiceLeaseResponse]) error {
	upstream, err := s.client.Lease(rpc.Forward(stream.Context()), req)
	if err != nil {
		return err
	}
	return copyAll(upstream.Recv, stream.Send)
}

func (s *tasks) Extend(ctx context.Context, req *statev1.TaskServiceExtendRequest) (*statev1.TaskServiceExtendResponse, error) {
	return pass(ctx, req, s.client.Extend)
}

func (s *tasks) Ack(ctx context.Context, req *statev1.TaskServiceAckRequest) (*statev1.TaskServiceAckResponse, error) {
	return pass(ctx, req, s.client.Ack)
}

func (s *tasks) Fail(ctx context.Context, req *statev1.TaskServiceFailRequest) (*statev1.TaskServiceFailResponse, error) {
	return pass(ctx, req, s.client.Fail)
}

func (s *tasks) List(ctx context.Context, req *statev1.TaskServiceListRequest) (*statev1.TaskServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

type components struct {
	statev1.UnimplementedComponentServiceServer
	client statev1.ComponentServiceClient
}

func (s *components) Create(ctx context.Context, req *statev1.ComponentServiceCreateRequest) (*statev1.ComponentServiceCreateResponse, error) {
	return pass(ctx, req, s.client.Create)
}

func (s *components) Get(ctx context.Context, req *statev1.ComponentServiceGetRequest) (*statev1.ComponentServiceGetResponse, error) {
	return pass(ctx, req, s.client.Get)
}

func (s *components) List(ctx context.Context, req *statev1.ComponentServiceListRequest) (*statev1.ComponentServiceListResponse, error) {
	return pass(ctx, req, s.client.List)
}

func (s *components) Update(ctx context.Context, req *statev1.ComponentServiceUpdateRequest) (*statev1.ComponentServiceUpdateResponse, error) {
	return pass(ctx, req, s.client.Update)
}

func (s *components) Delete(ctx context.Context, req *statev1.ComponentServiceDeleteRequest) (*statev1.ComponentServiceDeleteResponse, error) {
	return pass(ctx, req, s.client.Delete)
}

func (s *components) Begin(ctx context.Context, req *statev1.ComponentServiceBeginRequest) (*statev1.ComponentServiceBeginResponse, error) {
	return pass(ctx, req, s.client.Begin)
}

func (s *components) Commit(ctx context.Context, req *statev1.ComponentServiceCommitRequest) (*statev1.ComponentServiceCommitResponse, error) {
	return pass(ctx, req, s.client.Commit)
}

func (s *components) Read(ctx context.Context, req *statev1.ComponentServiceReadRequest) (*statev1.ComponentServiceReadResponse, error) {
	return pass(ctx, req, s.client.Read)
}
