package document

import (
	"slices"
	"strconv"
	"strings"
)

// Bounds of a schema's text. They are far beyond schemas that people write, and keep the
// compiler, which is quadratic in some of them, fast.
const (
	maxSubschemas  = 5_000  // objects and booleans, as each may be a subschema
	maxSchemaItems = 50_000 // values of any kind
	maxSchemaDepth = DefaultDepth
	maxSchemaLists = 1_000 // lists and objects in one list
	maxElsewhere   = 500   // places where only a $ref says that there is a schema
)

// Keywords that hold schemas, and how.
var (
	schemaMaps  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemaHolds = []string{
		"not", "if", "then", "else", "items", "additionalItems", "additionalProperties", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema",
	}
	refs   = []string{"$ref", "$dynamicRef", "$recursiveRef"}
	counts = []string{
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
	}
)

// schemaWalk looks at a schema before it is compiled. It follows only keywords that hold
// schemas: a $ref in an example or a const is data. The compiler checks the other targets
// of a $ref, which cannot fetch anything either.
type schemaWalk struct {
	report *Report
	place  func([]string) *Path
	engine *patternEngine
	ids    map[string]bool // declared inside: $id and $anchor
	// dynamicAnchors are the pointers of schemas with a $dynamicAnchor.
	dynamicAnchors []string
	schemas        map[string]bool        // pointers of the schemas found
	targets        map[string]bool        // pointers in references, or similar text
	lists          map[string]*writerList // by the pointers of their schemas

	values     int
	subschemas int
}

// look reports problems of the text of the schema.
func (w *schemaWalk) look(v Value) {
	w.ids, w.schemas, w.targets, w.lists = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]*writerList{}
	if !w.measure(v, nil, 0) {
		return
	}
	w.collect(v, nil)
	w.inspect(v, nil)
	elsewhere := 0
	for target := range w.targets {
		if !w.schemas[target] {
			elsewhere++
		}
	}
	if elsewhere > maxElsewhere {
		w.report.Errorf(w.place(nil), CodeBadSchema,
			"more than %d references lead to places that are not schemas themselves; move those to \"$defs\"", maxElsewhere)
	}
}

// measure counts the parts of the schema, wherever it stands: a $ref may make a schema of
// any part. It stops at the first bound that is crossed.
func (w *schemaWalk) measure(v Value, path []string, depth int) bool {
	if depth > maxSchemaDepth {
		w.report.Errorf(w.place(path[:1]), CodeTooDeep, "nests more than %d levels deep; flatten it", maxSchemaDepth)
		return false
	}
	w.values++
	if v.kind == Object || v.kind == Bool {
		w.subschemas++
	}
	if w.subschemas > maxSubschemas || w.values > maxSchemaItems {
		w.report.Errorf(w.place(nil), CodeBadSchema,
			"the schema has more than %d objects and booleans, or %d values; make it smaller, with \"$defs\" for repeated parts", maxSubschemas, maxSchemaItems)
		return false
	}
	lists := 0
	for i, e := range v.Elements() {
		if e.kind == Array || e.kind == Object {
			lists++
		}
		if lists > maxSchemaLists {
			w.report.Errorf(w.place(path), CodeBadSchema, "has more than %d lists and objects; make it shorter", maxSchemaLists)
			return false
		}
		if !w.measure(e, append(path, strconv.Itoa(i)), depth+1) {
			return false
		}
	}
	for name, m := range v.Members() {
		if slices.Contains(refs, name) && m.kind == String {
			if _, target, _ := strings.Cut(percentDecoded(m.text), "#"); strings.HasPrefix(target, "/") {
				w.targets[target] = true
			}
		}
		if !w.measure(m, append(path, name), depth+1) {
			return false
		}
	}
	return true
}

// collect learns which schemas, URLs and dynamic anchors the document declares.
func (w *schemaWalk) collect(v Value, path []string) {
	w.schemas[Pointer(path...)] = true
	for _, name := range []string{"$id", "$anchor", "$dynamicAnchor"} {
		if id, ok := v.Get(name); ok && id.Kind() == String {
			w.ids[strings.TrimSuffix(id.Str(), "#")] = true
			if name == "$dynamicAnchor" {
				w.dynamicAnchors = append(w.dynamicAnchors, Pointer(path...))
			}
		}
	}
	for _, child := range subschemas(v, path) {
		w.collect(child.Value, child.path)
	}
}

// inspect reports references that lead out of the document, patterns that do not
// compile and counts that the compiler would cut off.
func (w *schemaWalk) inspect(v Value, path []string) {
	at := func(name string) *Path { return w.place(append(path[:len(path):len(path)], name)) }
	for _, name := range refs {
		ref, ok := v.Get(name)
		if !ok {
			continue
		}
		if ref.Kind() != String && name == "$ref" {
			w.report.Errorf(at(name), CodeBadSchema, "\"$ref\" must be a string, not %s", article(ref.Kind()))
		} else if ref.Kind() == String && !w.inside(ref.Str()) {
			w.report.Errorf(at(name), CodeRemoteRef, "%s is outside this document and is never fetched; copy its target into \"$defs\"", Quote(ref.Str()))
		}
	}
	if meta, ok := v.Get("$schema"); ok && meta.Kind() == String && !metaSchemas[strings.TrimSuffix(meta.Str(), "#")] {
		w.report.Errorf(at("$schema"), CodeRemoteRef,
			"%s is not known here and is never fetched; use https://json-schema.org/draft/2020-12/schema", Quote(meta.Str()))
	}
	if list := readWriters(w.report, v, w.place(path)); list != nil {
		w.lists[Pointer(path...)] = list
	}
	if text, ok := v.Get("pattern"); ok && text.Kind() == String {
		w.pattern(text.Str(), at("pattern"))
	}
	if patterns, ok := v.Get("patternProperties"); ok {
		for text := range patterns.Members() {
			w.pattern(text, at("patternProperties").Key(text))
		}
	}
	for _, name := range counts {
		if n, ok := v.Get(name); ok && n.Number().IsInteger() {
			if _, fits := n.Number().Int64(); !fits {
				w.report.Errorf(at(name), CodeBadSchema, "%s is beyond 64 bits; write a smaller number, or leave it out", Quote(name))
			}
		}
	}
	for _, child := range subschemas(v, path) {
		w.inspect(child.Value, child.path)
	}
}

func (w *schemaWalk) pattern(text string, at *Path) {
	if _, err := w.engine.compilePattern(text); err != nil {
		w.report.Errorf(at, CodeBadSchema, "the pattern %s is not valid: %v", Quote(text), err)
	}
}

func (w *schemaWalk) inside(ref string) bool {
	base, _, _ := strings.Cut(ref, "#")
	return base == "" || w.ids[base]
}

type subschema struct {
	Value Value
	path  []string
}

// subschemas lists the schemas that v holds directly.
func subschemas(v Value, path []string) []subschema {
	var all []subschema
	add := func(child Value, segments ...string) {
		if child.Kind() == Object {
			all = append(all, subschema{child, append(path[:len(path):len(path)], segments...)})
		}
	}
	for _, name := range schemaMaps {
		m, _ := v.Get(name)
		for key, child := range m.Members() {
			add(child, name, key)
		}
	}
	for _, name := range schemaLists {
		list, _ := v.Get(name)
		for i, child := range list.Elements() {
			add(child, name, strconv.Itoa(i))
		}
	}
	for _, name := range schemaHolds {
		child, _ := v.Get(name)
		add(child, name)
	}
	return all
}
