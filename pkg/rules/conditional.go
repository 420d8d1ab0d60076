package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// conditional is a rule with conditions.
type conditional struct {
	by     *Source
	clause condition.Clause
	stance condition.Stance
	// windows are those of the policy, which the facet time has by name; nil where the clause does not look at it.
	windows *condition.Windows
	limits  []*limit
	// exceptable rules have exceptions.
	exceptable bool
}

// applies returns whether the rule is about a call. Without facts, it is in doubt.
func (c *conditional) applies(call *Call) condition.Truth {
	switch {
	case c.clause.IsZero():
		return condition.True
	case call.Facts == nil:
		return condition.Doubt
	}
	return c.clause.Applies(c.facts(call), c.stance)
}

// explain returns the comparisons of the rule with their results.
func (c *conditional) explain(call *Call) []condition.Leaf {
	facts := c.facts(call)
	if call.Facts == nil {
		facts = unread{}
	}
	return c.clause.Explain(facts, c.stance)
}

// facts returns the facts of a call with the windows of the policy.
func (c *conditional) facts(call *Call) condition.Facts {
	if _, chosen := call.Facts.(condition.Chosen); chosen || c.windows == nil {
		return call.Facts
	}
	now := call.Now
	if call.timeless {
		now = time.Time{}
	}
	return timed{call.Facts, c.windows, now}
}

// timed adds the windows of a policy that the time of a call is in.
type timed struct {
	condition.Facts
	windows *condition.Windows
	now     time.Time
}

func (t timed) Facet(name condition.Facet) condition.Set {
	if name != condition.Time {
		return t.Facts.Facet(name)
	}
	return t.windows.At(t.now)
}

// unread has the facts of a call that were not given.
type unread struct{}

func (unread) Input() (document.Value, bool) { return document.Value{}, false }

func (unread) Facet(condition.Facet) condition.Set {
	return condition.Unknown("the facts of the call were not given")
}

// conditionals reports rules with conditions in an outcome.
func (o *outcome) conditionals() bool { return len(o.denies)+len(o.asks)+len(o.allows) > 0 }

// applied returns the outcome for a call, in which rules with conditions that hold are as those
// without; it is put into sum where they differ. unclear is the closest rule of deny or ask that is in doubt; nil for
// none. An allowing rule in doubt does not match, and its limits count.
func (o *outcome) applied(call *Call, sum *outcome) (said *outcome, unclear *conditional) {
	if !o.conditionals() {
		return o, nil
	}
	*sum = *o
	sum.denies, sum.asks, sum.allows = nil, nil, nil
	sum.limits = slices.Clip(o.limits) // is copied when it grows
	for _, c := range o.denies {
		switch sum.applies(c, call) {
		case condition.True:
			if c.by.Point != nil {
				sum.outside = append(sum.outside, c.by)
				continue
			}
			sum.deny = c.by
			return sum, nil
		case condition.Doubt:
			unclear = first(unclear, c)
		}
	}
	for _, c := range o.asks {
		switch sum.applies(c, call) {
		case condition.True:
			sum.alsoAsk(c)
		case condition.Doubt:
			unclear = first(unclear, c)
		}
	}
	for _, c := range o.allows {
		switch c.applies(call) {
		case condition.True:
			sum.allow = closer(c.by, sum.allow)
			sum.count(c.limits)
			continue
		case condition.Doubt:
			sum.count(c.limits)
		}
		if sum.near == nil {
			sum.near = c.by
		}
	}
	if len(sum.limits) > len(o.limits) {
		slices.SortFunc(sum.limits, (*limit).compare)
	}
	return sum, unclear
}

// applies returns whether a restricting rule is about a call and no exception lets it pass. The limits of the rule
// count all the same.
func (o *outcome) applies(c *conditional, call *Call) condition.Truth {
	t := c.applies(call)
	if t == condition.False {
		return t
	}
	id := c.excepted(call)
	if id == "" {
		return t
	}
	if !slices.Contains(o.excepted, id) {
		o.excepted = append(o.excepted, id)
	}
	o.count(c.limits)
	return condition.False
}

func first(known, c *conditional) *conditional {
	if known != nil {
		return known
	}
	return c
}

// alsoAsk adds a rule that asks and whose conditions hold. The closest speaks for a rule without
// conditions, and each rule with conditions that hold asks its own question.
func (o *outcome) alsoAsk(c *conditional) {
	o.count(c.limits)
	if len(o.questions) == 0 && closer(c.by, o.ask) != c.by {
		o.questions = append(o.questions, o.ask)
	}
	o.questions = append(o.questions, c.by)
	o.ask = o.questions[0]
}

// count adds limits, each once.
func (o *outcome) count(limits []*limit) {
	for _, l := range limits {
		if !slices.Contains(o.limits, l) {
			o.limits = append(o.limits, l)
		}
	}
}

// open returns the closest rule that asks and that no lease has answered; nil for none.
func (o *outcome) open(call *Call) *Source {
	if len(o.questions) == 0 {
		if o.ask == nil || call.answered(o.ask) {
			return nil
		}
		return o.ask
	}
	for _, by := range o.questions {
		if !call.answered(by) {
			return by
		}
	}
	return nil
}

// closer returns the rule with the longer pattern, of equals the first; the other may be nil.
func closer(by, other *Source) *Source {
	if other == nil || closeness(by) >= closeness(other) {
		return by
	}
	return other
}

// closeness orders patterns that match the same capability: the longer ones, and of equals those without a *.
func closeness(by *Source) int {
	if text, wild := strings.CutSuffix(by.Pattern, "*"); wild {
		return 2 * len(text)
	}
	return 2*len(by.Pattern) + 1
}

// unclear returns the denial by a rule whose conditions are in doubt.
func (v *Verdict) unclear(call *Call, c *conditional) Verdict {
	for _, leaf := range c.explain(call) {
		if leaf.Result == condition.Doubt {
			return v.inDoubt(c.by, leaf)
		}
	}
	return v.inDoubt(c.by, condition.Leaf{})
}

// looks lists the pointers and facets of a clause in a sentence, without the confidential ones.
func looks(clause condition.Clause) string {
	if clause.IsZero() {
		return ""
	}
	var open []string
	for _, name := range lookedAt(clause) {
		if !condition.Confidential(name) {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return "facts that a call cannot change"
	}
	return strings.Join(open, ", ")
}

// lookedAt returns the pointers and facets of a clause, each once, sorted.
func lookedAt(clause condition.Clause) []string {
	names := slices.Concat(clause.When.Looks(), clause.Unless.Looks())
	slices.Sort(names)
	return slices.Compact(names)
}

// Looks returns the pointers and facets that decide about a call, each once, sorted: those of the
// conditions and limits of the rules that match its capability. There are none where a rule without
// conditions denies it.
func (s *Set) Looks(call Call) []string {
	if s == nil || s.broken != "" || call.Capability == "" && (call.Tool == "" || toolcall.Own(call.Tool)) {
		return nil
	}
	var room [longestName]byte
	capability, asShell := call.named(room[:0])
	said := s.table.find(capability)
	also := s.alsoSaid(&call, asShell, capability)
	if said.deny != nil || also.deny != nil {
		return nil
	}
	names := also.looks(said.looks(nil))
	for i := range call.Exceptions {
		names = append(names, call.Exceptions[i].When.Looks()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// looks appends the pointers and facets of the rules of an outcome.
func (o *outcome) looks(names []string) []string {
	for _, list := range [][]*conditional{o.denies, o.asks, o.allows} {
		for _, c := range list {
			names = limitsLook(c.limits, append(names, lookedAt(c.clause)...))
		}
	}
	return limitsLook(o.limits, names)
}

// limitsLook appends the pointers and facets that limits depend on.
func limitsLook(limits []*limit, names []string) []string {
	for _, l := range limits {
		if l.account.Scope == PerHuman {
			names = append(names, string(condition.HumanName))
		}
		if l.amount != nil {
			names = append(names, l.amount.of)
		}
	}
	return names
}

// Tools returns the descriptions of tools in the policy.
func (s *Set) Tools() facet.Tools {
	if s == nil {
		return nil
	}
	return s.tools
}
