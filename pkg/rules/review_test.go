package rules_test

import (
	"testing"

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
