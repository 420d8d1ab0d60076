package jsonview

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Schema is one immutable version of a JSON Schema (S10.1).
type Schema struct {
	SchemaID    string         `json:"schema_id"`
	Name        string         `json:"name"`
	Version     int64          `json:"version"`
	JSONSchema  jsontext.Value `json:"json_schema,omitzero" doc:"The schema as it was registered. Not in lists."`
	Description string         `json:"description"`
	CreatedAt   time.Time      `json:"created_at"`
	UpdatedAt   time.Time      `json:"updated_at" doc:"The same as created_at: a version never changes."`
	Digest      string         `json:"digest" doc:"Hex SHA-256 of the canonical JSON (RFC 8785)."`
	CreatedBy   string         `json:"created_by"`
	MayWrite    []MayWrite     `json:"may_write,omitzero" doc:"Who may write which values, as the schema says (x-interlock-writers). Not in lists."`
	// LiveVersion and Retired are of the name, as of the answer.
	LiveVersion int64       `json:"live_version,omitzero" doc:"The version that new states get; absent when none is live yet."`
	Retired     *Retirement `json:"retired,omitzero" doc:"Set when no new state gets the schema."`
}

// SchemaOf returns the JSON of a schema.
func SchemaOf(s *statev1.Schema) Schema {
	var mayWrite []MayWrite
	if lists, err := MayWriteOf(s.GetJsonSchema()); err == nil && len(lists) > 0 {
		mayWrite = lists
	}
	var retired *Retirement
	if r := s.GetRetired(); r != nil {
		retired = &Retirement{At: Time(r.GetAt()), By: r.GetBy(), Reason: r.GetReason()}
	}
	return Schema{
		SchemaID: s.GetSchemaId(), Name: s.GetName(), Version: s.GetVersion(), JSONSchema: rawOf(s.GetJsonSchema()),
		Description: s.GetDescription(), CreatedAt: Time(s.GetCreatedAt()), UpdatedAt: Time(s.GetCreatedAt()),
		Digest: s.GetDigest(), CreatedBy: s.GetCreatedBy(), MayWrite: mayWrite,
		LiveVersion: s.GetLiveVersion(), Retired: retired,
	}
}

// State is a document that a tree of sessions shares (S10).
type State struct {
	StateID         string         `json:"state_id"`
	SchemaID        string         `json:"schema_id"`
	SchemaName      string         `json:"schema_name"`
	RootSessionID   string         `json:"root_session_id"`
	RootSessionName string         `json:"root_session_name"`
	Version         int64          `json:"version" doc:"Bumped by every change of the document; also the ETag."`
	CurrentData     jsontext.Value `json:"current_data,omitzero" doc:"The document as it was written: numbers and the order of keys are kept. Not in lists."`
	CreatedAt       time.Time      `json:"created_at"`
	UpdatedAt       time.Time      `json:"updated_at"`
	SchemaVersion   int64          `json:"schema_version"`
	UpdatedBy       string         `json:"updated_by" doc:"The session, or else the principal, that made this version."`
	Warning         string         `json:"warning,omitzero" doc:"Set from 80 % of the limit of a state's size on; also the header X-Interlock-Warning."`
	Lock            *Lock          `json:"lock,omitzero" doc:"Who holds the lock; absent when it is free. It is not part of the version."`
}

// Lock is the lock on a state (S10.5).
type Lock struct {
	Holder    string    `json:"holder"`
	ExpiresAt time.Time `json:"expires_at"`
}

// StateOf returns the JSON of a state.
func StateOf(s *statev1.State) State {
	out := State{
		StateID: s.GetStateId(), SchemaID: s.GetSchemaId(), SchemaName: s.GetSchemaName(),
		RootSessionID: s.GetRootSessionId(), RootSessionName: s.GetRootSessionName(), Version: s.GetVersion(),
		CurrentData: rawOf(s.GetData()), CreatedAt: Time(s.GetCreatedAt()), UpdatedAt: Time(s.GetUpdatedAt()),
		SchemaVersion: s.GetSchemaVersion(), UpdatedBy: s.GetUpdatedBy(), Warning: s.GetWarning(),
	}
	if l := s.GetLock(); l != nil {
		out.Lock = &Lock{Holder: l.GetHolder(), ExpiresAt: Time(l.GetExpiresAt())}
	}
	return out
}

// Part is the value at a JSON Pointer in a state.
type Part struct {
	Pointer string         `json:"pointer"`
	Found   bool           `json:"found"`
	Value   jsontext.Value `json:"value" doc:"null when there is none."`
}

// PartOf returns the JSON of a part.
func PartOf(p *statev1.Part) Part {
	return Part{Pointer: p.GetPointer(), Found: p.GetFound(), Value: rawOf(p.GetValue())}
}

// StateVersion is one change of a state (S10.6).
type StateVersion struct {
	Version       int64          `json:"version"`
	Time          time.Time      `json:"time"`
	Type          string         `json:"type" enum:"created,updated,migrated"`
	SessionID     string         `json:"session_id" doc:"The session that acted; empty for none."`
	SessionName   string         `json:"session_name"`
	Actor         string         `json:"actor" doc:"The principal."`
	SchemaVersion int64          `json:"schema_version"`
	Patch         jsontext.Value `json:"patch" doc:"JSON Patch (RFC 6902) from the version before; at version 1 it adds the whole document."`
}

// Writer is the change that wrote a value of a document last.
type Writer struct {
	Pointer     string    `json:"pointer" doc:"JSON Pointer (RFC 6901) of the value."`
	Version     int64     `json:"version" doc:"The version that the change made."`
	Actor       string    `json:"actor"`
	SessionID   string    `json:"session_id" doc:"The session that made it; empty for none."`
	SessionName string    `json:"session_name"`
	Time        time.Time `json:"time"`
}

// WriterOf returns the JSON of a writer.
func WriterOf(w *statev1.Writer) Writer {
	return Writer{
		Pointer: w.GetPointer(), Version: w.GetVersion(), Actor: w.GetActor(), SessionID: w.GetSessionId(),
		SessionName: w.GetSessionName(), Time: Time(w.GetTime()),
	}
}

// StateVersionOf returns the JSON of a change.
func StateVersionOf(v *statev1.StateVersion) StateVersion {
	return StateVersion{
		Version: v.GetVersion(), Time: Time(v.GetTime()), Type: protomap.LowerWord(v.GetType(), "STATE_CHANGE_TYPE_"),
		SessionID: v.GetSessionId(), SessionName: v.GetSessionName(), Actor: v.GetActor(),
		SchemaVersion: v.GetSchemaVersion(), Patch: rawOf(v.GetPatch()),
	}
}

// Types of a StateEvent.
const (
	StateCreated = "workflow_state_created"
	StateUpdated = "workflow_state_updated"
	StateDeleted = "workflow_state_deleted"
)

// StateEvent announces a change of a state.
type StateEvent struct {
	EventType string `json:"event_type" enum:"workflow_state_created,workflow_state_updated,workflow_state_deleted"`
	StateID   string `json:"state_id"`
	Version   int64  `json:"version" doc:"Of a deletion: the last version that was."`
	// UpdatedBySession is nil when no session acted.
	UpdatedBySession *string   `json:"updated_by_session" doc:"Name of the session that acted; null when none did."`
	Timestamp        time.Time `json:"timestamp" doc:"Of a deletion: when it was noticed."`
}

// StateEventOf returns the JSON of a change as it is announced live.
func StateEventOf(stateID string, v *statev1.StateVersion) StateEvent {
	ev := StateEvent{EventType: StateUpdated, StateID: stateID, Version: v.GetVersion(), Timestamp: Time(v.GetTime())}
	if v.GetType() == statev1.StateChangeType_STATE_CHANGE_TYPE_CREATED {
		ev.EventType = StateCreated
	}
	ev.UpdatedBySession = orNull(cmp.Or(v.GetSessionName(), v.GetSessionId()))
	return ev
}

// rawOf returns JSON of a contract, nil when there is none.
func rawOf(text []byte) jsontext.Value {
	if len(text) == 0 {
		return nil
	}
	return text
}
