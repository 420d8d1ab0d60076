package rules

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Set is one version of a policy, compiled: immutable, and safe for concurrent use.
// A nil Set denies everything.
type Set struct {
	// role of the callers whose calls it judges; empty for every caller.
	role  string
	table *node
	// shell is the outcome for Shell, and so of every tool that runs command lines.
	shell *outcome
	// other is the source for calls that no rule matches.
	other       *Source
	defaultDeny bool
	// session limits the cost of the session's tree, nil for no limit.
	session *limit
	email   *emailRules
	// repeat is the outcome for a call that repeats one of unknown outcome; nil if there is
	// none.
	repeat       *Source
	repeatDenied bool
	// rules are all of them in their order, deny first, for Explain.
	rules []pattern
	// broken says why no decision is possible; then every call is denied.
	broken string
}

// For reports that a policy judges the calls of callers of a role (S15.9). One that cannot be
// read judges those of all callers.
func (s *Set) For(role string) bool { return s.broken != "" || s.role == "" || s.role == role }

// AsksRepeats reports that it matters to the policy whether a call repeats one of unknown
// outcome: Call.Repeats.
func (s *Set) AsksRepeats() bool { return s.repeat != nil }

// Missing returns the set of a policy that is wanted by its name and not there: it denies
// everything (S7.2).
func Missing(name string) *Set {
	return &Set{broken: "there is no policy " + document.Quote(name), other: &Source{Policy: name, Place: placeOther}}
}

// Compile makes the tables of a version of a policy. A policy that ParsePolicy
// would refuse compiles to a Set that denies everything (S7.2).
func Compile(policy *Policy, version int64) *Set {
	s := &Set{broken: flaw(policy)}
	if s.broken != "" {
		return s
	}
	at := func(place string, index int, pattern string) *Source {
		return &Source{Policy: policy.Name, Version: version, Place: place, Index: index, Pattern: pattern}
	}
	s.role = policy.Role
	s.other, s.defaultDeny = at(placeOther, 0, ""), policy.DefaultDeny
	if policy.RepeatUnknown != "" {
		s.repeat, s.repeatDenied = at(placeRepeat, 0, ""), policy.RepeatUnknown != toolcall.Ask
	}
	var patterns []pattern
	all := limits{}
	for i, rule := range policy.Deny {
		patterns = append(patterns, read(rule.Capability, outcome{deny: at(listDeny, i, rule.Capability)}))
	}
	for i := range policy.Ask {
		rule := &policy.Ask[i]
		by := at(listAsk, i, rule.Capability)
		patterns = append(patterns, read(rule.Capability, outcome{ask: by, limits: all.ofRule(policy.Name, rule, by)}))
	}
	for i := range policy.Allow {
		rule := &policy.Allow[i]
		by := at(listAllow, i, rule.Capability)
		patterns = append(patterns, read(rule.Capability, outcome{allow: by, limits: all.ofRule(policy.Name, rule, by)}))
	}
	s.rules = slices.Clone(patterns)
	if budget := policy.SessionBudget; budget != nil {
		s.session = &limit{Account{Measure: Money, Scope: PerSession}, int64(*budget), at(placeBudget, 0, "")}
	}
	if policy.Email != nil {
		s.email = compileEmail(policy.Email, at(placeEmail, 0, ""))
		for _, tool := range policy.Email.Tools {
			patterns = append(patterns, read(tool, outcome{email: true}))
		}
	}
	s.table = newTable(patterns)
	s.shell = s.table.find([]byte(Shell))
	return s
}

func read(capability string, says outcome) pattern {
	text, wild := strings.CutSuffix(capability, "*")
	return pattern{text, wild, says}
}
