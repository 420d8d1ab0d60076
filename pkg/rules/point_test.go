package rules_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestPoints: a rule of deny with a decision point leaves the verdict open for its answer, and never makes it laxer
// (S21.19).
func TestPoints(t *testing.T) {
	t.Parallel()
	p, problems := rules.ParsePolicy([]byte(`{"role": "agent",
		"deny": [
			{"id": "pays", "capability": "mcp:stripe", "when": {"/amount": {"gt": 100}}, "ask_pdp": {"url": "https://pdp.example.com/access/v1/evaluation"}},
			{"capability": "mcp:stripe:*", "ask_pdp": {"url": "http://127.0.0.1:8080/e", "timeout": "1s"}},
			{"capability": "mcp:stripe:drop"}],
		"ask": [{"capability": "mcp:stripe:refund"}]}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set := rules.Compile(p, 3)
	for _, row := range []struct {
		tool, input string
		decision    toolcall.Decision
		outside     string // the rules that are open
	}{
		{"mcp__stripe__pay", `{"amount": 200}`, toolcall.Allow, "/deny/1 /deny/0"},
		{"mcp__stripe__pay", `{"amount": 100}`, toolcall.Allow, "/deny/1"},
		{"mcp__stripe__refund", `{"amount": 200}`, toolcall.Ask, "/deny/1 /deny/0"},
		{"mcp__stripe__pay", `{"amount": "200"}`, toolcall.Deny, ""}, // it is not known whether the rule applies
		{"mcp__stripe__drop", `{"amount": 1}`, toolcall.Deny, ""},
		{"Read", `{}`, toolcall.Allow, ""},
	} {
		call := rules.Call{Tool: row.tool, Input: []byte(row.input), Facts: facet.Of(facet.Subject{Tool: row.tool, Input: []byte(row.input)})}
		c := rules.Combine(toolcall.Verdict{Decision: toolcall.Allow}, []rules.Verdict{set.Decide(call, nil)}, nil)
		var outside []string
		for _, by := range c.Outside() {
			outside = append(outside, by.Pointer())
			for want, denied := range map[string]rules.Combined{
				"does not": c.Refused(by), "gave no answer: it was late.": c.Unanswered(by, "it was late"),
			} {
				if denied.Decision != toolcall.Deny || len(denied.Spends) > 0 || !strings.Contains(denied.Message(), want) || !strings.Contains(denied.Message(), by.Pointer()) {
					t.Errorf("%s %s: %s %s", row.tool, row.input, denied.Decision, denied.Message())
				}
			}
		}
		if got := strings.Join(outside, " "); c.Decision != row.decision || got != row.outside {
			t.Errorf("%s %s: %s, open %q, want %s, %q", row.tool, row.input, c.Decision, got, row.decision, row.outside)
		}
	}
}

// TestBadPoints refuses decision points that others could answer for, and those of other lists.
func TestBadPoints(t *testing.T) {
	t.Parallel()
	for point, pointer := range map[string]string{
		`{}`: "", `{"url": ""}`: "/url", `{"url": "pdp"}`: "/url", `{"url": "http://pdp.example.com/"}`: "/url", `{"url": "ftp://127.0.0.1/"}`: "/url",
		`{"url": "http://127.0.0.1.example.com/"}`: "/url", `{"url": "http://127.0.0.1@evil.org/"}`: "/url", `{"url": "https://u:p@pdp.example.com/"}`: "/url",
		`{"url": "https://pdp.example.com\\@evil.org/"}`: "/url", `{"url": "https://pdp.example.com/?a=b"}`: "/url", `{"url": "https://pdp.example.com/#x"}`: "/url",
		`{"url": "http://2130706433/"}`: "/url", `{"url": "http://[::ffff:10.0.0.1]/"}`: "/url", `{"url": "unix:///run/pdp.sock"}`: "/url",
		`{"url": "https://pdp.example.com/", "timeout": "2s"}`: "/timeout", `{"url": "https://pdp.example.com/", "timeout": "0s"}`: "/timeout",
		`{"url": "https://pdp.example.com/", "timeout": "soon"}`: "/timeout", `{"url": "https://pdp.example.com/", "timeout": 1}`: "/timeout",
		`{"url": "https://pdp.example.com/", "on_error": "allow"}`: "/on_error", `"https://pdp.example.com/"`: "",
	} {
		_, problems := rules.ParsePolicy([]byte(`{"role": "agent", "deny": [{"capability": "bash", "ask_pdp": ` + point + `}]}`))
		if !problems.HasErrors() || !strings.HasPrefix(problems[0].Pointer, "/deny/0/ask_pdp"+pointer) {
			t.Errorf("%s: %v", point, problems)
		}
	}
	for _, list := range []string{"ask", "allow"} {
		_, problems := rules.ParsePolicy([]byte(`{"role": "agent", "` + list + `": [{"capability": "bash", "ask_pdp": {"url": "https://pdp.example.com/"}}]}`))
		if !problems.HasErrors() || problems[0].Code != document.CodeUnknownField {
			t.Errorf("%s: %v", list, problems)
		}
	}
}
