package consent

import (
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
)

// Kind is the kind of action that is asked for (S9.2).
type Kind string

// The kinds.
const (
	Transition  Kind = "transition"
	ToolCall    Kind = "tool_call"
	ProcessStep Kind = "process_step"
)

var kinds = []Kind{Transition, ToolCall, ProcessStep}

// Action is the exact act that is asked for.
type Action struct {
	Kind Kind
	// Subject identifies it but for its data: an object that names the run, its version,
	// and the event or the capability.
	Subject document.Value
	// Data goes with it, such as the data of an event or the input of a tool; may be
	// missing. An approver may edit it.
	Data document.Value
}

// Digest returns that of the whole action, in lower-case hexadecimal: equal for equal
// actions, however they are written.
func (a Action) Digest() string {
	members := []document.Member{{Name: "kind", Value: document.StringValue(string(a.Kind))}}
	for _, part := range []document.Member{{Name: "subject", Value: a.Subject}, {Name: "data", Value: a.Data}} {
		if !part.Value.IsZero() {
			members = append(members, part)
		}
	}
	return document.Digest(document.ObjectValue(members))
}

// With returns the same action with other data.
func (a Action) With(data document.Value) Action {
	a.Data = data
	return a
}

// Edit is an approver's change of the data (S9.4).
type Edit struct {
	// By is the approver's name.
	By   string
	Data document.Value
}

// Bound returns the action that the approval is for: as it was asked, or as edited.
func (a *Approval) Bound() Action {
	if a.Edit != nil {
		return a.Action.With(a.Edit.Data)
	}
	return a.Action
}

// Diff returns the changes of the edit to the data, and nil without an edit.
func (a *Approval) Diff() *document.Patch {
	if a.Edit == nil {
		return nil
	}
	before := a.Action.Data
	if before.IsZero() {
		before = document.ObjectValue(nil)
	}
	return document.Diff(before, a.Edit.Data)
}

// The stored forms: a document.Value is written as it is, and has to be read by
// the parser that keeps its numbers.
type (
	actionRecord struct {
		Kind    Kind            `json:"kind"`
		Subject json.RawMessage `json:"subject,omitempty"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	editRecord struct {
		By   string          `json:"by"`
		Data json.RawMessage `json:"data"`
	}
)

// MarshalJSON writes the stored form.
func (a Action) MarshalJSON() ([]byte, error) {
	return json.Marshal(actionRecord{a.Kind, raw(a.Subject), raw(a.Data)})
}

// UnmarshalJSON reads the stored form.
func (a *Action) UnmarshalJSON(text []byte) error {
	var r actionRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("stored action: %w", err)
	}
	subject, err := stored(r.Subject)
	if err != nil {
		return err
	}
	data, err := stored(r.Data)
	if err != nil {
		return err
	}
	*a = Action{r.Kind, subject, data}
	return nil
}

// MarshalJSON writes the stored form.
func (e Edit) MarshalJSON() ([]byte, error) { return json.Marshal(editRecord{e.By, raw(e.Data)}) }

// UnmarshalJSON reads the stored form.
func (e *Edit) UnmarshalJSON(text []byte) error {
	var r editRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("stored edit: %w", err)
	}
	data, err := stored(r.Data)
	if err != nil {
		return err
	}
	*e = Edit{r.By, data}
	return nil
}

// raw returns nil for a missing value, so that it is left out.
func raw(v document.Value) json.RawMessage {
	if v.IsZero() {
		return nil
	}
	return v.AppendJSON(nil)
}

// stored reads JSON that was stored, of any size.
func stored(text []byte) (document.Value, error) {
	if len(text) == 0 {
		return document.Value{}, nil
	}
	v, problem := document.Parse(text, document.Limits{Bytes: len(text) + 1})
	if problem != nil {
		return v, fmt.Errorf("stored JSON: %s", problem.Message)
	}
	return v, nil
}
