package sdk

import (
	"context"
	"encoding/json"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// Op is one operation of a JSON Patch (RFC 6902). Paths are JSON Pointers (RFC 6901);
// values are JSON or values that encode to it.
type Op struct {
	kind  string
	path  string
	from  *string
	value any
}

// Patch is a JSON Patch (RFC 6902).
type Patch []Op

// Add sets a member, or inserts an element: "/list/-" appends.
func Add(path string, value any) Op { return Op{kind: "add", path: path, value: value} }

// Replace replaces an existing value.
func Replace(path string, value any) Op { return Op{kind: "replace", path: path, value: value} }

// Remove removes an existing value.
func Remove(path string) Op { return Op{kind: "remove", path: path} }

// Test lets the whole patch fail unless the value at path is value.
func Test(path string, value any) Op { return Op{kind: "test", path: path, value: value} }

// Move moves the value at from to path.
func Move(from, path string) Op { return Op{kind: "move", path: path, from: &from} }

// Copy copies the value at from to path.
func Copy(from, path string) Op { return Op{kind: "copy", path: path, from: &from} }

// MarshalJSON writes the operation as RFC 6902 has it.
func (o Op) MarshalJSON() ([]byte, error) {
	out := struct {
		Op    string          `json:"op"`
		From  *string         `json:"from,omitempty"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value,omitempty"`
	}{Op: o.kind, From: o.from, Path: o.path}
	switch o.kind {
	case "add", "replace", "test":
		value, err := encode("value of "+o.path, o.value)
		if err != nil {
			return nil, err
		}
		if out.Value = value; value == nil {
			out.Value = json.RawMessage("null")
		}
	}
	return json.Marshal(out)
}

// PatchState applies operations to a state, by default the session's: all or none, to the
// document as it is then, so that of concurrent patches none is lost (S10.3). The answer
// has no data. PATCH_FAILED when the operations do not apply, SCHEMA_VIOLATION when the
// result does not conform; the state has not changed then.
func (c *Client) PatchState(ctx context.Context, id string, ops Patch, opts ...ChangeOption) (State, error) {
	if ops == nil {
		ops = Patch{}
	}
	body, err := encode("patch", ops)
	if err != nil {
		return State{}, err
	}
	return c.write(ctx, &statev1.UpdateStateRequest{
		StateId: c.stateID(id), Change: &statev1.UpdateStateRequest_Patch{Patch: body},
	}, keyOf(opts))
}
