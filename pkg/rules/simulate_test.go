package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// recorded is a call of a tool, some time after noon.
func recorded(after time.Duration, tool string, decision toolcall.Decision, code toolcall.Code, policy string) rules.Recorded {
	return rules.Recorded{
		Call:     rules.Call{Tool: tool, Principal: "amir", Session: "s", EstimatedCost: 400_000, Now: noon.Add(after)},
		Decision: decision, Code: code, Policy: policy,
	}
}

// simulated are the decisions of a replay by the index of the call, changed ones
// marked.
func simulated(candidate *rules.Set, calls []rules.Recorded) string {
	lines := make([]string, len(calls))
	for r := range rules.Simulate(candidate, calls) {
		line := string(r.Decision)
		if r.Code != "" {
			line += " " + string(r.Code)
		}
		if r.Changed {
			line += " changed"
		}
		lines[r.Index] = line
	}
	return strings.Join(lines, "; ")
}

// TestSimulate: the policy that a candidate replaces, the decision without it, and its
// counts.
func TestSimulate(t *testing.T) {
	t.Parallel()
	const allow, ask, deny = toolcall.Allow, toolcall.Ask, toolcall.Deny
	approved := recorded(0, "Bash", allow, "", "p")
	approved.Approved = true
	email := recorded(0, "mcp__resend__send", allow, "", "p")
	hourly := []rules.Recorded{
		recorded(50*time.Minute, "Bash", allow, "", "p"),
		recorded(10*time.Minute, "Bash", allow, "", "p"), // of another partition of the log
		recorded(20*time.Minute, "Bash", allow, "", "p"),
		recorded(71*time.Minute, "Bash", allow, "", "p"),
	}
	for name, tt := range map[string]struct {
		candidate string
		calls     []rules.Recorded
		want      string
	}{
		"nothing":                     {`"deny": [{"capability": "bash"}]`, nil, ""},
		"as before":                   {`"allow": []`, []rules.Recorded{recorded(0, "Bash", allow, "", "p")}, "ALLOW"},
		"stricter":                    {`"deny": [{"capability": "bash"}]`, []rules.Recorded{recorded(0, "Bash", allow, "", ""), recorded(0, "Read", allow, "", "")}, "DENY POLICY_DENIED changed; ALLOW"},
		"its own denial is lifted":    {`"name": "p", "allow": []`, []rules.Recorded{recorded(0, "Bash", deny, toolcall.CodePolicyDenied, "p")}, "ALLOW changed"},
		"its own question is lifted":  {`"name": "p", "allow": []`, []rules.Recorded{recorded(0, "Bash", ask, toolcall.CodeApprovalPending, "p")}, "ALLOW changed"},
		"another's denial stands":     {`"name": "q", "allow": []`, []rules.Recorded{recorded(0, "Bash", deny, toolcall.CodeRateLimited, "p")}, "DENY RATE_LIMITED"},
		"another's question stands":   {`"name": "q", "allow": []`, []rules.Recorded{recorded(0, "Bash", ask, toolcall.CodeApprovalRequired, "p")}, "ASK APPROVAL_REQUIRED"},
		"stricter than another":       {`"name": "q", "deny": [{"capability": "bash"}]`, []rules.Recorded{recorded(0, "Bash", ask, toolcall.CodeApprovalRequired, "p")}, "DENY POLICY_DENIED changed"},
		"no name takes every place":   {`"allow": []`, []rules.Recorded{recorded(0, "Bash", deny, toolcall.CodeEmailDenied, "p"), recorded(0, "Bash", deny, toolcall.CodeBudgetExceeded, "")}, "ALLOW changed; ALLOW changed"},
		"a state's denial stands":     {`"allow": []`, []rules.Recorded{recorded(0, "Bash", deny, toolcall.CodeToolNotAllowed, "")}, "DENY TOOL_NOT_ALLOWED"},
		"what was not judged stands":  {`"allow": []`, []rules.Recorded{recorded(0, "Bash", deny, toolcall.CodePolicyUnavailable, "")}, "DENY POLICY_UNAVAILABLE"},
		"approved is approved":        {`"ask": [{"capability": "bash"}]`, []rules.Recorded{approved, recorded(0, "Bash", allow, "", "p")}, "ALLOW; ASK APPROVAL_REQUIRED changed"},
		"another code is no change":   {`"deny": [{"capability": "bash"}]`, []rules.Recorded{recorded(0, "Bash", deny, toolcall.CodeRateLimited, "p")}, "DENY POLICY_DENIED"},
		"no decision is a denial":     {`"deny": [{"capability": "bash"}]`, []rules.Recorded{recorded(0, "Bash", "", toolcall.CodeRateLimited, "p")}, "DENY POLICY_DENIED"},
		"input that is missing":       {`"email_config": {"allowed_to": ["*@example.com"]}`, []rules.Recorded{email}, "DENY EMAIL_DENIED changed"},
		"a broken candidate":          {"", []rules.Recorded{recorded(0, "Bash", allow, "", "")}, "DENY POLICY_UNAVAILABLE changed"},
		"a window, in order of time":  {`"allow": [{"capability": "bash", "rate_limit": {"max_calls": 2, "window_seconds": 3600}}]`, hourly, "DENY RATE_LIMITED changed; ALLOW; ALLOW; ALLOW"},
		"a budget, fresh in an hour":  {`"allow": [{"capability": "bash", "budget_limit": {"max_usd": 1, "period": "hourly"}}]`, hourly, "DENY BUDGET_EXCEEDED changed; ALLOW; ALLOW; ALLOW"},
		"what is denied costs nobody": {`"name": "p", "session_budget_usd": 0.5`, []rules.Recorded{recorded(0, "Bash", deny, toolcall.CodeToolNotAllowed, ""), recorded(0, "Bash", allow, "", "")}, "DENY TOOL_NOT_ALLOWED; ALLOW"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			candidate := rules.Compile(nil, 1)
			if tt.candidate != "" {
				candidate = compile(t, `{"role": "agent", `+tt.candidate+`}`)
			}
			if got := simulated(candidate, tt.calls); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestSimulateIsWhatDecides: calls that a policy has decided, one after the other, are
// decided the same when they are replayed against it, in any order.
func TestSimulateIsWhatDecides(t *testing.T) {
	t.Parallel()
	set := compile(t, shared)
	randtest.Check(t, func(t *rapid.T) {
		counters := newCounters()
		var calls []rules.Recorded
		for range rapid.IntRange(0, 60).Draw(t, "calls") {
			counters.now = counters.now.Add(rapid.SampledFrom([]time.Duration{
				time.Second, time.Minute, 10 * time.Minute, 29 * time.Minute, time.Hour,
			}).Draw(t, "later"))
			call := rules.Call{
				Tool:          rapid.SampledFrom([]string{"Bash", "Read", "Write", "resend-email"}).Draw(t, "tool"),
				Principal:     rapid.SampledFrom([]string{"amir", "bea"}).Draw(t, "principal"),
				Session:       rapid.SampledFrom([]string{"s", "t"}).Draw(t, "session"),
				Human:         rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "human"),
				EstimatedCost: rules.MicroUSD(rapid.Int64Range(0, 5).Draw(t, "estimate")),
				Approved:      rapid.Bool().Draw(t, "approved"),
				Now:           counters.now,
			}
			c := rules.Combine(toolcall.Verdict{Decision: toolcall.Allow}, []rules.Verdict{set.Decide(call, nil)}, nil)
			if i := counters.commit(c.Spends); i >= 0 {
				c = c.Exceeded(i, 0, noon)
			}
			calls = append(calls, rules.Recorded{Call: call, Decision: c.Decision, Code: c.Code, Policy: "p"})
		}
		calls = rapid.Permutation(calls).Draw(t, "order")
		for r := range rules.Simulate(set, calls) {
			if r.Changed || r.Code != calls[r.Index].Code {
				t.Fatalf("%s was %s %s, and is %s %s", fmt.Sprintf("%+v", calls[r.Index].Call), calls[r.Index].Decision, calls[r.Index].Code, r.Decision, r.Code)
			}
		}
	})
}

// TestSimulateWithoutFacts: what was not recorded is not known, and never a denial.
func TestSimulateWithoutFacts(t *testing.T) {
	t.Parallel()
	candidate := compile(t, `{"role": "agent", "default": "deny", "deny": [{"capability": "mcp:db"}, {"capability": "mcp:db", "when": {"/a": 1}},
			{"capability": "mcp:fs:y", "ask_pdp": {"url": "https://pdp.example.com/"}}, {"capability": "mcp:no", "ask_pdp": {"url": "https://pdp.example.com/"}}],
		"allow": [{"capability": "mcp:fs", "when": {"/a": 1}}, {"capability": "mcp:web", "when": {"host": ["a.example"]}}, {"capability": "mcp:pay", "amount_limit": {"of": "/a", "max": 1, "period": "daily"}}]}`)
	record := func(tool string, facts condition.Facts) rules.Recorded {
		return rules.Recorded{Call: rules.Call{Tool: tool, Session: "s", Now: noon, Facts: facts}, Decision: toolcall.Allow}
	}
	given := facet.Of(facet.Subject{Input: []byte(`{"a": 1}`)})
	calls := []rules.Recorded{
		record("mcp__fs__x", nil), record("mcp__fs__x", given), record("mcp__db__x", nil), record("mcp__pay__x", nil), record("mcp__pay__x", given),
		record("mcp__pay__x", given), record("Read", nil), record("mcp__web__x", given),
		record("mcp__fs__y", given), record("mcp__no__x", given), // a decision point would be asked (S21.19); it is denied in any case
	}
	var got []string
	for r := range rules.Simulate(candidate, calls) {
		switch {
		case r.Unknown && (r.Decision != "" || r.Changed):
			t.Errorf("%d: %s", r.Index, r.Decision)
		case r.Unknown:
			got = append(got, "unknown")
		default:
			got = append(got, string(r.Decision))
		}
	}
	if want := []string{"unknown", "ALLOW", "DENY", "unknown", "ALLOW", "DENY", "DENY", "unknown", "unknown", "DENY"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
