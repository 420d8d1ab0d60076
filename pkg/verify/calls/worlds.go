package calls

import (
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// mostWorlds bounds the combinations of results that are tried for one tool.
const mostWorlds = 4096

// worlds tries all results that the comparisons with a call can have (S21.20). A world chooses a class of arguments
// for every pointer, and a result for every comparison with another key. It is made while a call is
// judged, so that only comparisons that matter are in it.
type worlds struct {
	// known judges comparisons with facts that the exploration knows; it may be nil.
	known func(condition.Comparison, condition.Stance) (condition.Truth, bool)

	// vocabularies are those that were made before.
	vocabularies *vocabularies
	pointers     map[string]*vocabulary
	lookedAt     map[string]bool
	// found is true once a pointer has a comparison that its vocabulary lacks: all begins again.
	found bool

	choices, sizes []int
	at             int
	classes        map[string]condition.Class
	results        map[term]condition.Truth
	chosen         []chosen
	// texts are comparisons as they are written, which can be long.
	texts map[condition.Comparison]string
}

// vocabulary has the classes of one pointer.
type vocabulary struct {
	comparisons []condition.Comparison
	classes     []condition.Class
	complete    bool
}

// vocabularies keeps vocabularies, which many tools have in common.
type vocabularies struct{ made []*vocabulary }

// with returns the vocabulary with one more comparison than another, which may be nil.
func (all *vocabularies) with(before *vocabulary, c condition.Comparison) *vocabulary {
	v := &vocabulary{comparisons: []condition.Comparison{c}}
	if before != nil {
		v.comparisons = append(slices.Clone(before.comparisons), c)
	}
	for _, known := range all.made {
		if slices.Equal(known.comparisons, v.comparisons) {
			return known
		}
	}
	v.fill()
	all.made = append(all.made, v)
	return v
}

// fill lists the classes. Of those with the same results, it keeps the one that is shortest to write.
func (v *vocabulary) fill() {
	all, complete := condition.Classes(v.comparisons)
	v.complete = complete
	places := map[string]int{}
	for _, class := range all {
		key := v.results(class)
		at, known := places[key]
		switch {
		case !known:
			places[key] = len(v.classes)
			v.classes = append(v.classes, class)
		case len(class.Arguments.String()) < len(v.classes[at].Arguments.String()):
			v.classes[at] = class
		}
	}
}

// results writes the results of all comparisons with a class.
func (v *vocabulary) results(class condition.Class) string {
	var key []byte
	for _, c := range v.comparisons {
		if class.Open && c.Within() {
			key = append(key, '*')
			continue
		}
		for s := condition.Restricts; s <= condition.Allows; s++ {
			key = append(key, '0'+byte(c.Judge(class, s)))
		}
	}
	return string(key)
}

// term names a comparison whose result is chosen. Comparisons with the same text have the same result,
// except with time, whose windows each policy names.
type term struct {
	looks, text string
	of          condition.Comparison
	stance      condition.Stance
}

func (w *worlds) termOf(c condition.Comparison, s condition.Stance) term {
	t := term{looks: c.Looks(), stance: s}
	if t.looks == string(condition.Time) {
		t.of = c
		return t
	}
	text, written := w.texts[c]
	if !written {
		text = string(document.Canonical(c.Text()))
		if w.texts == nil {
			w.texts = map[condition.Comparison]string{}
		}
		w.texts[c] = text
	}
	t.text = text
	return t
}

// each calls visit in every world, until it returns false. It is false when there are more worlds than are tried.
func (w *worlds) each(visit func(condition.Chosen) bool) bool {
	w.pointers, w.lookedAt = map[string]*vocabulary{}, map[string]bool{}
	for n := 0; ; n++ {
		if n == mostWorlds {
			return false
		}
		w.chosen = nil
		w.at, w.found, w.classes, w.results = 0, false, map[string]condition.Class{}, map[term]condition.Truth{}
		going := visit(w.judge)
		switch {
		case w.found:
			w.choices, w.sizes, n = nil, nil, -1
			continue
		case !going || !w.next():
			return true
		}
	}
}

// next goes on to the next world, if there is one.
func (w *worlds) next() bool {
	for i := len(w.choices) - 1; i >= 0; i-- {
		if w.choices[i]++; w.choices[i] < w.sizes[i] {
			w.choices, w.sizes = w.choices[:i+1], w.sizes[:i+1]
			return true
		}
	}
	return false
}

// choose returns one of n.
func (w *worlds) choose(n int) int {
	if w.at == len(w.choices) {
		w.choices, w.sizes = append(w.choices, 0), append(w.sizes, n)
	}
	w.at++
	return w.choices[w.at-1]
}

// judge returns the result of a comparison in this world.
func (w *worlds) judge(c condition.Comparison, s condition.Stance) condition.Truth {
	if w.known != nil {
		if t, ok := w.known(c, s); ok {
			return t
		}
	}
	w.lookedAt[c.Looks()] = true
	if !c.Pointer() {
		return w.free(c, s)
	}
	v := w.pointers[c.Looks()]
	if v == nil || !slices.Contains(v.comparisons, c) {
		v = w.vocabularies.with(v, c)
		w.pointers[c.Looks()] = v
		w.found = true
	}
	switch {
	case w.found:
		return condition.Doubt // this world is tried again
	case !v.complete:
		return w.free(c, s)
	}
	class, chosen := w.classes[c.Looks()]
	if !chosen {
		class = v.classes[w.choose(len(v.classes))]
		w.classes[c.Looks()] = class
	}
	if class.Open && c.Within() {
		return w.free(c, s)
	}
	return c.Judge(class, s)
}

// free returns any result that agrees with those which were chosen before.
func (w *worlds) free(c condition.Comparison, s condition.Stance) condition.Truth {
	t := w.termOf(c, s)
	if result, chosen := w.results[t]; chosen {
		return result
	}
	all := []condition.Truth{condition.False}
	for _, t := range []condition.Truth{condition.Doubt, condition.True} {
		if !slices.ContainsFunc(w.chosen, func(other chosen) bool { return other.contradicts(c, s, t) }) {
			all = append(all, t)
		}
	}
	result := all[w.choose(len(all))]
	w.results[t] = result
	w.chosen = append(w.chosen, chosen{c, s, result})
	return result
}

// chosen is a comparison in its stance with its result in this world.
type chosen struct {
	condition.Comparison
	stance condition.Stance
	result condition.Truth
}

// contradicts reports that no call has this result and another one.
func (o *chosen) contradicts(c condition.Comparison, s condition.Stance, t condition.Truth) bool {
	switch {
	case o.result == condition.True && t == condition.True:
		return o.Excludes(o.stance, c, s)
	case o.result == condition.True && t == condition.Doubt:
		return o.Refutes(o.stance, c, s)
	case o.result == condition.Doubt && t == condition.True:
		return c.Refutes(s, o.Comparison, o.stance)
	default:
		return false
	}
}

// looks returns the pointers and facets of the comparisons that were made, sorted.
func (w *worlds) looks() []string {
	return slices.Sorted(maps.Keys(w.lookedAt))
}

// arguments returns some that have the classes of this world, as far as those agree, with others that a tool needs.
func (w *worlds) arguments(base document.Value) document.Value {
	if base.Kind() != document.Object {
		base = document.ObjectValue(nil)
	}
	for _, pointer := range slices.Sorted(maps.Keys(w.classes)) {
		if class := w.classes[pointer]; !class.Unread {
			base = joined(base, class.Arguments)
		}
	}
	return base
}

// joined returns a value with the members and elements of two; of others, the second.
func joined(a, b document.Value) document.Value {
	switch {
	case a.Kind() == document.Object && b.Kind() == document.Object:
		var members []document.Member
		for name, v := range a.Members() {
			if other, ok := b.Get(name); ok {
				v = joined(v, other)
			}
			members = append(members, document.Member{Name: name, Value: v})
		}
		for name, v := range b.Members() {
			if _, ok := a.Get(name); !ok {
				members = append(members, document.Member{Name: name, Value: v})
			}
		}
		return document.ObjectValue(members)
	case a.Kind() == document.Array && b.Kind() == document.Array && a.Len() > 0 && b.Len() > 0:
		var elements []document.Value
		for i := range max(a.Len(), b.Len()) {
			elements = append(elements, joined(a.Index(min(i, a.Len()-1)), b.Index(min(i, b.Len()-1))))
		}
		return document.ArrayValue(elements)
	default:
		return b
	}
}
