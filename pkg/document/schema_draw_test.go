package document

import (
	"strconv"

	"pgregory.net/rapid"
)

// schemaDraw draws schemas of one draft, values that are likely to fit them, and
// changes of values. Names and values come from small sets, so that keywords
// meet.
type schemaDraw struct {
	t     *rapid.T
	draft string
	root  Value // of the schema, for references
}

var drafts = []string{
	"http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2019-09/schema",
	"https://json-schema.org/draft/2020-12/schema",
}

var drawnNames = []string{"a", "b", "c", "ab", "d"}

func (d schemaDraw) n(most int) int          { return rapid.IntRange(0, most).Draw(d.t, "n") }
func (d schemaDraw) chance(percent int) bool { return d.n(99) < percent }
func (d schemaDraw) name() string            { return drawnNames[d.n(len(drawnNames)-1)] }
func (d schemaDraw) number(most int) Value   { return NumberValue(strconv.Itoa(d.n(most))) }
func (d schemaDraw) is2020() bool            { return d.draft == drafts[2] }

func (d schemaDraw) names(most int) Value {
	var names []Value
	seen := map[string]bool{}
	for range d.n(most) {
		if name := d.name(); !seen[name] {
			seen[name] = true
			names = append(names, StringValue(name))
		}
	}
	return ArrayValue(names)
}

// drawSchema draws a whole schema.
func drawSchema(t *rapid.T) (Value, schemaDraw) {
	d := schemaDraw{t: t, draft: rapid.SampledFrom(drafts).Draw(t, "draft")}
	// A reference in place leads only down this list, so never in a circle.
	defs := []Member{
		{"tree", ObjectValue([]Member{
			{"type", StringValue("object")},
			{"properties", ObjectValue([]Member{{"a", d.ref("tree")}, {"b", d.schema(1, nil)}, {"c", d.schema(1, nil)}})},
		})},
		{"leaf", d.schema(1, nil)},
		{"list", d.schema(2, []string{"leaf", "tree"})},
	}
	members := []Member{{"$schema", StringValue(d.draft)}, {"definitions", ObjectValue(defs)}}
	add := func(name string, v Value) { members = append(members, Member{name, v}) }
	switch d.n(3) {
	case 0, 1:
		d.objectKeywords(add, 3)
	case 2:
		d.arrayKeywords(add, 3)
	}
	if top := d.schema(3, []string{"leaf", "list", "tree"}); top.Kind() == Object {
		members = append(members, top.copyMembers()...)
	}
	d.root = ObjectValue(members)
	return d.root, d
}

func (d schemaDraw) ref(name string) Value {
	return ObjectValue([]Member{{"$ref", StringValue("#/definitions/" + name)}})
}

// schema draws a schema that holds others at most depth levels deep. inPlace are
// the definitions that it may refer to for the same value.
func (d schemaDraw) schema(depth int, inPlace []string) Value {
	if d.chance(6) {
		return BoolValue(d.chance(70))
	}
	var members []Member
	add := func(name string, v Value) {
		for _, m := range members {
			if m.Name == name {
				return
			}
		}
		members = append(members, Member{name, v})
	}
	for range 1 + d.n(2) {
		switch kind := d.n(9); {
		case kind == 0 || depth == 0:
			d.scalarKeywords(add)
		case kind <= 3:
			d.objectKeywords(add, depth)
		case kind <= 6:
			d.arrayKeywords(add, depth)
		case kind == 7 && len(inPlace) > 0:
			add("$ref", StringValue("#/definitions/"+inPlace[d.n(len(inPlace)-1)]))
		default:
			d.inPlaceKeywords(add, depth, inPlace)
		}
	}
	return ObjectValue(members)
}

func (d schemaDraw) child(depth int) Value {
	return d.schema(depth-1, []string{"leaf", "list", "tree"})
}

func (d schemaDraw) scalarKeywords(add func(string, Value)) {
	switch d.n(9) {
	case 0:
		add("type", StringValue([]string{"integer", "number", "string", "boolean", "null", "object", "array"}[d.n(6)]))
	case 1:
		add("type", ArrayValue([]Value{StringValue("integer"), StringValue([]string{"string", "object", "array"}[d.n(2)])}))
	case 2:
		add("enum", ArrayValue([]Value{
			NumberValue("1"), StringValue("a"), ArrayValue([]Value{d.value(1)}), ObjectValue([]Member{{"a", d.value(1)}, {"b", d.value(0)}}),
		}))
	case 3:
		add("const", d.value(1))
	case 4:
		add("minimum", d.number(2))
		add("exclusiveMaximum", d.number(5))
	case 5:
		add("maximum", d.number(4))
		add("exclusiveMinimum", d.number(1))
	case 6:
		add("multipleOf", NumberValue([]string{"1", "2", "0.5", "1e-1"}[d.n(3)]))
	case 7:
		add("minLength", d.number(2))
		add("maxLength", d.number(3))
	case 8:
		add("pattern", StringValue([]string{"a", "^[ab]*$", "b$"}[d.n(2)]))
	default:
		add("format", StringValue([]string{"date", "ipv4", "regex"}[d.n(2)]))
	}
}

func (d schemaDraw) objectKeywords(add func(string, Value), depth int) {
	for range 1 + d.n(2) {
		switch d.n(11) {
		case 0, 1, 2:
			add("properties", d.schemas(depth, drawnNames))
		case 3:
			add("patternProperties", d.schemas(depth, []string{"^a", "b", "^[cd]$"}))
		case 4:
			add("additionalProperties", d.child(depth))
		case 5:
			add("additionalProperties", BoolValue(d.chance(30)))
		case 6:
			add("required", d.names(2))
		case 7:
			add("minProperties", d.number(2))
			add("maxProperties", NumberValue(strconv.Itoa(2+d.n(3))))
		case 8:
			if d.draft == drafts[0] {
				add("dependencies", ObjectValue([]Member{{d.name(), d.names(2)}, {d.name(), d.schema(depth-1, nil)}}))
				break
			}
			add("dependentRequired", ObjectValue([]Member{{d.name(), d.names(2)}}))
		case 9:
			if d.draft != drafts[0] {
				add("dependentSchemas", ObjectValue([]Member{{d.name(), d.schema(depth-1, nil)}}))
			}
		case 10:
			add("propertyNames", ObjectValue([]Member{{"maxLength", NumberValue("1")}}))
		default:
			if d.draft != drafts[0] && d.chance(50) {
				add("unevaluatedProperties", d.child(depth))
			}
		}
	}
}

func (d schemaDraw) schemas(depth int, names []string) Value {
	var members []Member
	for _, name := range names {
		if d.chance(50) {
			members = append(members, Member{name, d.child(depth)})
		}
	}
	return ObjectValue(members)
}

func (d schemaDraw) arrayKeywords(add func(string, Value), depth int) {
	list := "items"
	if d.is2020() {
		list = "prefixItems"
	}
	for range 1 + d.n(2) {
		switch d.n(9) {
		case 0, 1:
			add("items", d.child(depth))
		case 2, 9:
			add(list, ArrayValue([]Value{d.child(depth), d.child(depth), d.child(depth)}))
		case 3:
			add(list, ArrayValue([]Value{d.child(depth)}))
			if !d.is2020() {
				add("additionalItems", d.child(depth))
			}
		case 4:
			add("minItems", d.number(2))
			add("maxItems", NumberValue(strconv.Itoa(2+d.n(3))))
		case 5:
			add("uniqueItems", BoolValue(true))
		case 6:
			add("contains", d.child(depth))
		case 7:
			add("contains", d.child(depth))
			add("minContains", d.number(2))
			add("maxContains", d.number(3))
		default:
			if d.draft != drafts[0] && d.chance(50) {
				add("unevaluatedItems", d.child(depth))
			}
		}
	}
}

func (d schemaDraw) inPlaceKeywords(add func(string, Value), depth int, inPlace []string) {
	next := func() Value { return d.schema(depth-1, inPlace) }
	switch d.n(4) {
	case 0:
		add("allOf", ArrayValue([]Value{next(), next()}))
	case 1:
		add("anyOf", ArrayValue([]Value{next(), next()}))
	case 2:
		add("oneOf", ArrayValue([]Value{next(), next()}))
	case 3:
		add("not", next())
	default:
		add("if", next())
		if d.chance(80) {
			add("then", next())
		}
		if d.chance(60) {
			add("else", next())
		}
	}
}

// value draws any value.
func (d schemaDraw) value(depth int) Value {
	kind := d.n(9)
	switch {
	case kind < 4:
		return NumberValue([]string{"0", "1", "2", "3", "1.0", "1.5", "20e-1"}[d.n(6)])
	case kind < 6:
		return StringValue([]string{"", "a", "ab", "b", "(", "2026-11-21"}[d.n(5)])
	case kind == 6:
		return []Value{NullValue(), BoolValue(true), BoolValue(false)}[d.n(2)]
	case depth == 0:
		return []Value{ObjectValue(nil), ArrayValue(nil)}[d.n(1)]
	case kind == 7:
		var elements []Value
		for range d.n(4) {
			elements = append(elements, d.value(depth-1))
		}
		return ArrayValue(elements)
	default:
		var members []Member
		for range d.n(3) {
			members = append(members, Member{d.name(), d.value(depth - 1)})
		}
		return ObjectValue(members)
	}
}

// fitting draws a value that is likely to be valid against schema.
func (d schemaDraw) fitting(schema Value, depth int) Value {
	get := func(name string) Value { v, _ := schema.Get(name); return v }
	if depth == 0 || d.chance(5) {
		return d.value(1)
	}
	if ref := get("$ref"); ref.Kind() == String {
		target, _ := Lookup(d.root, ref.Str()[1:])
		return d.fitting(target, depth-1)
	}
	for _, name := range []string{"const", "enum", "allOf", "anyOf", "oneOf", "then"} {
		v := get(name)
		switch {
		case v.IsZero() || d.chance(20):
		case name == "const":
			return v
		case name == "enum":
			return v.Index(d.n(v.Len() - 1))
		case name == "then":
			return d.fitting(v, depth-1)
		default:
			return d.fitting(v.Index(d.n(v.Len()-1)), depth-1)
		}
	}
	switch {
	case schema.hasAny("items", "prefixItems", "contains", "uniqueItems", "minItems", "unevaluatedItems"):
		return d.fittingArray(schema, depth)
	case schema.hasAny("properties", "required", "patternProperties", "additionalProperties", "minProperties", "dependentRequired",
		"dependencies", "dependentSchemas", "propertyNames", "unevaluatedProperties"):
		return d.fittingObject(schema, depth)
	case schema.hasAny("minLength", "pattern", "format"):
		return StringValue([]string{"a", "ab", "b", "2026-11-21", "1.1.1.1"}[d.n(4)])
	case schema.hasAny("minimum", "maximum", "multipleOf"):
		return d.number(4)
	}
	return d.value(2)
}

func (d schemaDraw) fittingArray(schema Value, depth int) Value {
	items, _ := schema.Get("items")
	prefix, _ := schema.Get("prefixItems")
	if items.Kind() == Array {
		prefix = items
		items, _ = schema.Get("additionalItems")
	}
	if contains, ok := schema.Get("contains"); ok && d.chance(50) {
		items = contains
	}
	var elements []Value
	for i := range d.n(4) {
		of := items
		if i < prefix.Len() {
			of = prefix.Index(i)
		}
		elements = append(elements, d.fitting(of, depth-1))
	}
	return ArrayValue(elements)
}

func (d schemaDraw) fittingObject(schema Value, depth int) Value {
	properties, _ := schema.Get("properties")
	additional, _ := schema.Get("additionalProperties")
	required, _ := schema.Get("required")
	var members []Member
	add := func(name string) {
		of, declared := properties.Get(name)
		if !declared {
			of = additional
		}
		members = append(members, Member{name, d.fitting(of, depth-1)})
	}
	for _, name := range required.Elements() {
		add(name.Str())
	}
	for name := range properties.Members() {
		if d.chance(60) {
			add(name)
		}
	}
	if additional.Kind() != Bool && d.chance(40) {
		add(d.name())
	}
	return ObjectValue(members)
}

// changed draws a value made from v, which shares the unchanged parts with v.
// of is the schema, as far as it is known here.
func (d schemaDraw) changed(v, of Value, depth int) Value {
	get := func(name string) Value { s, _ := of.Get(name); return s }
	if v.Len() == 0 || depth == 0 || d.chance(10) {
		if v.Kind() == Object && d.chance(80) {
			return ObjectValue(append(v.copyMembers(), Member{d.name(), d.value(1)}))
		}
		if d.chance(50) {
			return d.fitting(of, 2)
		}
		return d.value(2)
	}
	if v.Kind() == Array {
		elements := append([]Value(nil), v.tree.elements...)
		i := d.n(len(elements) - 1)
		item := get("items")
		switch d.n(6) {
		case 0:
			elements = append(elements[:i], elements[i+1:]...)
		case 1:
			elements = append(elements[:i], append([]Value{d.fitting(item, 2)}, elements[i:]...)...)
		case 2:
			elements = append(elements, d.fitting(item, 2))
		case 3:
			j := d.n(len(elements) - 1)
			elements[i], elements[j] = elements[j], elements[i]
		default:
			elements[i] = d.changed(elements[i], item, depth-1)
		}
		return ArrayValue(elements)
	}
	members := v.copyMembers()
	i := d.n(len(members) - 1)
	switch d.n(7) {
	case 0:
		return ObjectValue(append(members[:i], members[i+1:]...))
	case 1:
		return ObjectValue(append(members, Member{d.name(), d.value(1)}))
	case 2:
		members[i].Name = d.name()
	case 3:
		j := d.n(len(members) - 1)
		members[i].Value, members[j].Value = members[j].Value, members[i].Value
	default:
		property, _ := get("properties").Get(members[i].Name)
		members[i].Value = d.changed(members[i].Value, property, depth-1)
	}
	return ObjectValue(members)
}
