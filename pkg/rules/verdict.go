package rules

import (
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Shell is the capability of every tool that runs command lines (S7.1).
const Shell = toolname.ShellCapability

// CapabilityOf returns the name of a tool in policies, by the name that agents know it by (S7.1).
func CapabilityOf(tool string) string { return toolname.Capability(tool) }

// Verdict is one policy's answer to a call, as data. Its sentence is built when it
// is asked for: see Explain. The zero Verdict is not an answer, and not an
// allowance.
type Verdict struct {
	Decision toolcall.Decision
	// Code is empty when the call is allowed.
	Code toolcall.Code
	Tool string
	// By is the deciding part; nil when no part of a policy did.
	By *Source
	// Approved is true when By asks, and a human has answered.
	Approved bool
	// Spends are the counts that the verdict requires; none when it denies.
	Spends []Spend
	// Detail is the part of the sentence beyond the code.
	Detail string
	// Outside are the rules whose decision points must agree with a verdict that does not deny (S21.19).
	Outside []*Source
	// Exceptions are those by which a call has passed rules, if it is not denied.
	Exceptions []string
	// Excess is set when a limit denies.
	Excess *Excess

	capability string // as the caller knew it
	shell      bool
}

// Excess is a limit that has no room for a call.
type Excess struct {
	Spend Spend
	// Value is the count of the account.
	Value int64
	// ReopensAt is when the same call may be allowed; zero for never.
	ReopensAt time.Time
}

// Capability returns the name of the tool in policies.
func (v *Verdict) Capability() string {
	switch {
	case v.capability != "":
		return v.capability
	case v.shell:
		return string(toolname.AppendCapability(nil, v.Tool, true))
	default:
		return CapabilityOf(v.Tool)
	}
}

// Exceeded returns the denial that a verdict becomes when the account of one of its
// spends has no room, and holds value. reopensAt comes from the store for a rolling
// window, and is ignored for others.
func (v *Verdict) Exceeded(spend Spend, value int64, reopensAt time.Time) Verdict {
	code := toolcall.CodeBudgetExceeded
	switch spend.Measure {
	case Calls:
		code = toolcall.CodeRateLimited
	case Emails:
		code = toolcall.CodeEmailDenied
	case Money, Amounts:
	default:
	}
	if spend.Window == 0 {
		_, reopensAt = spend.Period.Bounds(spend.Start)
	}
	if spend.Need > spend.Max {
		reopensAt = time.Time{}
	}
	denied := v.deny(code, spend.By, "")
	denied.Excess = &Excess{spend, value, reopensAt}
	return denied
}

func (v *Verdict) deny(code toolcall.Code, by *Source, detail string) Verdict {
	return Verdict{
		Decision: toolcall.Deny, Code: code, Tool: v.Tool, By: by, Detail: detail,
		capability: v.capability, shell: v.shell,
	}
}

// inDoubt returns the denial by a rule that looks at a value in doubt.
func (v *Verdict) inDoubt(by *Source, leaf condition.Leaf) Verdict {
	why := leaf.Why
	if condition.Confidential(leaf.Looks) || why == "" {
		why = "looks at facts of this call that are not known."
	}
	return v.deny(toolcall.CodeCallUnclear, by, why)
}

// unavailable returns the denial of a policy that cannot be judged by (S7.2).
func (v *Verdict) unavailable(s *Set) Verdict {
	why := "there is none"
	if s != nil {
		why = s.broken
	}
	return v.deny(toolcall.CodePolicyUnavailable, nil, "its policy is invalid and cannot be evaluated: "+why)
}

// Places in a policy that decide.
const (
	listDeny    = "deny"
	listAsk     = "ask"
	listAllow   = "allow"
	placeOther  = "default"
	placeRepeat = "repeat_unknown"
	placeBudget = "session_budget_usd"
	placeEmail  = "email_config"
)

// Source is the part of a policy that has decided. It is immutable.
type Source struct {
	// Policy and Version name the policy.
	Policy  string
	Version int64
	// Place is the field of the policy: deny, ask, allow, default,
	// session_budget_usd or email_config.
	Place string
	// Index of a rule in its list, its pattern, and its name in the policy, which may be empty.
	Index   int
	Pattern string
	ID      string
	// Message is the advice of its author to the agent; empty for none.
	Message string
	// Looks lists the pointers and facets of the conditions of the rule, for agents; empty for a rule without.
	Looks string
	// Point is the decision point that the rule asks; nil for none.
	Point *Point
}

// Pointer returns the place as a JSON Pointer into the policy.
func (s *Source) Pointer() string {
	switch s.Place {
	case listDeny, listAsk, listAllow:
		return document.Pointer(s.Place, strconv.Itoa(s.Index))
	default:
		return document.Pointer(s.Place)
	}
}

// name names the rule in a sentence.
func (s *Source) name() string {
	if s.ID != "" {
		return "rule " + document.Quote(s.ID) + " of " + s.policy()
	}
	return s.policy()
}

// policy names the policy in a sentence. A candidate that is not stored has no
// version.
func (s *Source) policy() string {
	name := "the policy"
	if s.Policy != "" {
		name = "policy " + document.Quote(s.Policy)
	}
	if s.Version == 0 {
		return name + " (candidate)"
	}
	return name + " (version " + strconv.FormatInt(s.Version, 10) + ")"
}
