package condition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// problemsOf reads a condition, and returns its problems as one text.
func problemsOf(t *testing.T, text string, use condition.Use) string {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatalf("%s: %v", text, problem)
	}
	var report document.Report
	c := condition.Read(&report, v, nil, use)
	if (c == nil) != report.HasErrors() {
		t.Fatalf("%s: %v with %v", text, c, report.Problems())
	}
	var all []string
	for _, p := range report.Problems() {
		all = append(all, p.Message)
	}
	return strings.Join(all, "; ")
}

// TestProblems: a condition that is wrong is refused, and the problem names the fix (S21.1).
func TestProblems(t *testing.T) {
	t.Parallel()
	list := strings.TrimSuffix(strings.Repeat(`{"/a": 1},`, 65), ",")
	for text, want := range map[string]string{
		`[]`: `such as {"/amount": {"lte": 100}}`, `"x"`: `such as {"/amount": {"lte": 100}}`, `null`: "not null", `{}`: `name a pointer or a facet`,
		`{"amount": 1}`: `did you mean "/amount"?`, `{"$.a.b": 1}`: `did you mean "/a/b"?`, `{"a[0].b": 1}`: `did you mean "/a/0/b"?`, `{"a[*].b": 1}`: `did you mean "/a/*/b"?`,
		`{"input.to": 1}`: `did you mean "/to"?`, `{"args.to": 1}`: `did you mean "/to"?`, `{"#/to": 1}`: "/to",
		`{"hosts": "a.com"}`: `did you mean "host"?`, `{"wirtes": "a"}`: `did you mean "writes"?`, `{"git": "push"}`: `its parts are: "git.`, `{"sql": "select"}`: `"sql.kinds"`,
		`{"lte": 1}`: `write it below a pointer or a facet`, `{"caller": "x"}`: `"caller.name"`, `{"or": []}`: `is an operator`,
		`{"/a~2": 1}`: "write ~ as ~0", `{"/a~": 1}`: "write ~ as ~0", `{"/a/*x": 1}`: "* is a whole step", `{"/a/**": 1}`: "* is a whole step", `{"/*/*/*": 1}`: "look at fewer levels",
		`{"/a": {}}`: "the comparison is empty", `{"/a": []}`: "name some values", `{"/a": {"in": "x"}}`: `"in" must be a list`, `{"/a": {"in": []}}`: "name some values",
		`{"/a": {"eq": [1]}}`: "must be a text, a number, true, false or null", `{"/a": [[1]]}`: "must be a text, a number", `{"/a": {"lt": true}}`: "orders numbers and texts", `{"/a": {"lt": null}}`: "orders numbers and texts",
		`{"/a": {"gte": "2026-13-01"}}`: "not a date of the calendar", `{"/a": {"gte": "2026-02-30T00:00:00Z"}}`: "not a date of the calendar",
		`{"/a": {"equals": 1}}`: "there is no operator", `{"/a": {"lt ": 1}}`: "there is no operator", `{"/a": {"greater": 1}}`: "operators of", `{"/a": {"matches": "x"}}`: "like",
		`{"/a": {"within": "x"}}`: `write "like", or use a facet`, `{"/a": {"like": 1}}`: "write a text", `{"/a": {"like": ""}}`: "is empty", `{"/a": {"like": "*a*a*a*a*a*a*a*a*a"}}`: "use fewer",
		`{"/a": {"like": "` + strings.Repeat("a", 1025) + `"}}`: "shorten it", `{"/a": {"exists": false}}`: `there are "exists" and "not_exists"`, `{"/a": {"exists": 1}}`: "must be true",
		`{"/a": {"exists": true, "not_exists": true}}`: "exclude each other", `{"/a": {"or": 1, "exists": true}}`: `remove "exists" or "or"`, `{"/a": {"or": 1}}`: "add an operator",
		`{"/a": {"or": null, "eq": 1}}`: `"or" must be the value`, `{"/a": {"or": [1], "eq": 1}}`: `"or" must be the value`, `{"/a/*": {"each": "every"}}`: "add an operator",
		`{"/a/*": {"each": "any", "eq": 1}}`: `"every" or "some"`, `{"/a": {"each": "every", "eq": 1}}`: `write "/a/*"`,
		`{"/a": {"count": "1"}}`: `such as {"lte": 20}`, `{"/a": {"count": -1}}`: "from 0 on", `{"/a": {"count": 1.5}}`: "from 0 on", `{"/a": {"count": {}}}`: `such as {"lte": 20}`,
		`{"/a": {"count": []}}`: "name some numbers", `{"/a": {"count": {"lt": 0}}}`: `write {"eq": 0}`, `{"/a": {"count": {"like": 1}}}`: "it has: eq", `{"/a": {"length": {"in": [1]}}}`: "it has: eq",
		`{"anywhere": 1}`: "write a text", `{"anywhere": {"neq": "x"}}`: `has no operator "neq"`, `{"anywhere": {"exists": true}}`: "has no operator",
		`{"host": 1}`: "is compared with a string", `{"host": "https://a.com"}`: "write the host alone", `{"host": "a.com/x"}`: "write the host alone", `{"host": "a.com:443"}`: "use the facet port",
		`{"host": "10.0.0.0/8"}`: "with the facet ip", `{"host": "*a.com"}`: "write *.example.com", `{"host": "a.*.com"}`: "write *.example.com", `{"host": "ä.com"}`: "punycode", `{"host": "a.com."}`: "leave it out",
		`{"host": "127.1"}`: "write its plain name or address", `{"host": "*.10.0.0.1"}`: "there are none", `{"host": "[::1]:80"}`: "write its plain name", `{"host": ""}`: "write a pattern", `{"host": {"like": "a"}}`: "it has: eq",
		`{"ip": "10.0.0.1/8"}`: "write 10.0.0.0/8", `{"ip": "10.1"}`: "write an address, a CIDR", `{"ip": "localhost"}`: "one of private, loopback", `{"ip": "fe80::1%eth0"}`: "write an address",
		`{"writes": "//etc"}`: "write one / for an absolute name", `{"git.refs": "main"}`: "write refs/heads/main for a branch", `{"k8s.resource": "secret"}`: `plural: "secrets"`,
		`{"k8s.resource": ["pods", "Po/web-*"]}`: `plural: "pods/web-*"`, `{"k8s.resource": "secrets.v1"}`: `plural: "secrets"`, `{"k8s.resource": "Widgets"}`: `plural: "widgets"`,
		`{"path": "admin"}`: "begin it with /", `{"path": "/a?b"}`: "write the path alone",
		`{"path": "/a/../b"}`: "write the plain path", `{"path": "/a//b"}`: "write the plain path", `{"path": "/%61"}`: "write the plain path", `{"command": "  "}`: "write the first words",
		`{"recipients": "example.com"}`: "write name@example.com or *@example.com", `{"recipients": "*@*.com"}`: "write each domain", `{"recipients": "a b@example.com"}`: "write a plain one", `{"recipients": "a@127.1"}`: "no valid domain",
		`{"money": -1}`: "never below 0", `{"session.depth": -1}`: "never below 0", `{"session.depth": 1.5}`: "whole number", `{"port": 0}`: "from 1 to 65535", `{"port": 65536}`: "from 1 to 65535", `{"port": "80"}`: "compared with a number",
		`{"scheme": "htpps"}`: `did you mean "https"?`, `{"method": "get"}`: `values: GET`, `{"sql.kinds": "drop"}`: "values: select", `{"caller.role": "admin"}`: "values: agent", `{"git.verb": ""}`: "write a value",
		`{"git.force": "true"}`: "compared with a boolean", `{"git.force": {"gt": true}}`: "it has: eq, neq", `{"git.verb": {"gt": "a"}}`: "it has: eq, neq, in", `{"time": "weekend"}`: "values: work, freeze", `{"time": {"count": 1}}`: "it has: eq, neq, in, within",
		`{"all": {}}`: "a list of at least one condition", `{"any": []}`: "a list of at least one condition", `{"not": []}`: "must be an object", `{"all": [1]}`: "must be an object", `{"any": [{}]}`: "the condition is empty",
		`{"all": [` + list + `]}`: "the limit is 64", strings.Repeat(`{"not": `, 9) + `{"/a": 1}` + strings.Repeat(`}`, 9): "write them flatter",
		`{"/a": [` + strings.TrimSuffix(strings.Repeat("1,", 257), ",") + `]}`: "the limit is 256",
	} {
		if got := problemsOf(t, text, condition.Use{Windows: []string{"work", "freeze"}}); !strings.Contains(got, want) {
			t.Errorf("%.80s: %q does not have %q", text, got, want)
		}
	}
	for text, want := range map[string]string{`{"anywhere": "x"}`: "name the argument by its pointer", `{"not": {"anywhere": "x"}}`: "", `{"not": {"not": {"anywhere": "x"}}}`: "cannot allow", `{"command.shown": "x"}`: "cannot allow"} {
		if got := problemsOf(t, text, condition.Use{Stance: condition.Allows}); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := problemsOf(t, `{"not": {"anywhere": "x"}}`, condition.Use{}); !strings.Contains(got, "cannot allow") {
		t.Error(got)
	}
	if got := problemsOf(t, `{"time": "work"}`, condition.Use{}); !strings.Contains(got, `name some in "windows"`) {
		t.Error(got)
	}
}

// TestClauseProblems: the stance of unless is the opposite one.
func TestClauseProblems(t *testing.T) {
	t.Parallel()
	v, _ := document.Parse([]byte(`{"when": {"anywhere": "x"}, "unless": {"anywhere": "x"}}`), document.Limits{})
	var report document.Report
	c := condition.ReadClause(document.Fields{Report: &report, Value: v}, condition.Use{})
	if problems := report.Problems(); len(problems) != 1 || problems[0].Pointer != "/unless/anywhere" || c.When == nil || c.Unless != nil || c.IsZero() {
		t.Errorf("%v", problems)
	}
}

// TestEveryFacet: every facet has a type, operators and a literal, and counts; an empty set has no value that is sure.
func TestEveryFacet(t *testing.T) {
	t.Parallel()
	literals := map[condition.Type]string{
		condition.PathType: `"a/**"`, condition.HostType: `"a.com"`, condition.NetworkType: `"any"`, condition.NameType: `"a*"`, condition.SchemaType: `"a*"`, condition.WordType: `"x"`,
		condition.RefType: `"refs/**"`, condition.RouteType: `"/a"`, condition.CommandType: `"ls"`, condition.MailType: `"*@a.com"`, condition.NumberType: `5`,
		condition.AmountType: `5`, condition.BoolType: `true`,
	}
	words := map[condition.Facet]string{
		condition.Scheme: `"https"`, condition.Method: `"GET"`, condition.SQLKinds: `"ddl"`, condition.CallerRole: `"agent"`,
		condition.CallerToken: `"oidc"`, condition.CallerVia: `"mcp"`, condition.HumanSource: `"issuer"`,
	}
	for _, f := range condition.Facets() {
		if f == condition.Time {
			continue
		}
		literal := literals[f.Type()]
		if w, ok := words[f]; ok {
			literal = w
		}
		ofNone := doubt
		if f == condition.HumanGroups { // in no group, and so not in that one
			ofNone = no
		}
		judgeAll(t, []on{
			{fmt.Sprintf(`{%q: %s}`, f, literal), `{}`, no, ofNone},
			{fmt.Sprintf(`{%q: {"neq": %s}}`, f, literal), `{}`, no, ofNone},
			{fmt.Sprintf(`{%q: {"count": 0}}`, f), `{}`, yes, yes},
			{fmt.Sprintf(`{%q: {"exists": true}}`, f), `{}`, no, no},
		}, nil)
		judgeAll(t, []on{{fmt.Sprintf(`{%q: %s}`, f, literal), `{}`, doubt, doubt}}, map[condition.Facet]condition.Set{f: condition.Unknown("x")})
	}
	if condition.Facet("nothing").Type() != condition.NoType {
		t.Error("a facet that does not exist has a type")
	}
}

// TestDoubtsAreSentences: a doubt names the place, the value and how to send it (S21.9).
func TestDoubtsAreSentences(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ condition, input, why string }{
		{`{"/a": 1}`, `x`, "looks at /a, but the arguments cannot be read. Send one JSON object in which no name is repeated."},
		{`{"/a": 1}`, `{}`, "looks at /a, which is missing. Send it."},
		{`{"/a/b": 1}`, `{}`, "looks at /a/b, which is missing. Send it."},
		{`{"/a/b": 1}`, `{"a": "{}"}`, `looks at /a, which is the text "{}" and must be an object. Send it as an object.`},
		{`{"/a/*": 1}`, `{"a": 1}`, "looks at /a, which is the number 1 and must be a list. Send it as a list."},
		{`{"/a/*/b": 1}`, `{"a": [{"b": 1}, {"b": "x"}]}`, `looks at /a/1/b, which is the text "x" and must be a number. Send it as a number.`},
		{`{"/a/*": 1}`, `{"a": []}`, "looks at /a/*, of which there is none. Send at least one."},
		{`{"/a": 1}`, `{"a": 1, "A": 2}`, `looks at /a, and there is "A" next to it, which a program may read as the same name. Leave it out.`},
		{`{"/a": {"lte": 9007199254740992}}`, `{"a": 9007199254740993}`, "looks at /a, which is the number 9007199254740993: not every program keeps all of its digits. Send at most 15 digits, and no more than 2^53."},
		{`{"/a": {"contains": "x"}}`, `{"a": 1}`, "looks at /a, which is the number 1 and must be a list or a text. Send it as a list."},
		{`{"host": "a.com"}`, `{}`, "looks at host, of which there is none. Send at least one."},
		{`{"money": 1}`, `{}`, "looks at money, which is not known: no amount is described."},
		{`{"files": "a"}`, `{}`, `looks at files, where the text "b" may be meant too. Write it so that it is meant in one way only.`},
		{`{"ip": "any"}`, `{}`, `looks at ip, where the text "x" can be read in more than one way. Write it in its plain form.`},
	} {
		on := call{input: row.input, facets: map[condition.Facet]condition.Set{
			condition.Money: condition.Unknown("no amount is described"), condition.IP: condition.KnownSet("x"),
			condition.Files: {Known: true, Values: []condition.Element{element("a"), unsure(element("b"))}},
		}}
		leaf := read(t, row.condition, condition.Allows).Explain(on, condition.Allows)[0]
		if leaf.Why != row.why {
			t.Errorf("%s of %s: %q, want %q", row.condition, row.input, leaf.Why, row.why)
		}
	}
}
