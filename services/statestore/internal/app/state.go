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
	// Bytes is the length of Data as JSON.
	Bytes int
	// Base is the version whose history entry has the whole document, from which the
	// changes since lead to this one; Since is how many bytes their patches have.
	Base  int64
	Since int
	// Lock is who holds it, where that was looked up; nil if there is none.
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
	// Data is the whole document: in every snapshotEvery-th version, and where the
	// patches since have become longer than it.
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

// snapshotEvery is how many versions apart whole documents are kept in the history, so
// that any version can be read from at most that many entries. snapshotBytes is how much
// their patches may have before, regardless of the size of the document.
const (
	snapshotEvery = 64
	snapshotBytes = 16 << 10
)

// wants reports whether a version has its whole document in the history.
func (st *State) wants() bool {
	return st.Version%snapshotEvery == 1 || st.Since > max(snapshotBytes, st.Bytes)
}

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

// encode writes the record of a state: all but the document, which is in the history.
func (st *State) encode() []byte {
	w := jsonobject.New(512)
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
	w.Integer("bytes", int64(st.Bytes))
	w.Integer("base", st.Base)
	w.Integer("since", int64(st.Since))
	w.Close()
	return w.Bytes()
}

// decodeState reads the output of encode: a state without its document.
func decodeState(record store.Record) (*State, error) {
	var in struct {
		SchemaName    string    `json:"schema_name"`
		SchemaVersion int64     `json:"schema_version"`
		SchemaID      string    `json:"schema_id"`
		RootID        string    `json:"root_id"`
		RootName      string    `json:"root_name"`
		RootHome      string    `json:"root_home"`
		CreatedAt     time.Time `json:"created_at"`
		UpdatedAt     time.Time `json:"updated_at"`
		UpdatedBy     string    `json:"updated_by"`
		Bytes         int       `json:"bytes"`
		Base          int64     `json:"base"`
		Since         int       `json:"since"`
	}
	if err := json.Unmarshal(record.Data, &in); err != nil {
		return nil, fault.From(fmt.Errorf("decode state %s: %w", record.Key.ID, err))
	}
	if in.SchemaVersion == 0 || in.RootID == "" || in.Base < 1 || in.Base > record.Version {
		return nil, fault.From(fmt.Errorf("decode state %s: the record is incomplete", record.Key.ID))
	}
	return &State{
		Key: record.Key, Version: record.Version, SchemaName: in.SchemaName, SchemaVersion: in.SchemaVersion, SchemaID: in.SchemaID,
		RootID: in.RootID, RootName: in.RootName, RootHome: in.RootHome,
		CreatedAt: in.CreatedAt, UpdatedAt: in.UpdatedAt, UpdatedBy: in.UpdatedBy, Bytes: in.Bytes, Base: in.Base, Since: in.Since,
	}, nil
}

// loadAttempts is how often a state is read that changes while it is read.
const loadAttempts = 8

// loadState reads a state.
func (a *App) loadState(ctx context.Context, key store.Key) (*State, error) {
	var lost error
	for range loadAttempts {
		record, err := a.store.Get(ctx, key)
		if notFound(err) {
			a.states.Drop(key)
			return nil, fault.New(fault.NotFound, "there is no state %q", clip(key.ID))
		}
		if err != nil {
			return nil, fault.From(err)
		}
		cached, ok := a.states.Get(key)
		if ok && cached.Version == record.Version {
			return cached, nil
		}
		st, err := decodeState(record)
		if err != nil {
			return nil, err
		}
		if lost, err = a.readDocument(ctx, st, cached); err != nil {
			return nil, err
		}
		if lost == nil {
			a.rememberState(st)
			return st, nil
		}
	}
	return nil, fault.From(lost)
}

// readDocument completes a state by the changes that lead to it: from an earlier
// version that is known, nil for none, or from the last whole document. The first error
// says that entries are missing: they were dropped since, or are lost.
func (a *App) readDocument(ctx context.Context, st, known *State) (lost, err error) {
	after, data := st.Base-1, document.NullValue()
	if known != nil && known.Version >= st.Base && known.Version < st.Version {
		after, data = known.Version, known.Data
	}
	changes, lost, err := a.stretch(ctx, st.Key, after, st.Version)
	if lost != nil || err != nil {
		return lost, err
	}
	st.Data, err = follow(data, changes)
	if err != nil {
		return nil, fault.From(fmt.Errorf("state %s: %w", st.Key.ID, err))
	}
	return nil, nil
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
		return store.Key{}, fault.New(fault.NotFound, "session %q shares no workflow state; its root creates one with state_create (POST /v1/states)", clip(acting.Name))
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

// mayRead refuses a session that may not read a state (S10.9). Present grants count.
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

// SizeWarning returns the warning about a state from 80 % of the limit of its size on; empty
// before (S15.11).
func (a *App) SizeWarning(st *State) string {
	limit := a.cfg.MaxStateBytes
	if st.Bytes < limit/5*4 {
		return ""
	}
	return fmt.Sprintf("the state has %d of at most %d bytes; larger writes are refused: keep large data elsewhere, and references here", st.Bytes, limit)
}
