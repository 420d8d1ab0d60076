package jsonview

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// Component is the definition of a state component (S12).
type Component struct {
	ComponentID      string         `json:"component_id,omitzero" doc:"Absent from one that was created before there were ids, until its definition changes."`
	Slug             string         `json:"slug"`
	Name             string         `json:"name"`
	Description      string         `json:"description"`
	Tags             []string       `json:"tags"`
	SchemaDefinition jsontext.Value `json:"schema_definition" doc:"A map of properties, or a whole JSON Schema, as it was given."`
	Persistence      string         `json:"persistence" enum:"none,session,long_term" doc:"How long values live: one execution, until the session ends, or per subject across sessions."`
	InitialValues    jsontext.Value `json:"initial_values"`
	Version          int64          `json:"version" doc:"Of the definition; also the ETag."`
	CreatedAt        time.Time      `json:"created_at"`
	UpdatedAt        time.Time      `json:"updated_at"`
	Digest           string         `json:"digest,omitzero" doc:"Hex SHA-256 of the canonical JSON (RFC 8785) of the definition."`
	UpdatedBy        string         `json:"updated_by,omitzero" doc:"Who has stored this version."`
}

// ComponentOf returns the JSON of a component.
func ComponentOf(c *statev1.Component) Component {
	return Component{
		ComponentID: c.GetComponentId(), Slug: c.GetSlug(), Name: c.GetName(), Description: c.GetDescription(), Tags: c.GetTags(),
		SchemaDefinition: rawOf(c.GetSchemaDefinition()), Persistence: persistenceOf(c.GetPersistence()),
		InitialValues: objectOf(c.GetInitialValues()), Version: c.GetVersion(),
		CreatedAt: Time(c.GetCreatedAt()), UpdatedAt: Time(c.GetUpdatedAt()),
		Digest: c.GetDigest(), UpdatedBy: c.GetUpdatedBy(),
	}
}

// Execution is one use of a component's values (S12.3).
type Execution struct {
	ExecutionID string         `json:"execution_id,omitzero" doc:"Absent when values were only read."`
	Slug        string         `json:"slug"`
	Values      jsontext.Value `json:"values" doc:"A JSON object."`
	Version     int64          `json:"version" doc:"Of the values; 0 when none were kept yet."`
	Persistence string         `json:"persistence" enum:"none,session,long_term"`
	SessionID   string         `json:"session_id"`
	Subject     string         `json:"subject"`
	Unset       []string       `json:"unset" doc:"Fields that were never set: null for now."`
}

// ExecutionOf returns the JSON of an execution.
func ExecutionOf(e *statev1.Execution) Execution {
	return Execution{
		ExecutionID: e.GetExecutionId(), Slug: e.GetSlug(), Values: objectOf(e.GetValues()), Version: e.GetVersion(),
		Persistence: persistenceOf(e.GetPersistence()), SessionID: e.GetSessionId(), Subject: e.GetSubject(), Unset: e.GetUnset(),
	}
}

func persistenceOf(p statev1.Persistence) string { return lower(p.String(), "PERSISTENCE_") }

// objectOf returns a JSON object of a contract, which leaves out an empty one.
func objectOf(text []byte) jsontext.Value {
	if len(text) == 0 {
		return jsontext.Value("{}")
	}
	return text
}
