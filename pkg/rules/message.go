package rules

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Explain describes the deciding rule and policy, and how to change the result, for an
// agent or a person to act on. Every verdict has a sentence, also one that allows. The message of a rule that
// denies or asks follows it.
func (v *Verdict) Explain() string {
	if v.By == nil || v.By.Message == "" || v.Decision == toolcall.Allow {
		return v.sentence()
	}
	return v.sentence() + " The rule says: " + v.By.Message
}

func (v *Verdict) sentence() string {
	what := v.subject()
	switch {
	case v.Excess != nil && v.By != nil:
		return what + " is denied: " + v.excess()
	case v.Decision == toolcall.Allow:
		return what + " is allowed: " + v.allowance() + "."
	case v.Decision == toolcall.Ask && v.By != nil:
		also := ""
		if v.asShell() {
			also = runs
		}
		return what + " needs the approval of a human: " + v.rule("asks for") +
			". " + also + "Wait for the approval, then make exactly this call again: it is admitted once."
	case v.Code == toolcall.CodeEmailDenied && v.By != nil:
		return fmt.Sprintf("%s is denied: %s (%s of %s). Write to and from addresses that it allows, or have an operator change it.",
			what, v.Detail, v.By.Pointer(), v.By.policy())
	case v.Code == toolcall.CodeInvalidInput:
		return what + " is denied: " + v.Detail + ". Correct the call."
	case v.Code == toolcall.CodeEffectsUnknown && v.By != nil:
		return fmt.Sprintf("%s is denied: it repeats call %s, whose end is unknown, and %s forbids that (%s). "+
			"Find out the outcome of the call; an operator or approver settles it with `interlock call settle`.", what, v.Detail, v.By.policy(), v.By.Pointer())
	case v.Code == toolcall.CodeCallUnclear && v.By != nil:
		return fmt.Sprintf("%s is denied: %s (%s) %s", what, v.By.name(), v.By.Pointer(), v.Detail)
	case v.Code == toolcall.CodePolicyDenied && v.By != nil:
		return what + " is denied: " + v.denial()
	case v.Code == toolcall.CodePolicyUnavailable && v.By != nil && v.By.Point != nil:
		return fmt.Sprintf("%s is denied: %s, unless a decision point agrees, and that gave no answer: %s. The call is valid; try again in a moment, or have an operator look at the decision point.",
			what, v.rule("denies"), v.Detail)
	case v.Code == toolcall.CodePolicyUnavailable && v.By != nil:
		return fmt.Sprintf("%s is denied: %s limits it (%s), and it is not known %s. The call is valid; an operator must fix this.",
			what, v.By.policy(), v.By.Pointer(), v.Detail)
	case v.Code == toolcall.CodePolicyUnavailable && v.Detail != "":
		return what + " is denied: " + v.Detail + ". The call is valid; an operator must fix this."
	default:
		return what + " is denied: no decision could be made. The call is valid; try again in a moment."
	}
}

// subject names the call.
func (v *Verdict) subject() string {
	if v.Tool == "" {
		return "The call"
	}
	if capability := v.Capability(); !strings.HasSuffix(capability, ":"+v.Tool) {
		return "Tool " + document.Quote(v.Tool) + " (" + document.Quote(capability) + ")"
	}
	return "Tool " + document.Quote(v.Tool)
}

// rule describes the effect of a rule of a policy.
func (v *Verdict) rule(does string) string {
	if v.By.Place == placeRepeat {
		return fmt.Sprintf("%s %s what repeats a call of unknown outcome (%s)", v.By.policy(), does, v.By.Pointer())
	}
	return fmt.Sprintf("%s %s %s (%s)", v.By.name(), does, document.Quote(v.By.Pattern), v.By.Pointer())
}

// runs says why a rule of shells is about the call of another tool.
const runs = "The call runs commands, by the name of its tool or by its input. "

// asShell reports that the deciding rule is about shells, and the call is first something
// else.
func (v *Verdict) asShell() bool {
	return strings.HasPrefix(v.By.Pattern, Shell[:1]) && v.Capability() != Shell // no other capability begins so
}

func (v *Verdict) allowance() string {
	switch {
	case v.By == nil:
		return "it is one of Interlock's own"
	case v.Approved:
		return "a human has approved it, as " + v.rule("asks for")
	case v.By.Place == listAllow:
		return v.rule("allows")
	default:
		return "no rule of " + v.By.policy() + " matches it, and the default allows it"
	}
}

func (v *Verdict) denial() string {
	if v.By.Place == listDeny && v.By.Point != nil {
		return v.rule("denies") + ", unless a decision point agrees, and it does not. Another call may be allowed; who runs the decision point can say why."
	}
	if v.By.Place == listDeny {
		nothing := "No approval and no other input"
		if v.asShell() {
			nothing = runs + "No approval"
		}
		if v.By.Looks != "" {
			return v.rule("denies") + " under a condition that this call fulfils. " + strings.TrimSuffix(nothing, " and no other input") +
				" changes that; the rule looks at " + v.By.Looks + "."
		}
		return v.rule("denies") + ", which takes precedence over all rules that ask or allow. " +
			nothing + " changes that; use another tool, or have an operator change the policy."
	}
	if v.Detail != "" {
		return fmt.Sprintf("no rule of %s matches it with these values, and the default denies it (%s). %s", v.By.policy(), v.By.Pointer(), v.Detail)
	}
	return fmt.Sprintf("no rule of %s matches it, and the default denies it (%s). An operator can add %s to \"allow\" or \"ask\".",
		v.By.policy(), v.By.Pointer(), document.Quote(v.Capability()))
}

// wouldAllow says which values an allowing rule looks at; empty for no rule.
func (s *Source) wouldAllow() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("The rule %s looks at %s.", s.Pointer(), s.Looks)
}

// excess describes which limit has no room, and when it will have.
func (v *Verdict) excess() string {
	s := &v.Excess.Spend
	switch s.Measure {
	case Calls:
		return fmt.Sprintf("%s allows %s of %s in any %s%s (%s); %d so far. %s",
			v.By.name(), count(s.Max, "call"), document.Quote(v.By.Pattern), seconds(s.Window), s.whose(), v.limitPointer("rate_limit"),
			v.Excess.Value, v.again("Wait until then, or continue without this call."))
	case Emails:
		return fmt.Sprintf("%s allows %s%s (%s); %s. %s",
			v.By.policy(), count(s.Max, "email"), s.whose(), v.limitPointer("max_emails_per_session"),
			v.already(fmt.Sprintf("%d sent so far", v.Excess.Value), fmt.Sprintf("sends %d", s.Need)), v.again(""))
	case Amounts:
		return v.sum(s)
	default:
		return v.budget(s)
	}
}

// sum describes a limit of amounts.
func (v *Verdict) sum(s *Spend) string {
	within := " in a UTC " + s.Period.noun()
	if s.Window > 0 {
		within = " in any " + seconds(s.Window)
	}
	return fmt.Sprintf("%s allows %s of %s to add up to %s%s%s (%s); %s. %s",
		v.By.name(), s.Of, document.Quote(v.By.Pattern), MicroUSD(s.Max), within, s.whose(), v.limitPointer("amount_limit"),
		v.already(MicroUSD(v.Excess.Value).String()+" so far", "adds "+MicroUSD(s.Need).String()), v.again("Wait until then, or send a smaller amount."))
}

func (v *Verdict) budget(s *Spend) string {
	what, pointer := "", v.By.Pointer()
	if s.Pattern != "" {
		what, pointer = " of "+document.Quote(v.By.Pattern), v.limitPointer("budget_limit")
	}
	period := ""
	if s.Period != "" {
		period = " in a UTC " + s.Period.noun()
	}
	return fmt.Sprintf("%s limits the cost of calls%s to %s USD%s%s (%s); %s. %s",
		v.By.policy(), what, MicroUSD(s.Max), period, s.whose(), pointer,
		v.already(MicroUSD(v.Excess.Value).String()+" USD are spent or reserved", "may cost "+MicroUSD(s.Need).String()+" USD"),
		v.again("Wait until then, or make a cheaper call."))
}

// already describes the count of the account, and the need of the call. The count is not
// known when no room could be enough.
func (v *Verdict) already(holds, does string) string {
	switch s := &v.Excess.Spend; {
	case s.Need > s.Max:
		return "this call alone " + does
	case s.Need == 0:
		return holds
	default:
		return holds + ", and this call " + does
	}
}

// limitPointer returns where the limit itself stands.
func (v *Verdict) limitPointer(field string) string { return v.By.Pointer() + "/" + field }

// whose describes whose calls are counted together.
func (s *Spend) whose() string {
	switch s.Scope {
	case PerPrincipal:
		return " per principal"
	case PerHuman:
		return " per human"
	case PerSession:
		return " in a session and all sessions below it"
	default:
		return ""
	}
}

// again describes when the limit reopens, and how to act in between.
func (v *Verdict) again(otherwise string) string {
	e := v.Excess
	switch {
	case e.Spend.Need > e.Spend.Max:
		return "Make it smaller, or have an operator raise the limit."
	case e.ReopensAt.IsZero():
		return "This limit does not reopen; an operator can raise it."
	default:
		return "It reopens at " + e.ReopensAt.UTC().Format(time.RFC3339Nano) + ". " + otherwise
	}
}

func count(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}

// seconds writes a window as a policy does.
func seconds(window time.Duration) string {
	if window == time.Second {
		return "second"
	}
	return count(int64(window/time.Second), "second")
}
