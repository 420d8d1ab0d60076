package openapi

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Prefix begins references to schemas of the document.
const Prefix = "#/components/schemas/"

// Types of schemas.
const (
	Array   = "array"
	Boolean = "boolean"
	Integer = "integer"
	Number  = "number"
	Object  = "object"
	String  = "string"
)

// Schema is a JSON Schema: the keywords that the document needs.
type Schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // a bool or a *Schema
	Description          string             `json:"description,omitempty"`
	Enum                 []any              `json:"enum,omitempty"`
	Format               string             `json:"format,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	MaxItems             *int               `json:"maxItems,omitempty"`
	MaxLength            *int               `json:"maxLength,omitempty"`
	Maximum              *int               `json:"maximum,omitempty"`
	MinItems             *int               `json:"minItems,omitempty"`
	Minimum              *int               `json:"minimum,omitempty"`
	OneOf                []*Schema          `json:"oneOf,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Type                 Type               `json:"type,omitempty"`
}

// Type is the type of values; a second one is null.
type Type []string

// Nullable returns the type of values that may be null, too.
func (t Type) Nullable() Type { return Type{t[0], "null"} }

// MarshalJSON writes a single type as a string.
func (t Type) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// Of returns the schema of a type: string, integer and so on.
func Of(name string) *Schema { return &Schema{Type: Type{name}} }

// OneOf returns the schema of strings that have one of these values.
func OneOf(values []string) *Schema {
	s := Of(String)
	s.SetEnum(values)
	return s
}

// SetEnum makes these the only values.
func (s *Schema) SetEnum(values []string) {
	s.Enum = make([]any, len(values))
	for i, v := range values {
		s.Enum[i] = v
	}
}

// Custom is implemented by types whose schema is not that of their fields.
type Custom interface {
	// Schema returns the schema of the type.
	Schema(all *Schemas) *Schema
}

// Schemas are the schemas of named structs, by the names of their types.
type Schemas struct {
	ByName map[string]*Schema
	types  map[string]reflect.Type
}

// NewSchemas returns an empty set.
func NewSchemas() *Schemas {
	return &Schemas{ByName: map[string]*Schema{}, types: map[string]reflect.Type{}}
}

// Of returns the schema of a type: of a struct a reference to it, which is added with all that
// it refers to. It panics for types that JSON does not have, and when two structs have one name.
func (all *Schemas) Of(t reflect.Type) *Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if custom, ok := reflect.New(t).Interface().(Custom); ok {
		return custom.Schema(all)
	}
	switch {
	case t == reflect.TypeFor[jsontext.Value]():
		return &Schema{}
	case t == reflect.TypeFor[time.Time]():
		return &Schema{Type: Type{String}, Format: "date-time"}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return Of(String)
	case t.Kind() == reflect.Struct:
		return all.reference(t)
	}
	return all.plain(t)
}

// plain returns the schema of a type that is not a struct.
func (all *Schemas) plain(t reflect.Type) *Schema {
	switch t.Kind() {
	case reflect.Bool:
		return Of(Boolean)
	case reflect.Int32:
		return &Schema{Type: Type{Integer}, Format: "int32"}
	case reflect.Int, reflect.Int64:
		return &Schema{Type: Type{Integer}, Format: "int64"}
	case reflect.Uint32:
		return &Schema{Type: Type{Integer}, Format: "int32", Minimum: new(int)}
	case reflect.Uint, reflect.Uint64:
		return &Schema{Type: Type{Integer}, Format: "int64", Minimum: new(int)}
	case reflect.Float64:
		return &Schema{Type: Type{Number}, Format: "double"}
	case reflect.String:
		return Of(String)
	case reflect.Slice:
		return &Schema{Type: Type{Array}, Items: all.Of(t.Elem())}
	case reflect.Map:
		return &Schema{Type: Type{Object}, AdditionalProperties: all.Of(t.Elem())}
	default:
		panic(fmt.Sprintf("openapi: %v has no schema", t))
	}
}

// reference returns a reference to the schema of a struct.
func (all *Schemas) reference(t reflect.Type) *Schema {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if known := all.types[name]; known == nil {
		s := &Schema{Type: Type{Object}, AdditionalProperties: false, Properties: map[string]*Schema{}}
		all.types[name], all.ByName[name] = t, s // first, since it may refer to itself
		for _, f := range fields(t) {
			all.property(s, f)
		}
	} else if known != t {
		panic(fmt.Sprintf("openapi: both %v and %v are called %s", known, t, name))
	}
	return &Schema{Ref: Prefix + name}
}

// fields returns the fields of a struct: its own, then those of embedded structs, which an
// equal name hides.
func fields(t reflect.Type) []reflect.StructField {
	var own, embedded []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case !f.IsExported():
		case f.Anonymous && f.Tag.Get("json") == "":
			embedded = append(embedded, fields(f.Type)...)
		default:
			own = append(own, f)
		}
	}
	seen := map[string]bool{}
	var all []reflect.StructField
	for _, f := range append(own, embedded...) {
		if !seen[f.Name] {
			seen[f.Name] = true
			all = append(all, f)
		}
	}
	return all
}

// property adds a field to the schema of its struct. Tags of the field describe it: doc, enum,
// minimum, maximum, maxLength, minItems and maxItems.
func (all *Schemas) property(of *Schema, f reflect.StructField) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return
	}
	s := all.Of(f.Type)
	s.Description = cmp.Or(f.Tag.Get("doc"), s.Description)
	if enum := f.Tag.Get("enum"); enum != "" {
		target := s
		if s.Items != nil {
			target = s.Items
		}
		target.SetEnum(strings.Split(enum, ","))
	}
	for tag, into := range map[string]**int{
		"minimum": &s.Minimum, "maximum": &s.Maximum, "maxLength": &s.MaxLength, "minItems": &s.MinItems, "maxItems": &s.MaxItems,
	} {
		if text := f.Tag.Get(tag); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				panic(fmt.Sprintf("openapi: %s of %s: %v", tag, f.Name, err))
			}
			*into = &n
		}
	}
	of.Properties[name] = s
	if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
		of.Required = append(of.Required, name)
	}
}
