package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestOrder covers S7.2: deny, ask, allow, default, independent of their order.
func TestOrder(t *testing.T) {
	t.Parallel()
	const lists = `"allow": [{"capability": "bash"}, {"capability": "mcp:fs:read"}, {"capability": "mcp:fs:*"}],
		"ask": [{"capability": "mcp:fs:write"}, {"capability": "mcp:fs:delete"}, {"capability": "mcp:fs:w*"}],
		"deny": [{"capability": "mcp:fs:delete"}, {"capability": "mcp:evil"}]`
	for name, tt := range map[string]struct {
		policy, tool string
		want         string // decision, code and the deciding rule
	}{
		"deny before ask and allow":   {lists, "mcp__fs__delete", "DENY POLICY_DENIED /deny/0"},
		"deny of a server":            {lists, "mcp__evil__read", "DENY POLICY_DENIED /deny/1"},
		"ask before allow":            {lists, "mcp__fs__write", "ASK APPROVAL_REQUIRED /ask/0"},
		"ask by a wildcard":           {lists, "mcp__fs__wipe", "ASK APPROVAL_REQUIRED /ask/2"},
		"allow":                       {lists, "Bash", "ALLOW  /allow/0"},
		"the closest allows":          {lists, "mcp__fs__read", "ALLOW  /allow/1"},
		"allow by a wildcard":         {lists, "mcp__fs__list", "ALLOW  /allow/2"},
		"no match":                    {lists, "Read", "ALLOW  /default"},
		"no rules":                    {`"allow": []`, "Bash", "ALLOW  /default"},
		"default allow":               {lists + `, "default": "allow"`, "Read", "ALLOW  /default"},
		"default deny, no match":      {lists + `, "default": "deny"`, "Read", "DENY POLICY_DENIED /default"},
		"default deny, allowed":       {lists + `, "default": "deny"`, "Bash", "ALLOW  /allow/0"},
		"default deny, asked":         {lists + `, "default": "deny"`, "mcp__fs__write", "ASK APPROVAL_REQUIRED /ask/0"},
		"default deny, denied":        {lists + `, "default": "deny"`, "mcp__fs__delete", "DENY POLICY_DENIED /deny/0"},
		"own tool":                    {`"deny": [{"capability": "*"}]`, "transition", "ALLOW  -"},
		"own tool, default deny":      {`"default": "deny"`, "mcp__interlock__get_state", "ALLOW  -"},
		"same name on another server": {`"deny": [{"capability": "*"}]`, "mcp__evil__transition", "DENY POLICY_DENIED /deny/0"},
		"no tool":                     {`"allow": []`, "", "DENY INVALID_INPUT -"},
		"the longest denies":          {`"deny": [{"capability": "*"}, {"capability": "mcp:*"}, {"capability": "mcp:fs"}]`, "mcp__fs__x", "DENY POLICY_DENIED /deny/2"},
		"the first of equals":         {`"deny": [{"capability": "bash"}, {"capability": "bash"}]`, "Bash", "DENY POLICY_DENIED /deny/0"},

		// A server's tool that runs command lines is its server's first, and restrictions
		// of shells restrict it.
		"a shell of a server, denied":         {`"deny": [{"capability": "bash"}]`, "mcp__desktop__bash", "DENY POLICY_DENIED /deny/0"},
		"a shell of a server, asked":          {`"ask": [{"capability": "bash"}]`, "mcp__desktop__bash", "ASK APPROVAL_REQUIRED /ask/0"},
		"a shell of a server, not allowed":    {`"default": "deny", "allow": [{"capability": "bash"}]`, "mcp__desktop__bash", "DENY POLICY_DENIED /default"},
		"a shell of a server, not only asked": {`"default": "deny", "ask": [{"capability": "bash"}]`, "mcp__desktop__bash", "DENY POLICY_DENIED /default"},
		"a shell of a server, allowed":        {`"default": "deny", "allow": [{"capability": "mcp:desktop"}]`, "mcp__desktop__bash", "ALLOW  /allow/0"},
		"a shell of a server, asked as both": {
			`"ask": [{"capability": "bash"}, {"capability": "mcp:desktop"}]`, "mcp__desktop__bash", "ASK APPROVAL_REQUIRED /ask/1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := compile(t, `{"role": "agent", `+tt.policy+`}`).Decide(rules.Call{Tool: tt.tool}, nil)
			if got := decisionOf(&v); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func decisionOf(v *rules.Verdict) string {
	by := "-"
	if v.By != nil {
		by = v.By.Pointer()
	}
	return fmt.Sprintf("%s %s %s", v.Decision, v.Code, by)
}

// TestUnavailable covers S7.2: an invalid policy denies all but Interlock's own tools.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	zero := rules.MicroUSD(0)
	rule := func(r rules.Rule) *rules.Policy { return &rules.Policy{Allow: []rules.Rule{r}} }
	for name, p := range map[string]*rules.Policy{
		"none":          nil,
		"pattern":       rule(rules.Rule{Capability: "mcp:*:delete"}),
		"empty pattern": {Deny: []rules.Rule{{}}},
		"rate 0":        rule(rules.Rule{Capability: "bash", Rate: &rules.RateLimit{WindowSeconds: 1}}),
		"window 0":      rule(rules.Rule{Capability: "bash", Rate: &rules.RateLimit{MaxCalls: 1}}),
		"rate scope":    rule(rules.Rule{Capability: "bash", Rate: &rules.RateLimit{MaxCalls: 1, WindowSeconds: 1, Scope: "x"}}),
		"long window":   rule(rules.Rule{Capability: "bash", Rate: &rules.RateLimit{MaxCalls: 1, WindowSeconds: 1 << 40}}),
		"budget 0":      rule(rules.Rule{Capability: "bash", Budget: &rules.BudgetLimit{Period: rules.Daily}}),
		"period":        rule(rules.Rule{Capability: "bash", Budget: &rules.BudgetLimit{Max: 1}}),
		"budget scope":  rule(rules.Rule{Capability: "bash", Budget: &rules.BudgetLimit{Max: 1, Period: rules.Daily, Scope: "x"}}),
		"session":       {SessionBudget: &zero},
		"emails":        {Email: &rules.EmailLimits{Limited: true, MaxPerSession: -1}},
		"email tools":   {Email: &rules.EmailLimits{Tools: []string{}}},
		"email tool":    {Email: &rules.EmailLimits{Tools: []string{"mail"}}},
	} {
		v := rules.Compile(p, 1).Decide(rules.Call{Tool: "Read", Approved: true, Now: noon}, nil)
		if v.Decision != toolcall.Deny || v.Code != toolcall.CodePolicyUnavailable || len(v.Spends) > 0 {
			t.Errorf("%s: %+v", name, v)
		}
	}
	var none *rules.Set
	if v := none.Decide(rules.Call{Tool: "Read"}, nil); v.Code != toolcall.CodePolicyUnavailable {
		t.Errorf("no set: %+v", v)
	}
}

// TestSpends covers S7.3 to S7.5: the limits of all rules that match, as counts.
func TestSpends(t *testing.T) {
	t.Parallel()
	const rate, budget = `"rate_limit": {"max_calls": %d, "window_seconds": %d}`, `"budget_limit": {"max_usd": %s, "period": "%s"}`
	r := func(calls, seconds int) string { return fmt.Sprintf(rate, calls, seconds) }
	b := func(max, period string) string { return fmt.Sprintf(budget, max, period) }
	rule := func(pattern string, limits ...string) string {
		return `{"capability": "` + pattern + `", ` + strings.Join(limits, ", ") + `}`
	}
	for name, tt := range map[string]struct {
		policy string
		call   rules.Call
		want   string // counter, delta and limit of each
	}{
		"none":      {`"allow": [{"capability": "bash"}]`, rules.Call{}, ""},
		"not bash":  {`"allow": [` + rule("mcp:fs", r(5, 60)) + `]`, rules.Call{}, ""},
		"a window":  {`"allow": [` + rule("bash", r(50, 3600)) + `]`, rules.Call{}, "p/policy//calls/3600s/bash +1 <= 50"},
		"a budget":  {`"allow": [` + rule("bash", b("5", "daily")) + `]`, rules.Call{}, "p/policy//money/daily/2026-11-21/bash +0 <= 4999999"},
		"reserving": {`"allow": [` + rule("bash", b("5", "hourly")) + `]`, rules.Call{EstimatedCost: 1_500_000}, "p/policy//money/hourly/2026-11-21T12/bash +1500000 <= 5000000"},
		"asking": {
			`"ask": [` + rule("bash", r(3, 60), b("5", "monthly")) + `]`,
			rules.Call{EstimatedCost: 2_000_000},
			"p/policy//calls/60s/bash +0 <= 2; p/policy//money/monthly/2026-11/bash +0 <= 3000000",
		},
		"asking, not reserving": {`"ask": [` + rule("bash", b("5", "monthly")) + `]`, rules.Call{}, "p/policy//money/monthly/2026-11/bash +0 <= 4999999"},
		"approved": {
			`"ask": [` + rule("bash", r(3, 60), b("5", "daily")) + `]`,
			rules.Call{EstimatedCost: 7, Approved: true},
			"p/policy//calls/60s/bash +1 <= 3; p/policy//money/daily/2026-11-21/bash +7 <= 5000000",
		},
		"all that match": {
			`"allow": [` + rule("bash", r(5, 60)) + `, ` + rule("*", r(9, 60)) + `, ` + rule("bash*", b("1", "daily")) + `],
			 "ask": [` + rule("*", r(100, 3600)) + `]`,
			rules.Call{Approved: true},
			"p/policy//calls/60s/* +1 <= 9; p/policy//calls/3600s/* +1 <= 100; p/policy//calls/60s/bash +1 <= 5; " +
				"p/policy//money/daily/2026-11-21/bash* +0 <= 999999",
		},
		"one account, the strictest": {
			`"allow": [` + rule("bash", r(5, 60)) + `, ` + rule("bash", r(3, 60)) + `], "ask": [` + rule("bash", r(4, 60)) + `]`,
			rules.Call{Approved: true},
			"p/policy//calls/60s/bash +1 <= 3",
		},
		"scopes": {
			`"allow": [` + rule("bash", `"rate_limit": {"max_calls": 5, "window_seconds": 60, "scope": "principal"}`,
				`"budget_limit": {"max_usd": 1, "period": "daily", "scope": "session"}`) + `]`,
			rules.Call{Principal: "amir", Session: "child", Root: "top"},
			"p/principal/amir/calls/60s/bash +1 <= 5; p/session/top/money/daily/2026-11-21/bash +0 <= 999999",
		},
		// S22.41
		"a human": {
			`"allow": [` + rule("bash", `"rate_limit": {"max_calls": 5, "window_seconds": 60, "scope": "human"}`,
				`"budget_limit": {"max_usd": 1, "period": "daily", "scope": "human"}`) + `]`,
			rules.Call{Principal: "amir", Human: rules.HumanAccount("ann@x.test", "https://idp"), Session: "child", Root: "top"},
			"p/human/https://idp#ann@x.test/calls/60s/bash +1 <= 5; p/human/https://idp#ann@x.test/money/daily/2026-11-21/bash +0 <= 999999",
		},
		"a human of this deployment": {
			`"ask": [` + rule("bash", `"rate_limit": {"max_calls": 5, "window_seconds": 60, "scope": "human"}`) + `]`,
			rules.Call{Human: rules.HumanAccount("ann", ""), Approved: true},
			"p/human/ann/calls/60s/bash +1 <= 5",
		},
		"an unknown human": {
			`"allow": [` + rule("bash", `"rate_limit": {"max_calls": 5, "window_seconds": 60, "scope": "human"}`) + `]`,
			rules.Call{Principal: "amir", Session: "s"},
			"CALL_UNCLEAR",
		},
		"an unknown human who would be asked about": {
			`"ask": [` + rule("bash", `"budget_limit": {"max_usd": 1, "period": "daily", "scope": "human"}`) + `]`,
			rules.Call{Principal: "amir", Session: "s"},
			"CALL_UNCLEAR",
		},
		"an unknown human of another tool": {
			`"allow": [` + rule("bash", `"rate_limit": {"max_calls": 5, "window_seconds": 60, "scope": "human"}`) + `]`,
			rules.Call{Tool: "Read"},
			"",
		},
		"a session is its own root": {
			`"allow": [` + rule("bash", `"rate_limit": {"max_calls": 5, "window_seconds": 60, "scope": "session"}`) + `]`,
			rules.Call{Session: "s"},
			"p/session/s/calls/60s/bash +1 <= 5",
		},
		"a session's budget": {
			`"session_budget_usd": 2.5`, rules.Call{Session: "s", EstimatedCost: 10}, "/session/s/money +10 <= 2500000",
		},
		"a shell of a server": {
			`"allow": [` + rule("bash", r(5, 60)) + `, ` + rule("*", r(9, 60)) + `]`,
			rules.Call{Tool: "mcp__desktop__bash"},
			"p/policy//calls/60s/* +1 <= 9; p/policy//calls/60s/bash +1 <= 5",
		},
		"an estimate of all":    {`"allow": [` + rule("bash", b("1", "daily")) + `]`, rules.Call{EstimatedCost: 1_000_000}, "p/policy//money/daily/2026-11-21/bash +1000000 <= 1000000"},
		"an estimate too large": {`"allow": [` + rule("bash", b("1", "daily")) + `]`, rules.Call{EstimatedCost: 1_000_001}, "BUDGET_EXCEEDED"},
		"one too large to ask":  {`"ask": [` + rule("bash", b("1", "daily")) + `]`, rules.Call{EstimatedCost: 1_000_001}, "BUDGET_EXCEEDED"},
		"a negative estimate":   {`"allow": [` + rule("bash", b("1", "daily")) + `]`, rules.Call{EstimatedCost: -1}, "INVALID_INPUT"},
		"nobody": {
			`"allow": [` + rule("bash", `"rate_limit": {"max_calls": 5, "window_seconds": 60, "scope": "principal"}`) + `]`,
			rules.Call{},
			"POLICY_UNAVAILABLE",
		},
		"no session": {`"session_budget_usd": 2.5`, rules.Call{}, "POLICY_UNAVAILABLE"},
		"denied":     {`"deny": [{"capability": "bash"}], "allow": [` + rule("bash", r(5, 60)) + `]`, rules.Call{}, "POLICY_DENIED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := tt.call
			call.Now = noon
			if call.Tool == "" {
				call.Tool = "Bash"
			}
			v := compile(t, `{"role": "agent", "name": "p", `+tt.policy+`}`).Decide(call, nil)
			got := string(v.Code)
			if v.Decision != toolcall.Deny {
				got = spendsOf(v.Spends)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	late := compile(t, `{"role": "agent", "allow": [`+rule("bash", b("1", "daily"))+`]}`)
	if v := late.Decide(rules.Call{Tool: "Bash"}, nil); v.Code != toolcall.CodePolicyUnavailable {
		t.Errorf("without a time: %+v", v)
	}
}

func spendsOf(spends []rules.Spend) string {
	var all []string
	for i := range spends {
		s := &spends[i]
		all = append(all, fmt.Sprintf("%s/%s/%s/%s %+d <= %d", s.Policy, s.Scope, s.Subject, s.Counter(), s.Delta(), s.Limit()))
	}
	return strings.Join(all, "; ")
}

// TestAppends: the caller may bring the memory for the spends.
func TestAppends(t *testing.T) {
	t.Parallel()
	set := compile(t, `{"role": "agent", "allow": [{"capability": "bash", "rate_limit": {"max_calls": 1, "window_seconds": 1}}]}`)
	before := []rules.Spend{{Need: 7}}
	v := set.Decide(rules.Call{Tool: "Bash"}, before)
	if len(v.Spends) != 2 || v.Spends[0].Need != 7 || v.Spends[1].Measure != rules.Calls {
		t.Errorf("%+v", v.Spends)
	}
}

// TestPeriods covers the edges of S7.5's periods, in UTC in any zone of the caller.
func TestPeriods(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 9*3600)
	at := func(text string) time.Time {
		when, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for _, tt := range []struct {
		period     rules.Period
		now        time.Time
		start, end string
	}{
		{rules.Hourly, at("2026-11-21T12:00:00Z"), "2026-11-21T12:00:00Z", "2026-11-21T13:00:00Z"},
		{rules.Hourly, at("2026-11-21T12:59:59.999999999Z"), "2026-11-21T12:00:00Z", "2026-11-21T13:00:00Z"},
		{rules.Hourly, at("2026-12-31T23:30:00Z"), "2026-12-31T23:00:00Z", "2027-01-01T00:00:00Z"},
		{rules.Hourly, at("2026-11-21T12:10:00+05:30"), "2026-11-21T06:00:00Z", "2026-11-21T07:00:00Z"},
		{rules.Daily, at("2026-11-21T00:00:00Z"), "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"},
		{rules.Daily, at("2026-11-21T23:59:59.999Z"), "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"},
		{rules.Daily, at("2026-11-21T23:59:59Z").In(east), "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"},
		{rules.Daily, at("2028-02-28T12:00:00Z"), "2028-02-28T00:00:00Z", "2028-02-29T00:00:00Z"},
		{rules.Monthly, at("2026-11-01T00:00:00Z"), "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"},
		{rules.Monthly, at("2026-12-31T23:59:59Z"), "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{rules.Monthly, at("2026-02-28T23:00:00-05:00"), "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"},
		{rules.Monthly, at("2026-01-31T12:00:00Z"), "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"},
	} {
		start, end := tt.period.Bounds(tt.now)
		if diff := cmp.Diff([]time.Time{at(tt.start), at(tt.end)}, []time.Time{start, end}); diff != "" {
			t.Errorf("%s at %v: %s", tt.period, tt.now, diff)
		}
	}
	if start, end := rules.Period("yearly").Bounds(noon); !start.IsZero() || !end.IsZero() {
		t.Errorf("a year is from %v to %v", start, end)
	}
}

// TestSettle covers S7.5: the report settles the reservation, in the period that the call
// was admitted in.
func TestSettle(t *testing.T) {
	t.Parallel()
	set := compile(t, `{"role": "agent", "name": "p", "session_budget_usd": 9, "email_config": {"max_emails_per_session": 3},
		"allow": [{"capability": "*", "rate_limit": {"max_calls": 9, "window_seconds": 60}, "budget_limit": {"max_usd": 5, "period": "daily"}}]}`)
	v := set.Decide(rules.Call{Tool: "resend-email", Session: "s", EstimatedCost: 300, Now: noon.Add(12*time.Hour - 1)}, nil)
	if len(v.Spends) != 4 {
		t.Fatalf("%s", spendsOf(v.Spends))
	}
	const day, session = "money/daily/2026-11-21/*", "money"
	for actual, want := range map[rules.MicroUSD]string{
		300: "", 0: day + " -300; " + session + " -300", 100: day + " -200; " + session + " -200",
		1_000: day + " +700; " + session + " +700", -5: day + " -300; " + session + " -300",
	} {
		if got := changesOf(rules.Settle(v.Spends, actual)); got != want {
			t.Errorf("settled at %d: %s", actual, got)
		}
	}
}

func changesOf(changes []rules.Change) string {
	var all []string
	for i := range changes {
		all = append(all, fmt.Sprintf("%s %+d", changes[i].Counter(), changes[i].Delta))
	}
	return strings.Join(all, "; ")
}

// TestExceeded covers S7.3: over a limit the call is denied, ask rules too, with the
// time at which it reopens.
func TestExceeded(t *testing.T) {
	t.Parallel()
	set := compile(t, `{"role": "agent", "session_budget_usd": 9, "email_config": {"max_emails_per_session": 3},
		"ask": [{"capability": "*", "rate_limit": {"max_calls": 9, "window_seconds": 60}, "budget_limit": {"max_usd": 5, "period": "daily"}}]}`)
	reopens := noon.Add(17 * time.Second)
	v := set.Decide(rules.Call{Tool: "resend-email", Session: "s", Now: noon}, nil)
	var got []string
	for _, s := range v.Spends {
		d := v.Exceeded(s, s.Max, reopens)
		if d.Decision != toolcall.Deny || len(d.Spends) > 0 || d.Excess.Value != s.Max {
			t.Errorf("%s: %+v", s.Counter(), d)
		}
		at := "never"
		if !d.Excess.ReopensAt.IsZero() {
			at = d.Excess.ReopensAt.Format(time.RFC3339)
		}
		got = append(got, fmt.Sprintf("%s %s %s", s.Measure, d.Code, at))
	}
	want := []string{
		"calls RATE_LIMITED 2026-11-21T12:00:17Z", "money BUDGET_EXCEEDED 2026-11-22T00:00:00Z",
		"money BUDGET_EXCEEDED never", "emails EMAIL_DENIED never",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	large := set.Decide(rules.Call{Tool: "Bash", Session: "s", Now: noon, EstimatedCost: 5_000_001}, nil)
	if large.Code != toolcall.CodeBudgetExceeded || !large.Excess.ReopensAt.IsZero() {
		t.Errorf("what can never be paid reopens: %+v", large.Excess)
	}
}
