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
}

// WorkflowOf returns the JSON of a workflow.
func WorkflowOf(w *enginev1.Workflow) Workflow {
	return Workflow{
		Name: w.GetName(), Version: w.GetVersion(), Digest: w.GetDigest(), Definition: rawOf(w.GetDefinition()),
		CreatedAt: Time(w.GetCreatedAt()), UpdatedAt: Time(w.GetCreatedAt()), CreatedBy: w.GetCreatedBy(),
	}
}
