package condition_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// comparisonsOf collects the comparisons that judging a condition asks for.
func comparisonsOf(c *condition.Condition) (all []condition.Comparison) {
	c.Judge(condition.Chosen(func(one condition.Comparison, _ condition.Stance) condition.Truth {
		all = append(all, one)
		return condition.True
	}), condition.Restricts)
	return all
}

// drawArgumentMatcher draws operators of a pointer.
func drawArgumentMatcher(r *rand.Rand) string {
	of := func(options ...string) string { return options[r.IntN(len(options))] }
	number := func() string {
		return of("0", "1", "100", "100.5", "1e2", "-3", "0.1", "0.1000000000000000000001", "9007199254740993", "9007199254740992", "1e30")
	}
	text := func() string { return of(`""`, `"a"`, `"ax"`, `"a\u0000"`, `"b"`, `"2026-01-02"`) }
	literal := func() string { return of(number(), number(), text(), text(), "true", "false", "null") }
	size := func() string { return of("0", "2", "4", `{"gte": 4}`, `{"gte": 1, "lt": 3}`, "[1, 3]", `{"neq": 2}`) }
	operator := func() string {
		switch r.IntN(9) {
		case 0:
			return `"exists": true`
		case 1:
			return `"not_exists": true`
		case 2:
			return fmt.Sprintf(`"in": [%s, %s]`, literal(), literal())
		case 3:
			return fmt.Sprintf(`%q: %s`, of("like", "contains"), of(`"a*"`, `"*x"`, `"?"`, `"a"`, `"a"`))
		case 4:
			return fmt.Sprintf(`%q: %s`, of("length", "bytes", "count", "count"), size())
		case 5, 6:
			return fmt.Sprintf(`%q: %s`, of("gt", "gte", "lt", "lte"), of(number(), text()))
		default:
			return fmt.Sprintf(`%q: %s`, of("eq", "neq"), literal())
		}
	}
	parts := []string{operator()}
	if r.IntN(2) == 0 {
		parts = append(parts, operator())
	}
	if r.IntN(5) == 0 {
		parts = append(parts, `"or": `+of("100", `"a"`, "true"))
	}
	if r.IntN(5) == 0 {
		parts = append(parts, `"each": "`+of("every", "some")+`"`)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// drawArgument draws a value, of which many are next to those that drawArgumentMatcher compares with.
func drawArgument(r *rand.Rand, depth int) string {
	of := func(options ...string) string { return options[r.IntN(len(options))] }
	switch r.IntN(10) {
	case 0, 1, 2:
		return of("0", "1", "99", "100", "100.0", "1e2", "101", "100.25", "100.2500000000000000001", "-4", "-2", "0.05", "0.10000000000000000000005",
			"9007199254740991", "9007199254740992", "9007199254740993", "1e29", "1e31", "-1e20", "-9007199254740993")
	case 3, 4, 5:
		return of(`""`, `"a"`, `"ax"`, `"a\u0000"`, `"aa"`, `"b"`, `"c"`, `"x"`, `"A"`, `"2025"`, `"2027"`, `"abx"`)
	case 6:
		return of("null", "true", "false", "{}", "[]")
	}
	if depth == 0 {
		return "null"
	}
	var parts []string
	list := r.IntN(2) == 0
	for range r.IntN(6) {
		v := drawArgument(r, depth-1)
		if !list {
			v = fmt.Sprintf("%q: %s", of("p", "p", "q", "P", "0")+strings.Repeat("z", len(parts)), v)
		}
		parts = append(parts, v)
	}
	if list {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// TestClassesAreComplete: the results of comparisons with one pointer, for any arguments, are those of one of its
// classes, in both stances (S21.20).
func TestClassesAreComplete(t *testing.T) {
	t.Parallel()
	r := randtest.New(t, 1)
	for range randtest.Size(400, 20_000) {
		pointer := []string{"/p", "/p", "/p/q", "/p/*", "/p/*/p", "/p/0", "/p/*/*", "/*", "/q"}[r.IntN(9)]
		all := drawComparisons(r, pointer)
		classes, complete := condition.Classes(all)
		if !complete {
			continue
		}
		for range 60 {
			input := fmt.Sprintf(`{"p": %s}`, drawArgument(r, 3))
			if r.IntN(8) == 0 {
				input = drawArgument(r, 1)
			}
			if !isOfAClass(all, classes, call{input: input}) {
				t.Fatalf("%s: %s is of none of %d classes: %v", pointer, input, len(classes), matchersOf(all))
			}
		}
	}
}

func drawComparisons(r *rand.Rand, pointer string) (all []condition.Comparison) {
	for len(all) < 1+r.IntN(3) {
		v, _ := document.Parse(fmt.Appendf(nil, `{%q: %s}`, pointer, drawArgumentMatcher(r)), document.Limits{})
		var report document.Report
		if c := condition.Read(&report, v, nil, condition.Use{}); c != nil {
			all = append(all, comparisonsOf(c)...)
		}
	}
	return all
}

// isOfAClass reports a class whose results are those of a call.
func isOfAClass(all []condition.Comparison, classes []condition.Class, of call) bool {
	for _, class := range classes {
		same := true
		for _, c := range all {
			for stance := condition.Restricts; stance <= condition.Allows; stance++ {
				same = same && (class.Open && c.Within() || c.Judge(class, stance) == c.Judge(of, stance))
			}
		}
		if same {
			return true
		}
	}
	return false
}

func matchersOf(all []condition.Comparison) (out []string) {
	for _, c := range all {
		out = append(out, c.Text().String())
	}
	return out
}

// TestClassesAreFew: plain bounds have few classes, and those that cannot be listed are none (S21.20).
func TestClassesAreFew(t *testing.T) {
	t.Parallel()
	for text, complete := range map[string]bool{
		`{"/p": {"lte": 100}}`:                   true,
		`{"/p": ["a", "b", "c"]}`:                true,
		`{"/p/*": {"lte": 100}}`:                 true,
		`{"/p": {"count": {"lte": 20}}}`:         true,
		`{"/p": {"count": {"lte": 10000}}}`:      false,
		`{"/p": {"lte": 1e-60}}`:                 false,
		`{"/p": {"length": {"lte": 1000000}}}`:   false,
		`{"/p": {"gte": -1e300, "lte": 1e300}}`:  true,
		`{"/p/*/*": {"gte": "a", "lte": "z"}}`:   true,
		`{"/p/*": {"eq": "a", "each": "every"}}`: true,
	} {
		var report document.Report
		v, _ := document.Parse([]byte(text), document.Limits{})
		c := condition.Read(&report, v, nil, condition.Use{})
		classes, got := condition.Classes(comparisonsOf(c))
		if got != complete || complete && len(classes) > 100 {
			t.Errorf("%s: %d classes, complete: %t", text, len(classes), got)
		}
	}
}

// TestClassesOf: arguments that draws seldom meet are of a class, too (S21.20).
func TestClassesOf(t *testing.T) {
	t.Parallel()
	for text, inputs := range map[string][]string{
		`{"all": [{"/p": {"count": {"gte": 4}}}, {"/p": {"contains": "a"}}]}`:       {`{"p": ["a", 1, 2, 3]}`, `{"p": ["a"]}`, `{"p": ["b", 1, 2, 3]}`},
		`{"all": [{"/p/*": {"count": {"gte": 4}}}, {"/p/*": "a"}]}`:                 {`{"p": ["a", "a", "a", "a"]}`, `{"p": ["a", "b", "a", "a"]}`},
		`{"all": [{"/p/q": {"exists": true}}, {"/p/q": {"or": 1, "eq": 1}}]}`:       {`{"p": 0}`, `{"p": {}}`, `{"p": []}`, `{"p": null}`, `{}`},
		`{"all": [{"/p": {"length": {"gte": 4}}}, {"/p": {"gt": "b", "lt": "d"}}]}`: {`{"p": "cccc"}`, `{"p": "c"}`, `{"p": "bb"}`, `{"p": "dddd"}`},
	} {
		all := comparisonsOf(read(t, text, condition.Restricts))
		classes, complete := condition.Classes(all)
		for _, input := range inputs {
			if !complete || !isOfAClass(all, classes, call{input: input}) {
				t.Errorf("%s: %s is of none of %d classes", text, input, len(classes))
			}
		}
	}
}
