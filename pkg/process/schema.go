package process

import (
	_ "embed"
	"slices"
)

//go:embed process-schema.json
var schemaText []byte

// Schema returns the JSON Schema of processes, draft 2020-12, which the project publishes as
// /process-schema.json. It is for editors: Parse checks more.
func Schema() []byte { return slices.Clone(schemaText) }
