// Package member holds sessions as they are stored: loading, the tree that changes in one commit,
// names and rights.
package member

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// Actor returns the session that acts, or nil when the caller need not name one.
// It may be old.
func (rs *Rights) Actor(ctx context.Context, caller ports.Caller) (*Member, error) {
	if caller.Session == "" {
		if caller.Agent() {
			return nil, fault.New(fault.SessionRequired, "name the acting session: set the header X-Interlock-Session (or the field session) to its id or name")
		}
		return nil, nil
	}
	key, err := rs.names.homeOf(ctx, caller.Namespace, caller.Session)
	if err == nil {
		var m *Member
		if m, err = rs.members.Cached(ctx, key); err == nil {
			return m, nil
		}
	}
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, fault.New(fault.PermissionDenied, "session %q does not exist and cannot act; create it with POST /v1/sessions", ports.Clip(caller.Session))
	}
	return nil, err
}

// Kind is under a session's home, an id that lives in the shard of its
// tree. See Names.
const Kind = ledger.KindSession

// AnyTask is the record that runners wait for: some task has become ready.
var AnyTask = store.Key{Kind: "task"}

// Member is a session and where it is kept. Its home, the id of its record, lives
// in the shard of its tree, so that a change of several sessions of a tree, and of
// their state, is one commit. Unless the caller chose an id it is the session's id.
type Member struct {
	*session.Session
	Key store.Key
	// ParentHome and RootHome are those of its parent and root.
	ParentHome, RootHome string
	// Ends counts how often it has ended: work begun before an end must not continue
	// after a resumption.
	Ends int
}

// memberRecord is the stored form of a Member.
type memberRecord struct {
	*session.Session
	ParentHome string `json:"parent_home,omitempty"`
	RootHome   string `json:"root_home"`
	Ends       int    `json:"ends,omitempty"`
}

// KeyOf returns the key of the session of a home.
func KeyOf(namespace, home string) store.Key {
	return store.Key{Namespace: namespace, Kind: Kind, ID: home}
}

func encode(m *Member) ([]byte, error) {
	data, err := json.Marshal(memberRecord{m.Session, m.ParentHome, m.RootHome, m.Ends})
	if err != nil {
		return nil, fmt.Errorf("encode session: %w", err)
	}
	return data, nil
}

// Decode reads the record of a session.
func Decode(record store.Record) (*Member, error) {
	in := memberRecord{Session: &session.Session{}}
	if err := json.Unmarshal(record.Data, &in); err != nil {
		return nil, fault.From(fmt.Errorf("decode session: %w", err))
	}
	in.Version = record.Version
	return &Member{Session: in.Session, Key: record.Key, ParentHome: in.ParentHome, RootHome: in.RootHome, Ends: in.Ends}, nil
}

// labels returns the labels of a session for lists.
func (m *Member) labels() map[string]string {
	labels := map[string]string{"root": m.RootID, "status": string(m.Status)}
	if m.ParentID != "" {
		labels["parent"] = m.ParentID
	}
	if m.LastTask != "" {
		labels["done_task"] = m.LastTask
	}
	if t := m.Task; t != nil {
		labels["task"] = StatusOf(t)
		labels["task_id"] = t.ID
	}
	return labels
}

// Statuses of a task.
const (
	TaskDelayed = "DELAYED"
	TaskReady   = "READY"
	TaskClaimed = "CLAIMED"
)

// StatusOf returns where a task is.
func StatusOf(t *session.Task) string {
	switch {
	case t.Claimed():
		return TaskClaimed
	case t.Ready:
		return TaskReady
	default:
		return TaskDelayed
	}
}

// authority returns the part of a session that counts for authority; nil of none.
func (m *Member) authority() *authority.Session {
	if m == nil {
		return nil
	}
	return &authority.Session{ID: m.ID, Name: m.Name, RootID: m.RootID, Ended: m.EndedBy}
}

// kindSessionValues are the values of all components of a session, by slug.
const kindSessionValues = "session_values"

// ValuesKey returns the key of the values of a session.
func ValuesKey(m *Member) store.Key {
	return store.Key{Namespace: m.Key.Namespace, Kind: kindSessionValues, ID: m.Key.ID}
}

// RetentionTimer ends the state of a root session.
func RetentionTimer(root *Member) store.TimerID {
	return store.TimerID{Key: ports.StateKey(root.Key.Namespace, root.StateID), Name: "retention"}
}

// ResultOf checks the result of a session's work: JSON, as it is written but for blanks.
func ResultOf(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	v, problem := document.Parse(text, document.Limits{Bytes: session.MaxResult})
	if problem != nil {
		return nil, fault.New(fault.InvalidRequest, "result: %s", problem.Message)
	}
	compact := v.AppendJSON(nil)
	if len(compact) > session.MaxResult {
		return nil, fault.New(fault.TooLarge, "the result has more than %d bytes; keep it elsewhere, such as in the state, and give a reference", session.MaxResult)
	}
	return compact, nil
}

func noSession(name string) error {
	return fault.New(fault.NotFound, "there is no session %q; create it with POST /v1/sessions", ports.Clip(name))
}

// Named reports that a session has this name or id.
func (m *Member) Named(name string) bool { return name != "" && (name == m.Name || name == m.ID) }
