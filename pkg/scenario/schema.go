package scenario

import (
	_ "embed"
	"slices"
)

//go:embed scenario-schema.json
var schemaText []byte

// Schema returns the JSON Schema of scenario files, draft 2020-12, which the project publishes as
// /scenario-schema.json. It is for editors: Parse checks more.
func Schema() []byte { return slices.Clone(schemaText) }
