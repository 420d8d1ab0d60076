package rules_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestCombine: the stricter of the state's rules and all policies wins, and explains
// keep all.
func TestCombine(t *testing.T) {
	t.Parallel()
	const allow, ask, deny = `"allow": []`, `"ask": [{"capability": "bash"}]`, `"deny": [{"capability": "bash"}]`
	allowed := toolcall.Verdict{Decision: toolcall.Allow, Tool: "Bash"}
	denied := toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeToolNotAllowed, Tool: "Bash"}
	for name, tt := range map[string]struct {
		state    toolcall.Verdict
		policies []string
		decision toolcall.Decision
		code     toolcall.Code
		message  bool
	}{
		"no policy":             {allowed, nil, toolcall.Allow, "", false},
		"no policy, denied":     {denied, nil, toolcall.Deny, toolcall.CodeToolNotAllowed, false},
		"all allow":             {allowed, []string{allow, allow}, toolcall.Allow, "", false},
		"one asks":              {allowed, []string{allow, ask}, toolcall.Ask, toolcall.CodeApprovalRequired, true},
		"one denies":            {allowed, []string{ask, deny, allow}, toolcall.Deny, toolcall.CodePolicyDenied, true},
		"the state denies":      {denied, []string{ask, allow}, toolcall.Deny, toolcall.CodeToolNotAllowed, false},
		"both deny":             {denied, []string{deny}, toolcall.Deny, toolcall.CodeToolNotAllowed, true},
		"the state has no word": {toolcall.Verdict{}, []string{allow}, toolcall.Deny, toolcall.CodePolicyUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var verdicts []rules.Verdict
			for _, p := range tt.policies {
				verdicts = append(verdicts, compile(t, `{"role": "agent", `+p+`}`).Decide(rules.Call{Tool: "Bash"}, nil))
			}
			c := rules.Combine(tt.state, verdicts, nil)
			if c.Decision != tt.decision || c.Code != tt.code || len(c.Policies) != len(tt.policies) || (c.Message() != "") != tt.message {
				t.Errorf("%s %s %q of %d", c.Decision, c.Code, c.Message(), len(c.Policies))
			}
		})
	}
	if c := rules.Combine(allowed, []rules.Verdict{{}}, nil); c.Decision != toolcall.Deny || c.Code != toolcall.CodePolicyUnavailable {
		t.Errorf("a policy without a word: %+v", c)
	}
}

// TestCombinedSpends: a session's account is counted once, by the strictest limit, and
// not charged while any policy asks.
func TestCombinedSpends(t *testing.T) {
	t.Parallel()
	limited := func(name, rest string) string { return `{"role": "agent", "name": "` + name + `", ` + rest + `}` }
	const rate = `"allow": [{"capability": "bash", "rate_limit": {"max_calls": 5, "window_seconds": 60}}]`
	combine := func(policies ...string) rules.Combined {
		var verdicts []rules.Verdict
		for _, p := range policies {
			verdicts = append(verdicts, compile(t, p).Decide(rules.Call{Tool: "Bash", Session: "s", EstimatedCost: 7}, nil))
		}
		return rules.Combine(toolcall.Verdict{Decision: toolcall.Allow}, verdicts, nil)
	}
	a, b := limited("a", `"session_budget_usd": 3, `+rate), limited("b", `"session_budget_usd": 2, `+rate)
	const both = "a/policy//calls/60s/bash +1 <= 5; /session/s/money +7 <= 2000000; b/policy//calls/60s/bash +1 <= 5"
	c := combine(a, b)
	if got := spendsOf(c.Spends); got != both {
		t.Errorf("got  %s\nwant %s", got, both)
	}
	if e := c.Exceeded(1, 2_000_000, noon); e.Code != toolcall.CodeBudgetExceeded || e.Spends != nil || e.Policies[2].By.Policy != "b" || len(c.Policies) != 2 {
		t.Errorf("%+v", e)
	}
	const asked = "a/policy//calls/60s/bash +0 <= 4; /session/s/money +0 <= 2999993"
	if got := spendsOf(combine(a, limited("c", `"ask": [{"capability": "bash"}]`)).Spends); got != asked {
		t.Errorf("got  %s\nwant %s", got, asked)
	}
}
