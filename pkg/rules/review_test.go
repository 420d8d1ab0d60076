package rules_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
)

// TestReview warns of conditions that do not do what they seem to (S21.21).
func TestReview(t *testing.T) {
	t.Parallel()
	const refund = `"capability": "mcp:pay:refund"`
	for name, row := range map[string]struct{ lists, want string }{
		"fine": {`"deny": [{` + refund + `, "unless": {"/amount": {"lte": 1000}}}], "ask": [{` + refund + `, "when": {"/amount": {"gt": 100, "lte": 1000}}}],
			"allow": [{` + refund + `, "when": {"/amount": {"lte": 100}}}]`, ""},
		"a number in doubt is no bound": {`"ask": [{` + refund + `, "when": {"/amount": {"gt": 100, "lte": 1000}}}], "deny": [{` + refund + `, "unless": {"/amount": {"lte": 1000}}}]`, ""},
		"a gap":                         {`"ask": [{` + refund + `, "when": {"/amount": {"gt": 200}}}], "allow": [{` + refund + `, "when": {"/amount": {"lte": 100}}}]`, "GAP /ask/0"},
		"a gap between other capabilities": {`"ask": [{"capability": "mcp:pay:pay", "when": {"/amount": {"gt": 200}}}],
			"allow": [{` + refund + `, "when": {"/amount": {"lte": 100}}}]`, ""},
		"never":  {`"deny": [{` + refund + `, "when": {"/amount": {"gt": 100, "lt": 10}}}]`, "NEVER_TRUE /deny/0"},
		"always": {`"ask": [{` + refund + `, "when": {"any": [{"/amount": {"gt": 10}}, {"/amount": {"lte": 10}}]}}]`, "ALWAYS_TRUE /ask/0"},
		"shadowed": {
			`"deny": [{"capability": "mcp:pay", "when": {"/amount": {"gt": 100}}}], "ask": [{` + refund + `, "when": {"/amount": {"gt": 500}}}]`,
			"SHADOWED /ask/0",
		},
		"shadowed by a narrower capability": {`"deny": [{` + refund + `, "when": {"/amount": {"gt": 100}}}], "ask": [{"capability": "mcp:pay", "when": {"/amount": {"gt": 500}}}]`, ""},
		"not described":                     {`"deny": [{` + refund + `, "when": {"money": {"gt": 100}}}]`, "FACET_UNKNOWN /deny/0"},
		"described": {`"meta": {"tools": {"mcp__pay__refund": {"money": {"amount": "/amount", "currency": "=eur", "unit": "major"}}}},
			"deny": [{` + refund + `, "when": {"money": {"gt": 100}}}]`, ""},
		"a server's tools": {`"deny": [{"capability": "mcp:pay", "when": {"money": {"gt": 100}}}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := rules.ParsePolicy([]byte(`{"role": "agent", "default": "deny", ` + row.lists + `}`))
			got := ""
			for _, p := range problems {
				got += p.Code + " " + p.Pointer
			}
			if got != row.want {
				t.Errorf("got %q, want %q: %v", got, row.want, problems)
			}
		})
	}
}

// TestDoubtLikely warns of an argument that a tool does not have, where a call without it is in doubt (S21.21).
func TestDoubtLikely(t *testing.T) {
	t.Parallel()
	arguments := map[string][]string{"mcp__pay__refund": {"/a~1b", "/amount", "/items"}, "mcp__pay__big": strings.Fields(strings.Repeat("/x ", 20)), "mcp__pay__odd": {"/\n\x1b[2J"}}
	const refund = `"capability": "mcp:pay:refund"`
	for name, row := range map[string]struct{ lists, want string }{
		"they are there":      {`"deny": [{` + refund + `, "unless": {"/amount": {"lte": 9}, "/items/*/id": ["a"], "/items/0": ["a"], "/a~1b": true}}]`, ""},
		"when":                {`"deny": [{` + refund + `, "when": {"/amout": {"gt": 9}}}]`, "/deny/0"},
		"unless":              {`"ask": [{` + refund + `, "unless": {"/amout": {"lte": 9}}}]`, "/ask/0"},
		"of allow":            {`"allow": [{` + refund + `, "when": {"/amout": {"lte": 9}}}]`, "/allow/0"},
		"deeper":              {`"deny": [{` + refund + `, "when": {"any": [{"not": {"/order/amount": 9}}, {"/amount": 1}]}}]`, "/deny/0"},
		"below a list":        {`"deny": [{` + refund + `, "when": {"/item/*/id": ["a"]}}]`, "/deny/0"},
		"counted":             {`"deny": [{` + refund + `, "when": {"/item": {"count": {"gt": 1}}}}]`, "/deny/0"},
		"each once":           {`"deny": [{` + refund + `, "when": {"all": [{"/amout": {"gt": 9}}, {"/amout": {"lt": 99}}]}}]`, "/deny/0"},
		"one that is escaped": {`"deny": [{` + refund + `, "when": {"/a/b": true}}]`, "/deny/0"},
		"a limit":             {`"allow": [{"id": "r", ` + refund + `, "amount_limit": {"of": "/amout", "max": 9, "period": "daily"}}]`, "/allow/0"},
		"exists":              {`"deny": [{` + refund + `, "when": {"/force": {"exists": true}}}]`, ""},
		"not_exists":          {`"deny": [{` + refund + `, "when": {"/force": {"not_exists": true}}}]`, ""},
		"or":                  {`"deny": [{` + refund + `, "when": {"/amout": {"gt": 9, "or": 0}}}]`, ""},
		"exists beside it":    {`"deny": [{` + refund + `, "when": {"any": [{"/amout": {"not_exists": true}}, {"/amout": {"gt": 9}}]}}]`, ""},
		"another tool":        {`"deny": [{"capability": "mcp:pay:pay", "when": {"/amout": {"gt": 9}}}]`, ""},
		"several tools":       {`"deny": [{"capability": "mcp:pay", "when": {"/amout": {"gt": 9}}}, {"capability": "mcp:pay:refund*", "when": {"/amout": {"gt": 9}}}]`, ""},
		"facets":              {`"deny": [{` + refund + `, "when": {"anywhere": {"contains": "x"}, "host": ["a.example"]}}]`, ""},
		"no conditions":       {`"deny": [{` + refund + `}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, problems := rules.ParsePolicy([]byte(`{"role": "agent", "default": "deny", ` + row.lists + `}`))
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			got := ""
			for _, p := range p.DoubtLikely(arguments) {
				got += p.Pointer
				if p.Code != rules.CodeDoubtLikely || p.Severity != document.SeverityWarning || !strings.Contains(p.Message, `it has "/a~1b", "/amount", "/items": look`) {
					t.Error(p)
				}
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	for tool, want := range map[string]string{"big": `, "/x", and 4 more: look`, "odd": `it has "/\n\x1b[2J": look`} {
		p, _ := rules.ParsePolicy([]byte(`{"role": "agent", "deny": [{"capability": "mcp:pay:` + tool + `", "when": {"/y": 1}}]}`))
		if got := p.DoubtLikely(arguments); len(got) != 1 || !strings.Contains(got[0].Message, want) {
			t.Errorf("%v", got)
		}
	}
}
