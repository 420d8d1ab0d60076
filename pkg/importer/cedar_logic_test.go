package importer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// atom is the value of one attribute: missing fails in Cedar and is in doubt here.
type atom struct{ missing, holds bool }

// cedarValue evaluates an expression as Cedar does: from the left, no further than it must, and a
// failure ends it.
func cedarValue(e *cedarExpression, atoms map[string]atom) (holds, failed bool) {
	switch e.op {
	case "":
		a := atoms[e.pointer]
		return a.holds, a.missing
	case "!":
		holds, failed = cedarValue(e.parts[0], atoms)
		return !holds, failed
	}
	for _, part := range e.parts {
		holds, failed = cedarValue(part, atoms)
		if failed || holds == (e.op == "||") {
			return holds, failed
		}
	}
	return holds, false
}

// judged evaluates a condition by the three truths.
func judged(c document.Value, atoms map[string]atom) condition.Truth {
	for key, v := range c.Members() {
		switch key {
		case "all", "any":
			truth := condition.Of(key == "all")
			for _, part := range v.Elements() {
				if key == "all" {
					truth = truth.And(judged(part, atoms))
				} else {
					truth = truth.Or(judged(part, atoms))
				}
			}
			return truth
		case "not":
			return judged(v, atoms).Not()
		default:
			a := atoms[key]
			if a.missing {
				return condition.Doubt
			}
			negated := v.Kind() == document.Object // {"neq": true}
			return condition.Of(a.holds != negated)
		}
	}
	return condition.Doubt
}

func drawn(r *rand.Rand, depth int) *cedarExpression {
	if depth == 0 || r.IntN(4) == 0 {
		pointer := fmt.Sprintf("/%c", 'a'+rune(r.IntN(4)))
		return &cedarExpression{leaf: one(pointer, document.BoolValue(true)), other: one(pointer, one("neq", document.BoolValue(true))), pointer: pointer}
	}
	if r.IntN(4) == 0 {
		return &cedarExpression{op: "!", parts: []*cedarExpression{drawn(r, depth-1)}}
	}
	e := &cedarExpression{op: []string{"&&", "||"}[r.IntN(2)]}
	for range 2 + r.IntN(2) {
		e.parts = append(e.parts, drawn(r, depth-1))
	}
	return e
}

// TestNeverAllowsMoreThanCedar compares expressions with Cedar's evaluation of them: a permit never
// holds where Cedar's does not, and a forbid applies wherever Cedar's does.
func TestNeverAllowsMoreThanCedar(t *testing.T) {
	t.Parallel()
	r := randtest.New(t, 1)
	permitted, forbidden := 0, 0
	for range 20_000 {
		e := drawn(r, 3)
		atoms := map[string]atom{}
		for _, pointer := range []string{"/a", "/b", "/c", "/d"} {
			atoms[pointer] = []atom{{missing: true}, {holds: true}, {}}[r.IntN(3)]
		}
		holds, failed := cedarValue(e, atoms)
		permit := withoutLists(e).permits(false)
		if judged(permit, atoms) == condition.True {
			permitted++
			if failed || !holds {
				t.Fatalf("%s permits %v, which Cedar does not", permit, atoms)
			}
		}
		if holds && !failed {
			forbidden++
			if forbid := withoutLists(e).forbids(); judged(forbid, atoms) == condition.False {
				t.Fatalf("%s does not forbid %v, which Cedar does", forbid, atoms)
			}
		}
		if plain, _ := e.leaves(); plain != leavesOf(permit) {
			t.Fatalf("leaves() = %d for %s", plain, permit)
		}
	}
	if permitted < 1_000 || forbidden < 1_000 {
		t.Fatalf("only %d permits and %d forbids were compared", permitted, forbidden)
	}
}

// withoutLists returns the expression without its lists, whose values judged does not
// read.
func withoutLists(e *cedarExpression) *cedarExpression {
	copied := &cedarExpression{op: e.op, leaf: e.leaf, other: e.other}
	for _, part := range e.parts {
		copied.parts = append(copied.parts, withoutLists(part))
	}
	return copied
}

func leavesOf(c document.Value) int {
	for key, v := range c.Members() {
		switch key {
		case "all", "any":
			n := 0
			for _, part := range v.Elements() {
				n += leavesOf(part)
			}
			return n
		case "not":
			return leavesOf(v)
		}
	}
	return 1
}
