package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// emptySchema accepts any object.
var emptySchema = json.RawMessage(`{"type":"object"}`)

// param is one argument of an own tool.
type param struct {
	name        string
	kind        document.Kind // Missing for any value; a Number is a whole one
	required    bool
	maxBytes    int   // of a String, 0 for no limit of its own
	max         int64 // of a Number, 0 for no limit of its own
	each        element
	description string
	// unnamed arguments are not the agent's to give: messages do not speak of them.
	unnamed bool
}

// element describes the elements of an Array.
type element struct {
	kind     document.Kind
	max      int // how many, 0 for no limit of its own
	maxBytes int // of each String
	// more of their JSON Schema, which is left to the code that reads them.
	more map[string]any
}

// schema returns the JSON Schema of an element.
func (e element) schema() map[string]any {
	schema := map[string]any{"type": typeName(e.kind)}
	maps.Copy(schema, e.more)
	return schema
}

// schemaOf returns the JSON Schema of an own tool's arguments. The SDK does not check
// arguments against it: parseArguments does.
func schemaOf(params []param) json.RawMessage {
	properties := make(map[string]any, len(params))
	required := []string{}
	for _, p := range params {
		property := map[string]any{"type": typeName(p.kind), "description": p.description}
		switch p.kind {
		case document.Missing:
			delete(property, "type")
		case document.Array:
			property["items"] = p.each.schema()
			if p.each.max > 0 {
				property["maxItems"] = p.each.max
			}
		case document.Number:
			property["minimum"] = 1
			if p.max > 0 {
				property["maximum"] = p.max
			}
		case document.String:
			if p.required {
				property["minLength"] = 1
			}
		default:
		}
		properties[p.name] = property
		if p.required {
			required = append(required, p.name)
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

// arguments are the checked arguments of an own tool.
type arguments struct{ object document.Value }

func (a arguments) str(name string) string {
	v, _ := a.object.Get(name)
	return v.Str()
}

func (a arguments) flag(name string) bool {
	v, _ := a.object.Get(name)
	return v.Bool()
}

func (a arguments) integer(name string) int64 {
	v, ok := a.object.Get(name)
	if !ok {
		return 0
	}
	n, _ := v.Number().Int64()
	return n
}

// value returns a member as it was written; false when it was left out.
func (a arguments) value(name string) (document.Value, bool) { return a.object.Get(name) }

// json returns a member as it was written; nil when it was left out.
func (a arguments) json(name string) []byte {
	if v, ok := a.object.Get(name); ok {
		return v.AppendJSON(nil)
	}
	return nil
}

// texts returns the elements of a list of strings.
func (a arguments) texts(name string) []string {
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

// parseArguments checks raw against params. The error names the argument and says
// a suggested fix.
func parseArguments(raw json.RawMessage, tool string, params []param) (arguments, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	object, problem := document.Parse(raw, ownLimits)
	if problem != nil {
		return arguments{}, fmt.Errorf("the arguments of %s are not valid JSON: %s: %s", tool, problem.Code, at(problem))
	}
	if object.Kind() != document.Object {
		return arguments{}, fmt.Errorf("the arguments of %s must be an object, not %s", tool, article(object.Kind()))
	}
	for name := range object.Members() {
		if !known(params, name) {
			return arguments{}, fmt.Errorf("%s has no argument %q; %s", tool, clip(name, 64), takes(params))
		}
	}
	for _, p := range params {
		value, ok := object.Get(p.name)
		if !ok {
			if p.required {
				return arguments{}, fmt.Errorf("%s needs the argument %q (%s): %s", tool, p.name, typeName(p.kind), p.description)
			}
			continue
		}
		if err := p.check(value); err != nil {
			return arguments{}, err
		}
	}
	return arguments{object}, nil
}

func (p param) check(value document.Value) error {
	if p.kind != document.Missing && value.Kind() != p.kind {
		mend := ""
		if value.Kind() == document.Null && !p.required {
			mend = "; leave it out instead"
		}
		return fmt.Errorf("the argument %q must be %s, not %s%s", p.name, articleOf(typeName(p.kind)), article(value.Kind()), mend)
	}
	switch p.kind {
	case document.String:
		if p.required && value.Str() == "" {
			return fmt.Errorf("the argument %q must not be empty", p.name)
		}
		if p.maxBytes > 0 && len(value.Str()) > p.maxBytes {
			return fmt.Errorf("the argument %q is longer than %d bytes; shorten it", p.name, p.maxBytes)
		}
	case document.Number:
		if n, whole := value.Number().Int64(); !whole || n < 1 {
			return fmt.Errorf("the argument %q must be a whole number of at least 1", p.name)
		} else if p.max > 0 && n > p.max {
			return fmt.Errorf("the argument %q must be at most %d", p.name, p.max)
		}
	case document.Array:
		return p.checkEach(value)
	default:
	}
	return nil
}

func (p param) checkEach(list document.Value) error {
	if p.each.max > 0 && list.Len() > p.each.max {
		return fmt.Errorf("the argument %q must have at most %d elements, not %d", p.name, p.each.max, list.Len())
	}
	for i, v := range list.Elements() {
		switch {
		case v.Kind() != p.each.kind:
			return fmt.Errorf("element %d of the argument %q must be %s, not %s", i, p.name, articleOf(typeName(p.each.kind)), article(v.Kind()))
		case p.each.maxBytes > 0 && len(v.Str()) > p.each.maxBytes:
			return fmt.Errorf("element %d of the argument %q is longer than %d bytes; shorten it", i, p.name, p.each.maxBytes)
		}
	}
	return nil
}

func known(params []param, name string) bool {
	return slices.ContainsFunc(params, func(p param) bool { return p.name == name })
}

func takes(params []param) string {
	var names []string
	for _, p := range params {
		if !p.unnamed {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return "it takes none"
	}
	return "it takes " + strings.Join(names, ", ")
}

func article(kind document.Kind) string {
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

// at returns a problem with its place.
func at(p *document.Problem) string {
	if p.Pointer == "" {
		return p.Message
	}
	return p.Pointer + ": " + p.Message
}

// clip shortens text for messages, at a character's boundary.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit] + "..."
}
