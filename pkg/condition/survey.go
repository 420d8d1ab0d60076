package condition

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
)

// Codes of warnings about conditions (S21.21).
const (
	CodeNeverTrue  document.Code = "NEVER_TRUE"
	CodeAlwaysTrue document.Code = "ALWAYS_TRUE"
)

// Placed is a clause with the stance of its place.
type Placed struct {
	Clause Clause
	Stance Stance
}

// applies returns whether the clause is about a call.
func (p Placed) applies(call Facts) Truth { return p.Clause.Applies(call, p.Stance) }

// Wants returns the pointers of the clause that put its comparisons in doubt when the arguments do not have them, each
// once, in the order written. It leaves out a pointer for which a comparison says what holds without it.
func (p Placed) Wants() []string {
	var all, optional []string
	p.applies(Chosen(func(c Comparison, stance Stance) Truth {
		switch {
		case !c.Pointer():
		case c.Judge(Class{Arguments: document.ObjectValue(nil)}, stance) != Doubt:
			optional = append(optional, c.Looks())
		case !slices.Contains(all, c.Looks()):
			all = append(all, c.Looks())
		}
		return Doubt
	}))
	return slices.DeleteFunc(all, func(pointer string) bool { return slices.Contains(optional, pointer) })
}

// mostSituations bounds a survey.
const mostSituations = 4096

// situation has the result of every comparison; clear is true when none is in doubt.
type situation struct {
	results map[*leaf]Truth
	clear   bool
}

// call returns a call in the situation.
func (s *situation) call() Facts {
	return Chosen(func(c Comparison, _ Stance) Truth { return s.results[c.leaf] })
}

// NeverApplies reports a clause that is about no call, whatever its values are. It is false where that is not known.
func NeverApplies(p Placed) bool {
	return survey([]Placed{p}, func(s *situation) bool { return p.applies(s.call()) != True })
}

// AlwaysApplies reports a clause that is about every call without doubt. It is false where that is not known.
func AlwaysApplies(p Placed) bool {
	clear := false
	return survey([]Placed{p}, func(s *situation) bool {
		clear = clear || s.clear
		return !s.clear || p.applies(s.call()) == True
	}) && clear
}

// Implies reports that each call that the first clause is about, one of the others is about as well, or may be. It is
// false where that is not known.
func Implies(p Placed, others []Placed) bool {
	return survey(append([]Placed{p}, others...), func(s *situation) bool {
		if p.applies(s.call()) != True {
			return true
		}
		for _, other := range others {
			if other.applies(s.call()) != False {
				return true
			}
		}
		return false
	})
}

// bounds reports a comparison of arguments with bounds.
func (c Comparison) bounds() bool {
	return c.Pointer() && slices.ContainsFunc(c.leaf.tests, func(x test) bool { return x.op == opGt || x.op == opGte || x.op == opLt || x.op == opLte })
}

// survey reports whether holds is true of every situation of clauses; false when there are too many. Comparisons
// with one pointer have the results that their classes of values have; a comparison with any other key can have any.
func survey(clauses []Placed, holds func(*situation) bool) bool {
	keys := keysOf(clauses)
	total := 1
	for _, k := range keys {
		if total *= len(k.ways); total > mostSituations {
			return false
		}
	}
	for n := range total {
		s := situation{results: map[*leaf]Truth{}, clear: true}
		for _, k := range keys {
			way := k.ways[n%len(k.ways)]
			n /= len(k.ways)
			for i, leaves := range k.leaves {
				for _, l := range leaves {
					s.results[l] = way[i]
				}
				s.clear = s.clear && way[i] != Doubt
			}
		}
		if !holds(&s) {
			return false
		}
	}
	return true
}

// surveyed is one key with the results that its comparisons can have together. Comparisons that are equal have one
// place.
type surveyed struct {
	leaves [][]*leaf
	ways   [][]Truth
}

// keysOf collects the comparisons of clauses by what they look at.
func keysOf(clauses []Placed) []*surveyed {
	type place struct {
		looks, text string
		stance      Stance
	}
	var order []string
	known := map[string][]Comparison{}
	stances := map[*leaf]Stance{}
	places := map[place][]*leaf{}
	for _, p := range clauses {
		p.applies(Chosen(func(c Comparison, stance Stance) Truth {
			at := place{c.Looks(), c.Text().String(), stance}
			if places[at] == nil {
				if known[at.looks] == nil {
					order = append(order, at.looks)
				}
				known[at.looks] = append(known[at.looks], c)
				stances[c.leaf] = stance
			}
			places[at] = append(places[at], c.leaf)
			return Doubt
		}))
	}
	keys := make([]*surveyed, 0, len(order))
	for _, looks := range order {
		all := known[looks]
		k := &surveyed{ways: waysOf(all, stances)}
		for _, c := range all {
			k.leaves = append(k.leaves, places[place{looks, c.Text().String(), stances[c.leaf]}])
		}
		keys = append(keys, k)
	}
	return keys
}

// waysOf returns the results that comparisons with one key can have together.
func waysOf(all []Comparison, stances map[*leaf]Stance) [][]Truth {
	if all[0].Pointer() {
		if classes, ok := Classes(all); ok {
			return ofClasses(all, stances, classes)
		}
	}
	return freeWays(make([]Truth, len(all)), 0, func(int) bool { return true })
}

// ofClasses returns the results that classes give, each once.
func ofClasses(all []Comparison, stances map[*leaf]Stance, classes []Class) (ways [][]Truth) {
	seen := map[string]bool{}
	for _, class := range classes {
		way := make([]Truth, len(all))
		for i, c := range all {
			way[i] = c.Judge(class, stances[c.leaf])
		}
		for _, way := range freeWays(way, 0, func(i int) bool { return class.Open && all[i].Within() }) {
			key := make([]byte, len(way))
			for i, t := range way {
				key[i] = byte(t)
			}
			if !seen[string(key)] {
				seen[string(key)] = true
				ways = append(ways, way)
			}
		}
	}
	return ways
}

// freeWays returns a list of results with every result at the places that are free. It stops where they are too
// many to be surveyed.
func freeWays(way []Truth, from int, free func(int) bool) (ways [][]Truth) {
	for i := from; i < len(way); i++ {
		if !free(i) {
			continue
		}
		for _, t := range []Truth{Doubt, False, True} {
			other := slices.Clone(way)
			other[i] = t
			if ways = append(ways, freeWays(other, i+1, free)...); len(ways) > mostSituations {
				return ways
			}
		}
		return ways
	}
	return [][]Truth{way}
}

// Gap returns a number at a pointer that no clause is about, while clauses are about a smaller and a greater one.
// Clauses without bounds, and those that look at anything else, are left out.
func Gap(pointer string, clauses []Placed) (document.Decimal, bool) {
	var all []Comparison
	var about []Placed
	for _, p := range clauses {
		var own []Comparison
		p.applies(Chosen(func(c Comparison, _ Stance) Truth {
			own = append(own, c)
			return Doubt
		}))
		if !slices.ContainsFunc(own, func(c Comparison) bool { return c.Looks() != pointer || !c.bounds() }) {
			all, about = append(all, own...), append(about, p)
		}
	}
	if len(about) < 2 {
		return "", false
	}
	classes, ok := Classes(all)
	if !ok {
		return "", false
	}
	numberOf := func(c Class) document.Decimal {
		v, _ := document.Lookup(c.Arguments, pointer)
		return v.Number()
	}
	classes = slices.DeleteFunc(classes, func(c Class) bool { return numberOf(c) == "" })
	slices.SortFunc(classes, func(a, b Class) int { return document.CompareNumbers(numberOf(a), numberOf(b)) })
	below, gap := false, document.Decimal("")
	for _, class := range classes {
		most := False
		for _, p := range about {
			most = most.Or(p.applies(class))
		}
		switch {
		case most == True && gap != "":
			return gap, true
		case most == True:
			below = true
		case most == False && below && gap == "":
			gap = numberOf(class)
		}
	}
	return "", false
}
