package workflow

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
)

// edgeKind is the field by which one state leads to another.
type edgeKind uint8

const (
	byTarget edgeKind = iota
	bySafeNext
	byInvoke
	byForkEnd // on_complete and on_fail of a fork
	byEvent   // BRANCH_DONE of a branch whose terminal has no other way in
)

// edge is one way from a state to a state.
type edge struct {
	from, to int // places; to is unknownState or returnState at times
	kind     edgeKind
	approval bool
	at       *document.Path
}

// returnFacts is one use of $return.
type returnFacts struct {
	from int
	at   *document.Path
}

func (r transitionSection) edge(from, to int, kind edgeKind, at *document.Path) {
	r.edges = append(r.edges, edge{from: from, to: to, kind: kind, at: at})
}

// exits reads safe_next and on.
func (r transitionSection) exits(i int, f document.Fields, s *State) {
	facts := &r.facts[i]
	if next, ok := f.Str("safe_next"); ok {
		at := f.At.Key("safe_next")
		s.SafeNext = next
		facts.safeNext = r.lookup(next, at)
		r.edge(i, facts.safeNext, bySafeNext, at)
	}
	facts.exits = facts.exits || f.Has("safe_next")
	on, ok := f.Object("on")
	if !ok {
		facts.opaque = f.Has("on")
		facts.exits = facts.exits || facts.opaque
		return
	}
	if n := on.Value.Len(); n > maxEvents {
		r.report.Errorf(on.At, document.CodeTooMany, "there are %d events, the limit of a state is %d; split the state", n, maxEvents)
		return
	}
	facts.exits = facts.exits || on.Value.Len() > 0
	on.SameNames("event")
	for event, v := range on.Value.Members() {
		at := on.At.Key(event)
		r.report.CheckName(event, at, eventRule)
		t := Transition{Event: event}
		r.transition(i, v, at, &t)
		s.On = append(s.On, t)
	}
}

// transition reads one of the five patterns: target, guarded, branched, invoke, fork.
func (r transitionSection) transition(from int, v document.Value, at *document.Path, t *Transition) {
	switch v.Kind() {
	case document.String:
		t.Branches = []Branch{{Target: v.Str()}}
		r.target(from, v.Str(), at, false)
	case document.Array:
		t.Branched = true
		r.branches(from, v, at, t)
	case document.Object:
		r.transitionObject(from, document.Fields{Report: &r.report, Value: v, At: at}, t)
	default:
		r.facts[from].opaque = true
		r.report.Errorf(at, document.CodeType, "a transition must be a state's name, an object or a list of branches, not a %s", v.Kind())
	}
}

// target notes where a transition leads. $return is judged by the graph.
func (r transitionSection) target(from int, name string, at *document.Path, approval bool) {
	to := returnState
	if name == ReturnTarget {
		r.returns = append(r.returns, returnFacts{from, at})
	} else {
		to = r.lookup(name, at)
	}
	r.edges = append(r.edges, edge{from: from, to: to, approval: approval, at: at})
}

var (
	targetFields = []string{"target", "guard", "guards", "requires_approval", "approval_message", "not_before", "window", "outside"}
	branchFields = []string{"target", "guard", "guards", "not_before", "window", "outside"}
	invokeFields = []string{"invoke", "on_complete", "on_fail", "input"}
	allPatterns  = []string{
		"target", "guard", "guards", "requires_approval", "approval_message", "not_before", "window", "outside", "invoke", "on_complete", "on_fail", "input", "fork",
	}
	targetOnly = targetFields[1:]
	invokeOnly = invokeFields[1:]
)

func (r transitionSection) transitionObject(from int, f document.Fields, t *Transition) {
	f.Known("a transition", allPatterns...)
	r.patterns(f)
	if f.Has("fork") {
		r.fork(from, f, t)
	}
	if f.Has("invoke") {
		r.invoke(from, f, t)
	}
	if f.Has("target") || !f.Has("fork") && !f.Has("invoke") {
		r.guarded(from, f, t)
	}
}

// patterns reports objects that mix patterns. Fields of another pattern would
// be dropped, and a guard or approval among them.
func (r transitionSection) patterns(f document.Fields) {
	count := 0
	pattern := ""
	for _, name := range []string{"target", "invoke", "fork"} {
		if f.Has(name) {
			count++
			pattern = name
		}
	}
	switch {
	case count > 1:
		r.report.Errorf(f.At, document.CodeConflict, "a transition has one of \"target\", \"invoke\" and \"fork\"; keep one")
		return
	case count == 0:
		return
	}
	foreign := targetOnly
	switch pattern {
	case "target":
		foreign = invokeOnly
	case "fork":
		foreign = slices.Concat(targetOnly, invokeOnly)
	}
	mixed := false
	for _, name := range foreign {
		if f.Has(name) {
			mixed = true
			r.report.Errorf(f.At.Key(name), document.CodeUnknownField, "a transition with %q has no %q, so the field has no effect; remove it", pattern, name)
		}
	}
	if mixed {
		r.report.Errorf(f.At, document.CodeConflict, "%q is combined with fields of another pattern; split it into several transitions", pattern)
	}
}

func (r transitionSection) guarded(from int, f document.Fields, t *Transition) {
	approval := f.Bool("requires_approval")
	b := Branch{RequiresApproval: approval}
	if approval {
		r.facts[from].approval = true
		r.advisory(f.At.Key("requires_approval"))
	}
	if message, ok := f.Str("approval_message"); ok {
		b.ApprovalMessage = message
		if !approval {
			r.report.Warnf(f.At.Key("approval_message"), document.CodeNoEffect, "without \"requires_approval\": true it is never shown; add that or remove it")
		}
	}
	r.branch(from, f, &b)
	t.Branches = []Branch{b}
}

// advisory warns of an approval that has no effect.
func (r transitionSection) advisory(at *document.Path) {
	if r.def.Meta.ApprovalMode != "ui" {
		r.report.Warnf(at, document.CodeNoEffect, "\"approval_mode\" of \"meta\" is \"none\", so it is advisory: the transition succeeds and is recorded; remove that to wait for people")
	}
}

// branch reads target and guards.
func (r transitionSection) branch(from int, f document.Fields, b *Branch) {
	f.Require("target")
	if target, ok := f.Str("target"); ok {
		b.Target = target
		r.target(from, target, f.At.Key("target"), b.RequiresApproval)
	}
	b.Guards = r.guardNames(f)
	r.timePart().bounds(f, b)
}

func (r transitionSection) guardNames(f document.Fields) []string {
	var names []document.StringAt
	f.Fix = "; name a guard that the workflow's \"guards\" defines"
	if name, ok := f.Str("guard"); ok {
		names = append(names, document.StringAt{Text: name, At: f.At.Key("guard")})
	}
	if list, ok := f.Strings("guards", maxItems); ok {
		if v, _ := f.Value.Get("guards"); v.Len() == 0 {
			r.report.Errorf(f.At.Key("guards"), document.CodeEmpty, "an empty list has no effect; name guards or remove it")
		}
		names = append(names, list...)
	}
	for _, name := range names {
		if !r.guards[name.Text] {
			r.report.Errorf(name.At, CodeUnknownGuard, "no guard %s%s", document.Quote(name.Text), r.guardPart().guardHint(name.Text))
		}
	}
	r.report.Duplicates(names)
	if len(names) == 0 {
		return nil
	}
	return document.Texts(names)
}

func (r transitionSection) branches(from int, v document.Value, at *document.Path, t *Transition) {
	switch {
	case v.Len() == 0:
		r.report.Errorf(at, document.CodeEmpty, "the list has no branch, so the event has no effect; add one or remove the event")
	case v.Len() > maxItems:
		r.report.Errorf(at, document.CodeTooMany, "there are %d branches, the limit is %d", v.Len(), maxItems)
		return
	}
	defaultAt := -1
	for i, e := range v.Elements() {
		here := at.At(i)
		f, ok := r.report.Object(e, here, "a branch")
		if !ok {
			continue
		}
		r.branchFields(f)
		var b Branch
		r.branch(from, f, &b)
		t.Branches = append(t.Branches, b)
		switch {
		case defaultAt >= 0:
			r.report.Errorf(here, CodeDefaultNotLast, "it can never fire: branch %d has no guard and is always taken; put that last", defaultAt)
		case !f.Has("guard") && !f.Has("guards"):
			defaultAt = i
			if i < v.Len()-1 {
				r.report.Errorf(here, CodeDefaultNotLast, "it has no guard, so the branches after it never fire; put it last")
			}
		}
	}
}

// branchFields reports fields that a branch of a list cannot have: it only leads to a
// target.
func (r transitionSection) branchFields(f document.Fields) {
	f.Known("a branch of a list", branchFields...)
	if f.Has("target") && (f.Has("invoke") || f.Has("fork")) {
		r.report.Errorf(f.At, document.CodeConflict, "a branch of a list leads to a \"target\" only; move the rest to a separate event")
	}
}

func (r transitionSection) invoke(from int, f document.Fields, t *Transition) {
	inv := &Invoke{Input: document.ObjectValue(nil)}
	t.Invoke = inv
	if id, ok := f.Str("invoke"); ok {
		at := f.At.Key("invoke")
		inv.Workflow = id
		switch {
		case !r.report.CheckName(id, at, idRule):
		case id == r.def.ID:
			r.report.Errorf(at, CodeInvokeCycle, "the workflow invokes itself endlessly; name another")
		case r.options.Known == nil || !r.options.Known(id):
			r.report.Warnf(at, CodeUnknownMachine, "workflow %s is not known here; register it before a run needs it", document.Quote(id))
		}
	}
	inv.OnComplete, inv.OnFail = r.ends(from, f, byInvoke)
	if input, ok := f.Object("input"); ok {
		r.reservedKeys(input)
		inv.Input = input.Value
	}
}

// ends reads on_complete and on_fail.
func (r transitionSection) ends(from int, f document.Fields, kind edgeKind) (complete, fail string) {
	f.Require("on_complete")
	if name, ok := f.Str("on_complete"); ok {
		complete = name
		r.edge(from, r.lookup(name, f.At.Key("on_complete")), kind, f.At.Key("on_complete"))
	}
	if name, ok := f.Str("on_fail"); ok {
		fail = name
		r.edge(from, r.lookup(name, f.At.Key("on_fail")), kind, f.At.Key("on_fail"))
	}
	return complete, fail
}
