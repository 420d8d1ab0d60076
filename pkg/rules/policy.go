// Package rules is the pure core of policies (S7): the form of policies, the capabilities
// that their patterns match, and their verdicts on calls.
//
// Values in, values out: it must never read a clock, a store or a file, nor keep count.
// The verdict lists the counts. The caller that makes the decision durable counts them,
// or a Tally where no decision is durable. Any doubt in it denies.
//
// (S7.6), (R2) and the like name rules of docs/semantics.md.
package rules

import (
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Roles returns the roles of callers that a policy can be for.
func Roles() []string { return []string{"agent", "operator", "approver", "observer"} }

// Policy defines the callers of tools, and how often they may call (S7).
type Policy struct {
	// Role is that of the callers whose calls the policy judges, one of Roles (S15.9).
	// Empty is every caller, which a text cannot say.
	Role string
	// Name is optional in the text. Counters belong to it, so the store of policies
	// gives each another.
	Name string
	// DefaultDeny denies calls that no rule matches; otherwise they are allowed (S7.2).
	DefaultDeny bool
	// RepeatUnknown is toolcall.Ask or toolcall.Deny for a call that repeats one whose outcome
	// is unknown; empty where that makes no difference (S16.6).
	RepeatUnknown toolcall.Decision
	// Allow, Ask and Deny in the order written. Deny goes first, then Ask, then
	// Allow.
	Allow, Ask, Deny []Rule
	// SessionBudget is the most that a session may cost, nil for no limit (S7.5).
	SessionBudget *MicroUSD
	// Email limits email tools, nil for no limit (S7.7).
	Email *EmailLimits
	// Tools describes the author's own tools (meta.tools).
	Tools facet.Tools
	// FourEyes makes exceptions wait until a second operator confirms them.
	FourEyes bool
	// Windows are the times that conditions name; nil for none.
	Windows *condition.Windows
}

// Rule is one capability pattern, the calls of it that the rule is about, and their limits.
type Rule struct {
	// ID is optional where the rule has not both conditions and a limit.
	ID string
	// Message is the author's advice to an agent whose call the rule denies or asks about.
	Message    string
	Capability string
	// Clause is about every call of the capability when it is zero (S21).
	Clause condition.Clause
	// Point must agree that the rule does not apply; nil for none. Only rules of Deny have one.
	Point    *Point
	Rate     *RateLimit   // nil: none
	Budget   *BudgetLimit // nil: none
	Amount   *AmountLimit // nil: none
	Examples []Example
	// Exceptable permits exceptions. Only rules of Deny and Ask have them. Digest is then that of the rule's text.
	Exceptable bool
	Digest     string
}

// limited reports a rule with a limit.
func (rule *Rule) limited() bool { return rule.Rate != nil || rule.Budget != nil || rule.Amount != nil }

// RateLimit admits at most MaxCalls in any window of that many seconds (S7.4).
type RateLimit struct {
	MaxCalls      int64
	WindowSeconds int64
	Scope         Scope
}

// BudgetLimit denies once Max is spent in the period (S7.5).
type BudgetLimit struct {
	Max    MicroUSD
	Period Period
	Scope  Scope
}

// Scope is whose calls a limit counts together.
type Scope string

// Scopes; the zero Scope is PerPolicy.
const (
	// PerPolicy counts all calls that the policy judges.
	PerPolicy Scope = "policy"
	// PerPrincipal counts those of each principal.
	PerPrincipal Scope = "principal"
	// PerHuman counts those on behalf of each human, of all principals, sessions and agents. Where the human is
	// not known, the call is denied.
	PerHuman Scope = "human"
	// PerSession counts those of each session with all that it has started, however
	// deep: a limit that a new child session lifts would be none.
	PerSession Scope = "session"
)

// Period is a stretch of UTC time at whose start a budget is fresh.
type Period string

// Periods.
const (
	Hourly  Period = "hourly"
	Daily   Period = "daily"
	Monthly Period = "monthly"
)

// EmailLimits are a session's limits on email tools (S7.7).
type EmailLimits struct {
	// Tools are the capabilities that send email, as patterns. Nil means those of
	// the mcp server resend, and every tool of the name resend-email.
	Tools []string
	// MaxPerSession is the number of emails; Limited is false when none was given.
	MaxPerSession int64
	Limited       bool
	// AllowedFrom and AllowedTo are addresses or patterns as *@example.com. Nil
	// means any, empty means none.
	AllowedFrom, AllowedTo []string
}

// flaw describes the problem with a policy that was not read by ParsePolicy, or "".
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
			if fix := toolname.CapabilityFix(tool); fix != "" {
				return "the email tool " + document.Quote(tool) + " matches no call"
			}
		}
		return ""
	}
}

func ruleFlaw(rule *Rule) string {
	if toolname.CapabilityFix(rule.Capability) != "" {
		return "the pattern " + document.Quote(rule.Capability) + " matches no call"
	}
	if r := rule.Rate; r != nil && (r.MaxCalls < 1 || r.WindowSeconds < 1 || r.WindowSeconds > maxWindow || !r.Scope.known()) {
		return "the rate limit of " + document.Quote(rule.Capability) + " is out of range"
	}
	if b := rule.Budget; b != nil && (b.Max < 1 || !b.Period.known() || !b.Scope.known()) {
		return "the budget of " + document.Quote(rule.Capability) + " is out of range"
	}
	if rule.limited() && rule.ID == "" && !rule.Clause.IsZero() {
		return "the rule of " + document.Quote(rule.Capability) + " has a limit and conditions, and no id"
	}
	if rule.Amount != nil {
		if why := rule.Amount.flaw(); why != "" {
			return "the amount limit of " + document.Quote(rule.Capability) + " " + why
		}
	}
	return ""
}

func (s Scope) known() bool {
	return s == "" || s == PerPolicy || s == PerPrincipal || s == PerHuman || s == PerSession
}

func (p Period) known() bool { return p == Hourly || p == Daily || p == Monthly }
