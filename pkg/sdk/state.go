package sdk

import (
	"context"
	"encoding/json"
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// State is a shared document, or a part of one (S10).
type State struct {
	ID            string
	SchemaName    string
	SchemaVersion int64
	// RootSessionID and RootSessionName are the root of the tree that shares it.
	RootSessionID, RootSessionName string
	// Version is bumped by every change.
	Version int64
	// Data is the document, numbers as they were written; nil where an answer
	// leaves it out.
	Data json.RawMessage
	// Parts are the values that the pointers of a read name. Missing ones are left out.
	Parts map[string]json.RawMessage
	// UpdatedBy is the session, or else the principal, that made this version.
	UpdatedBy            string
	CreatedAt, UpdatedAt time.Time
}

// CreateState makes a state that conforms to a schema, for the client's session as
// the root of a tree: sessions created under it from then on share the state. The
// session is made when there is none of that name.
func (c *Client) CreateState(ctx context.Context, schema string, data any, opts ...ChangeOption) (State, error) {
	body, err := encode("data", data)
	if err != nil {
		return State{}, err
	}
	resp, err := retry(ctx, c.states.CreateState, &statev1.CreateStateRequest{
		SchemaName: schema, Data: body, Session: c.session, IdempotencyKey: keyOf(opts),
	})
	if err != nil {
		return State{}, err
	}
	return stateOf(resp.GetState()), nil
}

// ReadState returns a state, by default the session's, or only the parts that JSON
// Pointers (RFC 6901) name.
func (c *Client) ReadState(ctx context.Context, id string, pointers ...string) (State, error) {
	resp, err := retry(ctx, c.states.GetState, &statev1.GetStateRequest{
		StateId: c.stateID(id), Session: c.session, Pointers: pointers,
	})
	if err != nil {
		return State{}, err
	}
	st := stateOf(resp.GetState())
	if len(pointers) > 0 {
		st.Parts = make(map[string]json.RawMessage, len(pointers))
	}
	for _, part := range resp.GetParts() {
		if part.GetFound() {
			st.Parts[part.GetPointer()] = part.GetValue()
		}
	}
	return st, nil
}

// write makes one change of a state.
func (c *Client) write(ctx context.Context, req *statev1.UpdateStateRequest, key string) (State, error) {
	req.Session, req.IdempotencyKey = c.session, key
	resp, err := retry(ctx, c.states.UpdateState, req)
	if err != nil {
		return State{}, err
	}
	return stateOf(resp.GetState()), nil
}

func stateOf(s *statev1.State) State {
	return State{
		ID: s.GetStateId(), SchemaName: s.GetSchemaName(), SchemaVersion: s.GetSchemaVersion(),
		RootSessionID: s.GetRootSessionId(), RootSessionName: s.GetRootSessionName(), Version: s.GetVersion(), Data: s.GetData(),
		UpdatedBy: s.GetUpdatedBy(), CreatedAt: timeOf(s.GetCreatedAt()), UpdatedAt: timeOf(s.GetUpdatedAt()),
	}
}
