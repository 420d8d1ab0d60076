package rules_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// given is a call whose facts are its input alone.
type given struct{ input document.Value }

func (g given) Input() (document.Value, bool) { return g.input, true }

func (given) Facet(condition.Facet) condition.Set { return condition.Unknown("not given") }

func withInput(t testing.TB, text string) condition.Facts {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	return given{v}
}

func exceptionWhen(t testing.TB, text string) *condition.Condition {
	t.Helper()
	c, problems := rules.ReadException([]byte(text))
	if len(problems) > 0 {
		t.Fatalf("%s: %v", text, problems)
	}
	return c
}

// S22.13: an exception counts for its rule, until its end, and only if its condition is true.
func TestException(t *testing.T) {
	t.Parallel()
	policy, problems := rules.ParsePolicy([]byte(`{"role": "agent", "name": "freeze",
		"deny": [{"capability": "mcp:db", "when": {"/table": "pay"}}, {"capability": "mcp:deploy", "exceptable": true}],
		"ask": [{"capability": "mcp:deploy:prod", "exceptable": true, "rate_limit": {"max_calls": 9, "window_seconds": 60}}]}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set := rules.Compile(policy, 1)
	for _, pointer := range []string{"/deny/0", "/deny/2", "/allow/0", "/default", ""} {
		if _, ok := set.Exceptable(pointer); ok {
			t.Errorf("%s is exceptable", pointer)
		}
	}
	if digest, ok := set.Exceptable("/deny/1"); !ok || len(digest) != 64 {
		t.Errorf("the digest is %q, %v", digest, ok)
	}
	live := func(rule string) rules.Exception {
		return rules.Exception{ID: "exc_1", Rule: rule, Until: noon.Add(time.Hour)}
	}
	when := func(rule, text string) rules.Exception {
		e := live(rule)
		e.When = exceptionWhen(t, text)
		return e
	}
	ended := live("/deny/1")
	ended.Until = noon
	for name, c := range map[string]struct {
		tool, input string
		given       []rules.Exception
		want        toolcall.Decision
		used        int
	}{
		"none":                 {"mcp__deploy__web", `{"service": "web"}`, nil, toolcall.Deny, 0},
		"of the rule":          {"mcp__deploy__web", `{}`, []rules.Exception{live("/deny/1")}, toolcall.Allow, 1},
		"ended":                {"mcp__deploy__web", `{}`, []rules.Exception{ended}, toolcall.Deny, 0},
		"of another rule":      {"mcp__deploy__web", `{}`, []rules.Exception{live("/deny/0"), live("/ask/0")}, toolcall.Deny, 0},
		"a true condition":     {"mcp__deploy__web", `{"service": "web"}`, []rules.Exception{when("/deny/1", `{"/service": "web"}`)}, toolcall.Allow, 1},
		"a false condition":    {"mcp__deploy__web", `{"service": "db"}`, []rules.Exception{when("/deny/1", `{"/service": "web"}`)}, toolcall.Deny, 0},
		"in doubt":             {"mcp__deploy__web", `{"service": {}}`, []rules.Exception{when("/deny/1", `{"/service": {"like": "w*"}}`)}, toolcall.Deny, 0},
		"missing":              {"mcp__deploy__web", `{}`, []rules.Exception{when("/deny/1", `{"/service": "web"}`)}, toolcall.Deny, 0},
		"not of missing":       {"mcp__deploy__web", `{}`, []rules.Exception{when("/deny/1", `{"not": {"/service": "db"}}`)}, toolcall.Deny, 0},
		"no elements":          {"mcp__deploy__web", `{"to": []}`, []rules.Exception{when("/deny/1", `{"/to/*": "web"}`)}, toolcall.Deny, 0},
		"one of two elements":  {"mcp__deploy__web", `{"to": ["web", "db"]}`, []rules.Exception{when("/deny/1", `{"/to/*": "web"}`)}, toolcall.Deny, 0},
		"the question remains": {"mcp__deploy__prod", `{}`, []rules.Exception{live("/deny/1")}, toolcall.Ask, 0},
		"both":                 {"mcp__deploy__prod", `{}`, []rules.Exception{live("/deny/1"), live("/ask/0")}, toolcall.Allow, 1},
		"not exceptable":       {"mcp__db__query", `{"table": "pay"}`, []rules.Exception{live("/deny/0")}, toolcall.Deny, 0},
	} {
		call := rules.Call{Tool: c.tool, Now: noon, Principal: "p", Facts: withInput(t, c.input), Exceptions: c.given}
		v := set.Decide(call, nil)
		if v.Decision != c.want || c.want != toolcall.Deny && len(v.Exceptions) < c.used {
			t.Errorf("%s: %s %s with %v, want %s", name, v.Decision, v.Code, v.Exceptions, c.want)
		}
		if name == "both" && len(v.Spends) != 1 {
			t.Errorf("the limit of the rule does not count: %v", v.Spends)
		}
		if reasons := set.Explain(call); reasons.Verdict.Decision != c.want {
			t.Errorf("%s: it is explained as %s", name, reasons.Verdict.Decision)
		}
		if call.Facts = nil; c.want == toolcall.Allow && c.given[0].When != nil && set.Decide(call, nil).Decision != toolcall.Deny {
			t.Errorf("%s: it counts without facts", name)
		}
	}
}

// S22.13: rules of allow have no exceptions, the terms of exceptions have one member, and a condition that cannot restrict is refused.
func TestExceptionsOfWhichRules(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]document.Code{
		`{"role": "agent", "allow": [{"capability": "bash", "exceptable": true}]}`:  document.CodeUnknownField,
		`{"role": "agent", "deny": [{"capability": "bash", "exceptable": "yes"}]}`:  document.CodeType,
		`{"role": "agent", "exception_terms": {}}`:                                  document.CodeRequired,
		`{"role": "agent", "exception_terms": {"four_eyes": true, "approvers": 2}}`: document.CodeUnknownField,
	} {
		if _, problems := rules.ParsePolicy([]byte(text)); len(problems) != 1 || problems[0].Code != code {
			t.Errorf("%s: %v, want %s", text, problems, code)
		}
	}
	for _, text := range []string{`{"anywhere": "x"}`, `{}`, `[]`, `{"time": "work"}`, `{"amount": 1}`, `?`} {
		if c, problems := rules.ReadException([]byte(text)); !problems.HasErrors() {
			t.Errorf("%s is read as %v", text, c)
		}
	}
}

// strictness orders decisions.
func strictness(d toolcall.Decision) int {
	return slices.Index([]toolcall.Decision{toolcall.Allow, toolcall.Ask, toolcall.Deny}, d)
}

// S22.13: exceptions from one rule never allow more than the policy without that rule does, never less than the policy as
// it is, and nothing where the rule permits none.
func TestAnExceptionLoosensOneRule(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		p, call := somePolicy().Draw(t, "policy"), someCall().Draw(t, "call")
		for _, list := range [][]rules.Rule{p.Deny, p.Ask} {
			for i := range list {
				list[i].Exceptable = rapid.Bool().Draw(t, "exceptable")
			}
		}
		without := *p
		list, place := &without.Deny, "deny"
		if rapid.Bool().Draw(t, "of ask") {
			list, place = &without.Ask, "ask"
		}
		if len(*list) == 0 {
			return
		}
		at := rapid.IntRange(0, len(*list)-1).Draw(t, "rule")
		exceptable := (*list)[at].Exceptable
		*list = slices.Delete(slices.Clone(*list), at, at+1)
		plain, bare := rules.Compile(p, 1).Decide(call, nil), rules.Compile(&without, 1).Decide(call, nil)
		call.Exceptions = []rules.Exception{{
			ID: "exc_1", Rule: fmt.Sprintf("/%s/%d", place, at), Until: noon.Add(rapid.SampledFrom([]time.Duration{-1, 0, 1}).Draw(t, "until")),
		}}
		v := rules.Compile(p, 1).Decide(call, nil)
		got := strictness(v.Decision)
		if got > strictness(plain.Decision) || got < min(strictness(bare.Decision), strictness(plain.Decision)) {
			t.Fatalf("%s: %s with the exception, %s without it, %s without the rule", call.Tool, v.Decision, plain.Decision, bare.Decision)
		}
		if (!exceptable || !noon.Before(call.Exceptions[0].Until)) && (v.Decision != plain.Decision || len(v.Exceptions) > 0) {
			t.Fatalf("%s: a void exception makes %s of %s", call.Tool, v.Decision, plain.Decision)
		}
	})
}

// S22.13: to add a rule to deny or ask, or to make one exceptable, never allows more.
func TestMoreRulesAllowNoMore(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		p, call := somePolicy().Draw(t, "policy"), someCall().Draw(t, "call")
		before := rules.Compile(p, 1).Decide(call, nil)
		more := *p
		rule := someRule(false).Draw(t, "rule")
		rule.Exceptable = rapid.Bool().Draw(t, "exceptable")
		if rapid.Bool().Draw(t, "deny") {
			more.Deny = append(slices.Clone(p.Deny), rule)
		} else if more.Ask = append(slices.Clone(p.Ask), rule); p.DefaultDeny {
			return // a question is more than the default's denial
		}
		after := rules.Compile(&more, 1).Decide(call, nil)
		if strictness(after.Decision) < strictness(before.Decision) {
			t.Fatalf("%s: %s becomes %s", call.Tool, before.Decision, after.Decision)
		}
		flags := *p
		flags.Deny, flags.Ask = slices.Clone(p.Deny), slices.Clone(p.Ask)
		for _, list := range [][]rules.Rule{flags.Deny, flags.Ask} {
			for i := range list {
				list[i].Exceptable = true
			}
		}
		if v := rules.Compile(&flags, 1).Decide(call, nil); v.Decision != before.Decision {
			t.Fatalf("%s: %s becomes %s when rules are exceptable", call.Tool, before.Decision, v.Decision)
		}
	})
}
