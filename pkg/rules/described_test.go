package rules_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// describedPolicy decides about refunds, mail and hosts by the descriptions of its tools (S21.12, S21.13, S21.14).
const describedPolicy = `{"role": "agent", "name": "described", "default": "deny",
"meta": {"tools": {
	"mcp__stripe__refund": {"money": {"amount": "/amount", "currency": "/currency", "unit": "minor"}, "hosts": [], "closed": true},
	"mcp__resend__send": {"hosts": []},
	"mcp__web__get": {"urls": ["/url"], "method": "/method", "closed": true}
}},
"allow": [
	{"id": "small", "capability": "mcp:stripe:refund", "when": {"money": {"lte": 100}, "/currency": ["usd"]},
		"amount_limit": {"of": "money", "max": 250, "window_seconds": 86400, "scope": "session"},
		"examples": [
			{"input": {"amount": 10000, "currency": "usd"}, "decision": "ALLOW"},
			{"input": {"amount": 10001, "currency": "usd"}, "decision": "ASK"},
			{"input": {"amount": 100, "currency": "eur"}, "decision": "DENY"}
		]},
	{"capability": "mcp:resend", "when": {"recipients": {"exists": true}}},
	{"capability": "tool:WebFetch", "when": {"host": ["docs.python.org", "*.example.com"], "scheme": "https", "method": {"or": "GET", "in": ["GET", "HEAD"]}},
		"examples": [
			{"input": {"url": "https://docs.python.org/3/", "prompt": "p"}, "decision": "ALLOW"},
			{"input": {"url": "https://docs.python.org@evil.org/", "prompt": "p"}, "decision": "DENY"},
			{"input": {"url": "http://docs.python.org/3/", "prompt": "p"}, "decision": "DENY"}
		]},
	{"capability": "mcp:web:get", "when": {"host": "*.example.com", "method": {"or": "GET", "in": ["GET", "HEAD"]}},
		"examples": [
			{"input": {"url": "https://a.example.com"}, "decision": "ALLOW"},
			{"input": {"url": "https://a.example.com", "method": "DELETE"}, "decision": "DENY"},
			{"input": {"url": "https://a.example.com", "proxy": "https://evil.org"}, "decision": "DENY"}
		]},
	{"capability": "bash"}
],
"ask": [
	{"capability": "mcp:stripe:refund", "when": {"money": {"gt": 100, "lte": 1000}}},
	{"capability": "mcp:resend:send", "unless": {"recipients": ["*@example.com"]},
		"examples": [
			{"input": {"to": "ann@example.com"}, "decision": "ALLOW"},
			{"input": {"to": ["ann@example.com", "eve@evil.org"]}, "decision": "ASK"},
			{"input": {"to": "ann@example.com", "bcc": "eve@evil.org"}, "decision": "ASK"},
			{"input": {"to": "ann@example.com, eve@evil.org"}, "decision": "DENY"}
		]}
],
"deny": [
	{"capability": "mcp:stripe:refund", "unless": {"money": {"lte": 1000}},
		"examples": [
			{"input": {"amount": 100001, "currency": "usd"}, "decision": "DENY"},
			{"input": {"amount": "5", "currency": "usd"}, "decision": "DENY"},
			{"input": {"amount": -5, "currency": "usd"}, "decision": "DENY"},
			{"input": {"amount": 5, "currency": "usd", "force": true}, "decision": "DENY"}
		]},
	{"capability": "*", "when": {"any": [{"ip": {"within": ["private", "link-local", "loopback"]}}, {"host": ["*.internal", "localhost"]}]}}
]}`

// TestDescribedTools: the rules of a policy see its tools by its descriptions, and the limit adds up their money (S21.7).
func TestDescribedTools(t *testing.T) {
	t.Parallel()
	policy, problems := rules.ParsePolicy([]byte(describedPolicy))
	if policy == nil {
		t.Fatal(problems)
	}
	set := rules.Compile(policy, 1)
	decide := func(tool, input string) rules.Verdict {
		return set.Decide(rules.Call{
			Tool: tool, Input: []byte(input), Session: "s", Principal: "p",
			Facts: facet.Of(facet.Subject{Tool: tool, Input: []byte(input), Tools: set.Tools(), SessionDepth: -1}),
		}, nil)
	}
	for input, want := range map[string]toolcall.Decision{
		`{"command": "curl http://169.254.169.254/"}`: toolcall.Deny, `{"command": "curl http://[::ffff:10.0.0.1]/"}`: toolcall.Deny, `{"command": "curl http://2130706433/"}`: toolcall.Deny,
		`{"command": "curl https://a.example.com/"}`: toolcall.Allow, `{"command": "ls && git status"}`: toolcall.Allow,
	} {
		if got := decide("Bash", input); got.Decision != want {
			t.Errorf("%s: %v %v, want %v", input, got.Decision, got.Code, want)
		}
	}
	if got := decide("mcp__other__get", `{"url": "https://a.example.com"}`); got.Code != toolcall.CodeCallUnclear {
		t.Errorf("a tool that is not described: %v %v", got.Decision, got.Code)
	}
	if got := decide("mcp__stripe__refund", `{"amount": 9999, "currency": "usd"}`); len(got.Spends) != 1 || got.Spends[0].Need != 99_990_000 {
		t.Errorf("the limit counts %+v", got.Spends)
	}
}
