package rules

import (
	"slices"
	"strings"
	"unicode"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Codes of policies (S1.3) next to those of package document.
const (
	CodeCapability document.Code = "CAPABILITY"
	CodeTooBroad   document.Code = "TOO_BROAD"
)

// maxRules bounds each list of a policy (TOO_MANY).
const maxRules = 1_000

// ParsePolicy reads a policy in JSON and reports all that is wrong with it at
// once. The policy is nil when there is an error among the problems.
func ParsePolicy(src []byte) (*Policy, document.Problems) {
	v, problems := document.ParseAll(src, document.Limits{})
	return finish(v, problems)
}

// ParsePolicyYAML does the work of ParsePolicy for YAML.
func ParsePolicyYAML(src []byte) (*Policy, document.Problems) {
	v, problems := document.FromYAML(src)
	return finish(v, problems)
}

// ParsePolicyValue does the work of ParsePolicy for a document that has been read.
func ParsePolicyValue(v document.Value) (*Policy, document.Problems) { return finish(v, nil) }

func finish(v document.Value, problems document.Problems) (*Policy, document.Problems) {
	var r document.Report
	r.Add(problems...)
	p := &Policy{}
	if !v.IsZero() || len(problems) == 0 {
		p = ReadPolicy(&r, v, nil)
	}
	if found := r.Problems(); found.HasErrors() {
		return nil, found
	}
	return p, r.Problems()
}

// ReadPolicy reads a policy that is part of a document and reports its problems there.
// The result is only of use when no error was reported.
func ReadPolicy(r *document.Report, v document.Value, at *document.Path) *Policy {
	p := &Policy{}
	f, ok := r.Object(v, at, "a policy")
	if !ok {
		return p
	}
	f.Known("a policy", "role", "name", "description", "default", "allow", "ask", "deny", "session_budget_usd", "email_config", "repeat_unknown", "meta", "$schema")
	f.Require("role")
	p.Role, _ = f.Enum("role", Roles()...)
	p.Name, _ = f.Str("name")
	f.Str("description")
	f.Str("$schema")
	fallback, _ := f.Enum("default", "allow", "deny")
	p.DefaultDeny = fallback == "deny"
	names := declaredTools(f)
	repeat, _ := f.Enum("repeat_unknown", "allow", "ask", "deny")
	if repeat != "allow" {
		p.RepeatUnknown = toolcall.Decision(strings.ToUpper(repeat))
	}
	p.Allow = readRules(f, "allow", true, names)
	p.Ask = readRules(f, "ask", true, names)
	p.Deny = readRules(f, "deny", false, names)
	p.SessionBudget = ReadSessionBudget(f)
	p.Email = ReadEmailLimits(f, names)
	overruled(f, p)
	return p
}

// declaredTools reads meta.tools of a policy.
func declaredTools(f document.Fields) toolname.Names {
	meta, ok := f.Object("meta")
	if !ok {
		return toolname.Names{}
	}
	meta.Known("\"meta\"", "tools")
	return toolname.With(toolname.Read(meta, maxRules))
}

// checkCapability reports a pattern that matches no call. One that names a tool must name one that
// exists, where an unknown name would have no effect.
func checkCapability(r *document.Report, at *document.Path, pattern string, names toolname.Names, position toolname.Position) {
	if fix := toolname.CapabilityFix(pattern); fix != "" {
		r.Errorf(at, CodeCapability, "%s matches no call; %s", document.Quote(pattern), fix)
		return
	}
	if fault := names.Fault(toolname.BuiltIn(pattern), position); fault != "" {
		r.Errorf(at, toolname.CodeUnknownTool, "%s", fault)
	}
}

// position returns the effect of a rule in a list: a limit restricts the calls that it
// allows.
func (rule *Rule) position(list string) toolname.Position {
	if list == listAllow && rule.Rate == nil && rule.Budget == nil {
		return toolname.Grants
	}
	return toolname.Restricts
}

// readRules reads one list. Rules of deny have no limits: a call is denied or it
// is not.
func readRules(f document.Fields, name string, limits bool, names toolname.Names) []Rule {
	list, ok := f.List(name, maxRules)
	if !ok {
		return nil
	}
	fields := []string{"capability"}
	if limits {
		fields = append(fields, "rate_limit", "budget_limit")
	}
	rules := make([]Rule, 0, list.Len())
	seen := make(map[string]bool)
	at := f.At.Key(name)
	for i, v := range list.Elements() {
		rule := Rule{}
		if rf, ok := f.Report.Object(v, at.At(i), "a rule"); ok {
			rf.Known("a rule of \""+name+"\"", fields...)
			readRule(rf, &rule, limits)
			if pattern, ok := rf.Value.Get("capability"); ok && pattern.Kind() == document.String {
				checkCapability(f.Report, rf.At.Key("capability"), rule.Capability, names, rule.position(name))
			}
			if rule.Capability == "*" && name == "allow" {
				f.Report.Warnf(rf.At.Key("capability"), CodeTooBroad, "\"*\" allows every call; name the capabilities")
			}
			if rule.Capability != "" && seen[rule.Capability] && rule.Rate == nil && rule.Budget == nil {
				f.Report.Warnf(rf.At.Key("capability"), document.CodeDuplicateItem, "%s is listed more than once; remove one", document.Quote(rule.Capability))
			}
			seen[rule.Capability] = true
		}
		rules = append(rules, rule)
	}
	return rules
}

func readRule(f document.Fields, rule *Rule, limits bool) {
	f.Require("capability")
	if capability, ok := f.Str("capability"); ok {
		rule.Capability = capability
		if capability == "" {
			f.Report.Errorf(f.At.Key("capability"), document.CodeEmpty, "the capability is empty; name one")
		}
	}
	if !limits {
		return
	}
	if rate, ok := f.Object("rate_limit"); ok {
		rate.Known("a rate limit", "max_calls", "window_seconds", "scope")
		rate.Require("max_calls", "window_seconds")
		rule.Rate = &RateLimit{}
		rule.Rate.MaxCalls, _ = rate.Integer("max_calls", 1)
		rule.Rate.WindowSeconds, _ = rate.Integer("window_seconds", 1)
		if rule.Rate.WindowSeconds > maxWindow {
			f.Report.Errorf(rate.At.Key("window_seconds"), document.CodeRange, "a window is at most %d seconds (366 days)", maxWindow)
		}
		rule.Rate.Scope = readScope(rate)
	}
	if budget, ok := f.Object("budget_limit"); ok {
		budget.Known("a budget limit", "max_usd", "period", "scope")
		budget.Require("max_usd", "period")
		rule.Budget = &BudgetLimit{}
		rule.Budget.Max, _ = money(budget, "max_usd")
		period, _ := budget.Enum("period", string(Hourly), string(Daily), string(Monthly))
		rule.Budget.Period = Period(period)
		rule.Budget.Scope = readScope(budget)
	}
}

func readScope(f document.Fields) Scope {
	scope, _ := f.Enum("scope", string(PerPolicy), string(PerPrincipal), string(PerSession))
	return Scope(scope)
}

// maxWindow is the longest rolling window, 366 days.
const maxWindow = 366 * 24 * 60 * 60

// money reads an amount above zero.
func money(f document.Fields, name string) (MicroUSD, bool) {
	v, ok := f.Value.Get(name)
	if !ok {
		return 0, false
	}
	at := f.At.Key(name)
	if v.Kind() != document.Number {
		f.Report.Errorf(at, document.CodeType, "%q must be a number of US dollars, not a %s", name, v.Kind())
		return 0, false
	}
	amount, exact := ParseUSD(v.Number())
	switch {
	case document.CompareNumbers(v.Number(), "0") <= 0:
		f.Report.Errorf(at, document.CodeRange, "%q must be more than 0", name)
	case !exact:
		f.Report.Errorf(at, document.CodeRange, "%q must be a multiple of 0.000001 below nine trillion", name)
	default:
		return amount, true
	}
	return 0, false
}

// ReadSessionBudget reads session_budget_usd, nil when there is none (S7.5).
func ReadSessionBudget(f document.Fields) *MicroUSD {
	if amount, ok := money(f, "session_budget_usd"); ok {
		return &amount
	}
	return nil
}

// overruled warns of rules that a list before theirs makes useless (S7.2).
func overruled(f document.Fields, p *Policy) {
	denied := capabilities(p.Deny)
	for name, rules := range map[string][]Rule{"allow": p.Allow, "ask": p.Ask} {
		for i, rule := range rules {
			if rule.Capability != "" && slices.Contains(denied, rule.Capability) {
				f.Report.Warnf(f.At.Key(name).At(i).Key("capability"), document.CodeNoEffect, "%s is also in \"deny\", which takes precedence; remove one", document.Quote(rule.Capability))
			}
		}
	}
}

func capabilities(rules []Rule) []string {
	names := make([]string, len(rules))
	for i, rule := range rules {
		names[i] = rule.Capability
	}
	return names
}

// ReadEmailLimits reads email_config, nil when there is none (S7.7).
func ReadEmailLimits(f document.Fields, names toolname.Names) *EmailLimits {
	e, ok := f.Object("email_config")
	if !ok {
		return nil
	}
	e.Known("an email configuration", "max_emails_per_session", "allowed_from", "allowed_to", "tools")
	limits := &EmailLimits{}
	limits.Tools = emailTools(e, names)
	limits.MaxPerSession, limits.Limited = e.Integer("max_emails_per_session", 0)
	limits.AllowedFrom = addresses(e, "allowed_from")
	limits.AllowedTo = addresses(e, "allowed_to")
	return limits
}

func emailTools(f document.Fields, names toolname.Names) []string {
	items, ok := f.Strings("tools", maxRules)
	if !ok {
		return nil
	}
	if len(items) == 0 {
		f.Report.Errorf(f.At.Key("tools"), document.CodeEmpty, "no tool sends email, so the list has no effect; name some tools or remove the list")
	}
	for _, item := range items {
		checkCapability(f.Report, item.At, item.Text, names, toolname.Restricts)
	}
	f.Report.Duplicates(items)
	return document.Texts(items)
}

func addresses(f document.Fields, name string) []string {
	items, ok := f.Strings(name, maxRules)
	if !ok {
		return nil
	}
	for _, item := range items {
		switch mailbox, domain, at := strings.Cut(item.Text, "@"); {
		case item.Text == "":
			f.Report.Errorf(item.At, document.CodeEmpty, "the address is empty; write one or remove it")
		case item.Text == "*":
			f.Report.Warnf(item.At, CodeTooBroad, "\"*\" admits every address; name them")
		case !at || mailbox == "" || domain == "" || strings.Contains(domain, "@") || strings.ContainsFunc(item.Text, notInAddress):
			f.Report.Errorf(item.At, document.CodeName, "%s is not a valid address; write name@example.com or *@example.com", document.Quote(item.Text))
		}
	}
	f.Report.Duplicates(items)
	return document.Texts(items)
}

func notInAddress(c rune) bool { return !unicode.IsPrint(c) || strings.ContainsRune(" ,;<>()\"", c) }
