package rules

import (
	"cmp"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Reasons explain the verdict of a policy on a call.
type Reasons struct {
	// Verdict is that of Decide.
	Verdict Verdict
	// Rules are all of the policy in their order, deny first, the default last.
	Rules []RuleReason
	// Limits are those that the call counts against if it is admitted, also of a call that
	// is denied: each account, and the need of the call.
	Limits []Spend
}

// RuleReason is one rule, and whether it is about the call.
type RuleReason struct {
	By *Source
	// Effect is what it does.
	Effect toolcall.Decision
	// Matches is true when it is about the call, Unclear when its conditions are in doubt, and Decides when the
	// verdict rests on it.
	Matches, Unclear, Decides bool
	// Conditions are its further requirements on the call.
	Conditions []Condition
}

// Condition is something that a rule requires.
type Condition struct {
	Field, Expected, Actual string
	Holds                   bool
	// Doubt explains a doubt and says how to send the value; empty without doubt. Negated is true under not and unless.
	Doubt   string
	Negated bool
}

// Explain judges a call as Decide does, and returns the reasons.
func (s *Set) Explain(call Call) Reasons {
	r := Reasons{Verdict: s.Decide(call, nil)}
	if s == nil || s.broken != "" || call.Capability == "" && (call.Tool == "" || toolcall.Own(call.Tool)) {
		return r
	}
	capability, asShell := call.named(nil)
	said, also := *s.table.find(capability), *s.alsoSaid(&call, asShell, capability)
	matched := false
	for i := range s.rules {
		rule := s.reason(&s.rules[i], &call, capability, also.restricts())
		rule.Decides = r.Verdict.By == rule.By
		matched = matched || rule.Matches || rule.Unclear && rule.Effect != toolcall.Allow
		r.Rules = append(r.Rules, rule)
	}
	if s.email != nil && s.email.covers(&said, capability) {
		_, wrong := s.email.check(call.Input)
		r.Rules = append(r.Rules, RuleReason{
			By: s.email.by, Effect: toolcall.Deny, Matches: wrong != "", Decides: r.Verdict.By == s.email.by && r.Verdict.Decision == toolcall.Deny,
			Conditions: []Condition{{
				Field: "input", Expected: "senders and recipients that the policy allows", Actual: cmp.Or(wrong, "all are allowed"), Holds: wrong == "",
			}},
		})
	}
	other := RuleReason{By: s.other, Effect: toolcall.Allow, Matches: !matched, Decides: r.Verdict.By == s.other}
	if s.defaultDeny {
		other.Effect = toolcall.Deny
	}
	r.Rules = append(r.Rules, other)
	r.Limits = s.limitsOf(call, r.Verdict, said, also, capability)
	return r
}

// reason explains whether one rule is about a call.
func (s *Set) reason(p *pattern, call *Call, capability []byte, asShell bool) RuleReason {
	c := p.rule
	rule := RuleReason{By: c.by, Effect: effects[c.by.Place]}
	about := newTable([]pattern{*p}) // by the same table that decides
	rule.Matches = about.find(capability).says(c.by)
	if rule.Effect != toolcall.Allow && asShell { // it can only restrict
		rule.Matches = rule.Matches || about.find([]byte(Shell)).says(c.by)
	}
	if !rule.Matches {
		return rule
	}
	if id := c.excepted(call); id != "" && c.applies(call) != condition.False {
		rule.Matches = false
		rule.Conditions = append(rule.Conditions, Condition{Field: "exception", Expected: "none", Actual: id})
	}
	if c.clause.IsZero() || !rule.Matches {
		return rule
	}
	applies := c.applies(call)
	rule.Matches, rule.Unclear = applies == condition.True, applies == condition.Doubt
	leaves := c.explain(call)
	for i := range leaves {
		rule.Conditions = append(rule.Conditions, ConditionOf(&leaves[i]))
	}
	return rule
}

// ConditionOf returns a comparison as a requirement. A doubt always has a reason.
func ConditionOf(leaf *condition.Leaf) Condition {
	c := Condition{
		Field: leaf.Looks, Expected: leaf.Expected, Actual: leaf.Actual, Holds: leaf.Result == condition.True, Doubt: leaf.Why, Negated: leaf.Negated,
	}
	if leaf.Result == condition.Doubt {
		c.Doubt = cmp.Or(c.Doubt, "looks at "+leaf.Looks+", which it cannot judge here.")
	}
	return c
}

// effects are those of the rules of each list.
var effects = map[string]toolcall.Decision{listDeny: toolcall.Deny, listAsk: toolcall.Ask, listAllow: toolcall.Allow}

// says reports that a rule is the one that an outcome has of its list.
func (o *outcome) says(by *Source) bool {
	for _, list := range [][]*conditional{o.denies, o.asks, o.allows} {
		if len(list) > 0 && list[0].by == by {
			return true
		}
	}
	return o.deny == by || o.ask == by || o.allow == by
}

// limitsOf returns the limits of a call as judge finds them when no rule denies it.
func (s *Set) limitsOf(call Call, v Verdict, said, also outcome, capability []byte) []Spend {
	if v.Decision == toolcall.Deny {
		open := *s
		open.defaultDeny = false
		said.deny, said.denies, also.deny, also.denies = nil, nil, nil, nil
		about, _ := said.applied(&call, &outcome{})
		asShell, _ := also.applied(&call, &outcome{})
		v = open.admit(&call, Verdict{Tool: v.Tool, capability: v.capability, shell: v.shell}, about, asShell, capability, nil)
	}
	if v.Excess != nil {
		return []Spend{v.Excess.Spend} // no room could be enough
	}
	return v.Spends
}
