package document

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is a compiled JSON Schema, draft-07 to 2020-12 (S10.1). It is
// immutable and safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
}

// schemaURL is what the document is called inside the compiler.
const schemaURL = "urn:interlock:schema"

// metaSchemas are the `$schema` values that we know. Others would have to be
// fetched.
var metaSchemas = map[string]*jsonschema.Draft{
	"https://json-schema.org/draft/2020-12/schema": jsonschema.Draft2020,
	"https://json-schema.org/draft/2019-09/schema": jsonschema.Draft2019,
	"http://json-schema.org/draft-07/schema":       jsonschema.Draft7,
	"https://json-schema.org/draft-07/schema":      jsonschema.Draft7,
	"http://json-schema.org/schema":                jsonschema.Draft2020,
}

// CompileSchema compiles a schema. Its references must stay inside of it
// (REMOTE_REF); it must be valid against its metaschema and cheap enough to
// apply (BAD_SCHEMA). Nothing is ever fetched.
func CompileSchema(v Value) (*Schema, Problems) {
	var r Report
	s := compileSchema(&r, v, nil, nil)
	return s, r.Problems()
}

// compileSchema compiles v, which is the schema at a path of a document.
// inDocument turns a place in v into the place of the document where it was
// written; nil: v is at that path as it is.
func compileSchema(r *Report, v Value, at *Path, inDocument func([]string) *Path) *Schema {
	if inDocument == nil {
		inDocument = func(segments []string) *Path { return at.join(segments) }
	}
	before := len(r.problems)
	w := schemaWalk{report: r, root: v, place: inDocument, ids: map[string]bool{}}
	w.collect(v, 0)
	w.check(v, nil, 0)
	if len(r.problems) > before {
		return nil
	}
	if cost := w.cost(v, map[string]int{}, 0); cost > maxSchemaCost {
		r.Errorf(inDocument(nil), CodeBadSchema, "the schema applies more than %d subschemas to one value; make it simpler", maxSchemaCost)
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // knows no scheme: loads nothing
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(schemaURL, toAny(v)); err != nil {
		r.schemaError(err, inDocument)
		return nil
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		r.schemaError(err, inDocument)
		return nil
	}
	return &Schema{compiled: compiled}
}

func (p *Path) join(segments []string) *Path {
	for _, s := range segments {
		p = p.Key(s)
	}
	return p
}

// schemaError reports what the compiler says, at the place it names.
func (r *Report) schemaError(err error, place func([]string) *Path) {
	var invalid *jsonschema.SchemaValidationError
	var regex *jsonschema.InvalidRegexError
	var violation *jsonschema.ValidationError
	switch {
	case errors.As(err, &invalid) && errors.As(invalid.Err, &violation):
		// Deeper places say more.
		var deepest *jsonschema.ValidationError
		for _, leaf := range leaves(violation) {
			if deepest == nil || len(leaf.InstanceLocation) > len(deepest.InstanceLocation) {
				deepest = leaf
			}
		}
		r.Errorf(place(deepest.InstanceLocation), CodeBadSchema, "it is not a valid JSON Schema: %s", text(deepest))
	case errors.As(err, &regex):
		_, fragment, _ := strings.Cut(regex.URL, "#")
		r.Errorf(place(segmentsOf(fragment)), CodeBadSchema, "the pattern %s is not valid: %v", Quote(regex.Regex), regex.Err)
	default:
		message := strings.ReplaceAll(err.Error(), schemaURL, "")
		r.Errorf(place(segmentsOf(fragmentIn(message))), CodeBadSchema, "the schema does not compile: %s", shortenTo(message, 200))
	}
}

var quotedFragment = regexp.MustCompile(`"[^"#]*#(/[^"]*)"`)

func fragmentIn(message string) string {
	if m := quotedFragment.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

func segmentsOf(pointer string) []string {
	var segments []string
	for rest := pointer; rest != ""; {
		var s string
		s, rest = cutSegment(rest)
		if name, ok := UnescapeSegment(s); ok {
			segments = append(segments, name)
		}
	}
	return segments
}

var english = sync.OnceValue(func() *message.Printer { return message.NewPrinter(language.English) })

func text(e *jsonschema.ValidationError) string {
	return shortenTo(e.ErrorKind.LocalizedString(english()), 200)
}

func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// Validate reports every place of v that violates the schema
// (SCHEMA_VIOLATION), with pointers into v.
func (s *Schema) Validate(v Value) Problems {
	var r Report
	s.validate(&r, v, nil, nil)
	return r.Problems()
}

// validate reports violations below at, except those that skip admits.
func (s *Schema) validate(r *Report, v Value, at *Path, skip func([]string) bool) {
	err := s.compiled.Validate(toAny(v))
	if err == nil {
		return
	}
	var violation *jsonschema.ValidationError
	if !errors.As(err, &violation) {
		r.Errorf(at, CodeSchemaViolation, "%v", err)
		return
	}
	for _, leaf := range leaves(violation) {
		if skip == nil || !skip(leaf.InstanceLocation) {
			r.Errorf(at.join(leaf.InstanceLocation), CodeSchemaViolation, "%s", text(leaf))
		}
	}
}

// toAny gives the validator what it wants: numbers as exact text.
func toAny(v Value) any {
	switch v.kind {
	case Bool:
		return v.truth
	case Number:
		return json.Number(v.text)
	case String:
		return v.text
	case Array:
		elements := make([]any, 0, v.Len())
		for _, e := range v.Elements() {
			elements = append(elements, toAny(e))
		}
		return elements
	case Object:
		members := make(map[string]any, v.Len())
		for name, m := range v.Members() {
			members[name] = toAny(m)
		}
		return members
	default:
		return nil
	}
}

func shortenTo(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
