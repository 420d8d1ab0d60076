package states

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

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

// onto returns the document after a change.
func (c *Change) onto(before document.Value) (document.Value, error) {
	if c.Data != nil {
		v, problem := document.Parse(c.Data, document.Limits{Bytes: ports.MaxRecordBytes})
		if problem != nil {
			return v, errors.New(problem.Message)
		}
		return v, nil
	}
	patch, problems := document.ParsePatch(c.Patch, document.PatchLimits{Text: ports.MaxRecordBytes})
	if problems.HasErrors() {
		return before, problems.Err()
	}
	v, failed := patch.Apply(before, document.PatchLimits{Bytes: ports.MaxRecordBytes})
	if failed != nil {
		return v, failed
	}
	return v, nil
}

// follow applies changes to a document, from the last that brings it whole.
func follow(data document.Value, changes []*Change) (document.Value, error) {
	first := 0
	for i, c := range changes {
		if c.Data != nil {
			first = i
		}
	}
	for _, c := range changes[first:] {
		var err error
		if data, err = c.onto(data); err != nil {
			return data, fmt.Errorf("version %d: %w", c.Version, err)
		}
	}
	return data, nil
}

// EncodeChange writes a Change by hand, for it is on the path of every update.
func EncodeChange(c *Change) []byte {
	w := jsonobject.New(len(c.Patch) + len(c.Data) + 256)
	w.Open()
	w.Text("type", c.Type)
	w.Time("at", c.At)
	w.OptionalText("session_id", c.SessionID)
	w.OptionalText("session_name", c.SessionName)
	w.Text("actor", c.Actor)
	w.Integer("schema_version", c.SchemaVersion)
	w.Raw("patch", c.Patch)
	if c.Data != nil {
		w.Raw("data", c.Data)
	}
	w.Close()
	return w.Bytes()
}

func decodeChange(entry store.HistoryEntry) (*Change, error) {
	c := &Change{Version: entry.Version}
	if err := json.Unmarshal(entry.Data, c); err != nil {
		return nil, fault.From(fmt.Errorf("decode change: %w", err))
	}
	return c, nil
}
