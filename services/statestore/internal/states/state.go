// Package states loads shared states: versions, history, authors, locks.
package states

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
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

// Wants reports whether a version has its whole document in the history.
func (st *State) Wants() bool {
	return st.Version%snapshotEvery == 1 || st.Since > max(snapshotBytes, st.Bytes)
}

// Labels returns the labels of a state for lists.
func (st *State) Labels() map[string]string {
	return map[string]string{"root": st.RootID, "schema": st.SchemaName}
}

// Encode writes the record of a state: all but the document, which is in the history.
func (st *State) Encode() []byte {
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

// SizeWarning returns the warning about a state from 80 % of the limit of its size on; empty
// before (S15.11).
func (ss *States) SizeWarning(st *State) string {
	limit := ss.ports.Config.MaxStateBytes
	if st.Bytes < limit/5*4 {
		return ""
	}
	return fmt.Sprintf("the state has %d of at most %d bytes; larger writes are refused: keep large data elsewhere, and references here", st.Bytes, limit)
}

// Foreign returns the refusal of a state of another tree.
func Foreign(acting *member.Member, st *State) error {
	return fault.New(fault.PermissionDenied, "state %s belongs to another tree than session %q; an operator can grant it to the session", st.Key.ID, ports.Clip(acting.Name))
}

// Work returns a write of the state as halts see it: in the scope of the sessions that it is of, and of the one that acts.
func (st *State) Work(caller ports.Caller, acting *member.Member) member.Work {
	work := member.Work{By: caller.Principal, Humans: []*auth.Human{caller.For}, Sessions: []string{st.RootID}}
	if acting != nil {
		work.Sessions = append(work.Sessions, acting.ID)
	}
	return work
}

// MayWrite refuses a session that may not change a state.
func MayWrite(acting *member.Member, st *State) error {
	switch {
	case acting == nil:
		return nil
	case !acting.SameTree(st.RootID):
		return Foreign(acting, st)
	case acting.Status == session.Ended:
		return fault.New(fault.SessionEnded, "session %q has ended and can no longer change the state; resume it first", ports.Clip(acting.Name))
	}
	return nil
}
