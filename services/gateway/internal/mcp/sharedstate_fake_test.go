package mcp

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// vault is the state-store in memory, small: one schema, and one state that the
// root "s1" creates. It does not validate, and a patch is the new state.
type vault struct {
	mu       sync.Mutex
	sessions map[string]*statev1.Session
	versions [][]byte // of the state; none while there is none
	lock     *statev1.Lock
	schemas  int // how many schemas there are
	parts    []*statev1.Part
	fail     error // of the next call of StateService
	failAll  error

	asked []proto.Message
	seen  []metadata.MD
}

const (
	vaultState  = "wfstate_1"
	vaultSchema = `{"type":"object","maximum":9007199254740993}`
)

func newVault() *vault { return &vault{sessions: map[string]*statev1.Session{}, schemas: 1} }

// server starts an edge on a plane and the vault, as the session "s1".
func (v *vault) server(t *testing.T, p *plane, change func(*Config)) *Server {
	t.Helper()
	return server(t, p, func(c *Config) {
		c.Schemas, c.States, c.Sessions = vaultSchemas{vault: v}, vaultStates{vault: v}, vaultSessions{vault: v}
		if change != nil {
			change(c)
		}
	})
}

// share makes a session that shares the state.
func (v *vault) share(name, parent string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sessions[name] = &statev1.Session{SessionId: "ses_" + name, Name: name, WorkflowStateId: vaultState}
	if parent != "" {
		v.sessions[name].ParentSessionId, v.sessions[name].ParentSessionName = "ses_"+parent, parent
	}
	if len(v.versions) == 0 {
		v.versions = [][]byte{[]byte(`{"status":"pending"}`)}
	}
}

// requests returns the requests since the last time.
func (v *vault) requests() []proto.Message {
	v.mu.Lock()
	defer v.mu.Unlock()
	asked := v.asked
	v.asked = nil
	return asked
}

func (v *vault) failNext(err *fault.Error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fail = err.GRPCStatus().Err()
}

type (
	vaultSchemas struct {
		statev1.SchemaServiceClient
		*vault
	}
	vaultStates struct {
		statev1.StateServiceClient
		*vault
	}
	vaultSessions struct {
		statev1.SessionServiceClient
		*vault
	}
)

// enter records a request; v.mu is held until the answer's end.
func (v *vault) enter(ctx context.Context, in proto.Message) func() {
	md, _ := metadata.FromOutgoingContext(ctx)
	v.mu.Lock()
	v.seen = append(v.seen, md)
	v.asked = append(v.asked, in)
	return v.mu.Unlock
}

// use judges the session and the state of a request, as the state-store does.
func (v *vault) use(session, stateID string) error {
	if v.failAll != nil {
		return v.failAll
	}
	if err := v.fail; err != nil {
		v.fail = nil
		return err
	}
	refuse := func(reason fault.Reason, message string) error {
		return fault.New(reason, "%s", message).GRPCStatus().Err()
	}
	known := v.sessions[session]
	switch {
	case known == nil:
		return refuse(fault.PermissionDenied, "there is no session that could act")
	case stateID == "" && known.GetWorkflowStateId() == "":
		return refuse(fault.NotFound, "it shares no workflow state")
	case stateID != "" && stateID != vaultState:
		return refuse(fault.NotFound, "there is no state "+stateID)
	case known.GetWorkflowStateId() != vaultState:
		return refuse(fault.PermissionDenied, "the state belongs to another tree")
	}
	return nil
}

func (v *vault) state(version int64, data bool) *statev1.State {
	st := &statev1.State{
		StateId: vaultState, SchemaName: "tasks", SchemaVersion: 2, Version: version, Lock: v.lock,
		CreatedAt: timestamppb.New(time.Unix(0, 0)), UpdatedAt: timestamppb.New(time.Unix(0, 0)),
	}
	if data {
		st.Data = v.versions[version-1]
	}
	return st
}

func (s vaultStates) CreateState(ctx context.Context, in *statev1.CreateStateRequest, _ ...grpc.CallOption) (*statev1.CreateStateResponse, error) {
	defer s.enter(ctx, in)()
	if err := s.fail; err != nil {
		s.fail = nil
		return nil, err
	}
	if in.GetSchemaName() != "tasks" {
		return nil, fault.New(fault.NotFound, "there is no schema %q", in.GetSchemaName()).GRPCStatus().Err()
	}
	s.sessions[in.GetSession()] = &statev1.Session{SessionId: "ses_" + in.GetSession(), Name: in.GetSession(), WorkflowStateId: vaultState}
	s.versions = [][]byte{in.GetData()}
	return &statev1.CreateStateResponse{State: s.state(1, true)}, nil
}

func (s vaultStates) GetState(ctx context.Context, in *statev1.GetStateRequest, _ ...grpc.CallOption) (*statev1.GetStateResponse, error) {
	defer s.enter(ctx, in)()
	if err := s.use(in.GetSession(), in.GetStateId()); err != nil {
		return nil, err
	}
	version := int64(len(s.versions))
	if in.GetVersion() > version {
		return nil, fault.New(fault.NotFound, "state has no version %d", in.GetVersion()).GRPCStatus().Err()
	}
	if in.GetVersion() > 0 {
		version = in.GetVersion()
	}
	if len(in.GetPointers()) > 0 {
		return &statev1.GetStateResponse{State: s.state(version, false), Parts: s.parts}, nil
	}
	return &statev1.GetStateResponse{State: s.state(version, true)}, nil
}

func (s vaultStates) UpdateState(ctx context.Context, in *statev1.UpdateStateRequest, _ ...grpc.CallOption) (*statev1.UpdateStateResponse, error) {
	defer s.enter(ctx, in)()
	if err := s.use(in.GetSession(), in.GetStateId()); err != nil {
		return nil, err
	}
	now := int64(len(s.versions))
	if want := in.GetExpectedVersion(); want > 0 && want != now {
		return nil, fault.New(fault.VersionConflict, "state is at version %d, not %d", now, want).
			Meta("current_version", strconv.FormatInt(now, 10)).GRPCStatus().Err()
	}
	s.versions = append(s.versions, bytes.Join([][]byte{in.GetData(), in.GetPatch()}, nil))
	return &statev1.UpdateStateResponse{State: s.state(now+1, in.GetWithData())}, nil
}

func (s vaultSchemas) GetSchema(ctx context.Context, in *statev1.GetSchemaRequest, _ ...grpc.CallOption) (*statev1.GetSchemaResponse, error) {
	defer s.enter(ctx, in)()
	return &statev1.GetSchemaResponse{Schema: &statev1.Schema{
		Name: in.GetName(), Version: in.GetVersion(), JsonSchema: []byte(vaultSchema), Description: "What is to be done.",
		CreatedAt: timestamppb.New(time.Unix(0, 0)),
	}}, nil
}

func (s vaultSchemas) ListSchemas(ctx context.Context, in *statev1.ListSchemasRequest, _ ...grpc.CallOption) (*statev1.ListSchemasResponse, error) {
	defer s.enter(ctx, in)()
	res := &statev1.ListSchemasResponse{}
	for i := range s.schemas {
		res.Schemas = append(res.Schemas, &statev1.Schema{Name: "tasks" + strconv.Itoa(i), Version: 2})
	}
	return res, s.failAll
}

func (s vaultSessions) GetSession(ctx context.Context, in *statev1.GetSessionRequest, _ ...grpc.CallOption) (*statev1.GetSessionResponse, error) {
	defer s.enter(ctx, in)()
	if s.failAll != nil {
		return nil, s.failAll
	}
	if known := s.sessions[in.GetSessionId()]; known != nil {
		return &statev1.GetSessionResponse{Session: proto.CloneOf(known)}, nil
	}
	return nil, fault.New(fault.NotFound, "there is no session %q", in.GetSessionId()).GRPCStatus().Err()
}

func (s vaultSessions) CreateSession(ctx context.Context, in *statev1.CreateSessionRequest, _ ...grpc.CallOption) (*statev1.CreateSessionResponse, error) {
	defer s.enter(ctx, in)()
	s.sessions[in.GetName()] = &statev1.Session{
		SessionId: "ses_" + in.GetName(), Name: in.GetName(), ParentSessionName: in.GetParent(), ParentSessionId: "ses_" + in.GetParent(), WorkflowStateId: vaultState,
	}
	return &statev1.CreateSessionResponse{Session: s.sessions[in.GetName()], Created: true}, nil
}
