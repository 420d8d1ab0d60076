package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Patterns and tools that have much to do with one another.
var (
	somePatterns = []string{
		"*", "bash", "bash*", "b*", "mcp", "mcp*", "mcp:*", "mcp:fs", "mcp:fs*", "mcp:fs:*", "mcp:fs:read", "mcp:fs:read*",
		"mcp:fs:read:all", "mcp:fsx", "mcp:git:*", "tool", "tool:*", "tool:R*", "tool:Read", "tool:Re.a",
	}
	someTools = []string{
		"Bash", "Shell", "Read", "Re", "Re.a.d", "Write", "mcp__fs__read", "mcp__fs__reader", "mcp__fs__read.all", "mcp__fs__read:all",
		"mcp__fsx__read", "mcp__git__push", "mcp__fs__bash", "mcp__fs", "mcpfs",
	}
)

func someRule(limits bool) *rapid.Generator[rules.Rule] {
	return rapid.Custom(func(t *rapid.T) rules.Rule {
		r := rules.Rule{Capability: rapid.SampledFrom(somePatterns).Draw(t, "pattern")}
		if limits && rapid.Bool().Draw(t, "rate") {
			r.Rate = &rules.RateLimit{
				MaxCalls: rapid.Int64Range(1, 3).Draw(t, "calls"), WindowSeconds: rapid.Int64Range(1, 2).Draw(t, "window"),
				Scope: rapid.SampledFrom([]rules.Scope{"", rules.PerPolicy, rules.PerHuman, rules.PerSession}).Draw(t, "scope"),
			}
		}
		if limits && rapid.Bool().Draw(t, "budget") {
			r.Budget = &rules.BudgetLimit{
				Max:    rules.MicroUSD(rapid.Int64Range(1, 3).Draw(t, "max")),
				Period: rapid.SampledFrom([]rules.Period{rules.Hourly, rules.Monthly}).Draw(t, "period"),
			}
		}
		return r
	})
}

func somePolicy() *rapid.Generator[*rules.Policy] {
	return rapid.Custom(func(t *rapid.T) *rules.Policy {
		return &rules.Policy{
			Role: "agent", Name: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "name"),
			DefaultDeny: rapid.Bool().Draw(t, "default deny"),
			Deny:        rapid.SliceOfN(someRule(false), 0, 2).Draw(t, "deny"),
			Ask:         rapid.SliceOfN(someRule(true), 0, 3).Draw(t, "ask"),
			Allow:       rapid.SliceOfN(someRule(true), 0, 5).Draw(t, "allow"),
		}
	})
}

func someCall() *rapid.Generator[rules.Call] {
	return rapid.Custom(func(t *rapid.T) rules.Call {
		return rules.Call{
			Tool: rapid.SampledFrom(someTools).Draw(t, "tool"), Session: "s", Principal: "amir", Human: "ann", Now: noon,
			Approved: rapid.Bool().Draw(t, "approved"), EstimatedCost: rules.MicroUSD(rapid.Int64Range(0, 1).Draw(t, "estimate")),
		}
	})
}

// matches is S7.1, word by word.
func matches(pattern, capability string) bool {
	if prefix, wild := strings.CutSuffix(pattern, "*"); wild {
		return strings.HasPrefix(capability, prefix)
	}
	return capability == pattern || strings.HasPrefix(capability, pattern+":") || strings.HasPrefix(capability, pattern+".")
}

// expected is S7.2, word by word.
func expected(p *rules.Policy, call rules.Call) toolcall.Decision {
	capability := rules.CapabilityOf(call.Tool)
	about := func(list []rules.Rule, orAsShell bool) bool {
		return slices.ContainsFunc(list, func(r rules.Rule) bool {
			return matches(r.Capability, capability) || orAsShell && toolcall.Shell(nil, call.Tool) && matches(r.Capability, rules.Shell)
		})
	}
	switch {
	case about(p.Deny, true):
		return toolcall.Deny
	case p.DefaultDeny && !about(p.Ask, false) && !about(p.Allow, false):
		return toolcall.Deny
	case about(p.Ask, true) && !call.Approved:
		return toolcall.Ask
	default:
		return toolcall.Allow
	}
}

// TestDecideIsTheRule compares the tables with the rule.
func TestDecideIsTheRule(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		p, call := somePolicy().Draw(t, "policy"), someCall().Draw(t, "call")
		v := rules.Compile(p, 1).Decide(call, nil)
		if want := expected(p, call); v.Decision != want {
			t.Fatalf("%s of %s: got %s by %+v, want %s", call.Tool, v.Capability(), v.Decision, v.By, want)
		}
		for i := range v.Spends {
			s := &v.Spends[i]
			asShell := toolcall.Shell(nil, call.Tool) && matches(s.Pattern, rules.Shell)
			if !matches(s.Pattern, v.Capability()) && !asShell {
				t.Fatalf("%s counts for %s", call.Tool, s.Pattern)
			}
			if s.Limit() < 0 || s.Delta() < 0 || v.Decision == toolcall.Ask && s.Delta() != 0 {
				t.Fatalf("adds %d, at most %d", s.Delta(), s.Limit())
			}
		}
		if v.Explain() == "" {
			t.Fatal("says nothing")
		}
	})
}

// TestOrderOfRules: the order of rules changes neither the answer nor the counts.
func TestOrderOfRules(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		p, call := somePolicy().Draw(t, "policy"), someCall().Draw(t, "call")
		shuffled := *p
		for _, list := range []*[]rules.Rule{&shuffled.Deny, &shuffled.Ask, &shuffled.Allow} {
			*list = rapid.Permutation(*list).Draw(t, "order")
		}
		a, b := rules.Compile(p, 1).Decide(call, nil), rules.Compile(&shuffled, 1).Decide(call, nil)
		if a.Decision != b.Decision || a.Code != b.Code {
			t.Fatalf("%s %s became %s %s", a.Decision, a.Code, b.Decision, b.Code)
		}
		if diff := cmp.Diff(spendsOf(a.Spends), spendsOf(b.Spends)); diff != "" {
			t.Fatal(diff)
		}
		if (a.By == nil) != (b.By == nil) || a.By != nil && (a.By.Place != b.By.Place || a.By.Pattern != b.By.Pattern) {
			t.Fatalf("%+v became %+v", a.By, b.By)
		}
	})
}

// TestDenyWins: a deny rule that matches denies, in any policy, and no approval helps.
func TestDenyWins(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		p, call := somePolicy().Draw(t, "policy"), someCall().Draw(t, "call")
		var about []string
		for _, pattern := range somePatterns {
			if matches(pattern, rules.CapabilityOf(call.Tool)) {
				about = append(about, pattern)
			}
		}
		at := rapid.IntRange(0, len(p.Deny)).Draw(t, "at")
		p.Deny = slices.Insert(slices.Clone(p.Deny), at, rules.Rule{Capability: rapid.SampledFrom(about).Draw(t, "denied")})
		v := rules.Compile(p, 1).Decide(call, nil)
		if v.Decision != toolcall.Deny || v.By == nil || v.By.Place != "deny" || v.Spends != nil {
			t.Fatalf("%s: %+v", call.Tool, v)
		}
	})
}

// TestStricterWins: a further policy never loosens the answer, and the order of policies
// changes neither it nor the counts.
func TestStricterWins(t *testing.T) {
	t.Parallel()
	decisions := []toolcall.Decision{toolcall.Allow, toolcall.Ask, toolcall.Deny, ""}
	rank := func(d toolcall.Decision) int { return slices.Index(decisions, d) }
	randtest.Check(t, func(t *rapid.T) {
		call := someCall().Draw(t, "call")
		state := toolcall.Verdict{Decision: rapid.SampledFrom(decisions).Draw(t, "state"), Tool: call.Tool}
		if state.Decision == toolcall.Ask || state.Decision == toolcall.Deny {
			state.Code = "STATE"
		}
		var verdicts []rules.Verdict
		for _, p := range rapid.SliceOfN(somePolicy(), 0, 3).Draw(t, "policies") {
			verdicts = append(verdicts, rules.Compile(p, 1).Decide(call, nil))
		}
		c := rules.Combine(state, verdicts, nil)
		if state.Decision == "" && c.Decision != toolcall.Deny {
			t.Fatalf("no verdict at all makes %s", c.Decision)
		}
		strictest := rank(state.Decision)
		for i := range verdicts {
			strictest = max(strictest, rank(verdicts[i].Decision))
		}
		if rank(c.Decision) != min(strictest, 2) {
			t.Fatalf("%s of %+v and %+v", c.Decision, state.Decision, verdicts)
		}
		if (c.Decision == toolcall.Allow) != (c.Code == "") || len(c.Policies) != len(verdicts) {
			t.Fatalf("%+v", c)
		}
		if c.Decision == toolcall.Deny && c.Spends != nil {
			t.Fatal("a denial spends")
		}
		accounts := map[rules.Account]bool{}
		for i := range c.Spends {
			s := &c.Spends[i]
			if accounts[s.Account] || c.Decision == toolcall.Ask && s.Delta() != 0 {
				t.Fatalf("spends %s", spendsOf(c.Spends))
			}
			accounts[s.Account] = true
		}
		again := rules.Combine(state, rapid.Permutation(verdicts).Draw(t, "order"), nil)
		a, b := strings.Split(spendsOf(c.Spends), "; "), strings.Split(spendsOf(again.Spends), "; ")
		slices.Sort(a)
		slices.Sort(b)
		if again.Decision != c.Decision || !slices.Equal(a, b) {
			t.Fatalf("%v in another order %v", a, b)
		}
	})
}

// S22.41: an unknown human is never allowed what a known one with nothing counted is not, and never more of it.
func TestUnknownHumansGetNoMore(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		set, call := rules.Compile(somePolicy().Draw(t, "policy"), 1), someCall().Draw(t, "call")
		known := set.Decide(call, nil)
		call.Human = ""
		unknown := set.Decide(call, nil)
		if strictness(unknown.Decision) < strictness(known.Decision) {
			t.Fatalf("%s: %s with a human, %s without", call.Tool, known.Decision, unknown.Decision)
		}
		if unknown.Decision != toolcall.Deny && spendsOf(unknown.Spends) != spendsOf(known.Spends) {
			t.Fatalf("%s: counts %s with a human, %s without", call.Tool, spendsOf(known.Spends), spendsOf(unknown.Spends))
		}
	})
}
