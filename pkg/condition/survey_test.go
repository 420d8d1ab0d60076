package condition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
)

// placed is a clause of a list that restricts or, with allow, one that allows.
func placed(t *testing.T, when, unless string, stance condition.Stance) condition.Placed {
	t.Helper()
	p := condition.Placed{Stance: stance}
	if when != "" {
		p.Clause.When = read(t, when, stance)
	}
	if unless != "" {
		p.Clause.Unless = read(t, unless, stance.Opposite())
	}
	return p
}

// TestSurvey finds clauses that are about no call or every call (S21.21), and says neither where a call of each
// kind may exist.
func TestSurvey(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		when, unless  string
		never, always bool
	}{
		{`{"/amount": {"gt": 100, "lt": 50}}`, "", true, false},
		{`{"/amount": {"gt": 100}}`, "", false, false},
		{`{"/amount": {"gt": 100}}`, `{"/amount": {"gt": 50}}`, true, false},
		{`{"/amount": {"gt": 50}}`, `{"/amount": {"gt": 100}}`, false, false},
		{`{"any": [{"/amount": {"lte": 100}}, {"/amount": {"gt": 100}}]}`, "", false, true},
		{`{"any": [{"/amount": {"lt": 100}}, {"/amount": {"gt": 100}}]}`, "", false, false},
		{`{"/region": {"in": ["eu"], "neq": "eu"}}`, "", true, false},
		{`{"/region": {"like": "eu*", "neq": "eu"}}`, "", false, false},
		{`{"all": [{"host": ["a.com"]}, {"not": {"host": ["a.com"]}}]}`, "", false, false}, // some host is, and some is not
		{`{"host": ["a.com"]}`, "", false, false},
		{`{"/n": {"gte": 3, "lte": 3}}`, "", false, false},
		{`{"/n": {"gt": 3, "lt": 3.0000001}}`, "", false, false},
		{`{"/items/*/n": {"lt": 3}, "/items": {"count": {"gte": 1}}}`, "", false, false},
	} {
		p := placed(t, row.when, row.unless, condition.Restricts)
		if never, always := condition.NeverApplies(p), condition.AlwaysApplies(p); never != row.never || always != row.always {
			t.Errorf("when %s unless %s: never %v, always %v", row.when, row.unless, never, always)
		}
	}
}

// TestImplies finds a clause that others are about in all its calls.
func TestImplies(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		when   string
		others []string
		want   bool
	}{
		{`{"/amount": {"gt": 100}}`, []string{`{"/amount": {"gt": 50}}`}, true},
		{`{"/amount": {"gt": 50}}`, []string{`{"/amount": {"gt": 100}}`}, false},
		{`{"/amount": {"gt": 50}}`, []string{`{"/amount": {"gt": 100}}`, `{"/amount": {"gt": 50, "lte": 100}}`}, true},
		{`{"/amount": {"gt": 50}, "host": ["a.com"]}`, []string{`{"host": ["a.com"]}`}, true},
		{`{"host": ["a.com"]}`, []string{`{"host": ["a.com", "b.com"]}`}, false}, // it does, and that is not known
		{`{"/region": ["eu", "us"]}`, []string{`{"/region": ["eu", "us", "jp"]}`}, true},
		{`{"/region": ["eu", "us"]}`, nil, false},
	} {
		var others []condition.Placed
		for _, other := range row.others {
			others = append(others, placed(t, other, "", condition.Restricts))
		}
		if got := condition.Implies(placed(t, row.when, "", condition.Restricts), others); got != row.want {
			t.Errorf("%s implies %v: %v", row.when, row.others, got)
		}
	}
}

// TestGap finds a number between two that clauses are about.
func TestGap(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		clauses []string
		want    bool
	}{
		{[]string{`{"/n": {"lte": 100}}`, `{"/n": {"gt": 100, "lte": 1000}}`, `{"/n": {"gt": 1000}}`}, false},
		{[]string{`{"/n": {"lte": 100}}`, `{"/n": {"gt": 200}}`}, true},
		{[]string{`{"/n": {"lt": 100}}`, `{"/n": {"gt": 100}}`}, true},
		{[]string{`{"/n": {"lte": 100}}`, `{"/m": {"gt": 200}}`}, false},
		{[]string{`{"/n": {"gt": 100}}`, `{"/n": {"gt": 200}}`}, false},
		{[]string{`{"/n": {"lte": 100}}`, `{"not": {"/n": {"lte": 100}}}`}, false},
		{[]string{`{"/n": {"gte": 0, "lte": 100}}`, `{"not": {"/n": {"lte": 1000}}}`, `{"/n": {"gt": 100, "lte": 1000}}`}, false}, // below 0 is none
		{[]string{`{"/a/b": {"lte": 100}}`, `{"/a/b": {"gte": 100.5}}`}, true},
	} {
		var clauses []condition.Placed
		pointer := "/n"
		for _, text := range row.clauses {
			clauses = append(clauses, placed(t, text, "", condition.Restricts))
			if text[2:6] == "/a/b" {
				pointer = "/a/b"
			}
		}
		if gap, got := condition.Gap(pointer, clauses); got != row.want {
			t.Errorf("%v: %s %v", row.clauses, gap, got)
		}
	}
}

// TestSurveysAreBounded: the classes of many comparisons of the elements of lists are given up, and do not take the time of the
// server that reads a definition.
func TestSurveysAreBounded(t *testing.T) {
	var all []string
	for i := range 14 {
		all = append(all, fmt.Sprintf(`{"/edits/*/path": {"or": "", "like": "*%d*"}}`, i))
	}
	p := placed(t, `{"any": [`+strings.Join(all, ",")+`]}`, "", condition.Restricts)
	never := true
	allocations := testing.AllocsPerRun(1, func() { never = condition.NeverApplies(p) })
	if never || allocations > 2_000_000 {
		t.Errorf("never %v, after %.0f allocations", never, allocations)
	}
}
