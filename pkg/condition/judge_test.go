package condition_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// call is a call with the facets that a test gives it. Others are empty.
type call struct {
	input  string
	facets map[condition.Facet]condition.Set
}

func (c call) Input() (document.Value, bool) {
	v, problem := document.Parse([]byte(c.input), document.Limits{})
	return v, problem == nil
}

func (c call) Facet(f condition.Facet) condition.Set {
	if s, ok := c.facets[f]; ok {
		return s
	}
	return condition.KnownSet()
}

// read reads a condition that must be right.
func read(t testing.TB, text string, stance condition.Stance) *condition.Condition {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatalf("%s: %v", text, problem)
	}
	var report document.Report
	c := condition.Read(&report, v, nil, condition.Use{Stance: stance, Windows: []string{"work", "freeze"}})
	if report.HasErrors() || c == nil {
		t.Fatalf("%s: %v", text, report.Problems())
	}
	return c
}

const (
	yes   = condition.True
	no    = condition.False
	doubt = condition.Doubt
)

// on is a condition, a call, and its result in a restriction and in an allowance.
type on struct {
	condition, input string
	restricts, allow condition.Truth
}

func judgeAll(t *testing.T, rows []on, facets map[condition.Facet]condition.Set) {
	t.Helper()
	for _, row := range rows {
		for stance, want := range map[condition.Stance]condition.Truth{condition.Restricts: row.restricts, condition.Allows: row.allow} {
			if (strings.Contains(row.condition, `"anywhere"`) || strings.Contains(row.condition, `"command.shown"`)) && stance == condition.Allows {
				continue // refused by Read
			}
			c := read(t, row.condition, stance)
			if got := c.Judge(call{input: row.input, facets: facets}, stance); got != want {
				t.Errorf("%s of %s, stance %d: %v, want %v; %+v", row.condition, row.input, stance, got, want,
					c.Explain(call{input: row.input, facets: facets}, stance))
			}
		}
	}
}

// TestPointers judges every form of S21.1, in both stances (S21.3), with values in doubt (S21.4).
func TestPointers(t *testing.T) {
	t.Parallel()
	judgeAll(t, []on{
		{`{"/amount": {"lte": 100}}`, `{"amount": 100}`, yes, yes},
		{`{"/amount": {"lte": 100}}`, `{"amount": 100.01}`, no, no},
		{`{"/amount": {"gte": 10, "lte": 100}}`, `{"amount": 5}`, no, no},
		{`{"/amount": {"lte": 100}}`, `{"amount": "100"}`, doubt, doubt},
		{`{"/amount": {"lte": 100}}`, `{}`, doubt, doubt},
		{`{"/amount": {"lte": 100}}`, `{"amount": null}`, doubt, doubt},
		{`{"/amount": {"lte": 100}}`, `{"amount": 1, "Amount": 1000}`, doubt, doubt},
		{`{"/region": {"neq": "eu"}}`, `{}`, doubt, doubt},
		{`{"/region": "eu"}`, `{"region": "eu"}`, yes, yes},
		{`{"/region": ["eu", "us"]}`, `{"region": "us"}`, yes, yes},
		{`{"/region": {"or": "eu", "in": ["eu"]}}`, `{}`, yes, yes},
		{`{"not": {"/region": "eu"}}`, `{"region": "us"}`, yes, yes},
		{`{"/items": {"count": {"lte": 2}}}`, `{"items": [1, 2, 3]}`, no, no},
		{`{"/items/*/price": {"lte": 50}}`, `{"items": [{"price": 1}, {"price": 60}]}`, yes, no},
		{`{"/items/*/price": {"lte": 50}}`, `{"items": []}`, no, doubt},
		{`{"/items/*/price": {"each": "every", "lte": 50}}`, `{"items": [{"price": 1}, {"price": 60}]}`, no, no},
		{`{"/to/*": "a@example.com"}`, `{"to": "a@example.com"}`, doubt, doubt},
		{`{"/a/b": 1}`, `{"a": "{\"b\": 1}"}`, doubt, doubt},
		{`{"any": [{"/a": 1}, {"/b": 1}]}`, `{"b": 1}`, yes, yes},
		{`{"/a": 1, "/b": 1}`, `{"b": 2}`, no, no},
		{`{"anywhere": {"like": "*evil*"}}`, `{"a": {"b": ["{\"c\": \"xevilx\"}"]}}`, yes, doubt},
	}, nil)
}

// TestFacets judges sets that are known, empty and not known (S21.5).
func TestFacets(t *testing.T) {
	t.Parallel()
	facets := map[condition.Facet]condition.Set{
		condition.Writes: condition.KnownSet("src/a.go", "docs/b.md"),
		condition.Files:  condition.Unknown("the command has a variable"),
		condition.Host:   condition.KnownSet("api.example.com"),
	}
	judgeAll(t, []on{
		{`{"writes": ["src/**"]}`, `{}`, yes, no},
		{`{"writes": ["src/**", "docs/**"]}`, `{}`, yes, yes},
		{`{"writes": {"count": {"gte": 1}}}`, `{}`, yes, yes},
		{`{"reads": ["src/**"]}`, `{}`, no, doubt},
		{`{"files": ["src/**"]}`, `{}`, doubt, doubt},
		{`{"host": ["*.example.com"]}`, `{}`, yes, yes},
		{`{"host": ["example.com"]}`, `{}`, no, no},
		{`{"host": "*.*"}`, `{}`, yes, yes},
	}, facets)
	for host, in := range map[string]condition.Truth{"intranet": no, "localhost": no, "10.0.0.1": no, "a.b": yes, "xn--e1afmkfd.org": yes, "A.b": doubt} {
		judgeAll(t, []on{{`{"host": "*.*"}`, `{}`, in, in}}, map[condition.Facet]condition.Set{condition.Host: condition.KnownSet(host)})
	}
}

// TestSchemas: a name without a schema may be in any, for restrictions that name one (S21.5).
func TestSchemas(t *testing.T) {
	t.Parallel()
	of := func(values ...condition.Element) map[condition.Facet]condition.Set {
		return map[condition.Facet]condition.Set{condition.SQLTables: {Known: true, Values: values}}
	}
	bare := of(condition.Element{Value: document.StringValue("pay")})
	judgeAll(t, []on{
		{`{"sql.tables": "pay"}`, `{}`, yes, yes},
		{`{"sql.tables": "hr.pay"}`, `{}`, doubt, no},
		{`{"sql.tables": ["hr.pay", "pay"]}`, `{}`, yes, yes},
		{`{"sql.tables": "db.hr.pay"}`, `{}`, doubt, no},
		{`{"sql.tables": "hr.*"}`, `{}`, doubt, no},
		{`{"sql.tables": "hr.staff"}`, `{}`, no, no},
		{`{"sql.tables": {"like": "hr.p*"}}`, `{}`, doubt, no},
		{`{"sql.tables": {"neq": "hr.pay"}}`, `{}`, yes, doubt},
	}, bare)
	inSchema := of(condition.Element{Value: document.StringValue("hr.pay")}, condition.Element{Value: document.StringValue("pay"), Unsure: true})
	judgeAll(t, []on{
		{`{"sql.tables": "hr.pay"}`, `{}`, yes, doubt},
		{`{"sql.tables": "pay"}`, `{}`, yes, no},
		{`{"sql.tables": "public.pay"}`, `{}`, no, no},
		{`{"sql.tables": "db.hr.pay"}`, `{}`, doubt, no},
	}, inSchema)
}

// TestRequires: a call that is known to have no value of a facet meets a requirement, gets no allowance, and is
// not restricted (S21.3). An empty list of the input is in doubt.
func TestRequires(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		condition                     string
		restricts, requires, allowing condition.Truth
	}{
		{`{"writes": ["src/**"]}`, no, yes, doubt},
		{`{"writes": {"each": "every", "in": ["src/**"]}}`, doubt, doubt, doubt},
		{`{"not": {"writes": ["src/**"]}}`, no, yes, yes},
		{`{"not": {"not": {"writes": ["src/**"]}}}`, no, yes, doubt},
		{`{"/to/*": "a"}`, no, doubt, doubt},
		{`{"git.force": false}`, no, yes, doubt},
	} {
		for stance, want := range map[condition.Stance]condition.Truth{
			condition.Restricts: row.restricts, condition.Requires: row.requires, condition.Allows: row.allowing,
		} {
			if got := read(t, row.condition, stance).Judge(call{input: `{"to": []}`}, stance); got != want {
				t.Errorf("%s, stance %d: %v, want %v", row.condition, stance, got, want)
			}
		}
	}
}

// TestCommands: a list has first words, like compares every word, and an unknown word is in doubt.
func TestCommands(t *testing.T) {
	t.Parallel()
	of := func(commands ...string) map[condition.Facet]condition.Set {
		return map[condition.Facet]condition.Set{condition.Command: condition.KnownSet(commands...)}
	}
	judgeAll(t, []on{
		{`{"command": "git push"}`, `{}`, yes, yes},
		{`{"command": {"like": "git push"}}`, `{}`, no, no},
		{`{"command": {"like": "git push *"}}`, `{}`, yes, yes},
		{`{"command": {"like": "git * --force"}}`, `{}`, yes, yes},
		{`{"command": {"like": "git ?ush *"}}`, `{}`, yes, yes},
	}, of("git push --force"))
	judgeAll(t, []on{
		{`{"command": {"like": "git push"}}`, `{}`, yes, no},
		{`{"command": ["git", "ls"]}`, `{}`, yes, yes},
	}, of("git push", "ls -l"))
	judgeAll(t, []on{{`{"command": {"like": "rm *"}}`, `{}`, doubt, doubt}}, of("rm \uFFFD"))
}

func TestExplained(t *testing.T) {
	t.Parallel()
	c := read(t, `{"/amount": {"lte": 100}}`, condition.Allows)
	leaves := c.Explain(call{input: `{"amount": "250"}`}, condition.Allows)
	const want = `looks at /amount, which is the text "250" and must be a number. Send it as a number.`
	if len(leaves) != 1 || leaves[0].Why != want || leaves[0].Actual != `"250"` || leaves[0].Expected != `{"lte":100}` {
		t.Errorf("%+v", leaves)
	}
}
