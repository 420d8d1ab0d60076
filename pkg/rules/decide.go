package rules

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// longestName is how long a capability can be without memory of its own.
const longestName = 256

// Call is the question to a policy.
type Call struct {
	// Tool is its name exactly as the agent knows it.
	Tool string
	// Capability is its name in policies, when the caller knows more than the name of the
	// tool shows: a gate knows the server of a tool that is called by its plain name.
	// CapabilityOf(Tool) when empty.
	Capability string
	// Shell is true when the tool runs command lines though its name does not show that
	// (toolcall.Shell).
	Shell bool
	// Input is the tool's arguments, JSON; may be empty.
	Input []byte
	// EstimatedCost is reserved of budgets until the result is reported (S7.5).
	EstimatedCost MicroUSD
	// Principal makes the call, in Session, whose tree has the root Root; Session
	// itself when that is empty.
	Principal, Session, Root string
	// Human is the account of the human on whose behalf it is made (HumanAccount); empty where that is not known, or where
	// neither an issuer nor an operator vouches for it.
	Human string
	// Approved is true when a human has approved exactly this call and that was not
	// used yet (S7.6).
	Approved bool
	// Repeats names the call of unknown outcome that this one would repeat; empty for none
	// (S16.6).
	Repeats string
	// Leased is the rule that asks and whose question a lease has answered; nil for none.
	// Questions of other rules are asked (S9.6).
	Leased *Source
	// Now picks the period of budgets, and the windows that the time is in.
	Now time.Time
	// Facts has the facets and the input of the call, for rules with conditions. Without them, all of these are in
	// doubt.
	Facts condition.Facts
	// Exceptions are those of the policy that are about the caller.
	Exceptions []Exception
	// timeless is true when conditions must not know the time, which is not that of the call.
	timeless bool
}

// tree returns the session that limits per session are counted for.
func (c *Call) tree() string {
	if c.Root != "" {
		return c.Root
	}
	return c.Session
}

// answered reports that a lease has answered the question of a rule.
func (c *Call) answered(rule *Source) bool {
	l := c.Leased
	return l != nil && l.Policy == rule.Policy && l.Version == rule.Version && l.Place == rule.Place && l.Index == rule.Index
}

// Decide judges a call: deny, then ask, then allow, regardless of the order of the rules,
// else the policy's default (S7.2). The limits of all rules that match apply (S7.3).
//
// A verdict that does not deny stands on condition of its Spends, which are
// appended to the slice given, so that a caller can bring the memory: each account
// must have room for its spend, all in one atomic step with the decision. Where one
// has none, the answer is Verdict.Exceeded.
func (s *Set) Decide(call Call, spends []Spend) Verdict {
	v := Verdict{Tool: call.Tool, capability: call.Capability, shell: call.Shell}
	if s == nil || s.broken != "" {
		return v.unavailable(s)
	}
	if call.Capability == "" {
		switch {
		case call.Tool == "":
			return v.deny(toolcall.CodeInvalidInput, nil, "it names no tool")
		case toolcall.Own(call.Tool):
			v.Decision = toolcall.Allow
			return v
		}
	}
	var room [longestName]byte
	capability, asShell := call.named(room[:0])
	said := s.table.find(capability)
	return s.judge(&call, v, said, s.alsoSaid(&call, asShell, capability), capability, spends)
}

// alsoSaid returns the outcome for a call as one that runs commands, in addition to that of its
// tool (S7.1). Its input is read only where that makes a difference.
func (s *Set) alsoSaid(call *Call, asShell bool, capability []byte) *outcome {
	if s.shell.restricts() && string(capability) != Shell && (asShell || toolcall.RunsCommands(call.Tool, call.Input)) {
		return s.shell
	}
	return &nothing
}

// named returns the name of the tool in policies; asShell is true when rules about shells
// restrict it too.
func (c *Call) named(room []byte) (capability []byte, asShell bool) {
	room = append(room, c.Capability...)
	capability = room
	shell := c.Shell || toolcall.Shell(nil, c.Tool)
	if c.Capability == "" {
		capability = toolname.AppendCapability(capability, c.Tool, shell)
	}
	return capability, shell && string(capability) != Shell
}

// nothing is the outcome for a call that is not a shell, as one.
var nothing outcome

// judge decides by the outcome for a call. Its outcome as a shell can only restrict it:
// to allow shells is not to allow every server that has one.
func (s *Set) judge(call *Call, v Verdict, said, also *outcome, capability []byte, spends []Spend) Verdict {
	if by := cmp.Or(said.deny, also.deny); by != nil {
		return v.deny(toolcall.CodePolicyDenied, by, "")
	}
	if !said.conditionals() && !also.conditionals() {
		return s.admit(call, v, said, also, capability, spends)
	}
	return s.judgeConditions(call, v, said, also, capability, spends)
}

// judgeConditions does the work of judge where a rule has conditions.
func (s *Set) judgeConditions(call *Call, v Verdict, said, also *outcome, capability []byte, spends []Spend) Verdict {
	var sum, alsoSum outcome
	said, unclear := said.applied(call, &sum)
	also, doubtful := also.applied(call, &alsoSum)
	switch by := cmp.Or(said.deny, also.deny); {
	case by != nil:
		return v.deny(toolcall.CodePolicyDenied, by, "")
	case unclear != nil:
		return v.unclear(call, unclear)
	case doubtful != nil:
		return v.unclear(call, doubtful)
	}
	v.Outside = slices.Concat(said.outside, also.outside)
	v.Exceptions = append(slices.Clone(said.excepted), also.excepted...)
	return s.admit(call, v, said, also, capability, spends)
}

// admit decides a call that no rule denies, by outcomes whose conditions were judged.
func (s *Set) admit(call *Call, v Verdict, said, also *outcome, capability []byte, spends []Spend) Verdict {
	switch {
	case s.defaultDeny && said.ask == nil && said.allow == nil:
		return v.deny(toolcall.CodePolicyDenied, s.other, said.near.wouldAllow())
	case call.EstimatedCost < 0:
		return v.deny(toolcall.CodeInvalidInput, nil, "its estimated cost is negative")
	}
	ask, approved := cmp.Or(said.ask, also.ask), call.Approved
	if call.Repeats != "" && s.repeat != nil {
		if s.repeatDenied {
			return v.deny(toolcall.CodeEffectsUnknown, s.repeat, document.Quote(call.Repeats))
		}
		if ask == nil {
			ask = s.repeat
		}
		call.Leased = nil // a lease was given before this was in doubt
	}
	if ask != nil && !approved && call.Leased != nil {
		if open := cmp.Or(said.open(call), also.open(call)); open != nil {
			ask = open
		} else {
			approved = true
		}
	}
	switch {
	case ask != nil && !approved:
		v.Decision, v.Code, v.By = toolcall.Ask, toolcall.CodeApprovalRequired, ask
	case ask != nil:
		v.Decision, v.By, v.Approved = toolcall.Allow, ask, true
	case said.allow != nil:
		v.Decision, v.By = toolcall.Allow, said.allow
	default:
		v.Decision, v.By = toolcall.Allow, s.other
	}
	v.Spends = spends
	for _, l := range said.limits {
		if !v.spend(call, l, 0) {
			return v
		}
	}
	for _, l := range also.limits {
		if !contains(said.limits, l) && !v.spend(call, l, 0) {
			return v
		}
	}
	if s.session != nil && !v.spend(call, s.session, 0) {
		return v
	}
	if s.email != nil && s.email.covers(said, capability) {
		return s.email.judge(call, v)
	}
	return v
}

// judge holds a call of an email tool that was not denied to the rules of emails.
func (e *emailRules) judge(call *Call, v Verdict) Verdict {
	count, wrong := e.check(call.Input)
	switch {
	case wrong != "":
		return v.deny(toolcall.CodeEmailDenied, e.by, wrong)
	case e.limit != nil:
		v.spend(call, e.limit, count)
	}
	return v
}

func contains(limits []*limit, l *limit) bool {
	for _, known := range limits {
		if known == l {
			return true
		}
	}
	return false
}

// spend adds the need of a call to a limit, or denies it when there can never be as much.
func (v *Verdict) spend(call *Call, l *limit, emails int64) bool {
	if l.account.Scope == PerHuman && call.Human == "" {
		*v = v.deny(toolcall.CodeCallUnclear, l.by, unknownHuman)
		return false
	}
	var need int64
	switch l.account.Measure {
	case Calls:
		need = 1
	case Money:
		need = int64(call.EstimatedCost)
	case Amounts:
		sum, leaf := l.amount.need(call)
		if leaf.Result != condition.True {
			*v = v.inDoubt(l.by, leaf)
			return false
		}
		need = sum
	default:
		need = emails
	}
	spend, missing := l.spend(call, need, v.Decision == toolcall.Ask)
	switch {
	case missing != "":
		*v = v.deny(toolcall.CodePolicyUnavailable, l.by, missing)
		return false
	case need > l.max:
		*v = v.Exceeded(spend, 0, time.Time{})
		return false
	}
	v.Spends = append(v.Spends, spend)
	return true
}
