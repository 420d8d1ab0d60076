package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

// States serves StateService.
type States struct {
	statev1.UnimplementedStateServiceServer
	App *app.App
}

// Create implements StateService.
func (s *States) Create(ctx context.Context, req *statev1.StateServiceCreateRequest) (*statev1.StateServiceCreateResponse, error) {
	st, err := s.App.CreateState(ctx, caller(ctx, req.GetSession()), app.NewState{
		Schema: req.GetSchemaName(), SchemaVersion: req.GetSchemaVersion(), Data: req.GetData(),
		Existing: req.GetExistingSession(), Key: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return &statev1.StateServiceCreateResponse{State: stateProto(st, true)}, nil
}

// Get implements StateService.
func (s *States) Get(ctx context.Context, req *statev1.StateServiceGetRequest) (*statev1.StateServiceGetResponse, error) {
	st, parts, err := s.App.State(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetVersion(), req.GetPointers())
	if err != nil {
		return nil, err
	}
	resp := &statev1.StateServiceGetResponse{State: stateProto(st, len(parts) == 0)}
	for _, p := range parts {
		part := &statev1.Part{Pointer: p.Pointer, Found: p.Found}
		if p.Found {
			part.Value = p.Value.AppendJSON(nil)
		}
		resp.Parts = append(resp.Parts, part)
	}
	return resp, nil
}

// List implements StateService.
func (s *States) List(ctx context.Context, req *statev1.StateServiceListRequest) (*statev1.StateServiceListResponse, error) {
	states, next, err := s.App.States(ctx, caller(ctx, req.GetSession()), app.StateQuery{
		Root: req.GetRootSession(), Schema: req.GetSchema(), After: req.GetPageToken(), Limit: pageSize(req.GetPageSize()),
	})
	if err != nil {
		return nil, err
	}
	resp := &statev1.StateServiceListResponse{NextPageToken: next}
	for _, st := range states {
		resp.States = append(resp.States, stateProto(st, false))
	}
	return resp, nil
}

// Update implements StateService.
func (s *States) Update(ctx context.Context, req *statev1.StateServiceUpdateRequest) (*statev1.StateServiceUpdateResponse, error) {
	u := app.Update{
		StateID: req.GetStateId(), Expected: req.GetExpectedVersion(), Token: req.GetFencingToken(), Key: req.GetIdempotencyKey(),
	}
	// Nothing at all is still the change that was meant, and not JSON.
	switch change := req.GetChange().(type) {
	case *statev1.StateServiceUpdateRequest_Data:
		u.Data = given(change.Data)
	case *statev1.StateServiceUpdateRequest_Patch:
		u.Patch = given(change.Patch)
	case *statev1.StateServiceUpdateRequest_MergePatch:
		u.Merge = given(change.MergePatch)
	}
	st, err := s.App.Update(ctx, caller(ctx, req.GetSession()), u)
	if err != nil {
		return nil, err
	}
	return &statev1.StateServiceUpdateResponse{State: stateProto(st, req.GetWithData())}, nil
}

// given keeps what is empty from looking like what was left out.
func given(text []byte) []byte {
	if text == nil {
		return []byte{}
	}
	return text
}

// Migrate implements StateService.
func (s *States) Migrate(ctx context.Context, req *statev1.StateServiceMigrateRequest) (*statev1.StateServiceMigrateResponse, error) {
	u := app.Update{
		StateID: req.GetStateId(), Migrate: true, SchemaVersion: req.GetSchemaVersion(),
		Expected: req.GetExpectedVersion(), Token: req.GetFencingToken(), Key: req.GetIdempotencyKey(),
	}
	if len(req.GetPatch()) > 0 {
		u.Patch = req.GetPatch()
	}
	st, err := s.App.Update(ctx, caller(ctx, req.GetSession()), u)
	if err != nil {
		return nil, err
	}
	return &statev1.StateServiceMigrateResponse{State: stateProto(st, true)}, nil
}

// Delete implements StateService.
func (s *States) Delete(ctx context.Context, req *statev1.StateServiceDeleteRequest) (*statev1.StateServiceDeleteResponse, error) {
	err := s.App.DeleteState(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetExpectedVersion(), req.GetForce())
	if err != nil {
		return nil, err
	}
	return &statev1.StateServiceDeleteResponse{}, nil
}

// History implements StateService.
func (s *States) History(ctx context.Context, req *statev1.StateServiceHistoryRequest) (*statev1.StateServiceHistoryResponse, error) {
	changes, next, err := s.App.History(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetAfterVersion(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &statev1.StateServiceHistoryResponse{NextAfterVersion: next}
	for _, c := range changes {
		resp.Versions = append(resp.Versions, changeProto(c))
	}
	return resp, nil
}

// Lock implements StateService.
func (s *States) Lock(ctx context.Context, req *statev1.StateServiceLockRequest) (*statev1.StateServiceLockResponse, error) {
	lease, err := s.App.Lock(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetHolder(),
		time.Duration(req.GetTtlSeconds())*time.Second, req.GetFencingToken(), req.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	return &statev1.StateServiceLockResponse{FencingToken: lease.Token, ExpiresAt: timestamppb.New(lease.Expires)}, nil
}

// Unlock implements StateService.
func (s *States) Unlock(ctx context.Context, req *statev1.StateServiceUnlockRequest) (*statev1.StateServiceUnlockResponse, error) {
	if err := s.App.Unlock(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetFencingToken()); err != nil {
		return nil, err
	}
	return &statev1.StateServiceUnlockResponse{}, nil
}

// Watch implements StateService.
func (s *States) Watch(req *statev1.StateServiceWatchRequest, stream grpc.ServerStreamingServer[statev1.StateServiceWatchResponse]) error {
	ctx := stream.Context()
	return s.App.Watch(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetAfterVersion(), func(id string, c *app.Change) error {
		if c == nil {
			return stream.Send(&statev1.StateServiceWatchResponse{StateId: id, Deleted: true})
		}
		return stream.Send(&statev1.StateServiceWatchResponse{StateId: id, Change: changeProto(c)})
	})
}

func stateProto(st *app.State, data bool) *statev1.State {
	out := &statev1.State{
		StateId: st.Key.ID, SchemaId: st.SchemaID, SchemaName: st.SchemaName, SchemaVersion: st.SchemaVersion,
		RootSessionId: st.RootID, RootSessionName: st.RootName, Version: st.Version,
		CreatedAt: timestamppb.New(st.CreatedAt), UpdatedAt: timestamppb.New(st.UpdatedAt), UpdatedBy: st.UpdatedBy,
	}
	if data && !st.Data.IsZero() {
		out.Data = st.Data.AppendJSON(nil)
	}
	if st.Lock != nil {
		out.Lock = &statev1.Lock{Holder: st.Lock.Holder, ExpiresAt: timestamppb.New(st.Lock.Expires)}
	}
	return out
}

func changeProto(c *app.Change) *statev1.StateVersion {
	return &statev1.StateVersion{
		Version: c.Version, Time: timestamppb.New(c.At), SessionId: c.SessionID, SessionName: c.SessionName, Actor: c.Actor,
		Patch: c.Patch, Type: c.Type, SchemaVersion: c.SchemaVersion,
	}
}
