package condition

import (
	"bytes"
	_ "embed"
)

//go:embed schema.json
var schemaText []byte

// WithSchema returns a JSON Schema with the definition of conditions, "callCondition", next to its own: behind
// the beginning of its "$defs".
func WithSchema(schema []byte) []byte {
	begin := []byte("\"$defs\": {\n")
	before, after, _ := bytes.Cut(schema, begin)
	_, definitions, _ := bytes.Cut(schemaText, begin)
	definitions = bytes.TrimSuffix(definitions, []byte("\n  }\n}\n"))
	return bytes.Join([][]byte{before, begin, definitions, []byte(",\n"), after}, nil)
}
