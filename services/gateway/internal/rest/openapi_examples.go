package rest

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// recordedExamples are one request and one answer of each operation that has JSON, by the
// operation's id, as a server gave them.
//
//go:embed openapi_examples.json
var recordedExamples []byte

type example struct{ Request, Response json.RawMessage }

// examples are the recorded ones. They are read when the document is first asked for.
var examples = sync.OnceValue(func() map[string]example {
	var all map[string]example
	if err := json.Unmarshal(recordedExamples, &all); err != nil {
		panic("rest: openapi_examples.json: " + err.Error()) // it is a part of the program, and tests read it
	}
	return all
})
