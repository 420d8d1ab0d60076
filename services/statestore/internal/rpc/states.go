package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// States serves StateService.
type States struct {
	statev1.UnimplementedStateServiceServer
	App *app.App
}

// CreateState implements StateService.
func (s *States) CreateState(ctx context.Context, req *statev1.CreateStateRequest) (*statev1.CreateStateResponse, error) {
	st, err := s.App.Creator.Create(ctx, caller(ctx, req.GetSession()), writes.NewState{
		Schema: req.GetSchemaName(), SchemaVersion: req.GetSchemaVersion(), Data: req.GetData(),
		Existing: req.GetExistingSession(), Key: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return &statev1.CreateStateResponse{State: s.state(st, true)}, nil
}

// GetState implements StateService.
func (s *States) GetState(ctx context.Context, req *statev1.GetStateRequest) (*statev1.GetStateResponse, error) {
	st, parts, err := s.App.States.Get(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetVersion(), req.GetPointers())
	if err != nil {
		return nil, err
	}
	resp := &statev1.GetStateResponse{State: s.state(st, len(parts) == 0)}
	for _, p := range parts {
		part := &statev1.Part{Pointer: p.Pointer, Found: p.Found}
		if p.Found {
			part.Value = p.Value.AppendJSON(nil)
		}
		resp.Parts = append(resp.Parts, part)
	}
	return resp, nil
}

// ListStates implements StateService.
func (s *States) ListStates(ctx context.Context, req *statev1.ListStatesRequest) (*statev1.ListStatesResponse, error) {
	terms, err := listing.Parse(req.GetFilter(), "root_session", "schema", listing.Before, listing.Prefix)
	if err != nil {
		return nil, err
	}
	found, next, err := s.App.States.List(ctx, caller(ctx, req.GetSession()), states.Query{
		Root: terms["root_session"], Schema: terms["schema"], After: terms.BeginAfter(req.GetPageToken()), Limit: pageSize(req.GetPageSize()),
	})
	if err != nil {
		return nil, err
	}
	found, next = listing.Within(terms[listing.Prefix], found, next, func(s *states.State) string { return s.Key.ID })
	resp := &statev1.ListStatesResponse{NextPageToken: next}
	for _, st := range found {
		resp.States = append(resp.States, s.state(st, false))
	}
	return resp, nil
}

// UpdateState implements StateService.
func (s *States) UpdateState(ctx context.Context, req *statev1.UpdateStateRequest) (*statev1.UpdateStateResponse, error) {
	u := writes.Update{
		StateID: req.GetStateId(), Expected: req.GetExpectedVersion(), Token: req.GetFencingToken(), Key: req.GetIdempotencyKey(),
	}
	// An empty text is still the change that was meant, and not JSON.
	switch change := req.GetChange().(type) {
	case *statev1.UpdateStateRequest_Data:
		u.Data = given(change.Data)
	case *statev1.UpdateStateRequest_Patch:
		u.Patch = given(change.Patch)
	case *statev1.UpdateStateRequest_MergePatch:
		u.Merge = given(change.MergePatch)
	}
	st, err := s.App.Editor.Update(ctx, caller(ctx, req.GetSession()), u)
	if err != nil {
		return nil, err
	}
	return &statev1.UpdateStateResponse{State: s.state(st, req.GetWithData())}, nil
}

// given keeps empty text from looking like a missing one.
func given(text []byte) []byte {
	if text == nil {
		return []byte{}
	}
	return text
}

// MigrateState implements StateService.
func (s *States) MigrateState(ctx context.Context, req *statev1.MigrateStateRequest) (*statev1.MigrateStateResponse, error) {
	u := writes.Update{
		StateID: req.GetStateId(), Migrate: true, SchemaVersion: req.GetSchemaVersion(),
		Expected: req.GetExpectedVersion(), Token: req.GetFencingToken(), Key: req.GetIdempotencyKey(),
	}
	if len(req.GetPatch()) > 0 {
		u.Patch = req.GetPatch()
	}
	st, err := s.App.Editor.Update(ctx, caller(ctx, req.GetSession()), u)
	if err != nil {
		return nil, err
	}
	return &statev1.MigrateStateResponse{State: s.state(st, true)}, nil
}

// DeleteState implements StateService.
func (s *States) DeleteState(ctx context.Context, req *statev1.DeleteStateRequest) (*statev1.DeleteStateResponse, error) {
	err := s.App.Remover.Delete(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetExpectedVersion(), req.GetForce())
	if err != nil {
		return nil, err
	}
	return &statev1.DeleteStateResponse{}, nil
}

// GetStateHistory implements StateService.
func (s *States) GetStateHistory(ctx context.Context, req *statev1.GetStateHistoryRequest) (*statev1.GetStateHistoryResponse, error) {
	changes, next, err := s.App.States.History(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetAfterVersion(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &statev1.GetStateHistoryResponse{NextAfterVersion: next}
	for _, c := range changes {
		resp.Versions = append(resp.Versions, changeProto(c))
	}
	return resp, nil
}

// GetStateWriters implements StateService.
func (s *States) GetStateWriters(ctx context.Context, req *statev1.GetStateWritersRequest) (*statev1.GetStateWritersResponse, error) {
	version, authors, partial, err := s.App.States.Authors(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetVersion(), req.GetPointers())
	if err != nil {
		return nil, err
	}
	resp := &statev1.GetStateWritersResponse{Version: version, Partial: partial}
	for _, a := range authors {
		resp.Writers = append(resp.Writers, &statev1.Writer{
			Pointer: a.Pointer, Version: a.Version, Actor: a.Actor, SessionId: a.SessionID, SessionName: a.SessionName, Time: timestamppb.New(a.Time),
		})
	}
	return resp, nil
}

// LockState implements StateService.
func (s *States) LockState(ctx context.Context, req *statev1.LockStateRequest) (*statev1.LockStateResponse, error) {
	lease, err := s.App.Locks.Lock(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetHolder(),
		req.GetTtl().AsDuration(), req.GetFencingToken(), req.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	return &statev1.LockStateResponse{FencingToken: lease.Token, ExpiresAt: timestamppb.New(lease.Expires)}, nil
}

// UnlockState implements StateService.
func (s *States) UnlockState(ctx context.Context, req *statev1.UnlockStateRequest) (*statev1.UnlockStateResponse, error) {
	if err := s.App.Locks.Unlock(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetFencingToken()); err != nil {
		return nil, err
	}
	return &statev1.UnlockStateResponse{}, nil
}

// WatchState implements StateService.
func (s *States) WatchState(req *statev1.WatchStateRequest, stream grpc.ServerStreamingServer[statev1.WatchStateResponse]) error {
	ctx := stream.Context()
	return s.App.States.Watch(ctx, caller(ctx, req.GetSession()), req.GetStateId(), req.GetAfterVersion(), func(id string, c *states.Change) error {
		if c == nil {
			return stream.Send(&statev1.WatchStateResponse{StateId: id, Deleted: true})
		}
		return stream.Send(&statev1.WatchStateResponse{StateId: id, Change: changeProto(c)})
	})
}

// state returns a state as it is answered, with a warning where it has become large.
func (s *States) state(st *states.State, data bool) *statev1.State {
	out := stateProto(st, data)
	out.Warning = s.App.States.SizeWarning(st)
	return out
}

func stateProto(st *states.State, data bool) *statev1.State {
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

func changeProto(c *states.Change) *statev1.StateVersion {
	return &statev1.StateVersion{
		Version: c.Version, Time: timestamppb.New(c.At), SessionId: c.SessionID, SessionName: c.SessionName, Actor: c.Actor,
		Patch: c.Patch, Type: changeTypes[c.Type], SchemaVersion: c.SchemaVersion,
	}
}
