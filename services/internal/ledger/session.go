package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
)

// Kinds of the state-store's records of sessions. A decision about a session holds only while
// they are at the versions that it was made on (S11.6).
const (
	// KindSession is under a session's home, an id in the shard of its tree.
	KindSession = "session"
	// KindSessionRef maps a session's name, or an id that a caller chose, to its home.
	KindSessionRef = "session_ref"
	// KindAgent is an agent, under its name.
	KindAgent = "agent"
)

// SessionOf returns the key of the session with this home.
func SessionOf(namespace, home string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindSession, ID: home}
}

// SessionRef returns the key of a session's name.
func SessionRef(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindSessionRef, ID: name}
}

// AgentOf returns the key of an agent.
func AgentOf(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindAgent, ID: name}
}

// Session is the part of a session's record, or of its name's, that other services read.
type Session struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Home       string `json:"home"` // in the record of a name
	ParentHome string `json:"parent_home"`
	Agent      string `json:"agent"`
	Depth      int    `json:"depth"`   // in the record of a session
	Status     string `json:"status"`  // in the record of a session
	Deleted    bool   `json:"deleted"` // in the record of a name
	// Bounds are in the record of a session. That of a name has what narrows a session that is
	// being created, or was deleted.
	session.Bounds
	Human *Human `json:"human"` // in the record of a session
	// Labels are in the record of a session. They count in conditions if LabelsCount is set.
	Labels      map[string]string `json:"labels"`
	LabelsCount bool              `json:"labels_count"`
}

// ReadSession reads the record of a session or of its name.
func ReadSession(record store.Record) (*Session, error) {
	s := &Session{}
	if err := json.Unmarshal(record.Data, s); err != nil {
		return nil, fmt.Errorf("decode %s: %w", record.Key, err)
	}
	return s, nil
}

// ReadAgentPolicy reads the name of an agent's policy; empty for none. The record of a deleted
// agent keeps it.
func ReadAgentPolicy(record store.Record) (string, error) {
	var in struct {
		Policy string `json:"policy"`
	}
	if err := json.Unmarshal(record.Data, &in); err != nil {
		return "", fmt.Errorf("decode %s: %w", record.Key, err)
	}
	return in.Policy, nil
}
