package rules

import (
	"slices"
	"strings"
	"unicode"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Codes of policies (S1.3) next to those of package document.
const (
	CodeCapability document.Code = "CAPABILITY"
	CodeTooBroad   document.Code = "TOO_BROAD"
	// CodeExample is the code of an example that the policy decides otherwise.
	CodeExample document.Code = "EXAMPLE"
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
	f.KnownOrNotes("a policy", "role", "name", "description", "default", "allow", "ask", "deny", "session_budget_usd", "email_config", "repeat_unknown", "windows", "exception_terms", "meta", "$schema")
	f.Require("role")
	p.Role, _ = f.Enum("role", Roles()...)
	p.Name, _ = f.Str("name")
	f.Str("description")
	f.Str("$schema")
	fallback, _ := f.Enum("default", "allow", "deny")
	p.DefaultDeny = fallback == "deny"
	names := readTools(f, p)
	repeat, _ := f.Enum("repeat_unknown", "allow", "ask", "deny")
	if repeat != "allow" {
		p.RepeatUnknown = toolcall.Decision(strings.ToUpper(repeat))
	}
	p.Windows = condition.ReadWindows(f)
	if terms, ok := f.Object("exception_terms"); ok {
		terms.Known("the terms of exceptions", "four_eyes")
		terms.Require("four_eyes")
		p.FourEyes = terms.Bool("four_eyes")
	}
	rr := &ruleReader{names: names, defaultDeny: p.DefaultDeny, windows: p.Windows.Names(), ids: map[string]bool{}}
	p.Allow = rr.list(f, listAllow)
	p.Ask = rr.list(f, listAsk)
	p.Deny = rr.list(f, listDeny)
	p.SessionBudget = ReadSessionBudget(f)
	p.Email = ReadEmailLimits(f, names)
	overruled(f, p)
	if !r.HasErrors() {
		runExamples(f, p)
		review(f, p)
	}
	return p
}

// readTools reads meta.tools of a policy.
func readTools(f document.Fields, p *Policy) toolname.Names {
	meta, ok := f.Object("meta")
	if !ok {
		return toolname.Names{}
	}
	meta.Known("\"meta\"", "tools")
	var names []string
	names, p.Tools = toolinput.ReadTools(meta, maxRules)
	return toolname.With(names)
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
	var denied []string
	for i := range p.Deny {
		if p.Deny[i].always() && !f.Report.HasErrors() { // one that could not be read has conditions
			denied = append(denied, p.Deny[i].Capability)
		}
	}
	for name, rules := range map[string][]Rule{listAllow: p.Allow, listAsk: p.Ask} {
		for i := range rules {
			if capability := rules[i].Capability; capability != "" && slices.Contains(denied, capability) {
				f.Report.Warnf(f.At.Key(name).At(i).Key("capability"), document.CodeNoEffect, "%s is also in \"deny\", which takes precedence; remove one", document.Quote(capability))
			}
		}
	}
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
