package bus

import _ "embed"

// AsyncAPI is the AsyncAPI 3 document of all events, with the JSON Schema of each. `make
// generate` writes it from the contract of events.
//
//go:embed asyncapi.json
var AsyncAPI []byte
