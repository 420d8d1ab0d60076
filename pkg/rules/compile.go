package rules

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
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
	// tools are the descriptions of tools, for facets.
	tools facet.Tools
	sees  bool
	// exceptable has the digests of the rules that permit exceptions, by their pointers.
	exceptable map[string]string
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

// SeesCalls reports that it can matter to the policy what a call does: a rule has conditions or sums an amount, or one
// asks, whose answer can be a lease with conditions.
func (s *Set) SeesCalls() bool { return s != nil && s.sees }

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
	at := func(place string) *Source { return &Source{Policy: policy.Name, Version: version, Place: place} }
	s.role, s.tools = policy.Role, policy.Tools
	s.sees = len(policy.Ask) > 0 || policy.RepeatUnknown != "" || slices.ContainsFunc(slices.Concat(policy.Deny, policy.Allow), func(r Rule) bool {
		return !r.Clause.IsZero() || r.Amount != nil || r.Point != nil || r.Exceptable
	})
	s.other, s.defaultDeny = at(placeOther), policy.DefaultDeny
	if policy.RepeatUnknown != "" {
		s.repeat, s.repeatDenied = at(placeRepeat), policy.RepeatUnknown != toolcall.Ask
	}
	patterns := compileRules(policy, version)
	s.rules = slices.Clone(patterns)
	s.exceptable = exceptableRules(policy)
	if budget := policy.SessionBudget; budget != nil {
		s.session = &limit{account: Account{Measure: Money, Scope: PerSession}, max: int64(*budget), by: at(placeBudget)}
	}
	if policy.Email != nil {
		s.email = compileEmail(policy.Email, at(placeEmail))
		for _, tool := range policy.Email.Tools {
			patterns = append(patterns, read(tool, outcome{email: true}))
		}
	}
	s.table = newTable(patterns)
	s.shell = s.table.find([]byte(Shell))
	return s
}

// compileRules returns the rules of a policy, deny first.
func compileRules(policy *Policy, version int64) []pattern {
	var patterns []pattern
	all := limits{}
	for _, list := range []struct {
		place string
		rules []Rule
	}{{listDeny, policy.Deny}, {listAsk, policy.Ask}, {listAllow, policy.Allow}} {
		for i := range list.rules {
			rule := &list.rules[i]
			by := &Source{Policy: policy.Name, Version: version, Place: list.place, Index: i, Pattern: rule.Capability, ID: rule.ID, Message: rule.Message, Looks: looks(rule.Clause), Point: rule.Point}
			c := &conditional{by: by, clause: rule.Clause, limits: all.ofRule(policy.Name, rule, by), exceptable: rule.Exceptable}
			if slices.Contains(lookedAt(rule.Clause), string(condition.Time)) {
				c.windows = policy.Windows
			}
			p := read(rule.Capability, c.outcome())
			p.rule = c
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// outcome returns the effect of the rule.
func (c *conditional) outcome() outcome {
	always := c.clause.IsZero() && !c.exceptable
	switch {
	case c.by.Place == listDeny && always && c.by.Point == nil:
		return outcome{deny: c.by}
	case c.by.Place == listDeny:
		return outcome{denies: []*conditional{c}}
	case c.by.Place == listAsk && always:
		return outcome{ask: c.by, limits: c.limits}
	case c.by.Place == listAsk:
		return outcome{asks: []*conditional{c}}
	case always:
		return outcome{allow: c.by, limits: c.limits}
	default:
		c.stance = condition.Allows
		return outcome{allows: []*conditional{c}}
	}
}

// exceptableRules returns the digests of the rules that permit exceptions.
func exceptableRules(policy *Policy) map[string]string {
	digests := make(map[string]string)
	for place, list := range map[string][]Rule{listDeny: policy.Deny, listAsk: policy.Ask} {
		for i := range list {
			if list[i].Exceptable {
				by := Source{Place: place, Index: i}
				digests[by.Pointer()] = list[i].Digest
			}
		}
	}
	return digests
}

func read(capability string, says outcome) pattern {
	text, wild := strings.CutSuffix(capability, "*")
	return pattern{text: text, wild: wild, says: says}
}
