package model

import (
	"math/big"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Tree has the comparisons of guards at a key of the context, and below it.
type Tree struct {
	Comparisons []Comparison
	below       map[string]*Tree
	names       []string
	coarse      bool
	// short are comparisons of conditions with the key of the context.
	short []condition.Comparison
	key   string
}

func (t *Tree) add(path []string, l Comparison) {
	for _, name := range path {
		if t.below == nil {
			t.below = map[string]*Tree{}
		}
		if t.below[name] == nil {
			t.below[name] = &Tree{}
			t.names = append(t.names, name)
		}
		t = t.below[name]
	}
	t.Comparisons = append(t.Comparisons, l)
}

// mixed reports a key that is compared in both forms.
func (t *Tree) mixed() bool { return len(t.short) > 0 && len(t.Comparisons)+len(t.names) > 0 }

func (t *Tree) vague() bool {
	return t.coarse || t.mixed() || slices.ContainsFunc(t.names, func(name string) bool { return t.below[name].vague() })
}

// distinct keeps one of the values that no guard distinguishes.
func (t *Tree) distinct(values []document.Value) []document.Value {
	seen := map[string]bool{}
	var kept []document.Value
	for _, v := range values {
		vector := string(t.Vector(nil, v))
		if !seen[vector] {
			seen[vector] = true
			kept = append(kept, v)
		}
	}
	return kept
}

// Vector returns the result of every comparison for a value.
func (t *Tree) Vector(dst []byte, v document.Value) []byte {
	for i := range t.Comparisons {
		if t.Comparisons[i].Op.Holds(v, t.Comparisons[i].Value) {
			dst = append(dst, '1')
		} else {
			dst = append(dst, '0')
		}
	}
	for _, name := range t.names {
		inner := workflow.LookupField(document.ObjectValue([]document.Member{{Name: "v", Value: v}}),
			"/v/"+document.EscapeSegment(name))
		dst = t.below[name].Vector(dst, inner)
	}
	return t.shortVector(dst, t.with(v))
}

// Values returns representatives of all values, of every kind of JSON.
func (t *Tree) Values() []document.Value {
	points := t.points()
	short := t.shortValues()
	// Natural values come first: counterexamples show them.
	all := append(slices.Clone(short), points...)
	all = append(all, t.numbers(points)...)
	all = append(all, t.texts(points)...)
	all = append(all, document.BoolValue(true), document.BoolValue(false), document.NullValue())
	all = append(all, t.lists(points)...)
	return append(all, t.objects(points)...)
}

// points returns the values that guards compare with.
func (t *Tree) points() []document.Value {
	var points []document.Value
	for i := range t.Comparisons {
		l := &t.Comparisons[i]
		switch l.Op {
		case condition.In:
			for _, e := range l.Value.Elements() {
				points = append(points, e)
			}
		case condition.Eq, condition.Neq, condition.Gt, condition.Gte, condition.Lt, condition.Lte:
			points = append(points, l.Value)
		default:
		}
	}
	return points
}

// numbers returns one below, one between and one above every number.
func (t *Tree) numbers(points []document.Value) []document.Value {
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

func (t *Tree) number(r *big.Rat) document.Value {
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
func (t *Tree) texts(points []document.Value) []document.Value {
	var at, parts []string
	ordered := false
	for _, p := range points {
		if p.Kind() == document.String {
			at = append(at, p.Str())
		}
	}
	for i := range t.Comparisons {
		switch l := &t.Comparisons[i]; l.Op {
		case condition.Gt, condition.Gte, condition.Lt, condition.Lte:
			ordered = ordered || l.Value.Kind() == document.String
		case condition.Contains:
			if l.Value.Kind() == document.String && !slices.Contains(parts, l.Value.Str()) {
				parts = append(parts, l.Value.Str())
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
	gap := string(UnusedRune(parts, "~|#;^@%&+ "))
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

// UnusedRune returns a character that none of some texts has: one of those that are preferred,
// if it can be.
func UnusedRune(texts []string, preferred string) rune {
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
func (t *Tree) lists(points []document.Value) []document.Value {
	var parts []document.Value
	for i := range t.Comparisons {
		if l := &t.Comparisons[i]; l.Op == condition.Contains && !slices.ContainsFunc(parts,
			func(v document.Value) bool { return document.Equal(v, l.Value) }) {
			parts = append(parts, l.Value)
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
func (t *Tree) objects(points []document.Value) []document.Value {
	var keys []string
	for i := range t.Comparisons {
		l := &t.Comparisons[i]
		if key := l.Value.Str(); l.Op == condition.Contains && l.Value.Kind() == document.String && t.below[key] == nil &&
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
		extend(name, t.below[name].distinct(t.below[name].Values()))
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
