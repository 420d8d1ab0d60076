package rest

import (
	"context"
	"io"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

type schemaClient struct{ *services }

func (s schemaClient) Register(ctx context.Context, in *statev1.SchemaServiceRegisterRequest, _ ...grpc.CallOption) (*statev1.SchemaServiceRegisterResponse, error) {
	return play(ctx, s.services, "RegisterSchema", in, &statev1.SchemaServiceRegisterResponse{Schema: aSchema(), Created: true})
}

func (s schemaClient) Get(ctx context.Context, in *statev1.SchemaServiceGetRequest, _ ...grpc.CallOption) (*statev1.SchemaServiceGetResponse, error) {
	return play(ctx, s.services, "GetSchema", in, &statev1.SchemaServiceGetResponse{Schema: aSchema()})
}

func (s schemaClient) List(ctx context.Context, in *statev1.SchemaServiceListRequest, _ ...grpc.CallOption) (*statev1.SchemaServiceListResponse, error) {
	return play(ctx, s.services, "ListSchemas", in, &statev1.SchemaServiceListResponse{})
}

func (s schemaClient) ListVersions(ctx context.Context, in *statev1.SchemaServiceListVersionsRequest, _ ...grpc.CallOption) (*statev1.SchemaServiceListVersionsResponse, error) {
	return play(ctx, s.services, "ListSchemaVersions", in, &statev1.SchemaServiceListVersionsResponse{})
}

type stateClient struct{ *services }

func (s stateClient) Create(ctx context.Context, in *statev1.StateServiceCreateRequest, _ ...grpc.CallOption) (*statev1.StateServiceCreateResponse, error) {
	return play(ctx, s.services, "CreateState", in, &statev1.StateServiceCreateResponse{State: aState()})
}

func (s stateClient) Get(ctx context.Context, in *statev1.StateServiceGetRequest, _ ...grpc.CallOption) (*statev1.StateServiceGetResponse, error) {
	return play(ctx, s.services, "GetState", in, &statev1.StateServiceGetResponse{State: aState()})
}

func (s stateClient) List(ctx context.Context, in *statev1.StateServiceListRequest, _ ...grpc.CallOption) (*statev1.StateServiceListResponse, error) {
	return play(ctx, s.services, "ListStates", in, &statev1.StateServiceListResponse{})
}

func (s stateClient) Update(ctx context.Context, in *statev1.StateServiceUpdateRequest, _ ...grpc.CallOption) (*statev1.StateServiceUpdateResponse, error) {
	return play(ctx, s.services, "UpdateState", in, &statev1.StateServiceUpdateResponse{State: aState()})
}

func (s stateClient) Migrate(ctx context.Context, in *statev1.StateServiceMigrateRequest, _ ...grpc.CallOption) (*statev1.StateServiceMigrateResponse, error) {
	return play(ctx, s.services, "MigrateState", in, &statev1.StateServiceMigrateResponse{State: aState()})
}

func (s stateClient) Delete(ctx context.Context, in *statev1.StateServiceDeleteRequest, _ ...grpc.CallOption) (*statev1.StateServiceDeleteResponse, error) {
	return play(ctx, s.services, "DeleteState", in, &statev1.StateServiceDeleteResponse{})
}

func (s stateClient) History(ctx context.Context, in *statev1.StateServiceHistoryRequest, _ ...grpc.CallOption) (*statev1.StateServiceHistoryResponse, error) {
	return play(ctx, s.services, "StateHistory", in, &statev1.StateServiceHistoryResponse{})
}

func (s stateClient) Lock(ctx context.Context, in *statev1.StateServiceLockRequest, _ ...grpc.CallOption) (*statev1.StateServiceLockResponse, error) {
	return play(ctx, s.services, "Lock", in, &statev1.StateServiceLockResponse{FencingToken: 3, ExpiresAt: noon})
}

func (s stateClient) Unlock(ctx context.Context, in *statev1.StateServiceUnlockRequest, _ ...grpc.CallOption) (*statev1.StateServiceUnlockResponse, error) {
	return play(ctx, s.services, "Unlock", in, &statev1.StateServiceUnlockResponse{})
}

func (s stateClient) Watch(ctx context.Context, in *statev1.StateServiceWatchRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[statev1.StateServiceWatchResponse], error) {
	if _, err := play(ctx, s.services, "Watch", in, in); err != nil {
		return nil, err
	}
	return watched{ctx: ctx, changes: s.changes}, nil
}

// watched is the client's end of a watch.
type watched struct {
	grpc.ClientStream
	ctx     context.Context
	changes <-chan *statev1.StateServiceWatchResponse
}

func (w watched) Recv() (*statev1.StateServiceWatchResponse, error) {
	select {
	case resp, open := <-w.changes:
		if !open {
			return nil, io.EOF
		}
		return resp, nil
	case <-w.ctx.Done():
		return nil, w.ctx.Err()
	}
}

type sessionClient struct{ *services }

func (s sessionClient) Create(ctx context.Context, in *statev1.SessionServiceCreateRequest, _ ...grpc.CallOption) (*statev1.SessionServiceCreateResponse, error) {
	return play(ctx, s.services, "CreateSession", in, &statev1.SessionServiceCreateResponse{Session: aSession(), Created: true})
}

func (s sessionClient) Get(ctx context.Context, in *statev1.SessionServiceGetRequest, _ ...grpc.CallOption) (*statev1.SessionServiceGetResponse, error) {
	return play(ctx, s.services, "GetSession", in, &statev1.SessionServiceGetResponse{Session: aSession()})
}

func (s sessionClient) List(ctx context.Context, in *statev1.SessionServiceListRequest, _ ...grpc.CallOption) (*statev1.SessionServiceListResponse, error) {
	return play(ctx, s.services, "ListSessions", in, &statev1.SessionServiceListResponse{})
}

func (s sessionClient) Stop(ctx context.Context, in *statev1.SessionServiceStopRequest, _ ...grpc.CallOption) (*statev1.SessionServiceStopResponse, error) {
	return play(ctx, s.services, "StopSession", in, &statev1.SessionServiceStopResponse{Session: aSession()})
}

func (s sessionClient) Resume(ctx context.Context, in *statev1.SessionServiceResumeRequest, _ ...grpc.CallOption) (*statev1.SessionServiceResumeResponse, error) {
	return play(ctx, s.services, "ResumeSession", in, &statev1.SessionServiceResumeResponse{Session: aSession()})
}

func (s sessionClient) Grant(ctx context.Context, in *statev1.SessionServiceGrantRequest, _ ...grpc.CallOption) (*statev1.SessionServiceGrantResponse, error) {
	return play(ctx, s.services, "Grant", in, &statev1.SessionServiceGrantResponse{Session: aSession()})
}

// taskClient only lists: the rest is for runners.
type taskClient struct {
	statev1.TaskServiceClient
	services *services
}

func (c taskClient) List(ctx context.Context, in *statev1.TaskServiceListRequest, _ ...grpc.CallOption) (*statev1.TaskServiceListResponse, error) {
	return play(ctx, c.services, "ListTasks", in, &statev1.TaskServiceListResponse{})
}

type componentClient struct{ *services }

func (c componentClient) Create(ctx context.Context, in *statev1.ComponentServiceCreateRequest, _ ...grpc.CallOption) (*statev1.ComponentServiceCreateResponse, error) {
	return play(ctx, c.services, "CreateComponent", in, &statev1.ComponentServiceCreateResponse{Component: aComponent()})
}

func (c componentClient) Get(ctx context.Context, in *statev1.ComponentServiceGetRequest, _ ...grpc.CallOption) (*statev1.ComponentServiceGetResponse, error) {
	return play(ctx, c.services, "GetComponent", in, &statev1.ComponentServiceGetResponse{Component: aComponent()})
}

func (c componentClient) List(ctx context.Context, in *statev1.ComponentServiceListRequest, _ ...grpc.CallOption) (*statev1.ComponentServiceListResponse, error) {
	return play(ctx, c.services, "ListComponents", in, &statev1.ComponentServiceListResponse{})
}

func (c componentClient) Update(ctx context.Context, in *statev1.ComponentServiceUpdateRequest, _ ...grpc.CallOption) (*statev1.ComponentServiceUpdateResponse, error) {
	return play(ctx, c.services, "UpdateComponent", in, &statev1.ComponentServiceUpdateResponse{Component: aComponent()})
}

func (c componentClient) Delete(ctx context.Context, in *statev1.ComponentServiceDeleteRequest, _ ...grpc.CallOption) (*statev1.ComponentServiceDeleteResponse, error) {
	return play(ctx, c.services, "DeleteComponent", in, &statev1.ComponentServiceDeleteResponse{})
}

func (c componentClient) Begin(ctx context.Context, in *statev1.ComponentServiceBeginRequest, _ ...grpc.CallOption) (*statev1.ComponentServiceBeginResponse, error) {
	return play(ctx, c.services, "Begin", in, &statev1.ComponentServiceBeginResponse{Execution: anExecution()})
}

func (c componentClient) Commit(ctx context.Context, in *statev1.ComponentServiceCommitRequest, _ ...grpc.CallOption) (*statev1.ComponentServiceCommitResponse, error) {
	return play(ctx, c.services, "Commit", in, &statev1.ComponentServiceCommitResponse{Execution: anExecution()})
}

func (c componentClient) Read(ctx context.Context, in *statev1.ComponentServiceReadRequest, _ ...grpc.CallOption) (*statev1.ComponentServiceReadResponse, error) {
	return play(ctx, c.services, "Read", in, &statev1.ComponentServiceReadResponse{Execution: anExecution()})
}

var (
	_ statev1.SchemaServiceClient    = schemaClient{}
	_ statev1.StateServiceClient     = stateClient{}
	_ statev1.SessionServiceClient   = sessionClient{}
	_ statev1.TaskServiceClient      = taskClient{}
	_ statev1.ComponentServiceClient = componentClient{}
)

func aSchema() *statev1.Schema {
	return &statev1.Schema{
		SchemaId: "schema_01", Name: "code review", Version: 2, JsonSchema: []byte(`{"type":"object","maximum":9007199254740993}`),
		Description: "d", Digest: "abc", CreatedAt: noon, CreatedBy: "alice",
	}
}

// aState is a state whose document no float64 and no sorted map could carry.
func aState() *statev1.State {
	return &statev1.State{
		StateId: "wfstate_01", SchemaId: "schema_01", SchemaName: "code review", SchemaVersion: 2,
		RootSessionId: "ses_01", RootSessionName: "orchestrator", Version: 7,
		Data:      []byte(`{"z":9007199254740993,"a":1.10,"s":"\u00e9<&>"}`),
		CreatedAt: noon, UpdatedAt: noon, UpdatedBy: "child-1",
	}
}

func aSession() *statev1.Session {
	return &statev1.Session{
		SessionId: "ses_02", Name: "child 1", ParentSessionId: "ses_01", ParentSessionName: "orchestrator", RootSessionId: "ses_01",
		Depth: 1, Status: statev1.SessionStatus_SESSION_STATUS_FINISHED, WorkflowStateId: "wfstate_01",
		StateUpdateStatus: statev1.StateUpdateStatus_STATE_UPDATE_STATUS_PENDING, Attempts: 1,
		StateUpdate: statev1.StateUpdate_STATE_UPDATE_REQUIRED, Subject: "orchestrator", Version: 4, CreatedAt: noon, UpdatedAt: noon,
	}
}

func aComponent() *statev1.Component {
	return &statev1.Component{
		Slug: "prefs", Name: "Preferences", Tags: []string{"a"}, SchemaDefinition: []byte(`{"n":{"type":"integer"}}`),
		Persistence: statev1.Persistence_PERSISTENCE_LONG_TERM, Version: 3, CreatedAt: noon, UpdatedAt: noon,
	}
}

func anExecution() *statev1.Execution {
	return &statev1.Execution{
		ExecutionId: "exe_01", Slug: "prefs", Values: []byte(`{"n":9007199254740993}`), Version: 5,
		Persistence: statev1.Persistence_PERSISTENCE_LONG_TERM, SessionId: "ses_02", Subject: "alice", Unset: []string{"m"},
	}
}

const (
	jsonTimes  = `"created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z"`
	jsonSchema = `{"schema_id":"schema_01","name":"code review","version":2,"json_schema":{"type":"object","maximum":9007199254740993},` +
		`"description":"d",` + jsonTimes + `,"digest":"abc","created_by":"alice"}`
	jsonStateHead = `{"state_id":"wfstate_01","schema_id":"schema_01","schema_name":"code review","root_session_id":"ses_01",` +
		`"root_session_name":"orchestrator","version":7,`
	jsonStateTail = jsonTimes + `,"schema_version":2,"updated_by":"child-1"}`
	jsonState     = jsonStateHead + `"current_data":{"z":9007199254740993,"a":1.10,"s":"\u00e9<&>"},` + jsonStateTail
	jsonSession   = `{"session_id":"ses_02","session_name":"child 1","parent_session_id":"ses_01","parent_session_name":"orchestrator",` +
		`"root_session_id":"ses_01","depth":1,"status":"finished","ended":false,"workflow_state_id":"wfstate_01","state_update_status":"pending","attempts":1,` +
		`"state_update":"required","accept_early_update":false,"open_children":0,"callbacks":[],"labels":{},"subject":"orchestrator",` +
		`"grants":[],"version":4,` + jsonTimes
	jsonComponent = `{"slug":"prefs","name":"Preferences","description":"","tags":["a"],"schema_definition":{"n":{"type":"integer"}},` +
		`"persistence":"long_term","initial_values":{},"version":3,` + jsonTimes + `}`
	jsonExecution = `"slug":"prefs","values":{"n":9007199254740993},"version":5,"persistence":"long_term","session_id":"ses_02",` +
		`"subject":"alice","unset":["m"]}`
)
