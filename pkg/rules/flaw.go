package rules

import "github.com/interlock-run/interlock/pkg/document"

// flaw says what is wrong with a policy that was not read by ParsePolicy, or "".
func flaw(p *Policy) string {
	if p == nil {
		return "there is none"
	}
	for _, rules := range [][]Rule{p.Deny, p.Ask, p.Allow} {
		for i := range rules {
			if why := ruleFlaw(&rules[i]); why != "" {
				return why
			}
		}
	}
	switch e := p.Email; {
	case p.SessionBudget != nil && *p.SessionBudget < 1:
		return "the budget of a session is less than a micro-dollar"
	case e == nil:
		return ""
	case e.Limited && e.MaxPerSession < 0:
		return "the limit of emails is negative"
	case e.Tools != nil && len(e.Tools) == 0:
		return "no tool sends email"
	default:
		for _, tool := range e.Tools {
			if fix := capabilityFix(tool); fix != "" {
				return "the email tool " + document.Quote(tool) + " matches no call"
			}
		}
		return ""
	}
}

func ruleFlaw(rule *Rule) string {
	if capabilityFix(rule.Capability) != "" {
		return "the pattern " + document.Quote(rule.Capability) + " matches no call"
	}
	if r := rule.Rate; r != nil && (r.MaxCalls < 1 || r.WindowSeconds < 1 || r.WindowSeconds > maxWindow || !r.Scope.known()) {
		return "the rate limit of " + document.Quote(rule.Capability) + " is out of range"
	}
	if b := rule.Budget; b != nil && (b.Max < 1 || !b.Period.known() || !b.Scope.known()) {
		return "the budget of " + document.Quote(rule.Capability) + " is out of range"
	}
	return ""
}

func (s Scope) known() bool {
	return s == "" || s == PerPolicy || s == PerPrincipal || s == PerSession
}

func (p Period) known() bool { return p == Hourly || p == Daily || p == Monthly }
