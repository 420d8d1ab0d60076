package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
)

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

func sessionKey(namespace, home string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindSession, ID: home}
}

func encodeMember(m *Member) ([]byte, error) {
	data, err := json.Marshal(memberRecord{m.Session, m.ParentHome, m.RootHome, m.Ends})
	if err != nil {
		return nil, fmt.Errorf("encode session: %w", err)
	}
	return data, nil
}

func decodeMember(record store.Record) (*Member, error) {
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

// loadMember reads a session by its home.
func (a *App) loadMember(ctx context.Context, key store.Key) (*Member, error) {
	record, err := a.store.Get(ctx, key)
	if notFound(err) {
		return nil, noSession(key.ID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	m, err := decodeMember(record)
	if err == nil {
		a.rememberMember(m)
	}
	return m, err
}

func (a *App) rememberMember(m *Member) {
	a.sessions.Put(m.Key, m, func(old *Member) bool { return old.Version > m.Version })
}

// cachedMember returns a session that may be old: anyone who decides on it lets the
// commit check its version.
func (a *App) cachedMember(ctx context.Context, key store.Key) (*Member, error) {
	if m, ok := a.sessions.Get(key); ok {
		return m, nil
	}
	return a.loadMember(ctx, key)
}

// homeOf returns the record of the session that a name or an id stands for. A
// session whose creation was cut short is completed first.
func (a *App) homeOf(ctx context.Context, namespace, name string) (store.Key, error) {
	if strings.HasPrefix(name, typeid.Session+"_") {
		return sessionKey(namespace, name), nil
	}
	at := refKey(namespace, name)
	if home, ok := a.refs.Get(at); ok {
		return sessionKey(namespace, home), nil
	}
	in, err := a.intent(ctx, at)
	if err != nil {
		return store.Key{}, err
	}
	if in == nil {
		return store.Key{}, noSession(name)
	}
	m, err := a.settle(ctx, namespace, in)
	if err != nil {
		return store.Key{}, err
	}
	a.refs.Put(at, m.Key.ID, nil)
	return m.Key, nil
}

func noSession(name string) error {
	return fault.New(fault.NotFound, "there is no session %q; create it with POST /v1/sessions", clip(name))
}

// Member returns a session by its id or name, as it is now.
func (a *App) Member(ctx context.Context, namespace, name string) (*Member, error) {
	key, err := a.homeOf(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return a.loadMember(ctx, key)
}

// actor returns the session that acts, or nil when the caller need not name one.
// It may be old.
func (a *App) actor(ctx context.Context, caller Caller) (*Member, error) {
	if caller.Session == "" {
		if caller.agent() {
			return nil, fault.New(fault.SessionRequired, "name the acting session: set the header X-Interlock-Session (or the field session) to its id or name")
		}
		return nil, nil
	}
	key, err := a.homeOf(ctx, caller.Namespace, caller.Session)
	if err == nil {
		var m *Member
		if m, err = a.cachedMember(ctx, key); err == nil {
			return m, nil
		}
	}
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, fault.New(fault.PermissionDenied, "session %q does not exist and cannot act; create it with POST /v1/sessions", clip(caller.Session))
	}
	return nil, err
}
