package workflow

import (
	"slices"
	"strings"
	"unicode"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// GuardResult is the outcome of one guard (S2.3).
type GuardResult struct {
	Name  string
	Field string
	Op    string
	// Expected is the guard's value; missing when the operator takes none.
	Expected document.Value
	// Actual is the value in the context; missing when there is none.
	Actual document.Value
	Passed bool
	// Code says why a guard failed where no comparison did.
	Code GuardCode
	// Need is the requirement of a guard that is more than a comparison, apart from any
	// run, and Why the finding; empty of a plain comparison.
	Need, Why string
}

// GuardCode says why a guard failed, for programs.
type GuardCode string

// The codes. A comparison that fails has none.
const (
	// GuardEvidenceMissing: the required observation was not made, or does not count any
	// more.
	GuardEvidenceMissing GuardCode = "EVIDENCE_MISSING"
	// GuardEffectsUnknown: the end of a call is unknown.
	GuardEffectsUnknown GuardCode = "EFFECTS_UNKNOWN"
	// GuardClaimed: the value is right, and comes from a caller that may not claim it.
	GuardClaimed GuardCode = "CLAIMED"
)

// predicate is a compiled guard.
type predicate struct {
	name     string
	field    string
	opName   string
	op       condition.Operator
	expected document.Value
	path     []segment // nil when field can only be a top-level key
	source   evidence.Source

	evidence string
	join     string // "all", "any" or "not": of parts
	parts    []*predicate
	when     *condition.Condition
}

func newPredicate(g *Guard) *predicate {
	p := &predicate{
		name: g.Name, field: g.Field, opName: g.Op, op: condition.Named(g.Op), path: pathOf(g.Field), source: g.Source, evidence: g.Evidence,
	}
	switch {
	case g.Evidence != "":
		p.opName = opEvidence
	case g.When != nil:
		p.opName, p.when, p.expected = opWhen, g.When, g.When.Value()
		p.field = strings.Join(g.When.Looks(), ", ")
		if len(g.When.Looks()) == 1 {
			p.path = pathOf(p.field)
		}
	case g.Not != nil:
		p.join, p.parts = "not", []*predicate{newPredicate(g.Not)}
	case len(g.All) > 0:
		p.join, p.parts = "all", newPredicates(g.All)
	case len(g.Any) > 0:
		p.join, p.parts = "any", newPredicates(g.Any)
	case p.op.TakesValue():
		p.expected = g.Value
		if g.Value.IsZero() {
			p.op = condition.Never // no value to compare with
		}
	}
	if p.join != "" {
		p.opName = p.join
	}
	return p
}

func newPredicates(guards []Guard) []*predicate {
	list := make([]*predicate, len(guards))
	for i := range guards {
		list[i] = newPredicate(&guards[i])
	}
	return list
}

// noUnknownEffects guards the ways into a state that demands it.
var noUnknownEffects = &predicate{name: evidence.NoUnknownEffects, evidence: evidence.NoUnknownEffects, opName: opEvidence}

// opEvidence is the op that results show of a guard that asks for evidence.
const opEvidence = "evidence"

// opWhen is the op that results show of a guard that is a condition.
const opWhen = "when"

// asksEvidence reports that the guard, or one that it joins, asks for evidence.
func (p *predicate) asksEvidence() bool {
	return p.evidence != "" || slices.ContainsFunc(p.parts, (*predicate).asksEvidence)
}

// asksSource reports that the guard, or one that it joins, asks where a value comes from.
func (p *predicate) asksSource() bool {
	return p.source != "" || slices.ContainsFunc(p.parts, (*predicate).asksSource)
}

// given has the inputs of guards.
type given struct {
	context document.Value
	sources Sources
	facts   evidence.Statuses
}

// evaluate fills in the outcome of the guard.
func (p *predicate) evaluate(g *given, result *GuardResult) {
	result.Name, result.Field, result.Op = p.name, p.field, p.opName
	if p.evidence == "" && p.join == "" && p.source == "" && p.when == nil {
		result.Expected, result.Actual = p.expected, p.lookup(g.context)
		result.Passed = p.op.Holds(result.Actual, result.Expected)
		return
	}
	o := p.judge(g, condition.Allows)
	result.Passed, result.Code, result.Need, result.Why = o.passed(), o.code, o.need, o.why
	switch {
	case p.evidence != "":
		result.Field = p.evidence
	case p.join == "":
		result.Expected, result.Actual = p.expected, p.lookup(g.context)
	}
}

// opinion is the outcome of a guard, or of one that it joins.
type opinion struct {
	// truth is in doubt of a condition alone.
	truth condition.Truth
	code  GuardCode
	// need is its requirement, apart from any run; why also has its finding.
	need, why string
}

func (o *opinion) passed() bool { return o.truth == condition.True }

func (p *predicate) judge(g *given, stance condition.Stance) opinion {
	switch {
	case p.evidence != "":
		s, known := g.facts[p.evidence]
		code := GuardEvidenceMissing
		if p == noUnknownEffects {
			code = GuardEffectsUnknown
			if !known {
				s, known = evidence.Status{Needs: "needs the outcome of every call to be known", Missing: "needs the outcome of every call to be known, and it was not read"}, true
			}
		}
		if !known {
			text := "needs the evidence " + document.Quote(p.evidence)
			return opinion{truth: condition.False, code: GuardEvidenceMissing, need: text, why: text + ", and no call was observed"}
		}
		if s.Held {
			return opinion{truth: condition.True, need: s.Needs, why: s.Needs}
		}
		return opinion{truth: condition.False, code: code, need: s.Needs, why: s.Missing}
	case p.join != "":
		return p.judgeParts(g, stance)
	case p.when != nil:
		return p.judgeWhen(g, stance)
	}
	leaf := GuardResult{Field: p.field, Op: p.opName, Expected: p.expected, Actual: p.lookup(g.context)}
	o := opinion{truth: condition.Of(p.op.Holds(leaf.Actual, leaf.Expected)), need: "requires " + leaf.condition()}
	if p.source != "" {
		o.need += ", set by " + atLeast(p.source)
	}
	o.why = o.need + leaf.found(o.passed())
	if from := p.sourceIn(g); o.passed() && p.source != "" && !from.Meets(p.source) {
		o.truth, o.code = condition.False, GuardClaimed
		o.why = o.need + ", but its value comes from the " + string(from)
	}
	return o
}

func (p *predicate) judgeParts(g *given, stance condition.Stance) opinion {
	var o opinion
	if p.join == "not" {
		stance = stance.Opposite()
	}
	needs, whys := make([]string, len(p.parts)), []string(nil)
	all, some := condition.True, condition.False
	for i, part := range p.parts {
		of := part.judge(g, stance)
		all, some = all.And(of.truth), some.Or(of.truth)
		needs[i] = of.need
		if of.passed() {
			continue
		}
		whys = append(whys, of.why)
		if o.code == "" || of.code == GuardEvidenceMissing {
			o.code = of.code
		}
	}
	switch p.join {
	case "all":
		o.truth = all
		o.need, o.why = strings.Join(needs, ", and "), strings.Join(whys, "; and ")
	case "any":
		o.truth = some
		o.need, o.why = "either "+strings.Join(needs, ", or "), "either "+onceAtEnd(whys, "; or ")
	default:
		o.truth = some.Not()
		o.need = "does not pass when this holds: it " + needs[0]
		o.why, o.code = o.need, ""
		if o.truth == condition.Doubt {
			o.why += "; " + strings.Join(whys, "")
		}
	}
	if o.passed() {
		o.why, o.code = o.need, ""
	}
	return o
}

// onceAtEnd joins reasons, and gives the explanation that ends all of them once.
func onceAtEnd(whys []string, separator string) string {
	if len(whys) < 2 {
		return strings.Join(whys, separator)
	}
	_, same, found := strings.Cut(whys[0], "; ")
	heads := make([]string, len(whys))
	for i, why := range whys {
		head, tail, _ := strings.Cut(why, "; ")
		if !found || tail != same {
			return strings.Join(whys, separator)
		}
		heads[i] = head
	}
	return strings.Join(heads, separator) + "; " + same
}

// contextOf gives conditions the context of a run in the place of a call's arguments.
type contextOf struct{ context document.Value }

// Input implements condition.Facts.
func (c contextOf) Input() (document.Value, bool) { return c.context, true }

// Facet implements condition.Facts: a context has none.
func (contextOf) Facet(condition.Facet) condition.Set {
	return condition.Unknown("a guard looks at the context alone")
}

// judgeWhen judges a guard in the short form (S21.17).
func (p *predicate) judgeWhen(g *given, stance condition.Stance) opinion {
	context := g.context
	if context.IsZero() {
		context = document.ObjectValue(nil)
	}
	at := contextOf{context}
	o := opinion{truth: p.when.Judge(at, stance), need: "requires " + brief(p.expected)}
	o.why = o.need
	if o.passed() {
		return o
	}
	var against []string
	for _, leaf := range p.when.Explain(at, stance) {
		switch {
		case leaf.Result == condition.Doubt:
			against = append(against, "it "+strings.TrimSuffix(leaf.Why, "."))
		case (leaf.Result == condition.True) == leaf.Negated && leaf.Actual != "":
			against = append(against, leaf.Looks+" is "+leaf.Actual)
		case (leaf.Result == condition.True) == leaf.Negated:
			against = append(against, leaf.Looks+" is missing")
		}
	}
	const most = 4
	if len(against) > most {
		against = append(against[:most], "and more")
	}
	if len(against) > 0 {
		o.why += ", but " + strings.Join(against, "; ")
	}
	return o
}

// atLeast names the sources from one on.
func atLeast(least evidence.Source) string {
	switch least {
	case evidence.Observed:
		return "Interlock's observation, a human or an operator"
	case evidence.Human:
		return "a human or an operator"
	case evidence.Operator:
		return "an operator"
	default:
		return "anybody"
	}
}

// String describes the requirement of the guard and its finding.
func (g GuardResult) String() string {
	if g.Need != "" {
		return "guard " + document.Quote(g.Name) + " " + g.Why
	}
	return g.wanted() + g.found(g.Passed)
}

// found describes the value of a field.
func (g *GuardResult) found(passed bool) string {
	found := "it is missing"
	if !g.Actual.IsZero() {
		found = "it is " + brief(g.Actual)
	}
	if passed {
		return ", and " + found
	}
	return ", but " + found
}

// wanted describes the requirement of the guard, apart from the context.
func (g GuardResult) wanted() string {
	s := "guard " + document.Quote(g.Name) + " "
	if g.Need != "" {
		return s + g.Need
	}
	return s + "requires " + g.condition()
}

// condition returns the requirement of a guard on a field.
func (g *GuardResult) condition() string {
	switch {
	case g.Op == "exists":
		return g.Field + " to exist"
	case g.Op == "not_exists":
		return g.Field + " not to exist"
	case g.Expected.IsZero():
		return "what this workflow does not define"
	default:
		return g.Field + " " + g.Op + " " + brief(g.Expected)
	}
}

// longestBrief is the longest text, in bytes, that brief gives.
const longestBrief = 120

// brief returns a value for a message: its JSON, short and printable.
func brief(v document.Value) string {
	text := v.String()
	cut := len(text) > longestBrief
	if cut {
		text = strings.ToValidUTF8(text[:longestBrief], "")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
	if cut {
		text += "..."
	}
	return text
}
