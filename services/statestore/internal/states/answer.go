package states

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
)

// answer is the answer to a repeat of a request (S6.5): the version of a state that the
// first one made.
type answer struct {
	// Digest of the request.
	Digest        string    `json:"digest"`
	StateID       string    `json:"state_id"`
	Version       int64     `json:"version"`
	SchemaVersion int64     `json:"schema_version"`
	At            time.Time `json:"at"`
	By            string    `json:"by"`
}

// Keep returns the answer for the batch of a request that has made this version.
func (st *State) Keep(request idempotency.Key, owner store.Key) (*store.Idempotency, error) {
	data, err := json.Marshal(answer{
		Digest: request.Digest, StateID: st.Key.ID, Version: st.Version, SchemaVersion: st.SchemaVersion,
		At: st.UpdatedAt, By: st.UpdatedBy,
	})
	if err != nil {
		return nil, fault.From(fmt.Errorf("encode answer: %w", err))
	}
	return request.KeepAnswer(owner, data), nil
}

// DecodeAnswer reads an answer, and refuses it to another request than the first.
func DecodeAnswer(data []byte, request idempotency.Key, owner store.Key) (answer, error) {
	var r answer
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fault.From(fmt.Errorf("decode answer: %w", err))
	}
	return r, request.Same(owner, r.Digest)
}

// Replay returns a state as it was when a request was first carried out. Where that
// version is not kept any more its data are those given, which may be none.
func (ss *States) Replay(ctx context.Context, key store.Key, first answer, data document.Value) (*State, error) {
	st, err := ss.at(ctx, key, first.Version)
	if fault.ReasonOf(err) != fault.NotFound {
		return st, err
	}
	now, err := ss.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	then := *now
	then.Version, then.Data, then.UpdatedAt, then.UpdatedBy = first.Version, data, first.At, first.By
	return ss.under(ctx, &then, first.SchemaVersion), nil
}

// under describes which version of its schema a state conforms to.
func (ss *States) under(ctx context.Context, st *State, schemaVersion int64) *State {
	st.SchemaVersion = schemaVersion
	if schema, err := ss.schemas.Compile(ctx, st.Key.Namespace, st.SchemaName, schemaVersion); err == nil {
		st.SchemaID = schema.ID
	}
	return st
}
