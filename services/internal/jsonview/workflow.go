package jsonview

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Workflow is one immutable version of a workflow definition (S1.6).
type Workflow struct {
	Name       string         `json:"name"`
	Version    int64          `json:"version"`
	Digest     string         `json:"digest" doc:"Hex SHA-256 of the canonical JSON (RFC 8785)."`
	Definition jsontext.Value `json:"definition,omitzero" doc:"The definition as it was written. Not in lists."`
	CreatedAt  time.Time      `json:"created_at"`
	UpdatedAt  time.Time      `json:"updated_at" doc:"The same as created_at: a version never changes."`
	CreatedBy  string         `json:"created_by"`
	// LiveVersion and Retired are of the name, as of the answer.
	LiveVersion int64       `json:"live_version,omitzero" doc:"The version that new runs get; absent when none is live yet."`
	Retired     *Retirement `json:"retired,omitzero" doc:"Set when no new runs are started."`
}

// Retirement is the end of the new runs of a workflow or process, or of the new states of a schema.
type Retirement struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitzero"`
}

func retirementOf(r *enginev1.Retirement) *Retirement {
	if r == nil {
		return nil
	}
	return &Retirement{At: Time(r.GetAt()), By: r.GetBy(), Reason: r.GetReason()}
}

// WorkflowOf returns the JSON of a workflow.
func WorkflowOf(w *enginev1.Workflow) Workflow {
	return Workflow{
		Name: w.GetName(), Version: w.GetVersion(), Digest: w.GetDigest(), Definition: rawOf(w.GetDefinition()),
		CreatedAt: Time(w.GetCreatedAt()), UpdatedAt: Time(w.GetCreatedAt()), CreatedBy: w.GetCreatedBy(),
		LiveVersion: w.GetLiveVersion(), Retired: retirementOf(w.GetRetired()),
	}
}
