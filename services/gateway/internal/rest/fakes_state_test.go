package rest

import (
	"context"
	"io"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

type schemaClient struct{ *services }

func (s schemaClient) RegisterSchema(ctx context.Context, in *statev1.RegisterSchemaRequest, _ ...grpc.CallOption) (*statev1.RegisterSchemaResponse, error) {
	return play(ctx, s.services, "RegisterSchema", in, &statev1.RegisterSchemaResponse{Schema: aSchema(), Created: true})
}

func (s schemaClient) GetSchema(ctx context.Context, in *statev1.GetSchemaRequest, _ ...grpc.CallOption) (*statev1.GetSchemaResponse, error) {
	return play(ctx, s.services, "GetSchema", in, &statev1.GetSchemaResponse{Schema: aSchema()})
}

func (s schemaClient) ListSchemas(ctx context.Context, in *statev1.ListSchemasRequest, _ ...grpc.CallOption) (*statev1.ListSchemasResponse, error) {
	return play(ctx, s.services, "ListSchemas", in, &statev1.ListSchemasResponse{})
}

func (s schemaClient) ListSchemaVersions(ctx context.Context, in *statev1.ListSchemaVersionsRequest, _ ...grpc.CallOption) (*statev1.ListSchemaVersionsResponse, error) {
	return play(ctx, s.services, "ListSchemaVersions", in, &statev1.ListSchemaVersionsResponse{})
}

type stateClient struct{ *services }

func (s stateClient) CreateState(ctx context.Context, in *statev1.CreateStateRequest, _ ...grpc.CallOption) (*statev1.CreateStateResponse, error) {
	return play(ctx, s.services, "CreateState", in, &statev1.CreateStateResponse{State: aState()})
}

func (s stateClient) GetState(ctx context.Context, in *statev1.GetStateRequest, _ ...grpc.CallOption) (*statev1.GetStateResponse, error) {
	return play(ctx, s.services, "GetState", in, &statev1.GetStateResponse{State: aState()})
}

func (s stateClient) ListStates(ctx context.Context, in *statev1.ListStatesRequest, _ ...grpc.CallOption) (*statev1.ListStatesResponse, error) {
	return play(ctx, s.services, "ListStates", in, &statev1.ListStatesResponse{})
}

func (s stateClient) UpdateState(ctx context.Context, in *statev1.UpdateStateRequest, _ ...grpc.CallOption) (*statev1.UpdateStateResponse, error) {
	return play(ctx, s.services, "UpdateState", in, &statev1.UpdateStateResponse{State: aState()})
}

func (s stateClient) MigrateState(ctx context.Context, in *statev1.MigrateStateRequest, _ ...grpc.CallOption) (*statev1.MigrateStateResponse, error) {
	return play(ctx, s.services, "MigrateState", in, &statev1.MigrateStateResponse{State: aState()})
}

func (s stateClient) DeleteState(ctx context.Context, in *statev1.DeleteStateRequest, _ ...grpc.CallOption) (*statev1.DeleteStateResponse, error) {
	return play(ctx, s.services, "DeleteState", in, &statev1.DeleteStateResponse{})
}

func (s stateClient) GetStateHistory(ctx context.Context, in *statev1.GetStateHistoryRequest, _ ...grpc.CallOption) (*statev1.GetStateHistoryResponse, error) {
	return play(ctx, s.services, "StateHistory", in, &statev1.GetStateHistoryResponse{})
}

func (s stateClient) LockState(ctx context.Context, in *statev1.LockStateRequest, _ ...grpc.CallOption) (*statev1.LockStateResponse, error) {
	return play(ctx, s.services, "Lock", in, &statev1.LockStateResponse{FencingToken: 3, ExpiresAt: noon})
}

func (s stateClient) UnlockState(ctx context.Context, in *statev1.UnlockStateRequest, _ ...grpc.CallOption) (*statev1.UnlockStateResponse, error) {
	return play(ctx, s.services, "Unlock", in, &statev1.UnlockStateResponse{})
}

func (s stateClient) WatchState(ctx context.Context, in *statev1.WatchStateRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[statev1.WatchStateResponse], error) {
	if _, err := play(ctx, s.services, "Watch", in, in); err != nil {
		return nil, err
	}
	return watched{ctx: ctx, changes: s.changes}, nil
}

// watched is the client's end of a watch.
type watched struct {
	grpc.ClientStream
	ctx     context.Context
	changes <-chan *statev1.WatchStateResponse
}

func (w watched) Recv() (*statev1.WatchStateResponse, error) {
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

func (s sessionClient) CreateSession(ctx context.Context, in *statev1.CreateSessionRequest, _ ...grpc.CallOption) (*statev1.CreateSessionResponse, error) {
	return play(ctx, s.services, "CreateSession", in, &statev1.CreateSessionResponse{Session: aSession(), Created: true})
}

func (s sessionClient) GetSession(ctx context.Context, in *statev1.GetSessionRequest, _ ...grpc.CallOption) (*statev1.GetSessionResponse, error) {
	return play(ctx, s.services, "GetSession", in, &statev1.GetSessionResponse{Session: aSession()})
}

func (s sessionClient) ListSessions(ctx context.Context, in *statev1.ListSessionsRequest, _ ...grpc.CallOption) (*statev1.ListSessionsResponse, error) {
	return play(ctx, s.services, "ListSessions", in, &statev1.ListSessionsResponse{})
}

func (s sessionClient) StopSession(ctx context.Context, in *statev1.StopSessionRequest, _ ...grpc.CallOption) (*statev1.StopSessionResponse, error) {
	return play(ctx, s.services, "StopSession", in, &statev1.StopSessionResponse{Session: aSession()})
}

func (s sessionClient) ResumeSession(ctx context.Context, in *statev1.ResumeSessionRequest, _ ...grpc.CallOption) (*statev1.ResumeSessionResponse, error) {
	return play(ctx, s.services, "ResumeSession", in, &statev1.ResumeSessionResponse{Session: aSession()})
}

func (s sessionClient) GrantStateAccess(ctx context.Context, in *statev1.GrantStateAccessRequest, _ ...grpc.CallOption) (*statev1.GrantStateAccessResponse, error) {
	return play(ctx, s.services, "Grant", in, &statev1.GrantStateAccessResponse{Session: aSession()})
}

// taskClient only lists: the rest is for runners.
type taskClient struct {
	statev1.TaskServiceClient
	services *services
}

func (c taskClient) ListTasks(ctx context.Context, in *statev1.ListTasksRequest, _ ...grpc.CallOption) (*statev1.ListTasksResponse, error) {
	return play(ctx, c.services, "ListTasks", in, &statev1.ListTasksResponse{})
}

type componentClient struct{ *services }

func (c componentClient) CreateComponent(ctx context.Context, in *statev1.CreateComponentRequest, _ ...grpc.CallOption) (*statev1.CreateComponentResponse, error) {
	return play(ctx, c.services, "CreateComponent", in, &statev1.CreateComponentResponse{Component: aComponent()})
}

func (c componentClient) GetComponent(ctx context.Context, in *statev1.GetComponentRequest, _ ...grpc.CallOption) (*statev1.GetComponentResponse, error) {
	return play(ctx, c.services, "GetComponent", in, &statev1.GetComponentResponse{Component: aComponent()})
}

func (c componentClient) ListComponents(ctx context.Context, in *statev1.ListComponentsRequest, _ ...grpc.CallOption) (*statev1.ListComponentsResponse, error) {
	return play(ctx, c.services, "ListComponents", in, &statev1.ListComponentsResponse{})
}

func (c componentClient) UpdateComponent(ctx context.Context, in *statev1.UpdateComponentRequest, _ ...grpc.CallOption) (*statev1.UpdateComponentResponse, error) {
	return play(ctx, c.services, "UpdateComponent", in, &statev1.UpdateComponentResponse{Component: aComponent()})
}

func (c componentClient) DeleteComponent(ctx context.Context, in *statev1.DeleteComponentRequest, _ ...grpc.CallOption) (*statev1.DeleteComponentResponse, error) {
	return play(ctx, c.services, "DeleteComponent", in, &statev1.DeleteComponentResponse{})
}

func (c componentClient) BeginExecution(ctx context.Context, in *statev1.BeginExecutionRequest, _ ...grpc.CallOption) (*statev1.BeginExecutionResponse, error) {
	return play(ctx, c.services, "Begin", in, &statev1.BeginExecutionResponse{Execution: anExecution()})
}

func (c componentClient) CommitExecution(ctx context.Context, in *statev1.CommitExecutionRequest, _ ...grpc.CallOption) (*statev1.CommitExecutionResponse, error) {
	return play(ctx, c.services, "Commit", in, &statev1.CommitExecutionResponse{Execution: anExecution()})
}

func (c componentClient) GetComponentValues(ctx context.Context, in *statev1.GetComponentValuesRequest, _ ...grpc.CallOption) (*statev1.GetComponentValuesResponse, error) {
	return play(ctx, c.services, "Read", in, &statev1.GetComponentValuesResponse{Execution: anExecution()})
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
