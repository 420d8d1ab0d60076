// Package arguments describes the arguments of Interlock's own tools, and checks them.
package arguments

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
)

// Param is one argument of an own tool.
type Param struct {
	Name        string
	Kind        document.Kind // Missing for any value; a Number is a whole one
	Required    bool
	MaxBytes    int   // of a String, 0 for no limit of its own
	Max         int64 // of a Number, 0 for no limit of its own
	Each        Element
	Description string
	// Unnamed arguments are not the agent's to give: messages do not speak of them.
	Unnamed bool
}

// Element describes the elements of an Array.
type Element struct {
	Kind     document.Kind
	Max      int // how many, 0 for no limit of its own
	MaxBytes int // of each String
	// More of their JSON Schema, which is left to the code that reads them.
	More map[string]any
}

// schema returns the JSON Schema of an element.
func (e Element) schema() map[string]any {
	schema := map[string]any{"type": typeName(e.Kind)}
	maps.Copy(schema, e.More)
	return schema
}

// Schema returns the JSON Schema of an own tool's arguments. The SDK does not check
// Values against it: parseArguments does.
func Schema(params []Param) json.RawMessage {
	properties := make(map[string]any, len(params))
	required := []string{}
	for _, p := range params {
		property := map[string]any{"type": typeName(p.Kind), "description": p.Description}
		switch p.Kind {
		case document.Missing:
			delete(property, "type")
		case document.Array:
			property["items"] = p.Each.schema()
			if p.Each.Max > 0 {
				property["maxItems"] = p.Each.Max
			}
		case document.Number:
			property["minimum"] = 1
			if p.Max > 0 {
				property["maximum"] = p.Max
			}
		case document.String:
			if p.Required {
				property["minLength"] = 1
			}
		default:
		}
		properties[p.Name] = property
		if p.Required {
			required = append(required, p.Name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return raw
}

func typeName(kind document.Kind) string {
	switch kind {
	case document.Number:
		return "integer"
	case document.Bool:
		return "boolean"
	case document.Object:
		return "object"
	case document.Array:
		return "array"
	case document.Null:
		return "null"
	case document.Missing:
		return "any value"
	default:
		return "string"
	}
}

// Values are the checked arguments of an own tool.
type Values struct{ object document.Value }

// Text returns a text, empty when it is not given.
func (a Values) Text(name string) string {
	v, _ := a.object.Get(name)
	return v.Str()
}

// Flag returns a truth value, false when it is not given.
func (a Values) Flag(name string) bool {
	v, _ := a.object.Get(name)
	return v.Bool()
}

// Integer returns an integer, 0 when it is not given.
func (a Values) Integer(name string) int64 {
	v, ok := a.object.Get(name)
	if !ok {
		return 0
	}
	n, _ := v.Number().Int64()
	return n
}

// Value returns a member as it was written; false when it was left out.
func (a Values) Value(name string) (document.Value, bool) { return a.object.Get(name) }

// JSON returns a member as it was written; nil when it was left out.
func (a Values) JSON(name string) []byte {
	if v, ok := a.object.Get(name); ok {
		return v.AppendJSON(nil)
	}
	return nil
}

// Texts returns the elements of a list of strings.
func (a Values) Texts(name string) []string {
	list, _ := a.object.Get(name)
	var texts []string
	for _, v := range list.Elements() {
		texts = append(texts, v.Str())
	}
	return texts
}

// ownLimits leave room for a document of the full size and depth in an argument,
// and in the operation of a patch.
var ownLimits = document.Limits{Bytes: document.DefaultBytes + 4096, Depth: document.DefaultDepth + 3}

// Parse checks raw against params. The error names the argument and says
// a suggested fix.
func Parse(raw json.RawMessage, tool string, params []Param) (Values, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	object, problem := document.Parse(raw, ownLimits)
	if problem != nil {
		return Values{}, fmt.Errorf("the arguments of %s are not valid JSON: %s: %s", tool, problem.Code, At(problem))
	}
	if object.Kind() != document.Object {
		return Values{}, fmt.Errorf("the arguments of %s must be an object, not %s", tool, Article(object.Kind()))
	}
	for name := range object.Members() {
		if !known(params, name) {
			return Values{}, fmt.Errorf("%s has no argument %q; %s", tool, reply.Clip(name, 64), takesText(params))
		}
	}
	for _, p := range params {
		value, ok := object.Get(p.Name)
		if !ok {
			if p.Required {
				return Values{}, fmt.Errorf("%s needs the argument %q (%s): %s", tool, p.Name, typeName(p.Kind), p.Description)
			}
			continue
		}
		if err := p.check(value); err != nil {
			return Values{}, err
		}
	}
	return Values{object}, nil
}

func (p Param) check(value document.Value) error {
	if p.Kind != document.Missing && value.Kind() != p.Kind {
		mend := ""
		if value.Kind() == document.Null && !p.Required {
			mend = "; leave it out instead"
		}
		return fmt.Errorf("the argument %q must be %s, not %s%s", p.Name, articleOf(typeName(p.Kind)), Article(value.Kind()), mend)
	}
	switch p.Kind {
	case document.String:
		if p.Required && value.Str() == "" {
			return fmt.Errorf("the argument %q must not be empty", p.Name)
		}
		if p.MaxBytes > 0 && len(value.Str()) > p.MaxBytes {
			return fmt.Errorf("the argument %q is longer than %d bytes; shorten it", p.Name, p.MaxBytes)
		}
	case document.Number:
		if n, whole := value.Number().Int64(); !whole || n < 1 {
			return fmt.Errorf("the argument %q must be a whole number of at least 1", p.Name)
		} else if p.Max > 0 && n > p.Max {
			return fmt.Errorf("the argument %q must be at most %d", p.Name, p.Max)
		}
	case document.Array:
		return p.checkEach(value)
	default:
	}
	return nil
}

func (p Param) checkEach(list document.Value) error {
	if p.Each.Max > 0 && list.Len() > p.Each.Max {
		return fmt.Errorf("the argument %q must have at most %d elements, not %d", p.Name, p.Each.Max, list.Len())
	}
	for i, v := range list.Elements() {
		switch {
		case v.Kind() != p.Each.Kind:
			return fmt.Errorf("element %d of the argument %q must be %s, not %s", i, p.Name, articleOf(typeName(p.Each.Kind)), Article(v.Kind()))
		case p.Each.MaxBytes > 0 && len(v.Str()) > p.Each.MaxBytes:
			return fmt.Errorf("element %d of the argument %q is longer than %d bytes; shorten it", i, p.Name, p.Each.MaxBytes)
		}
	}
	return nil
}

func known(params []Param, name string) bool {
	return slices.ContainsFunc(params, func(p Param) bool { return p.Name == name })
}

func takesText(params []Param) string {
	var names []string
	for _, p := range params {
		if !p.Unnamed {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return "it takes none"
	}
	return "it takes " + strings.Join(names, ", ")
}

// Article returns a kind with its article, for sentences.
func Article(kind document.Kind) string {
	if kind == document.Number {
		return "a number"
	}
	return articleOf(typeName(kind))
}

func articleOf(noun string) string {
	switch {
	case noun == "null":
		return noun
	case strings.ContainsRune("aeio", rune(noun[0])):
		return "an " + noun
	}
	return "a " + noun
}

// At returns a problem with its place.
func At(p *document.Problem) string {
	if p.Pointer == "" {
		return p.Message
	}
	return p.Pointer + ": " + p.Message
}
