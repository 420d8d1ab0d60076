package rules_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// someConditions compare the members a and b of an input, which are 1, 2 or missing: a condition is
// true, false or in doubt.
var someConditions = []string{
	`{"/a": 1}`, `{"/b": 1}`, `{"/a": 1, "/b": 1}`, `{"any": [{"/a": 1}, {"/b": 1}]}`, `{"not": {"/a": 1}}`, `{"/a": {"neq": 1}}`,
	`{"all": [{"/b": {"in": [1, 3]}}, {"not": {"/a": {"gt": 1}}}]}`,
}

func clauseOf(t interface{ Fatalf(string, ...any) }, stance condition.Stance, when, unless string) condition.Clause {
	var members []document.Member
	for name, text := range map[string]string{"when": when, "unless": unless} {
		if text == "" {
			continue
		}
		v, problem := document.Parse([]byte(text), document.Limits{})
		if problem != nil {
			t.Fatalf("%s: %v", text, problem)
		}
		members = append(members, document.Member{Name: name, Value: v})
	}
	var r document.Report
	clause := condition.ReadClause(document.Fields{Report: &r, Value: document.ObjectValue(members)}, condition.Use{Stance: stance})
	if r.HasErrors() {
		t.Fatalf("%s %s: %v", when, unless, r.Problems())
	}
	return clause
}

// withConditions adds conditions to some rules of a policy, and amounts to some.
func withConditions(p *rules.Policy, t *rapid.T) *rules.Policy {
	for i, list := range [][]rules.Rule{p.Deny, p.Ask, p.Allow} {
		for j := range list {
			rule := &list[j]
			rule.ID = string(rune('a'+i)) + string(rune('0'+j))
			stance, unless := condition.Restricts, ""
			if i == 2 {
				stance = condition.Allows
			} else {
				unless = rapid.SampledFrom(append([]string{"", ""}, someConditions...)).Draw(t, "unless")
			}
			if rapid.IntRange(0, 3).Draw(t, "conditions") > 0 {
				rule.Clause = clauseOf(t, stance, rapid.SampledFrom(someConditions).Draw(t, "when"), unless)
			}
			if i > 0 && rapid.IntRange(0, 3).Draw(t, "amount") == 0 {
				rule.Amount = &rules.AmountLimit{Of: "/a", Max: 1_000_000 * rapid.Int64Range(1, 2).Draw(t, "most"), Period: rules.Daily}
			}
		}
	}
	return p
}

func conditionalPolicy() *rapid.Generator[*rules.Policy] {
	return rapid.Custom(func(t *rapid.T) *rules.Policy { return withConditions(somePolicy().Draw(t, "policy"), t) })
}

// givenCall is a call with facts: a and b are 1, 2, or missing when they are 0.
func givenCall(call rules.Call, a, b int) rules.Call {
	var members []string
	for name, n := range map[string]int{"a": a, "b": b} {
		if n > 0 {
			members = append(members, `"`+name+`": `+string(rune('0'+n)))
		}
	}
	call.Input = []byte("{" + strings.Join(members, ", ") + "}")
	call.Facts = facet.Of(facet.Subject{Tool: call.Tool, Input: call.Input})
	return call
}

func laxity(v rules.Verdict) int {
	return slices.Index([]toolcall.Decision{toolcall.Deny, toolcall.Ask, toolcall.Allow}, v.Decision)
}

// TestDoubtIsNeverLaxer: where a value is taken away, so that comparisons with it are in doubt, the
// verdict is as strict or stricter, and what was counted still is (S21.2).
func TestDoubtIsNeverLaxer(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		set := rules.Compile(conditionalPolicy().Draw(t, "policy"), 1)
		a, b := rapid.IntRange(0, 2).Draw(t, "a"), rapid.IntRange(0, 2).Draw(t, "b")
		call := someCall().Draw(t, "call")
		known := set.Decide(givenCall(call, a, b), nil)
		doubtful := []rules.Call{givenCall(call, 0, b), givenCall(call, a, 0), givenCall(call, 0, 0), call}
		for i := range doubtful {
			v := set.Decide(doubtful[i], nil)
			if laxity(v) > laxity(known) {
				t.Fatalf("%d: %s with a=%d b=%d: %s became %s", i, call.Tool, a, b, known.Explain(), v.Explain())
			}
			if v.Decision != known.Decision || v.Decision == toolcall.Deny {
				continue
			}
			for _, s := range known.Spends {
				if !slices.ContainsFunc(v.Spends, func(o rules.Spend) bool { return o.Account == s.Account }) {
					t.Fatalf("%d: %s is not counted: %s", i, s.Counter(), spendsOf(v.Spends))
				}
			}
		}
	})
}

// TestRestrictionIsNeverLaxer: a further rule of deny or ask, and one without its conditions, never
// loosens the verdict. Only where the default denies may a rule that asks do that.
func TestRestrictionIsNeverLaxer(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		p := conditionalPolicy().Draw(t, "policy")
		call := givenCall(someCall().Draw(t, "call"), rapid.IntRange(0, 2).Draw(t, "a"), rapid.IntRange(0, 2).Draw(t, "b"))
		before := rules.Compile(p, 1).Decide(call, nil)
		byDefault := before.By != nil && before.By.Place == "default"
		more := withConditions(&rules.Policy{Deny: []rules.Rule{someRule(false).Draw(t, "deny")}, Ask: []rules.Rule{someRule(true).Draw(t, "ask")}}, t)
		more.Deny[0].ID, more.Ask[0].ID = "more denied", "more asked"
		bare := func(list []rules.Rule) []rules.Rule {
			list = slices.Clone(list)
			for i := range list {
				list[i].Clause = condition.Clause{}
			}
			return list
		}
		denies, asks, plain, asksPlainly := *p, *p, *p, *p
		denies.Deny = append(slices.Clone(p.Deny), more.Deny...)
		asks.Ask = append(slices.Clone(p.Ask), more.Ask...)
		plain.Deny = bare(p.Deny)
		asksPlainly.Ask = bare(p.Ask)
		for name, changed := range map[string]*rules.Policy{"deny": &denies, "ask": &asks, "bare deny": &plain, "bare ask": &asksPlainly} {
			v := rules.Compile(changed, 1).Decide(call, nil)
			asked := strings.HasSuffix(name, "ask")
			// A rule that asks lets calls through that the default denies, and without conditions it is in no doubt.
			if asked && (byDefault || name == "bare ask" && before.Code == toolcall.CodeCallUnclear) {
				continue
			}
			if laxity(v) > laxity(before) {
				t.Fatalf("%s: %s %s: %s became %s", name, call.Tool, call.Input, before.Explain(), v.Explain())
			}
		}
	})
}

// TestExplainIsDecide: the verdict follows from the rules as Explain describes them (S21.9).
func TestExplainIsDecide(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		p := conditionalPolicy().Draw(t, "policy")
		call := givenCall(someCall().Draw(t, "call"), rapid.IntRange(0, 2).Draw(t, "a"), rapid.IntRange(0, 2).Draw(t, "b"))
		set := rules.Compile(p, 1)
		r := set.Explain(call)
		v := set.Decide(call, nil)
		if r.Verdict.Decision != v.Decision || r.Verdict.Code != v.Code || r.Verdict.By != v.By {
			t.Fatalf("%s is not %s", r.Verdict.Explain(), v.Explain())
		}
		has := func(is func(*rules.RuleReason) bool) bool {
			return slices.ContainsFunc(r.Rules, func(r rules.RuleReason) bool { return r.By.Place != "default" && is(&r) })
		}
		denied := has(func(r *rules.RuleReason) bool { return r.Effect == toolcall.Deny && r.Matches })
		unclear := has(func(r *rules.RuleReason) bool { return r.Effect != toolcall.Allow && r.Unclear })
		switch {
		case denied && v.Code != toolcall.CodePolicyDenied, !denied && unclear && v.Code != toolcall.CodeCallUnclear:
			t.Fatalf("%s, and %+v", v.Explain(), r.Rules)
		case v.Decision != toolcall.Deny && (denied || unclear):
			t.Fatalf("%s, and %+v", v.Explain(), r.Rules)
		case v.Decision == toolcall.Ask && !has(func(r *rules.RuleReason) bool { return r.Effect == toolcall.Ask && r.Matches && r.Decides }):
			t.Fatalf("%s, and %+v", v.Explain(), r.Rules)
		}
		for i := range r.Rules {
			rule := &r.Rules[i]
			if rule.Decides && !rule.Matches && !rule.Unclear && v.Excess == nil && v.Code != toolcall.CodeCallUnclear {
				t.Fatalf("%s decides, and is not about the call: %s", rule.By.Pointer(), v.Explain())
			}
			if rule.Matches && rule.Unclear || rule.Unclear && !slices.ContainsFunc(rule.Conditions, func(c rules.Condition) bool { return c.Doubt != "" }) {
				t.Fatalf("%+v", rule)
			}
		}
	})
}

// TestConditionsDecide is the order of S21.6.
func TestConditionsDecide(t *testing.T) {
	t.Parallel()
	const refunds = `{"role": "agent", "name": "refunds", "default": "deny",
		"allow": [{"capability": "mcp:stripe:refund", "when": {"/amount": {"lte": 100}, "/currency": ["usd"]}}, {"capability": "mcp:stripe:*", "id": "few", "when": {"/test": true}, "rate_limit": {"max_calls": 5, "window_seconds": 60}}],
		"ask": [{"id": "big refunds", "capability": "mcp:stripe:refund", "when": {"/amount": {"gt": 100, "lte": 1000}}}],
		"deny": [{"capability": "mcp:stripe:refund", "unless": {"/amount": {"lte": 1000}}}, {"capability": "bash", "when": {"/command": {"like": "rm *"}}}]}`
	set := compile(t, refunds)
	for name, tt := range map[string]struct{ tool, input, want string }{
		"small":            {"mcp__stripe__refund", `{"amount": 99.5, "currency": "usd", "test": false}`, "ALLOW  /allow/0 0"},
		"other currency":   {"mcp__stripe__refund", `{"amount": 99.5, "currency": "eur"}`, "DENY POLICY_DENIED /default 0"},
		"no currency":      {"mcp__stripe__refund", `{"amount": 99.5}`, "DENY POLICY_DENIED /default 0"},
		"doubt counts":     {"mcp__stripe__refund", `{"amount": 9, "currency": "usd", "test": "yes"}`, "ALLOW  /allow/0 1"},
		"not about it":     {"mcp__stripe__refund", `{"amount": 9, "currency": "usd", "test": false}`, "ALLOW  /allow/0 0"},
		"big":              {"mcp__stripe__refund", `{"amount": 500, "test": false}`, "ASK APPROVAL_REQUIRED /ask/0 0"},
		"too big":          {"mcp__stripe__refund", `{"amount": 1000.01}`, "DENY POLICY_DENIED /deny/0 0"},
		"a text":           {"mcp__stripe__refund", `{"amount": "250"}`, "DENY CALL_UNCLEAR /deny/0 0"},
		"another wildcard": {"mcp__stripe__list", `{"test": true}`, "ALLOW  /allow/1 1"},
		"another tool":     {"mcp__github__get", `{}`, "DENY POLICY_DENIED /default 0"},
		"runs commands":    {"mcp__stripe__list", `{"test": true, "command": "rm x"}`, "DENY POLICY_DENIED /deny/1 0"},
	} {
		call := rules.Call{Tool: tt.tool, Input: []byte(tt.input), Now: noon, Session: "s"}
		call.Facts = facet.Of(facet.Subject{Tool: tt.tool, Input: call.Input})
		v := set.Decide(call, nil)
		if got := string(v.Decision) + " " + string(v.Code) + " " + v.By.Pointer() + " " + string(rune('0'+len(v.Spends))); got != tt.want {
			t.Errorf("%s: got %s, want %s: %s", name, got, tt.want, v.Explain())
		}
	}
	call := rules.Call{Tool: "mcp__stripe__refund", Input: []byte(`{"amount": 1}`), Now: noon}
	if v := set.Decide(call, nil); v.Code != toolcall.CodeCallUnclear {
		t.Errorf("without facts: %s", v.Explain())
	}
}

// lookedUp fails the test when a fact of a call is looked at.
type lookedUp struct{ t *testing.T }

func (l lookedUp) Input() (document.Value, bool) {
	l.t.Error("the input is looked at")
	return document.Value{}, false
}

func (l lookedUp) Facet(f condition.Facet) condition.Set {
	l.t.Errorf("the facet %s is looked at", f)
	return condition.Set{}
}

// TestNoConditionNoFacts: where no condition can change the verdict, no fact is computed.
func TestNoConditionNoFacts(t *testing.T) {
	t.Parallel()
	set := compile(t, `{"role": "agent", "default": "deny", "allow": [{"capability": "tool:Read"}, {"capability": "mcp:fs", "when": {"writes": ["a"]}}],
		"deny": [{"capability": "mcp:db"}, {"capability": "mcp:db", "when": {"/a": 1}}]}`)
	for _, tool := range []string{"Read", "mcp__db__query", "mcp__other__x"} {
		set.Decide(rules.Call{Tool: tool, Input: []byte(`{}`), Facts: lookedUp{t}}, nil)
	}
}

// TestSeesCalls: a policy without conditions, amounts and questions does not depend on what a call does (S21.6).
func TestSeesCalls(t *testing.T) {
	t.Parallel()
	for lists, want := range map[string]bool{
		`"deny": [{"capability": "bash"}], "allow": [{"capability": "mcp:pay", "rate_limit": {"max_calls": 1, "window_seconds": 60}}]`: false,
		`"deny": [{"capability": "mcp:pay", "when": {"/a": 1}}]`:                                                                       true,
		`"deny": [{"capability": "mcp:pay", "unless": {"/a": 1}}]`:                                                                     true,
		`"allow": [{"capability": "mcp:pay", "amount_limit": {"of": "/a", "max": 1, "window_seconds": 60}}]`:                           true,
		`"deny": [{"capability": "mcp:pay", "ask_pdp": {"url": "https://pdp.example.com/x", "timeout": "200ms"}}]`:                     true,
		`"ask": [{"capability": "mcp:pay"}]`:                                                                                           true,
	} {
		if got := compile(t, `{"role": "agent", `+lists+`}`).SeesCalls(); got != want {
			t.Errorf("%s: %v", lists, got)
		}
	}
	if (*rules.Set)(nil).SeesCalls() {
		t.Error("a policy that is missing")
	}
}
