package condition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// Comparisons, values and facets that have much to do with one another.
var (
	someLeaves = []string{
		`"/a": 1`, `"/a": "x"`, `"/a": null`, `"/a": {"lte": 1}`, `"/a": {"gt": "w"}`, `"/a": {"neq": 1}`, `"/a": {"in": [1, "x"]}`,
		`"/a": {"or": 1, "lte": 1}`, `"/a": {"exists": true}`, `"/a": {"not_exists": true}`, `"/a": {"like": "*x?"}`,
		`"/a": {"contains": "x"}`, `"/a": {"length": {"gt": 1}}`, `"/a": {"count": [0, 2]}`, `"/a/b": 1`, `"/a/0": 1`,
		`"/l/*": 1`, `"/l/*": {"each": "every", "lte": 2}`, `"/l/*/b": {"each": "some", "eq": 1}`, `"/l/*": {"count": 2}`, `"/l/*/*": 1`,
		`"host": ["a.example", "*.b.example"]`, `"host": {"neq": "a.example"}`, `"host": {"count": {"lte": 1}}`, `"host": {"not_exists": true}`,
		`"host": {"or": "a.example", "in": ["a.example"]}`, `"host": {"each": "some", "in": ["a.example"]}`, `"host": {"each": "every", "in": ["a.example"]}`,
		`"ip": {"within": ["private", "10.0.0.1"]}`, `"writes": ["src/**"]`, `"writes": {"count": {"gte": 2}}`, `"files": {"exists": true}`,
		`"money": {"lte": 100}`, `"money": {"neq": 5}`, `"time": "work"`, `"time": {"neq": "work"}`, `"time": {"in": ["work", "freeze"]}`,
	}
	someValues = []string{
		`0`, `1`, `1.0`, `2`, `9007199254740993`, `-1`, `"x"`, `"xx"`, `"1"`, `""`, `true`, `null`, `[]`, `[1]`, `[1, 2]`, `["x", null]`, `{}`,
		`{"b": 1}`, `{"B": 1}`, `{"b": 1, "B": 2}`, `[{"b": 1}, {"b": 2}]`, `[{"b": 1}, {}]`, `[[1]]`, `"{\"b\": 1}"`, `"[1]"`,
	}
	someNames = []string{"a", "l", "b", "A", "a_", "\u0430", "z"}
	ofFacets  = map[condition.Facet][]document.Value{
		condition.Host:   texts("a.example", "x.b.example", "c.example", "127.1"),
		condition.IP:     texts("10.0.0.1", "8.8.8.8", "::ffff:10.0.0.1", "no"),
		condition.Writes: texts("src/a.go", "src", "docs/b.md", "../x"),
		condition.Files:  texts("src/a.go", "docs"),
		condition.Money:  {document.NumberValue("5"), document.NumberValue("-1"), document.NumberValue("100.001"), document.StringValue("5")},
		condition.Time:   texts("work", "freeze"),
	}
)

func texts(of ...string) []document.Value {
	values := make([]document.Value, len(of))
	for i, text := range of {
		values[i] = document.StringValue(text)
	}
	return values
}

// drawn is a condition as it is drawn: a join of others, or a leaf.
type drawn struct {
	join string // all, any, not, or empty for a leaf
	leaf string
	of   []*drawn
}

func someDrawn(levels int) *rapid.Generator[*drawn] {
	return rapid.Custom(func(t *rapid.T) *drawn {
		join := rapid.SampledFrom([]string{"", "all", "any", "not"}).Draw(t, "join")
		if levels == 0 || join == "" {
			return &drawn{leaf: rapid.SampledFrom(someLeaves).Draw(t, "leaf")}
		}
		most := 3
		if join == "not" {
			most = 1
		}
		return &drawn{join: join, of: rapid.SliceOfN(someDrawn(levels-1), 1, most).Draw(t, "of")}
	})
}

// String writes the condition.
func (d *drawn) String() string {
	if d.join == "" {
		return "{" + d.leaf + "}"
	}
	all := make([]string, len(d.of))
	for i, child := range d.of {
		all[i] = child.String()
	}
	text := strings.Join(all, ", ")
	if d.join != "not" {
		text = "[" + text + "]"
	}
	return fmt.Sprintf(`{%q: %s}`, d.join, text)
}

// leaves returns those of the condition, in the order written.
func (d *drawn) leaves() []*drawn {
	if d.join == "" {
		return []*drawn{d}
	}
	var all []*drawn
	for _, child := range d.of {
		all = append(all, child.leaves()...)
	}
	return all
}

// fold is S21.2, word by word, on the results of the leaves; negated is whether each stands under an odd number of not.
func (d *drawn) fold(results *[]condition.Leaf, negated bool, t *rapid.T) condition.Truth {
	if d.join == "" {
		leaf := (*results)[0]
		*results = (*results)[1:]
		if leaf.Negated != negated {
			t.Fatalf("%+v, negated %v", leaf, negated)
		}
		return leaf.Result
	}
	yeses, noes := 0, 0
	for _, child := range d.of {
		switch child.fold(results, negated != (d.join == "not"), t) {
		case yes:
			yeses++
		case no:
			noes++
		}
	}
	switch {
	case d.join == "all" && noes > 0, d.join == "any" && noes == len(d.of), d.join == "not" && yeses == 1:
		return no
	case d.join == "any" && yeses > 0, d.join == "all" && yeses == len(d.of), d.join == "not" && noes == 1:
		return yes
	default:
		return doubt
	}
}

func someInput() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var members []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(someNames), 0, 4, rapid.ID).Draw(t, "names") {
			members = append(members, fmt.Sprintf("%q: %s", name, rapid.SampledFrom(someValues).Draw(t, "value")))
		}
		return "{" + strings.Join(members, ", ") + "}"
	})
}

func someSet(values []document.Value) *rapid.Generator[condition.Set] {
	return rapid.Custom(func(t *rapid.T) condition.Set {
		s := condition.Set{Known: rapid.IntRange(0, 3).Draw(t, "known") > 0}
		for range rapid.IntRange(0, 3).Draw(t, "values") {
			e := condition.Element{Value: rapid.SampledFrom(values).Draw(t, "value")}
			if rapid.IntRange(0, 3).Draw(t, "also") == 0 {
				e.Also = []document.Value{rapid.SampledFrom(values).Draw(t, "other")}
			}
			e.Unsure = rapid.IntRange(0, 3).Draw(t, "unsure") == 0
			e.Below = e.Value.Str() == "src" || e.Value.Str() == "docs"
			s.Values = append(s.Values, e)
		}
		return s
	})
}

// someCalls draws a call with every facet that the leaves name.
func someCalls() *rapid.Generator[call] {
	return rapid.Custom(func(t *rapid.T) call {
		c := call{input: someInput().Draw(t, "input"), facets: map[condition.Facet]condition.Set{}}
		for _, f := range condition.Facets() {
			if values, named := ofFacets[f]; named {
				c.facets[f] = someSet(values).Draw(t, string(f))
			}
		}
		c.facets[condition.SessionDepth] = condition.Unknown("a test does not know it")
		return c
	})
}

func someStance() *rapid.Generator[condition.Stance] {
	return rapid.SampledFrom([]condition.Stance{condition.Restricts, condition.Allows})
}

// inDoubt is a leaf that is in doubt for every call of these tests.
const inDoubt = `"session.depth": 3`

// TestLeafInDoubt: if a leaf is in doubt instead, the condition is as before or in doubt, in each stance
// (S21.2). So a rule that restricts never becomes false, and one that allows never true.
func TestLeafInDoubt(t *testing.T) {
	t.Parallel()
	changed := 0
	randtest.Check(t, func(r *rapid.T) {
		d, on, stance := someDrawn(3).Draw(r, "condition"), someCalls().Draw(r, "call"), someStance().Draw(r, "stance")
		was := read(t, d.String(), stance).Judge(on, stance)
		leaves := d.leaves()
		leaf := rapid.SampledFrom(leaves).Draw(r, "leaf")
		leaf.leaf = inDoubt
		now := read(t, d.String(), stance).Judge(on, stance)
		if now != was && now != doubt {
			r.Fatalf("%s was %v and is %v", d, was, now)
		}
		if now != was {
			changed++
		}
	})
	if changed == 0 {
		t.Error("no leaf mattered: this test draws the wrong conditions")
	}
}

// TestLessIsKnown: if less of a facet is known, or the input cannot be read, the condition is as before or in
// doubt (S21.2, S21.5).
func TestLessIsKnown(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(r *rapid.T) {
		d, on, stance := someDrawn(3).Draw(r, "condition"), someCalls().Draw(r, "call"), someStance().Draw(r, "stance")
		c := read(t, d.String(), stance)
		was := c.Judge(on, stance)
		if rapid.Bool().Draw(r, "unread") {
			on.input = `{"a": 1, "a": 1}`
		} else {
			f := rapid.SampledFrom([]condition.Facet{condition.Host, condition.IP, condition.Writes, condition.Files, condition.Money, condition.Time}).Draw(r, "facet")
			s := on.facets[f]
			keep := rapid.IntRange(0, len(s.Values)).Draw(r, "keep")
			on.facets[f] = condition.Set{Values: s.Values[:keep]}
		}
		if now := c.Judge(on, stance); now != was && now != doubt {
			r.Fatalf("%s was %v and is %v", d, was, now)
		}
	})
}

// TestExplainAgrees: the results of the leaves give the result of the condition (S21.2, S21.9).
func TestExplainAgrees(t *testing.T) {
	t.Parallel()
	seen := map[condition.Truth]int{}
	randtest.Check(t, func(r *rapid.T) {
		d, on, stance := someDrawn(3).Draw(r, "condition"), someCalls().Draw(r, "call"), someStance().Draw(r, "stance")
		c := read(t, d.String(), stance)
		results := c.Explain(on, stance)
		for _, leaf := range results {
			if (leaf.Result == doubt) != (leaf.Why != "") {
				r.Fatalf("%+v", leaf)
			}
		}
		folded := d.fold(&results, false, r)
		if judged := c.Judge(on, stance); judged != folded || len(results) > 0 {
			r.Fatalf("%s is %v, its leaves give %v; %+v", d, judged, folded, c.Explain(on, stance))
		}
		seen[folded]++
	})
	if len(seen) != 3 {
		t.Errorf("truths: %v", seen)
	}
}

// TestNotTurnsAround: not has the opposite result of its part in the opposite stance, and so has unless (S21.3).
func TestNotTurnsAround(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(r *rapid.T) {
		d, on, stance := someDrawn(2).Draw(r, "condition"), someCalls().Draw(r, "call"), someStance().Draw(r, "stance")
		not := drawn{join: "not", of: []*drawn{d}}
		inner := read(t, d.String(), stance.Opposite())
		want := inner.Judge(on, stance.Opposite()).Not()
		if got := read(t, not.String(), stance).Judge(on, stance); got != want {
			r.Fatalf("not %s is %v, want %v", d, got, want)
		}
		unless := condition.Clause{Unless: inner}
		if got := unless.Applies(on, stance); got != want {
			r.Fatalf("unless %s is %v, want %v", d, got, want)
		}
		both := condition.Clause{When: read(t, `{`+inDoubt+`}`, stance), Unless: inner}
		if got := both.Applies(on, stance); got != want.And(doubt) {
			r.Fatalf("in doubt and unless %s is %v", d, got)
		}
		leaves := unless.Explain(on, stance)
		for i, leaf := range inner.Explain(on, stance.Opposite()) {
			if leaf.Negated == leaves[i].Negated || leaf.Result != leaves[i].Result {
				r.Fatalf("%+v and %+v", leaf, leaves[i])
			}
		}
	})
}

// TestReadAgain: a condition that is written and read again is the same.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(r *rapid.T) {
		d, on, stance := someDrawn(3).Draw(r, "condition"), someCalls().Draw(r, "call"), someStance().Draw(r, "stance")
		c := read(t, d.String(), stance)
		again := read(t, c.Value().String(), stance)
		if !slices.Equal(c.Explain(on, stance), again.Explain(on, stance)) || !slices.Equal(c.Looks(), again.Looks()) {
			r.Fatalf("%s is read as %s", d, again.Value())
		}
	})
}

// TestOrderOfParts: the order of parts does not matter.
func TestOrderOfParts(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(r *rapid.T) {
		d, on, stance := someDrawn(3).Draw(r, "condition"), someCalls().Draw(r, "call"), someStance().Draw(r, "stance")
		was := read(t, d.String(), stance).Judge(on, stance)
		slices.Reverse(d.of)
		if now := read(t, d.String(), stance).Judge(on, stance); now != was {
			r.Fatalf("%s backwards is %v, and was %v", d, now, was)
		}
	})
}

// TestNoStanceIsLaxer: a leaf that an allowance takes for true is never false in a restriction, as long as it
// has no neq and no quantifier of its own (S21.3).
func TestNoStanceIsLaxer(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(r *rapid.T) {
		leaf := rapid.SampledFrom(someLeaves).Draw(r, "leaf")
		on := someCalls().Draw(r, "call")
		text := "{" + leaf + "}"
		if read(t, text, condition.Allows).Judge(on, condition.Allows) == yes &&
			read(t, text, condition.Restricts).Judge(on, condition.Restricts) == no {
			r.Fatalf("%s allows, and does not restrict", text)
		}
	})
}
