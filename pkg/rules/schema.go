package rules

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/interlock-run/interlock/pkg/condition"
)

//go:embed policy-schema.json
var schemaText []byte

var schema = sync.OnceValue(func() []byte { return condition.WithSchema(schemaText) })

// Schema returns the JSON Schema of policies, draft 2020-12, which the project publishes as
// /policy-schema.json. It is for editors: ParsePolicy checks more.
func Schema() []byte { return slices.Clone(schema()) }
