package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// hundred returns a policy of 100 rules: exact ones, servers and wildcards in every list,
// some with limits.
func hundred(t testing.TB) *rules.Set {
	t.Helper()
	p := &rules.Policy{Role: "agent", Name: "bench", DefaultDeny: true}
	limited := func(capability string) rules.Rule {
		return rules.Rule{
			Capability: capability,
			Rate:       &rules.RateLimit{MaxCalls: 100, WindowSeconds: 3600},
			Budget:     &rules.BudgetLimit{Max: 5_000_000, Period: rules.Daily},
		}
	}
	p.Allow = []rules.Rule{limited("bash"), limited("mcp:limited:*"), {Capability: "tool:*"}}
	p.Ask = []rules.Rule{limited("mcp:github:create_*"), {Capability: "tool:Write"}}
	p.Deny = []rules.Rule{{Capability: "tool:WebFetch"}, {Capability: "mcp:prod:delete_*"}}
	for i := len(p.Allow) + len(p.Ask) + len(p.Deny); i < 100; i++ {
		rule := rules.Rule{Capability: fmt.Sprintf("mcp:server_%d:tool_%d", i/5, i)}
		switch i % 5 {
		case 0:
			rule.Capability = fmt.Sprintf("mcp:server_%d:*", i/5)
			p.Allow = append(p.Allow, rule)
		case 1:
			p.Ask = append(p.Ask, rule)
		case 2:
			p.Deny = append(p.Deny, rule)
		default:
			p.Allow = append(p.Allow, rule)
		}
	}
	if n := len(p.Allow) + len(p.Ask) + len(p.Deny); n != 100 {
		t.Fatalf("%d rules", n)
	}
	return rules.Compile(p, 1)
}

// hotCalls are the calls of the goals.
var hotCalls = []struct {
	name, tool string
	want       toolcall.Decision
}{
	{"exact", "mcp__server_11__tool_58", toolcall.Allow},
	{"wildcard", "mcp__server_11__something_else", toolcall.Allow},
	{"builtin", "Read", toolcall.Allow},
	{"limited", "Bash", toolcall.Allow},
	{"limited server", "mcp__limited__search", toolcall.Allow},
	{"ask", "mcp__github__create_issue", toolcall.Ask},
	{"denied", "mcp__prod__delete_table", toolcall.Deny},
	{"no match", "mcp__unknown__tool", toolcall.Deny},
}

// TestDecideAllocatesNothing: the hot path leaves no work to the collector, also
// where limits apply, as long as the caller brings the memory for the spends.
func TestDecideAllocatesNothing(t *testing.T) {
	set := hundred(t)
	var spends [8]rules.Spend
	for _, hot := range hotCalls {
		call := rules.Call{Tool: hot.tool, Principal: "amir", Session: "s", Now: noon, EstimatedCost: 100}
		allocs := testing.AllocsPerRun(200, func() {
			if v := set.Decide(call, spends[:0]); v.Decision != hot.want {
				t.Errorf("%s: %s", hot.name, v.Decision)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", hot.name, allocs)
		}
	}
}

// BenchmarkDecide is a decision by 100 rules. Goal: at most 300 ns and no
// allocation.
func BenchmarkDecide(b *testing.B) {
	set := hundred(b)
	for _, hot := range hotCalls {
		b.Run(hot.name, func(b *testing.B) {
			call := rules.Call{Tool: hot.tool, Principal: "amir", Session: "s", Now: noon, EstimatedCost: 100}
			var spends [8]rules.Spend
			b.ReportAllocs()
			for b.Loop() {
				if v := set.Decide(call, spends[:0]); v.Decision != hot.want {
					b.Fatal(v)
				}
			}
		})
	}
}

// BenchmarkCombine is the answer of the state and two policies, one of which counts.
func BenchmarkCombine(b *testing.B) {
	sets := []*rules.Set{hundred(b), compile(b, `{"role": "agent", "name": "other", "session_budget_usd": 5}`)}
	call := rules.Call{Tool: "Bash", Principal: "amir", Session: "s", Now: noon}
	state := toolcall.Verdict{Decision: toolcall.Allow, Tool: "Bash"}
	var spends, all [8]rules.Spend
	var verdicts [2]rules.Verdict
	b.ReportAllocs()
	for b.Loop() {
		counted := spends[:0]
		for i, set := range sets {
			verdicts[i] = set.Decide(call, counted[len(counted):])
			counted = counted[:len(counted)+len(verdicts[i].Spends)]
		}
		if c := rules.Combine(state, verdicts[:], all[:0]); c.Decision != toolcall.Allow || len(c.Spends) != 3 {
			b.Fatal(c)
		}
	}
}

// BenchmarkCompile measures a new version of a policy.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		hundred(b)
	}
}

// BenchmarkExplain is the sentence of a denial.
func BenchmarkExplain(b *testing.B) {
	v := hundred(b).Decide(rules.Call{Tool: "mcp__prod__delete_table"}, nil)
	b.ReportAllocs()
	for b.Loop() {
		if v.Explain() == "" {
			b.Fatal("no sentence")
		}
	}
}

// TestConditionsAllocateNothing: neither do rules with conditions on the input.
func TestConditionsAllocateNothing(t *testing.T) {
	set := conditionalHundred(t)
	var spends [8]rules.Spend
	var facts facet.Facts
	for input, want := range map[string]toolcall.Decision{
		refund: toolcall.Allow, strings.Replace(refund, "45.50", "2000", 1): toolcall.Deny, strings.Replace(refund, "usd", "eur", 1): toolcall.Deny,
		strings.Replace(refund, `"de"`, `"ir"`, 1): toolcall.Deny, strings.Replace(refund, "45.50", "999.99", 1): toolcall.Allow,
	} {
		input := []byte(input)
		allocs := testing.AllocsPerRun(200, func() {
			facts.Reset(facet.Subject{Tool: "mcp__pay__refund", Input: input})
			call := rules.Call{Tool: "mcp__pay__refund", Input: input, Principal: "amir", Session: "s", Now: noon, Facts: &facts}
			if v := set.Decide(call, spends[:0]); v.Decision != want {
				t.Errorf("%s: %s", input, v.Explain())
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", input, allocs)
		}
	}
}

// conditionalHundred returns a hundred rules with conditions on 20 of them, three of which are about one tool, and a call of it.
func conditionalHundred(t testing.TB) *rules.Set {
	t.Helper()
	var deny, ask, allow []string
	for i := range 97 {
		rule := fmt.Sprintf(`{"capability": "mcp:server_%d:tool_%d"`, i/5, i)
		if i < 17 {
			rule += fmt.Sprintf(`, "when": {"/amount": {"gt": %d}, "/region": ["eu", "us"]}`, i)
		}
		list := []*[]string{&deny, &ask, &allow}[i%3]
		if i < 17 && i%3 == 2 {
			list = &deny // a policy that allows by default has no use for conditions of allow
		}
		*list = append(*list, rule+"}")
	}
	deny = append(deny, `{"capability": "mcp:pay:refund", "unless": {"/amount": {"lte": 1000}}}`,
		`{"capability": "mcp:pay:*", "when": {"any": [{"/currency": {"neq": "usd"}}, {"/customer/region": ["cu", "ir", "kp"]}]}}`)
	ask = append(ask, `{"capability": "mcp:pay:refund", "when": {"/amount": {"gt": 100}, "/reason": {"like": "*goodwill*"}}}`)
	return compile(t, fmt.Sprintf(`{"role": "agent", "name": "bench", "deny": [%s], "ask": [%s], "allow": [%s]}`,
		strings.Join(deny, ","), strings.Join(ask, ","), strings.Join(allow, ",")))
}

const refund = `{"charge": "ch_3PqQ2a2eZvKYlo2C1", "amount": 45.50, "currency": "usd", "reason": "requested_by_customer", ` +
	`"customer": {"id": "cus_9s6XKzkNRiz8i3", "region": "de"}, "notify": true, "tags": ["refund", "web"]}`

// BenchmarkConditions is a decision by 100 rules of which 20 have conditions, and three are about the call. Goal: 1 us.
func BenchmarkConditions(b *testing.B) {
	set := conditionalHundred(b)
	for _, c := range []struct {
		tool string
		want toolcall.Decision
	}{{"mcp__pay__refund", toolcall.Allow}, {"mcp__server_11__tool_58", toolcall.Ask}} {
		b.Run(c.tool, func(b *testing.B) {
			var spends [8]rules.Spend
			var facts facet.Facts
			input := []byte(refund)
			b.ReportAllocs()
			for b.Loop() {
				facts.Reset(facet.Subject{Tool: c.tool, Input: input})
				call := rules.Call{Tool: c.tool, Input: input, Principal: "amir", Session: "s", Now: noon, Facts: &facts}
				if v := set.Decide(call, spends[:0]); v.Decision != c.want {
					b.Fatal(v)
				}
			}
		})
	}
}
