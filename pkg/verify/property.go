package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/verify/report"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// property decides one.
func (c checker) property(p *workflow.Property) report.Result {
	c.Stubbed, c.Causes = map[string]bool{}, nil
	for _, u := range c.Units {
		for _, key := range u.Words.Coarse {
			c.AddCause("the values of " + document.Quote(key) + " that guards of " + document.Quote(u.Machine.Name()) +
				" distinguish are too many, or cannot be listed")
		}
	}
	var r report.Result
	switch p.Kind {
	case workflow.Never, workflow.Before:
		r = c.never(p)
	case workflow.AtMost:
		r = c.atMost(p)
	case workflow.AlwaysPossible:
		r = c.alwaysPossible(p)
	case workflow.CanBeDecided:
		r = c.canBeDecided(p)
	case workflow.EndsWithoutAgent:
		r = c.endsWithoutAgent(p)
	default:
		r = report.Result{Verdict: report.Undecided, Reason: "this version does not know such a property"}
	}
	if r.Verdict == report.Proved && p.Running && c.Main.Machine.Enforcement() == workflow.WhileRunning && !c.holdsPaused(p) {
		r.Verdict = report.ProvedRunning
	}
	r.Property = *p
	return r
}

// holdsPaused reports that a property which is limited to the run is proved without that, too.
func (c checker) holdsPaused(p *workflow.Property) bool {
	whole := *p
	whole.Running = false
	return c.property(&whole).Verdict == report.Proved
}

// proved returns the verdict without a finding: it is proved only for a complete
// exploration.
func (c checker) proved(g *explore.Graph, calls bool) report.Result {
	r := report.Result{Verdict: report.Proved, States: len(g.Globals), Explored: g.Digest()}
	undecided := func(format string, args ...any) {
		r.Verdict = report.Undecided
		if r.Reason != "" {
			r.Reason += "; "
		}
		r.Reason += fmt.Sprintf(format, args...)
	}
	if g.Full {
		undecided("%d states were explored, and there are more (--max-states)", len(g.Globals))
	}
	for _, why := range c.Causes {
		undecided("%s", why)
	}
	if names := slices.Sorted(maps.Keys(c.Stubbed)); len(names) > 0 {
		if calls {
			undecided("%s is invoked and was not given, so the calls in it are not known", report.Quoted(names))
		} else {
			r.Notes = append(r.Notes, report.Quoted(names)+" is invoked and was not given: it is taken to end in any way")
		}
	}
	for _, u := range c.Units {
		if u.Words.Tracing() {
			r.Notes = append(r.Notes, "operators are assumed to fire no events with data, because their data meets every source that a guard asks for")
			break
		}
	}
	if len(c.Missing) > 0 {
		r.Notes = append(r.Notes, "policy "+report.Quoted(c.Missing)+" was not given, and is taken to allow everything")
	}
	return r
}

// never decides never and before: the subject happens only where the condition is met.
func (c checker) never(p *workflow.Property) report.Result {
	var found, vague *explore.Violation
	look := explore.Visitor{
		Step: func(_ *explore.Graph, from int32, s *explore.Step) (follow, going bool) {
			s.To.Met = s.From.Met || c.Conditions.Meets(p.Condition, s)
			if c.Conditions.SubjectOf(&p.Subject, s) && !s.To.Met && !c.Conditions.Evident(p.Condition, s.From, s.Path, &s.Before) {
				found = &explore.Violation{At: from, By: s}
				return false, false
			}
			return !s.To.Met, true
		},
	}
	if p.Subject.Calls() {
		look.GlobalState = func(g *explore.Graph, at int32) bool {
			o := c.CallIn(p, g.Globals[at].GlobalState)
			if o == nil {
				return true
			}
			o.At = at
			if !o.Answer.Certain {
				if vague == nil {
					vague = o
				}
				return true
			}
			found = o
			return false
		}
	}
	c.Stubbed, c.Sought = map[string]bool{}, p.Subject.Event
	defer func() { c.Sought = "" }()
	var initial *model.GlobalState
	g := c.Explore(p.Name, look, func(w *model.GlobalState) {
		w.Met = explore.BegunIn(p.Condition, w.Root.Run.State)
		if p.Subject.State != "" && p.Subject.State == w.Root.Run.State && !w.Met {
			initial = w
		}
	})
	if initial != nil {
		return report.Result{Verdict: report.Refuted, States: len(g.Globals), Reason: "every run begins in state " +
			document.Quote(p.Subject.State)}
	}
	r := c.proved(g, p.Subject.Calls())
	switch {
	case found != nil:
		return report.Refute(c.Explorer, p, g, found, r)
	case vague != nil:
		r.Verdict = report.Undecided
		r.Reason = fmt.Sprintf("in state %s a call of %s could be allowed, and no such call was found; %s",
			document.Quote(g.Globals[vague.At].At(vague.Path).Run.At(vague.Branch).State), document.Quote(vague.Answer.Tool),
			cmp.Or(vague.Answer.Depends, "list the commands of the state"))
	}
	return r
}

// atMost decides how often a call can be allowed in one run. A state admits as many in
// each entry as max_iterations says; other limits are not relied on.
func (c checker) atMost(p *workflow.Property) report.Result {
	over := int(p.Most) + 1
	var found *explore.Violation
	vague, open := false, false
	name := func(n *model.Node, lane *workflow.View) string { return fmt.Sprint(n.Run.ID, " ", lane.Entry) }
	gain := func(w *model.GlobalState, before []string) {
		w.Root.Each(nil, func(path []int, n *model.Node) {
			for _, lane := range n.Run.Lanes() {
				if n.Run.Status.Ended() || slices.Contains(before, name(n, &lane)) {
					continue
				}
				a := c.Decide(w, path, n, &lane, p.Subject)
				if !a.Possible {
					continue
				}
				vague = vague || !a.Certain
				state := n.Unit.Machine.State(lane.State)
				most := state.MaxIterations
				if most == 0 || w.MayPause() || calls.Uncounted(state, p.Subject) { // a pause makes a new entry
					most = int64(over)
				}
				w.Count = min(over, w.Count+int(min(most, int64(over))))
			}
		})
	}
	entries := func(w *model.GlobalState) (all []string) {
		w.Root.Each(nil, func(_ []int, n *model.Node) {
			for _, lane := range n.Run.Lanes() {
				all = append(all, name(n, &lane))
			}
		})
		return all
	}
	look := explore.Visitor{
		GlobalState: func(g *explore.Graph, at int32) bool {
			w := g.Globals[at].GlobalState
			o := c.OpenCall(p, w)
			switch {
			case w.Count >= over:
				found = &explore.Violation{At: at}
			case o != nil && o.Answer.Certain:
				o.At = at
				found = o
			case o != nil:
				open = true
			}
			return found == nil
		},
		Step: func(_ *explore.Graph, _ int32, s *explore.Step) (follow, going bool) {
			s.To.Count = s.From.Count
			gain(s.To, entries(s.From))
			return true, true
		},
		Better: func(known, now *model.GlobalState) bool { return now.Count > known.Count },
	}
	c.Stubbed = map[string]bool{}
	g := c.Explore(p.Name, look, func(w *model.GlobalState) { gain(w, nil) })
	r := c.proved(g, true)
	r.Notes = append(r.Notes, "a run that an operator has held begins a new entry of its state when it is resumed; that is left aside")
	switch {
	case found != nil && !vague:
		return report.Refute(c.Explorer, p, g, found, r)
	case found != nil, open:
		r.Verdict, r.Reason = report.Undecided, "more calls could be allowed, and no such calls were found"
	}
	return r
}
