// Package bustest checks events against the document of all events.
package bustest

import (
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/interlock-run/interlock/pkg/document"
)

var (
	mu       sync.Mutex
	compiled = map[string]*document.Schema{}
)

// Valid reports to t when the payload of an event is not valid by the schema that the AsyncAPI document has for it.
func Valid(t testing.TB, asyncAPI, payload []byte) {
	t.Helper()
	name := gjson.GetBytes(payload, "entity").Str + "." + gjson.GetBytes(payload, "type").Str
	schema := schemaOf(t, asyncAPI, name)
	if schema == nil {
		t.Errorf("the document of events has no %s", name)
		return
	}
	value, problem := document.Parse(payload, document.Limits{})
	if problem != nil {
		t.Errorf("%s: %s", name, problem.Message)
		return
	}
	if problems := schema.Validate(value); problems.HasErrors() {
		t.Errorf("%s is not as its schema says: %v in %s", name, problems.Err(), payload)
	}
}

// schemaOf compiles the schema of an event; nil when there is none.
func schemaOf(t testing.TB, asyncAPI []byte, name string) *document.Schema {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if known := compiled[name]; known != nil {
		return known
	}
	schemas := gjson.GetBytes(asyncAPI, "components.schemas")
	if !schemas.Map()[name].Exists() {
		return nil
	}
	text := `{"$ref":"#/components/schemas/` + name + `","components":{"schemas":` + schemas.Raw + `}}`
	value, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem.Message)
	}
	schema, problems := document.CompileSchema(value)
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	compiled[name] = schema
	return schema
}
