package mcp

import "github.com/interlock-run/interlock/pkg/document"

// stateToolTable lists the tools for the state that a tree of sessions shares
// (S10). None takes the id of a state or a session: those are the connection's.
var stateToolTable = []*ownTool{
	{
		name: "state_create", title: "Create the shared state", shares: true,
		description: "Creates the workflow state that this session shares with the sessions started below it from then on: " +
			"a JSON document that conforms to a registered schema. Only the root of a tree creates it, once.",
		params: []param{
			{name: "schema_name", kind: document.String, required: true, maxBytes: 256, description: "The schema that the state conforms to, for good."},
			{name: "schema_version", kind: document.Number, description: "A version of the schema; the latest by default."},
			{name: "initial_data", required: true, description: "The document: JSON itself, not a string of JSON."},
		},
		run: (*Server).stateCreate,
	},
	{
		name: "state_read", title: "Read the shared state", readOnly: true, shares: true,
		description: "The workflow state that this session shares, with its version, or only the parts that pointers name.",
		params: []param{
			{
				name: "pointers", kind: document.Array, each: element{kind: document.String, max: maxPointers, maxBytes: maxPointer},
				description: "JSON Pointers (RFC 6901) of the parts that are wanted, such as /tasks/0/status; the whole state by default.",
			},
			{name: "version", kind: document.Number, description: "The state as it was at this version; as it is by default."},
		},
		run: (*Server).stateRead,
	},
	{
		name: "state_patch", title: "Patch the shared state", destructive: true, shares: true,
		description: "Applies a JSON Patch (RFC 6902) to the shared workflow state as it is then: all operations or none. " +
			"What other sessions change at the same time is kept, so prefer it to state_update.",
		params: []param{
			{
				name: "operations", kind: document.Array, required: true, each: element{kind: document.Object, more: operationSchema},
				description: `The operations, such as {"op": "replace", "path": "/tasks/0/status", "value": "done"}.`,
			},
			expectedVersion,
		},
		run: (*Server).statePatch,
	},
	{
		name: "state_update", title: "Replace the shared state", destructive: true, shares: true,
		description: "Replaces the whole shared workflow state. Without expected_version it overwrites what others have changed since it was read.",
		params: []param{
			{name: "data", required: true, description: "The new document: JSON itself, not a string of JSON."},
			expectedVersion,
		},
		run: (*Server).stateUpdate,
	},
	{
		name: "state_schema", title: "Schema of the shared state", readOnly: true, shares: true,
		description: "The JSON Schema that the shared workflow state conforms to, and the version that the state is at.",
		run:         (*Server).stateSchema,
	},
}

var expectedVersion = param{
	name: "expected_version", kind: document.Number,
	description: "The version that this change is based on: refused when the state is at another one.",
}

// operationSchema is what clients are told of an operation. The state-store reads
// operations, and names what is wrong with one.
var operationSchema = map[string]any{
	"properties": map[string]any{
		"op":    map[string]any{"type": "string", "enum": []string{"add", "remove", "replace", "move", "copy", "test"}},
		"path":  map[string]any{"type": "string", "description": "JSON Pointer of the place; /list/- is behind the last element."},
		"from":  map[string]any{"type": "string", "description": "JSON Pointer, of move and copy."},
		"value": map[string]any{"description": "JSON value, of add, replace and test."},
	},
	"required": []string{"op", "path"},
}

// Limits of pointers, as the contract has them.
const (
	maxPointers = 256
	maxPointer  = 4096
)
