package verify

import (
	"math/big"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Values of a context that stand for any value that a caller may have set. They are
// distinct, because a join of branches compares earlier values with present ones.
var (
	freeByAgent  = document.StringValue("\x00interlock: any value, by the agent")
	freeByHuman  = document.StringValue("\x00interlock: any value, by a human")
	freeByResult = document.StringValue("\x00interlock: any value, by an invoked run")
)

// isFree reports a value that stands for any.
func isFree(v document.Value) bool {
	return v.Kind() == document.String && strings.HasPrefix(v.Str(), "\x00interlock: any value")
}

// resultsKey is where the engine keeps the results of invoked runs.
const resultsKey = "results"

// Bounds of the distinct values. Beyond them there is no decision.
const (
	mostSubsets    = 5   // operands of contains on one field
	mostOfField    = 512 // values of one field
	mostAssignment = 4096
)

// vocabulary has the values that the guards of a workflow can distinguish: of every key
// that they read, values such that any other value is judged by each guard as one of them
// is.
type vocabulary struct {
	keys    []string
	classes map[string][]document.Value
	// optional are the keys that a run may lack: those that its definition does not set.
	optional map[string]bool
	// traced are the keys of which a guard asks where their values come from.
	traced map[string]bool
	// reads are the keys that a guard reads, by its name.
	reads map[string][]string
	// coarse says which fields have values that could not all be distinguished.
	coarse []string
	trees  map[string]*tree
	guards []workflow.Guard
	parts  map[string]*vocabulary
}

// leaf is a comparison of a guard.
type leaf struct {
	field string
	op    condition.Operator
	value document.Value
	from  evidence.Source
}

func leavesOf(g *workflow.Guard, visit func(leaf)) {
	switch {
	case g.Evidence != "":
	case g.Not != nil:
		leavesOf(g.Not, visit)
	case len(g.All) > 0 || len(g.Any) > 0:
		for _, list := range [][]workflow.Guard{g.All, g.Any} {
			for i := range list {
				leavesOf(&list[i], visit)
			}
		}
	case g.Field != "":
		visit(leaf{g.Field, condition.Named(g.Op), g.Value, g.Source})
	}
}

// keysOf returns the top-level keys that a field may be found under.
func keysOf(field string) []string {
	path := workflow.FieldPath(field)
	if len(path) == 0 || path[0] == field {
		return []string{field}
	}
	return []string{field, path[0]}
}

func newVocabulary(m *workflow.Machine) *vocabulary {
	return vocabularyOf(m.Definition().Guards, m.Definition().Context)
}

// of returns the part of a vocabulary that some guards need.
func (v *vocabulary) of(guards []string) *vocabulary {
	name := strings.Join(guards, "\x00")
	if part, ok := v.parts[name]; ok {
		return part
	}
	var some []workflow.Guard
	for _, g := range v.guards {
		if slices.Contains(guards, g.Name) {
			some = append(some, g)
		}
	}
	part := vocabularyOf(some, document.Value{})
	for _, key := range part.keys {
		part.optional[key] = v.optional[key]
	}
	v.parts[name] = part
	return part
}

func vocabularyOf(guards []workflow.Guard, context document.Value) *vocabulary {
	v := &vocabulary{
		classes: map[string][]document.Value{}, optional: map[string]bool{}, traced: map[string]bool{},
		reads:  map[string][]string{},
		guards: guards, parts: map[string]*vocabulary{},
	}
	trees := map[string]*tree{}
	v.trees = trees
	for i := range guards {
		name := guards[i].Name
		leavesOf(&guards[i], func(l leaf) {
			for _, key := range keysOf(l.field) {
				if trees[key] == nil {
					trees[key] = &tree{}
					v.keys = append(v.keys, key)
				}
				path := workflow.FieldPath(l.field)
				if key == l.field {
					path = nil
				} else {
					path = path[1:]
				}
				trees[key].add(path, l)
				v.traced[key] = v.traced[key] || l.from.Meets(evidence.Observed)
				if !slices.Contains(v.reads[name], key) {
					v.reads[name] = append(v.reads[name], key)
				}
			}
		})
		slices.Sort(v.reads[name])
	}
	slices.Sort(v.keys)
	for _, key := range v.keys {
		_, set := context.Get(key)
		v.optional[key] = !set
		values := trees[key].values()
		v.classes[key] = trees[key].distinct(values)
		if trees[key].vague() || len(values) >= mostOfField {
			v.coarse = append(v.coarse, key)
		}
	}
	return v
}

// tree has the comparisons of guards at a key of the context, and below it.
type tree struct {
	leaves []leaf
	below  map[string]*tree
	names  []string
	coarse bool
}

func (t *tree) add(path []string, l leaf) {
	for _, name := range path {
		if t.below == nil {
			t.below = map[string]*tree{}
		}
		if t.below[name] == nil {
			t.below[name] = &tree{}
			t.names = append(t.names, name)
		}
		t = t.below[name]
	}
	t.leaves = append(t.leaves, l)
}

func (t *tree) vague() bool {
	return t.coarse || slices.ContainsFunc(t.names, func(name string) bool { return t.below[name].vague() })
}

// distinct keeps one of the values that no guard distinguishes.
func (t *tree) distinct(values []document.Value) []document.Value {
	seen := map[string]bool{}
	var kept []document.Value
	for _, v := range values {
		vector := string(t.vector(nil, v))
		if !seen[vector] {
			seen[vector] = true
			kept = append(kept, v)
		}
	}
	return kept
}

// vector returns the result of every comparison for a value.
func (t *tree) vector(dst []byte, v document.Value) []byte {
	for i := range t.leaves {
		if t.leaves[i].op.Holds(v, t.leaves[i].value) {
			dst = append(dst, '1')
		} else {
			dst = append(dst, '0')
		}
	}
	for _, name := range t.names {
		inner := workflow.LookupField(document.ObjectValue([]document.Member{{Name: "v", Value: v}}),
			"/v/"+document.EscapeSegment(name))
		dst = t.below[name].vector(dst, inner)
	}
	return dst
}

// values returns representatives of all values, of every kind of JSON.
func (t *tree) values() []document.Value {
	points := t.points()
	// Natural values come first: counterexamples show them.
	all := slices.Clone(points)
	all = append(all, t.numbers(points)...)
	all = append(all, t.texts(points)...)
	all = append(all, document.BoolValue(true), document.BoolValue(false), document.NullValue())
	all = append(all, t.lists(points)...)
	return append(all, t.objects(points)...)
}

// points returns the values that guards compare with.
func (t *tree) points() []document.Value {
	var points []document.Value
	for i := range t.leaves {
		l := &t.leaves[i]
		switch l.op {
		case condition.In:
			for _, e := range l.value.Elements() {
				points = append(points, e)
			}
		case condition.Eq, condition.Neq, condition.Gt, condition.Gte, condition.Lt, condition.Lte:
			points = append(points, l.value)
		default:
		}
	}
	return points
}

// numbers returns one below, one between and one above every number.
func (t *tree) numbers(points []document.Value) []document.Value {
	var at []*big.Rat
	for _, p := range points {
		if p.Kind() != document.Number {
			continue
		}
		if r, ok := new(big.Rat).SetString(string(p.Number())); ok {
			at = append(at, r)
		} else {
			t.coarse = true
		}
	}
	if len(at) == 0 {
		return []document.Value{document.NumberValue("1")}
	}
	slices.SortFunc(at, func(a, b *big.Rat) int { return a.Cmp(b) })
	one := big.NewRat(1, 1)
	all := []document.Value{t.number(new(big.Rat).Sub(at[0], one)), t.number(new(big.Rat).Add(at[len(at)-1], one))}
	for i := 1; i < len(at); i++ {
		if at[i-1].Cmp(at[i]) < 0 {
			middle := new(big.Rat).Add(at[i-1], at[i])
			all = append(all, t.number(middle.Quo(middle, big.NewRat(2, 1))))
		}
	}
	return all
}

func (t *tree) number(r *big.Rat) document.Value {
	for digits := 0; digits <= 1010; digits = max(1, digits*2) {
		text := r.FloatString(digits)
		if back, ok := new(big.Rat).SetString(text); ok && back.Cmp(r) == 0 {
			if v := document.NumberValue(text); !v.IsZero() {
				return v
			}
			break
		}
	}
	t.coarse = true
	return document.NumberValue("0")
}

// texts returns those that guards compare with, and between them; where they look for
// parts, those with any of the parts.
func (t *tree) texts(points []document.Value) []document.Value {
	var at, parts []string
	ordered := false
	for _, p := range points {
		if p.Kind() == document.String {
			at = append(at, p.Str())
		}
	}
	for i := range t.leaves {
		switch l := &t.leaves[i]; l.op {
		case condition.Gt, condition.Gte, condition.Lt, condition.Lte:
			ordered = ordered || l.value.Kind() == document.String
		case condition.Contains:
			if l.value.Kind() == document.String && !slices.Contains(parts, l.value.Str()) {
				parts = append(parts, l.value.Str())
			}
		default:
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	if len(parts) > 0 {
		t.coarse = t.coarse || ordered || len(parts) > mostSubsets
		return textsWith(parts[:min(len(parts), mostSubsets)], at)
	}
	if len(at) == 0 {
		return []document.Value{document.StringValue("other")}
	}
	var all []document.Value
	if !ordered { // one other text is as good as any
		other := "other"
		for slices.Contains(at, other) {
			other += "x"
		}
		return []document.Value{document.StringValue(other)}
	}
	if at[0] != "" {
		all = append(all, document.StringValue(""))
	}
	for i, p := range at {
		for _, more := range []string{"x", "a", "0", " ", "\x00"} {
			if i == len(at)-1 || p+more < at[i+1] {
				all = append(all, document.StringValue(p+more))
				break
			}
		}
	}
	return all
}

// textsWith returns texts that have each set of parts and are none of those given.
func textsWith(parts, not []string) []document.Value {
	gap := string(unused(parts, "~|#;^@%&+ "))
	var all []document.Value
	for set := range 1 << len(parts) {
		text := ""
		for i, p := range parts {
			if set&(1<<i) != 0 {
				text += p + gap
			}
		}
		for slices.Contains(not, text) || text == "" {
			text += gap
		}
		all = append(all, document.StringValue(text))
	}
	return all
}

// unused returns a character that none of some texts has: one of those that are preferred,
// if it can be.
func unused(texts []string, preferred string) rune {
	free := func(c rune) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return strings.ContainsRune(text, c) })
	}
	for _, c := range preferred {
		if free(c) {
			return c
		}
	}
	c := rune('!')
	for !free(c) { // texts are finite
		c++
	}
	return c
}

// lists have each set of the elements that guards look for.
func (t *tree) lists(points []document.Value) []document.Value {
	var parts []document.Value
	for i := range t.leaves {
		if l := &t.leaves[i]; l.op == condition.Contains && !slices.ContainsFunc(parts,
			func(v document.Value) bool { return document.Equal(v, l.value) }) {
			parts = append(parts, l.value)
		}
	}
	if len(parts) > mostSubsets {
		t.coarse, parts = true, parts[:mostSubsets]
	}
	if len(parts) > 0 && slices.ContainsFunc(t.names, isIndex) {
		t.coarse = true // a list whose elements are looked for and looked into
	}
	var all []document.Value
	for set := range 1 << len(parts) {
		var elements []document.Value
		for i, p := range parts {
			if set&(1<<i) != 0 {
				elements = append(elements, p)
			}
		}
		list := document.ArrayValue(elements)
		for among(points, list) {
			elements = append(elements, document.StringValue("\x00other"))
			list = document.ArrayValue(slices.Clone(elements))
		}
		all = append(all, list)
	}
	return all
}

func isIndex(name string) bool { return name != "" && strings.Trim(name, "0123456789") == "" }

func among(points []document.Value, v document.Value) bool {
	return slices.ContainsFunc(points, func(p document.Value) bool { return document.Equal(p, v) })
}

// objects have each set of the keys that guards look for, and below them all that guards
// look into.
func (t *tree) objects(points []document.Value) []document.Value {
	var keys []string
	for i := range t.leaves {
		l := &t.leaves[i]
		if key := l.value.Str(); l.op == condition.Contains && l.value.Kind() == document.String && t.below[key] == nil &&
			!slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) > mostSubsets {
		t.coarse, keys = true, keys[:mostSubsets]
	}
	all := [][]document.Member{nil}
	extend := func(name string, values []document.Value) {
		before := all
		for _, v := range values {
			for _, members := range before {
				if len(all) >= mostOfField {
					t.coarse = true
					return
				}
				all = append(all, append(slices.Clone(members), document.Member{Name: name, Value: v}))
			}
		}
	}
	for _, key := range keys {
		extend(key, []document.Value{document.BoolValue(true)})
	}
	for _, name := range t.names {
		extend(name, t.below[name].distinct(t.below[name].values()))
	}
	var objects []document.Value
	for _, members := range all {
		v := document.ObjectValue(members)
		for n := 0; among(points, v); n++ {
			members = append(members, document.Member{Name: "other" + strings.Repeat("x", n), Value: document.NullValue()})
			v = document.ObjectValue(slices.Clone(members))
		}
		objects = append(objects, v)
	}
	return objects
}

// tracing reports that a guard asks where a value comes from.
func (v *vocabulary) tracing() bool {
	return slices.ContainsFunc(v.keys, func(key string) bool { return v.traced[key] })
}

// restrict returns a context without unread keys.
func (v *vocabulary) restrict(context document.Value) document.Value {
	var kept []document.Member
	for _, key := range v.keys {
		if value, ok := context.Get(key); ok {
			kept = append(kept, document.Member{Name: key, Value: value})
		}
	}
	return document.ObjectValue(kept)
}

// anything returns data that sets every key to any value, but for those that it keeps.
func (v *vocabulary) anything(keep []string) document.Value {
	var members []document.Member
	for _, key := range v.keys {
		if !slices.Contains(keep, key) {
			members = append(members, document.Member{Name: key, Value: freeByAgent})
		}
	}
	return document.ObjectValue(members)
}

// assigned is a key with the value that is taken for it; a missing one is not there. of
// distinguishes the values that matter there.
type assigned struct {
	key   string
	value document.Value
	of    *tree
}

// agrees reports that another value of the key is judged in the same way.
func (a *assigned) agrees(v document.Value) bool {
	if a.of == nil || a.value.IsZero() || v.IsZero() {
		return a.value.IsZero() == v.IsZero() && (v.IsZero() || document.Equal(a.value, v))
	}
	return string(a.of.vector(nil, a.value)) == string(a.of.vector(nil, v))
}

// assignments returns all choices of values for the keys of a context that have any
// value.
func (v *vocabulary) assignments(context document.Value, guards []string) (all [][]assigned, complete bool) {
	all = [][]assigned{nil}
	if len(guards) == 0 {
		return all, true
	}
	v = v.of(guards)
	for _, key := range v.keys {
		if held, ok := context.Get(key); !ok || !isFree(held) {
			continue
		}
		values := v.classes[key]
		if v.optional[key] {
			values = append(slices.Clone(values), document.Value{})
		}
		if len(all)*len(values) > mostAssignment {
			return all, false
		}
		next := make([][]assigned, 0, len(all)*len(values))
		for _, before := range all {
			for _, value := range values {
				next = append(next, append(slices.Clip(before), assigned{key, value, v.trees[key]}))
			}
		}
		all = next
	}
	return all, true
}

// with returns a context in which values were chosen.
func with(context document.Value, chosen []assigned) document.Value {
	if len(chosen) == 0 {
		return context
	}
	members := make([]document.Member, 0, context.Len())
	for name, v := range context.Members() {
		i := slices.IndexFunc(chosen, func(a assigned) bool { return a.key == name })
		switch {
		case i < 0 || !isFree(v): // known values are not chosen
			members = append(members, document.Member{Name: name, Value: v})
		case !chosen[i].value.IsZero():
			members = append(members, document.Member{Name: name, Value: chosen[i].value})
		}
	}
	return document.ObjectValue(members)
}

// ReadsResults reports that a guard reads the results of invoked runs.
func ReadsResults(m *workflow.Machine) bool {
	return newVocabulary(m).trees[resultsKey] != nil
}

// TracedKeys returns the keys of which a guard asks where their values come from.
func TracedKeys(m *workflow.Machine) (keys []string) {
	words := newVocabulary(m)
	for _, key := range words.keys {
		if words.traced[key] {
			keys = append(keys, key)
		}
	}
	return keys
}
