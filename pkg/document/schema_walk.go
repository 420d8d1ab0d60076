package document

import (
	"strconv"
	"strings"
)

// Bounds of a schema. Applying one can cost exponentially more than its text:
// an allOf that names the same definition twice, ten times over.
const (
	maxSchemaCost  = 10_000 // subschemas applied to one and the same value
	maxSchemaDepth = 64
)

// Keywords that hold schemas, and how.
var (
	schemaMaps  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemaHolds = []string{
		"not", "if", "then", "else", "items", "additionalItems", "additionalProperties", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema",
	}
	// inPlace apply to the same value as the schema that holds them.
	inPlace = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
	refs    = []string{"$ref", "$dynamicRef", "$recursiveRef"}
)

// schemaWalk looks at a schema before it is compiled. It follows only keywords
// that hold schemas: a $ref in an example or a const is data.
type schemaWalk struct {
	report *Report
	root   Value
	place  func([]string) *Path
	ids    map[string]bool // declared inside: $id and $anchor
}

// collect learns which URLs the document itself declares.
func (w *schemaWalk) collect(v Value, depth int) {
	if v.Kind() != Object || depth > maxSchemaDepth {
		return
	}
	for _, name := range []string{"$id", "id", "$anchor", "$dynamicAnchor"} {
		if id, ok := v.Get(name); ok && id.Kind() == String {
			w.ids[strings.TrimSuffix(id.Str(), "#")] = true
		}
	}
	for _, child := range subschemas(v, nil) {
		w.collect(child.Value, depth+1)
	}
}

// check reports references that lead out of the document.
func (w *schemaWalk) check(v Value, path []string, depth int) {
	if v.Kind() != Object || depth > maxSchemaDepth {
		return
	}
	for _, name := range refs {
		ref, ok := v.Get(name)
		if !ok {
			continue
		}
		at := w.place(append(path[:len(path):len(path)], name))
		if ref.Kind() != String && name == "$ref" {
			w.report.Errorf(at, CodeBadSchema, "\"$ref\" must be a string, not %s", article(ref.Kind()))
		} else if ref.Kind() == String && !w.inside(ref.Str()) {
			w.report.Errorf(at, CodeRemoteRef, "%s is outside of this document and is never fetched; copy what it names into \"$defs\"", Quote(ref.Str()))
		}
	}
	if meta, ok := v.Get("$schema"); ok && meta.Kind() == String {
		if _, known := metaSchemas[strings.TrimSuffix(meta.Str(), "#")]; !known {
			w.report.Errorf(w.place(append(path[:len(path):len(path)], "$schema")), CodeRemoteRef,
				"%s is not known here and is never fetched; use https://json-schema.org/draft/2020-12/schema", Quote(meta.Str()))
		}
	}
	for _, child := range subschemas(v, path) {
		w.check(child.Value, child.path, depth+1)
	}
}

func (w *schemaWalk) inside(ref string) bool {
	base, _, _ := strings.Cut(ref, "#")
	return base == "" || w.ids[base]
}

type subschema struct {
	Value   Value
	path    []string
	keyword string
}

// subschemas lists the schemas that v holds directly.
func subschemas(v Value, path []string) []subschema {
	var all []subschema
	add := func(child Value, keyword string, segments ...string) {
		if child.Kind() == Object {
			all = append(all, subschema{child, append(path[:len(path):len(path)], segments...), keyword})
		}
	}
	for _, name := range schemaMaps {
		m, _ := v.Get(name)
		for key, child := range m.Members() {
			add(child, name, name, key)
		}
	}
	for _, name := range schemaLists {
		list, _ := v.Get(name)
		for i, child := range list.Elements() {
			add(child, name, name, strconv.Itoa(i))
		}
	}
	for _, name := range schemaHolds {
		child, _ := v.Get(name)
		add(child, name, name)
	}
	return all
}

// cost counts the subschemas that apply to one value, following local
// references, and takes the most of any value below. A reference to itself
// counts once more than we allow.
func (w *schemaWalk) cost(v Value, known map[string]int, depth int) int {
	worst := w.inPlaceCost(v, known, depth)
	for _, child := range subschemas(v, nil) {
		if depth < maxSchemaDepth {
			worst = max(worst, w.cost(child.Value, known, depth+1))
		}
	}
	return worst
}

func (w *schemaWalk) inPlaceCost(v Value, known map[string]int, depth int) int {
	total := 1
	if v.Kind() != Object || depth > maxSchemaDepth {
		return total
	}
	for _, name := range refs {
		if ref, ok := v.Get(name); ok && ref.Kind() == String {
			total += w.refCost(ref.Str(), known, depth+1)
		}
	}
	for _, child := range subschemas(v, nil) {
		for _, name := range inPlace {
			if child.keyword == name {
				total += w.inPlaceCost(child.Value, known, depth+1)
			}
		}
		if total > maxSchemaCost {
			break
		}
	}
	return min(total, maxSchemaCost+1)
}

func (w *schemaWalk) refCost(ref string, known map[string]int, depth int) int {
	if cost, ok := known[ref]; ok {
		return cost
	}
	pointer, local := strings.CutPrefix(ref, "#")
	target, ok := Lookup(w.root, pointer)
	if !local || !ok {
		return 1 // an anchor, or nothing: the compiler says which
	}
	known[ref] = 1 // while we are at it: the compiler refuses endless cycles
	known[ref] = w.inPlaceCost(target, known, depth)
	return known[ref]
}
