package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// ruleReader reads the lists of a policy.
type ruleReader struct {
	names       toolname.Names
	defaultDeny bool
	windows     []string
	// ids are those of all rules before.
	ids map[string]bool
}

// fieldsOf returns the fields of the rules of a list. Rules of deny have no limits: a call is denied
// or it is not. Rules of allow have no unless.
func fieldsOf(list string) []string {
	fields := []string{"id", "message", "capability", "when", "examples"}
	if list != listAllow {
		fields = append(fields, "unless", "exceptable")
	}
	if list == listDeny {
		fields = append(fields, "ask_pdp")
	} else {
		fields = append(fields, "rate_limit", "budget_limit", "amount_limit")
	}
	return fields
}

// list reads one list.
func (rr *ruleReader) list(f document.Fields, name string) []Rule {
	list, ok := f.List(name, maxRules)
	if !ok {
		return nil
	}
	fields := fieldsOf(name)
	rules := make([]Rule, 0, list.Len())
	seen := make(map[string]bool)
	at := f.At.Key(name)
	for i, v := range list.Elements() {
		rule := Rule{}
		if rf, ok := f.Report.Object(v, at.At(i), "a rule"); ok {
			rf.Known("a rule of \""+name+"\"", fields...)
			rr.rule(rf, &rule, name)
			plain := rule.always() && !rule.limited()
			if plain && rule.Capability != "" && seen[rule.Capability] {
				f.Report.Warnf(rf.At.Key("capability"), document.CodeDuplicateItem, "%s is listed more than once; remove one", document.Quote(rule.Capability))
			}
			seen[rule.Capability] = seen[rule.Capability] || rule.always()
		}
		rules = append(rules, rule)
	}
	return rules
}

// rule reads one rule of a list.
func (rr *ruleReader) rule(f document.Fields, rule *Rule, list string) {
	f.Require("capability")
	if capability, ok := f.Str("capability"); ok {
		rule.Capability = capability
		if capability == "" {
			f.Report.Errorf(f.At.Key("capability"), document.CodeEmpty, "the capability is empty; name one")
		}
	}
	rr.id(f, rule)
	rule.Message = readMessage(f)
	use := condition.Use{Stance: condition.Restricts, Windows: rr.windows}
	if list == listAllow {
		use.Stance = condition.Allows
	}
	rule.Clause = condition.ReadClause(f, use)
	if list == listDeny {
		rule.Point = readPoint(f)
	} else {
		readLimits(f, rule)
	}
	if list != listAllow {
		if rule.Exceptable = f.Bool("exceptable"); rule.Exceptable {
			rule.Digest = document.Digest(f.Value)
		}
	}
	rule.Examples = readExamples(f, rule.Capability)
	if pattern, ok := f.Value.Get("capability"); ok && pattern.Kind() == document.String {
		checkCapability(f.Report, f.At.Key("capability"), rule.Capability, rr.names, rule.position(list))
	}
	rr.check(f, rule, list)
}

// check reports rules whose parts do not go together.
func (rr *ruleReader) check(f document.Fields, rule *Rule, list string) {
	conditions := f.Has("when") || f.Has("unless")
	switch {
	case list == listAllow && conditions && !rr.defaultDeny && !rule.limited():
		f.Report.Errorf(f.At.Key("when"), document.CodeNoEffect,
			"the default also allows calls that do not fulfil the condition, so the rule restricts no call; set \"default\" to \"deny\", or write the rule in \"deny\" with \"unless\"")
	case conditions && rule.limited() && !f.Has("id"):
		f.Report.Errorf(f.At, document.CodeRequired, "a rule with a limit and conditions needs an \"id\", which its counts belong to; add one")
	case rule.Capability == "*" && list == listAllow && !conditions:
		f.Report.Warnf(f.At.Key("capability"), CodeTooBroad, "\"*\" allows every call; name the capabilities")
	}
}

// ruleNames are the ids of rules.
var ruleNames = document.NameRule{What: "rule", Printable: true}

// id reads the name of a rule.
func (rr *ruleReader) id(f document.Fields, rule *Rule) {
	id, ok := f.Str("id")
	if !ok {
		return
	}
	at := f.At.Key("id")
	switch {
	case !f.Report.CheckName(id, at, ruleNames):
	case rr.ids[id]:
		f.Report.Errorf(at, document.CodeDuplicateItem, "another rule has the id %s; give each its own", document.Quote(id))
	default:
		rule.ID = id
	}
	rr.ids[id] = true
}

// mostMessage is how long the message of a rule may be.
const mostMessage = 500

// readMessage reads the advice of a rule to agents.
func readMessage(f document.Fields) string {
	text, ok := f.Text("message")
	if !ok {
		return ""
	}
	at := f.At.Key("message")
	if n := utf8.RuneCountInString(text); n > mostMessage {
		f.Report.Errorf(at, document.CodeTooMany, "the message has %d characters, the limit is %d; write less", n, mostMessage)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		f.Report.Errorf(at, document.CodeRange, "the message has characters that do not show; write one line of text")
	}
	return text
}

// position returns the effect of a rule in a list: a limit restricts the calls that it
// allows.
func (rule *Rule) position(list string) toolname.Position {
	if list == listAllow && !rule.limited() {
		return toolname.Grants
	}
	return toolname.Restricts
}

// readLimits reads the limits of a rule.
func readLimits(f document.Fields, rule *Rule) {
	if rate, ok := f.Object("rate_limit"); ok {
		rate.Known("a rate limit", "max_calls", "window_seconds", "scope")
		rate.Require("max_calls", "window_seconds")
		rule.Rate = &RateLimit{}
		rule.Rate.MaxCalls, _ = rate.Integer("max_calls", 1)
		rule.Rate.WindowSeconds = readWindow(rate)
		rule.Rate.Scope = readScope(rate)
	}
	if budget, ok := f.Object("budget_limit"); ok {
		budget.Known("a budget limit", "max_usd", "period", "scope")
		budget.Require("max_usd", "period")
		rule.Budget = &BudgetLimit{}
		rule.Budget.Max, _ = money(budget, "max_usd")
		rule.Budget.Period = readPeriod(budget)
		rule.Budget.Scope = readScope(budget)
	}
	rule.Amount = readAmount(f)
}

func readPeriod(f document.Fields) Period {
	period, _ := f.Enum("period", string(Hourly), string(Daily), string(Monthly))
	return Period(period)
}

// readWindow reads the length of a rolling window.
func readWindow(f document.Fields) int64 {
	seconds, _ := f.Integer("window_seconds", 1)
	if seconds > maxWindow {
		f.Report.Errorf(f.At.Key("window_seconds"), document.CodeRange, "a window is at most %d seconds (366 days)", maxWindow)
	}
	return seconds
}

func readScope(f document.Fields) Scope {
	scope, _ := f.Enum("scope", string(PerPolicy), string(PerPrincipal), string(PerHuman), string(PerSession))
	return Scope(scope)
}
