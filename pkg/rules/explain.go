package rules

import (
	"cmp"

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
	// Matches is true when it is about the call, and Decides when the verdict rests on it.
	Matches, Decides bool
	// Conditions are its further requirements on the call.
	Conditions []Condition
}

// Condition is something that a rule requires.
type Condition struct {
	Field, Expected, Actual string
	Holds                   bool
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
	for _, p := range s.rules {
		about := newTable([]pattern{p}) // by the same table that decides
		rule := RuleReason{By: cmp.Or(p.says.deny, p.says.ask, p.says.allow), Effect: toolcall.Allow}
		switch {
		case rule.By == nil:
			continue
		case p.says.deny != nil:
			rule.Effect = toolcall.Deny
		case p.says.ask != nil:
			rule.Effect = toolcall.Ask
		}
		rule.Matches = about.find(capability).says(rule.By)
		if rule.Effect != toolcall.Allow && also.restricts() { // it can only restrict
			rule.Matches = rule.Matches || about.find([]byte(Shell)).says(rule.By)
		}
		rule.Decides = r.Verdict.By == rule.By
		matched = matched || rule.Matches
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

// says reports that a rule is the one that an outcome has of its list.
func (o *outcome) says(by *Source) bool { return o.deny == by || o.ask == by || o.allow == by }

// limitsOf returns the limits of a call as judge finds them when no rule denies it.
func (s *Set) limitsOf(call Call, v Verdict, said, also outcome, capability []byte) []Spend {
	if v.Decision == toolcall.Deny {
		open := *s
		open.defaultDeny = false
		said.deny, also.deny = nil, nil
		v = open.judge(&call, Verdict{Tool: v.Tool, capability: v.capability, shell: v.shell}, &said, &also, capability, nil)
	}
	if v.Excess != nil {
		return []Spend{v.Excess.Spend} // no room could be enough
	}
	return v.Spends
}
