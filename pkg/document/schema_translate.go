package document

import (
	"math/big"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// translation turns the library's schemas into nodes, each once.
type translation struct {
	document    Value
	nodes       map[*jsonschema.Schema]*node
	order       []*node
	libraryOnly bool
}

func (t *translation) node(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	if n, ok := t.nodes[s]; ok {
		n.shared = true
		return n
	}
	n := &node{source: s}
	t.nodes[s] = n
	t.order = append(t.order, n)
	if s.Bool != nil {
		n.never = !*s.Bool
		return n
	}
	written, _ := Lookup(t.document, Pointer(segmentsAt(s.Location)...))
	n.types = typesOf(s.Types)
	if s.Const != nil {
		value, _ := written.Get("const")
		n.constant = newValueSet(ArrayValue([]Value{value}))
	}
	if s.Enum != nil {
		values, _ := written.Get("enum")
		n.values = newValueSet(values)
	}
	if s.Ref != nil {
		n.all = append(n.all, t.node(s.Ref))
		if s.DraftVersion < 2019 {
			return n // keywords next to a $ref are ignored; const is not, by the library
		}
	}
	n.all = append(n.all, t.list(s.AllOf)...)
	n.anyOf, n.oneOf, n.not = t.list(s.AnyOf), t.list(s.OneOf), t.node(s.Not)
	n.cond, n.then, n.otherwise = t.node(s.If), t.node(s.Then), t.node(s.Else)
	n.object, n.array, n.text, n.number = t.object(s), t.array(s), textOf(s), numberOf(s)
	t.forLibrary(n, s)
	explainNames(s)
	return n
}

func (t *translation) list(schemas []*jsonschema.Schema) []*node {
	var nodes []*node
	for _, s := range schemas {
		nodes = append(nodes, t.node(s))
	}
	return nodes
}

// either translates a keyword that holds a boolean or a schema.
func (t *translation) either(keyword any) *node {
	switch k := keyword.(type) {
	case bool:
		if !k {
			return &node{never: true, source: &jsonschema.Schema{Bool: new(bool)}}
		}
	case *jsonschema.Schema:
		return t.node(k)
	}
	return nil
}

func (t *translation) object(s *jsonschema.Schema) *objectNode {
	if s.MinProperties == nil && s.MaxProperties == nil && s.Required == nil && s.PropertyNames == nil && s.Properties == nil &&
		s.PatternProperties == nil && s.AdditionalProperties == nil && s.Dependencies == nil && s.DependentRequired == nil &&
		s.DependentSchemas == nil {
		return nil
	}
	o := &objectNode{
		additional: t.either(s.AdditionalProperties), names: t.node(s.PropertyNames), required: s.Required,
		least: limit(s.MinProperties, 0), most: limit(s.MaxProperties, -1),
	}
	if len(s.Properties) > 0 {
		o.properties = make(map[string]*node, len(s.Properties))
	}
	for name, property := range s.Properties {
		o.properties[name] = t.node(property)
	}
	for re, property := range s.PatternProperties {
		compiled, _ := re.(*pattern)
		o.patterns = append(o.patterns, patternNode{compiled, t.node(property)})
	}
	for name, dependency := range s.Dependencies {
		switch d := dependency.(type) {
		case []string:
			o.dependents = append(o.dependents, dependentNode{name: name, required: d})
		case *jsonschema.Schema:
			o.dependents = append(o.dependents, dependentNode{name: name, schema: t.node(d)})
		}
	}
	for name, required := range s.DependentRequired {
		o.dependents = append(o.dependents, dependentNode{name: name, required: required})
	}
	for name, schema := range s.DependentSchemas {
		o.dependents = append(o.dependents, dependentNode{name: name, schema: t.node(schema)})
	}
	return o
}

func (t *translation) array(s *jsonschema.Schema) *arrayNode {
	if s.MinItems == nil && s.MaxItems == nil && !s.UniqueItems && s.Contains == nil && s.Items == nil && s.AdditionalItems == nil &&
		s.PrefixItems == nil && s.Items2020 == nil {
		return nil
	}
	a := &arrayNode{
		least: limit(s.MinItems, 0), most: limit(s.MaxItems, -1), unique: s.UniqueItems,
		contains: t.node(s.Contains), fewest: limit(s.MinContains, 1), greatest: limit(s.MaxContains, -1),
	}
	if s.DraftVersion >= 2020 {
		a.prefix, a.rest = t.list(s.PrefixItems), t.node(s.Items2020)
		return a
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		a.rest = t.node(items)
	case []*jsonschema.Schema:
		a.prefix, a.rest = t.list(items), t.either(s.AdditionalItems)
	}
	return a
}

func limit(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

func textOf(s *jsonschema.Schema) *textNode {
	if s.MinLength == nil && s.MaxLength == nil && s.Pattern == nil && s.Format == nil {
		return nil
	}
	n := &textNode{least: limit(s.MinLength, 0), most: limit(s.MaxLength, -1)}
	n.pattern, _ = s.Pattern.(*pattern)
	if s.Format != nil {
		n.format = s.Format.Validate
	}
	return n
}

func numberOf(s *jsonschema.Schema) *numberNode {
	if s.Minimum == nil && s.Maximum == nil && s.ExclusiveMinimum == nil && s.ExclusiveMaximum == nil && s.MultipleOf == nil {
		return nil
	}
	return &numberNode{
		normalOf(s.Minimum), normalOf(s.Maximum), normalOf(s.ExclusiveMinimum), normalOf(s.ExclusiveMaximum), normalOf(s.MultipleOf),
	}
}

// normalOf turns a number back into one, exactly.
func normalOf(r *big.Rat) *normal {
	if r == nil {
		return nil
	}
	places, _ := r.FloatPrec()
	n := normalise(r.FloatString(places))
	return &n
}

// forLibrary notes the keywords whose meaning depends on more than the value:
// on annotations, or on the way that led here.
func (t *translation) forLibrary(n *node, s *jsonschema.Schema) {
	n.unevaluated, n.unevaluatedItems = t.node(s.UnevaluatedProperties), t.node(s.UnevaluatedItems)
	if s.DynamicRef != nil {
		n.dynamic = append(n.dynamic, t.node(s.DynamicRef.Ref))
	}
	if s.RecursiveRef != nil {
		n.dynamic = append(n.dynamic, t.node(s.RecursiveRef))
	}
	if n.unevaluated != nil || n.unevaluatedItems != nil || len(n.dynamic) > 0 || len(s.Extensions) > 0 ||
		s.ContentEncoding != nil || s.ContentMediaType != nil || s.ContentSchema != nil {
		t.libraryOnly = true
	}
}

// resolveDynamic finds the schemas that each dynamic reference may turn out to
// mean. The top schema is in every scope and outermost: when it has the anchor,
// it is the one.
func (t *translation) resolveDynamic(root *node, compiler *jsonschema.Compiler, anchors []string) error {
	if !slices.ContainsFunc(t.order, func(n *node) bool { return len(n.dynamic) > 0 }) {
		return nil
	}
	for _, pointer := range anchors {
		// Compiled already, and not always reachable in another way.
		s, err := compiler.Compile(schemaURL + "#" + percentEncoded(pointer))
		if err != nil {
			return err
		}
		t.node(s)
	}
	for _, n := range t.order {
		if ref := n.source.DynamicRef; ref != nil && ref.Anchor != "" && ref.Ref.DynamicAnchor == ref.Anchor {
			n.dynamic = t.anchored(root, func(s *jsonschema.Schema) bool { return s.DynamicAnchor == ref.Anchor })
		}
		if ref := n.source.RecursiveRef; ref != nil && ref.RecursiveAnchor {
			if !root.source.RecursiveAnchor {
				return &recursionError{n}
			}
			n.dynamic = []*node{root}
		}
	}
	return nil
}

// recursionError is a $recursiveRef that may turn out to mean any schema that
// the validation came through.
type recursionError struct{ node *node }

func (e *recursionError) Error() string {
	return `"$recursiveRef" leads to a schema with "$recursiveAnchor", and the document has none at its top; use "$ref", or draft 2020-12 with "$dynamicRef"`
}

func (t *translation) anchored(root *node, has func(*jsonschema.Schema) bool) []*node {
	if has(root.source) {
		return []*node{root}
	}
	var candidates []*node
	for _, n := range t.order {
		if has(n.source) {
			candidates = append(candidates, n)
		}
	}
	return candidates
}
