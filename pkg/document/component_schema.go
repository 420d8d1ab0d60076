package document

import (
	_ "embed"
	"slices"
)

//go:embed component-schema.json
var componentSchemaText []byte

// ComponentSchema returns the JSON Schema of components, draft 2020-12, which the project publishes as
// /component-schema.json. It is for editors: ParseComponent checks more.
func ComponentSchema() []byte { return slices.Clone(componentSchemaText) }
