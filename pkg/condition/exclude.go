package condition

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/pathglob"
)

// Excludes reports that no call makes both of two comparisons hold, each in its stance. It is false where that is
// not known.
func (c Comparison) Excludes(s Stance, other Comparison, t Stance) bool {
	a, b := c.leaf, other.leaf
	if !a.apart(b) {
		return false
	}
	switch every, also := a.tally(s).every, b.tally(t).every; {
	case a.path != nil:
		return !a.path.starred() || every || also // else they may hold for two values
	case !s.allows() && !t.allows():
		return false // they may hold for two readings of one value
	case every && also: // both hold for no value
		return a.needs(s) || b.needs(t)
	default:
		return every || also
	}
}

// Refutes reports that another comparison is false for every call that makes the comparison hold, each in its stance.
// It is false where that is not known.
func (c Comparison) Refutes(s Stance, other Comparison, t Stance) bool {
	a, b := c.leaf, other.leaf
	switch {
	case !a.apart(b) || !a.clear() || !b.clear():
		return false
	case a.path != nil:
		return !a.path.starred() || a.tally(s).every
	default:
		return a.tally(s).every && s.allows() && !b.tally(t).every
	}
}

// apart reports two comparisons with one key that no value passes both of.
func (l *leaf) apart(other *leaf) bool {
	return l.key == other.key && l.single() && other.single() && !l.tests[0].meets(&other.tests[0])
}

// clear reports a comparison with texts that is never in doubt for a text of which another one holds.
func (l *leaf) clear() bool {
	switch l.of {
	case NoType, PathType, HostType, RefType, NameType, WordType:
		return !slices.ContainsFunc(l.tests[0].values, func(v document.Value) bool { return v.Kind() != document.String })
	default:
		return false
	}
}

// single reports a comparison with one list of values or patterns, and nothing else.
func (l *leaf) single() bool {
	if len(l.tests) != 1 || l.count != nil || l.exists || l.notExists || !l.or.IsZero() || l.of == NoType && l.path == nil {
		return false
	}
	switch l.tests[0].op {
	case opEq, opIn, opWithin, opLike:
		return true
	default:
		return false
	}
}

// needs reports a comparison with every value of a facet that needs one.
func (l *leaf) needs(s Stance) bool { return s&granting != 0 || l.each == eachEvery }

// meets reports that a value may pass both tests.
func (x *test) meets(y *test) bool {
	if x.patterns != nil && y.patterns != nil {
		return slices.ContainsFunc(x.patterns, func(p pattern) bool {
			return slices.ContainsFunc(y.patterns, func(q pattern) bool { return meet(p, q) })
		})
	}
	if x.patterns != nil || y.patterns != nil {
		return true
	}
	return slices.ContainsFunc(x.values, func(v document.Value) bool {
		return slices.ContainsFunc(y.values, func(w document.Value) bool { return document.Equal(v, w) })
	})
}

// meet reports that a text may match both patterns.
func meet(p, q pattern) bool {
	switch p := p.(type) {
	case pathPattern:
		q, ok := q.(pathPattern)
		return !ok || p.absolute != q.absolute || globsMeet(p.glob, q.glob) // the workspace may be in the folder of an absolute one
	case refPattern:
		q, ok := q.(refPattern)
		return !ok || globsMeet(p.glob, q.glob)
	case hostPattern:
		q, ok := q.(hostPattern)
		return !ok || p.any || q.any || p.dotted || q.dotted || p.name == q.name && p.below == q.below || p.holds(q) || q.holds(p)
	case textPattern:
		q, ok := q.(textPattern)
		return !ok || textsMeet(p.text, q.text)
	case resourcePattern:
		q, ok := q.(resourcePattern)
		return !ok || textsMeet(p.kinds(), q.kinds())
	default:
		return true
	}
}

// globsMeet reports that a name may match both patterns, or that a folder stands for names below it that do.
func globsMeet(a, b pathglob.Glob) bool {
	for _, pair := range [][2]pathglob.Glob{{a, b}, {a.Folders(), b}, {a, b.Folders()}} {
		if _, ok := pair[0].Meet(pair[1]); ok {
			return true
		}
	}
	return false
}

// holds reports a pattern of hosts below a domain that has the other's hosts.
func (p hostPattern) holds(other hostPattern) bool {
	return p.below && strings.HasSuffix(other.name, "."+p.name)
}

// textsMeet reports that a text may match two patterns of * and ?, by their ends: those of the one do not
// contradict those of the other.
func textsMeet(a, b string) bool {
	ends := func(pattern string) (start, end string, whole bool) {
		first, last := strings.IndexAny(pattern, "*?"), strings.LastIndexAny(pattern, "*?")
		if first < 0 {
			return pattern, pattern, true
		}
		return pattern[:first], pattern[last+1:], false
	}
	aStart, aEnd, aWhole := ends(a)
	bStart, bEnd, bWhole := ends(b)
	switch {
	case aWhole && bWhole:
		return a == b
	case aWhole:
		return like(b, a)
	case bWhole:
		return like(a, b)
	default:
		return (strings.HasPrefix(aStart, bStart) || strings.HasPrefix(bStart, aStart)) &&
			(strings.HasSuffix(aEnd, bEnd) || strings.HasSuffix(bEnd, aEnd))
	}
}
