package rules_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// FuzzParsePolicy: for any text, there is a policy or a reason why not, and a policy that
// was read can be judged by: its deny rules deny the tools that they name, and no call
// gets an answer without words.
func FuzzParsePolicy(f *testing.F) {
	for _, src := range []string{
		`{"role": "agent"}`, mailPolicy, shared, `{"role": "agent", "default": "deny", "deny": [{"capability": "mcp:*"}]}`,
		`{"role": "agent", "deny": [{"capability": "mcp:my_:x"}, {"capability": "mcp:a__b*"}, {"capability": "*"}]}`,
		`{"role": "agent", "allow": [{"capability": "m*", "budget_limit": {"max_usd": 1e-6, "period": "daily", "scope": "session"}}]}`,
		"role: agent\nask: [{capability: bash}]\n", `{"role": "agent", "email_config": {"allowed_to": ["*@*.b"], "tools": ["tool:a.b"]}}`, `[`,
	} {
		f.Add([]byte(src), "mcp__fs__read", []byte(`{"to": "a@b.c"}`))
	}
	f.Fuzz(func(t *testing.T, src []byte, tool string, input []byte) {
		p, problems := rules.ParsePolicy(src)
		if (p == nil) != problems.HasErrors() {
			t.Fatalf("policy %v with %v", p, problems)
		}
		if yaml, problems := rules.ParsePolicyYAML(src); (yaml == nil) != problems.HasErrors() {
			t.Fatalf("policy %v with %v", yaml, problems)
		}
		if p == nil {
			return
		}
		set := rules.Compile(p, 1)
		call := rules.Call{Tool: tool, Input: input, Session: "s", Principal: "amir", Now: noon, EstimatedCost: 1}
		v := set.Decide(call, nil)
		if v.Code == toolcall.CodePolicyUnavailable || v.Explain() == "" || (v.Decision == toolcall.Allow) != (v.Code == "") {
			t.Fatalf("%+v: %s", v, v.Explain())
		}
		for i := range v.Spends {
			if s := &v.Spends[i]; s.Limit() < 0 || s.Counter() == "" || s.Need > s.Max {
				t.Fatalf("%+v", s)
			}
		}
		for _, rule := range p.Deny {
			named := rules.Call{Tool: "x", Capability: rule.Capability}
			if v := set.Decide(named, nil); v.Code != toolcall.CodePolicyDenied {
				t.Fatalf("%s does not deny itself: %+v", rule.Capability, v)
			}
		}
	})
}
