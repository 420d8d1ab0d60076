package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
)

// State is one version of a shared document, immutable.
type State struct {
	Key           store.Key
	SchemaName    string
	SchemaVersion int64
	SchemaID      string
	RootID        string
	RootName      string
	// RootHome is where the root session is kept.
	RootHome  string
	Version   int64
	Data      document.Value
	CreatedAt time.Time
	UpdatedAt time.Time
	UpdatedBy string
	// Bytes is the length of Data as JSON, or a bound of it.
	Bytes int
	// Lock is who holds the lease on it, where that was looked up; nil for nobody.
	Lock *store.Lease
}

// Change is one step from a version of a state to the next (S10.6).
type Change struct {
	Version       int64           `json:"-"`
	Type          string          `json:"type"`
	At            time.Time       `json:"at"`
	SessionID     string          `json:"session_id,omitempty"`
	SessionName   string          `json:"session_name,omitempty"`
	Actor         string          `json:"actor"`
	SchemaVersion int64           `json:"schema_version"`
	Patch         json.RawMessage `json:"patch"`
	// Data is the whole document, in every snapshotEvery-th version.
	Data json.RawMessage `json:"data,omitempty"`
	// Pointers are the places that were written; not kept.
	Pointers []string `json:"-"`
}

// Types of changes.
const (
	Created  = "created"
	Updated  = "updated"
	Migrated = "migrated"
)

// snapshotEvery is how many versions apart whole documents are kept in the history,
// so that any version can be read from at most that many entries.
const snapshotEvery = 64

func stateKey(namespace, id string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindState, ID: id}
}

func lockKey(st store.Key) store.Key {
	st.Kind = kindLock
	return st
}

func (st *State) labels() map[string]string {
	return map[string]string{"root": st.RootID, "schema": st.SchemaName}
}

// encode writes the record of a state, whose document's JSON is data.
func (st *State) encode(data []byte) []byte {
	w := jsonobject.New(len(data) + 512)
	w.Open()
	w.Text("schema_name", st.SchemaName)
	w.Integer("schema_version", st.SchemaVersion)
	w.Text("schema_id", st.SchemaID)
	w.Text("root_id", st.RootID)
	w.Text("root_name", st.RootName)
	w.Text("root_home", st.RootHome)
	w.Time("created_at", st.CreatedAt)
	w.Time("updated_at", st.UpdatedAt)
	w.Text("updated_by", st.UpdatedBy)
	w.Raw("data", data)
	w.Close()
	return w.Bytes()
}

// maxRecordBytes is the longest record of a state: its document was judged when it
// was written.
const maxRecordBytes = 1 << 30

func decodeState(record store.Record) (*State, error) {
	v, problem := document.Parse(record.Data, document.Limits{Bytes: maxRecordBytes, Depth: document.DefaultDepth + 1})
	if problem != nil {
		return nil, fault.From(fmt.Errorf("decode state %s: %s", record.Key.ID, problem.Message))
	}
	text := func(name string) string {
		field, _ := v.Get(name)
		return field.Str()
	}
	at := func(name string) time.Time {
		t, err := time.Parse(time.RFC3339Nano, text(name))
		if err != nil {
			return time.Time{}
		}
		return t
	}
	st := &State{
		Key: record.Key, Version: record.Version, SchemaName: text("schema_name"), SchemaID: text("schema_id"),
		RootID: text("root_id"), RootName: text("root_name"), RootHome: text("root_home"),
		CreatedAt: at("created_at"), UpdatedAt: at("updated_at"), UpdatedBy: text("updated_by"), Bytes: len(record.Data),
	}
	number, _ := v.Get("schema_version")
	st.SchemaVersion, _ = number.Number().Int64()
	st.Data, _ = v.Get("data")
	if st.SchemaVersion == 0 || st.Data.IsZero() || st.RootID == "" {
		return nil, fault.From(fmt.Errorf("decode state %s: the record is incomplete", record.Key.ID))
	}
	return st, nil
}

// loadState reads a state.
func (a *App) loadState(ctx context.Context, key store.Key) (*State, error) {
	record, err := a.store.Get(ctx, key)
	if notFound(err) {
		a.states.Drop(key)
		return nil, fault.New(fault.NotFound, "there is no state %q", clip(key.ID))
	}
	if err != nil {
		return nil, fault.From(err)
	}
	if st, ok := a.states.Get(key); ok && st.Version == record.Version {
		return st, nil
	}
	st, err := decodeState(record)
	if err != nil {
		return nil, err
	}
	a.rememberState(st)
	return st, nil
}

// treeWeight is how much memory a document takes, by the byte of its JSON.
const treeWeight = 4

func (a *App) rememberState(st *State) {
	a.states.Put(st.Key, st, treeWeight*st.Bytes+512, func(old *State) bool { return old.Version > st.Version })
}

// cachedState returns a state that may be old: a caller that decides on it lets
// the commit check its version.
func (a *App) cachedState(ctx context.Context, key store.Key) (*State, error) {
	if st, ok := a.states.Get(key); ok {
		return st, nil
	}
	return a.loadState(ctx, key)
}

// stateOf returns the key of the state that a request is about: the one that it
// names, or that of the session that acts.
func (a *App) stateOf(caller Caller, acting *Member, id string) (store.Key, error) {
	switch {
	case id != "":
		return stateKey(caller.Namespace, id), nil
	case acting == nil:
		return store.Key{}, fault.New(fault.InvalidRequest, "name the state: give its id, or a session that shares it")
	case acting.StateID == "":
		return store.Key{}, fault.New(fault.NotFound, "session %q shares no workflow state; its root creates one with state_create (POST /workflow-states)", clip(acting.Name))
	default:
		return stateKey(caller.Namespace, acting.StateID), nil
	}
}

// onState does something with the state that a request is about. Where the session
// says which, and none is there, the session that acts may be an old one: then it is
// done once more with that as it is now.
func (a *App) onState(ctx context.Context, caller Caller, id string, do func(acting *Member, key store.Key) error) error {
	acting, err := a.actor(ctx, caller)
	if err != nil {
		return err
	}
	attempt := func(acting *Member) error {
		key, err := a.stateOf(caller, acting, id)
		if err != nil {
			return err
		}
		return do(acting, key)
	}
	err = attempt(acting)
	if id != "" || acting == nil || fault.ReasonOf(err) != fault.NotFound {
		return err
	}
	now, failed := a.loadMember(ctx, acting.Key)
	if failed != nil || now.StateID == acting.StateID {
		return err
	}
	return attempt(now)
}

// mayRead refuses a session that may not read a state (S10.9). What was granted is
// looked up as it is now.
func (a *App) mayRead(ctx context.Context, acting *Member, st *State) error {
	if acting == nil || acting.SameTree(st.RootID) {
		return nil
	}
	fresh, err := a.loadMember(ctx, acting.Key)
	if err != nil {
		return err
	}
	if fresh.MayRead(st.RootID, st.Key.ID) {
		return nil
	}
	return foreign(acting, st)
}

func foreign(acting *Member, st *State) error {
	return fault.New(fault.PermissionDenied, "state %s belongs to another tree than session %q; an operator can grant it to the session", st.Key.ID, clip(acting.Name))
}

// mayWrite refuses a session that may not change a state.
func mayWrite(acting *Member, st *State) error {
	switch {
	case acting == nil:
		return nil
	case !acting.SameTree(st.RootID):
		return foreign(acting, st)
	case acting.Status == session.Ended:
		return fault.New(fault.SessionEnded, "session %q has ended and can no longer change the state; resume it first", clip(acting.Name))
	}
	return nil
}
