package workflow

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/interlock-run/interlock/pkg/condition"
)

// schemaText is the source of the published JSON Schema. A test holds it and the
// validator together.
//
//go:embed workflow-schema.json
var schemaText []byte

var schema = sync.OnceValue(func() []byte { return condition.WithSchema(schemaText) })

// Schema returns the JSON Schema of definitions, draft 2020-12, which the
// project publishes as /workflow-schema.json (S1.7). It is for editors: Parse
// checks all that it checks, and more.
func Schema() []byte { return slices.Clone(schema()) }
