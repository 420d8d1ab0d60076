package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// property decides one.
func (c *Checker) property(p *workflow.Property) Result {
	c.stubbed, c.causes = map[string]bool{}, nil
	for _, u := range c.units {
		for _, key := range u.words.coarse {
			c.addCause("the values of " + document.Quote(key) + " that guards of " + document.Quote(u.Machine.Name()) +
				" distinguish are too many, or cannot be listed")
		}
	}
	var r Result
	switch p.Kind {
	case workflow.Never, workflow.Before:
		r = c.never(p)
	case workflow.AtMost:
		r = c.atMost(p)
	case workflow.AlwaysPossible:
		r = c.alwaysPossible(p)
	case workflow.CanBeDecided:
		r = c.canBeDecided(p)
	default:
		r = Result{Verdict: Undecided, Reason: "this version does not know such a property"}
	}
	if r.Verdict == Proved && p.Running && c.Main.Machine.Enforcement() == workflow.WhileRunning && !c.holdsPaused(p) {
		r.Verdict = ProvedRunning
	}
	r.Property = *p
	return r
}

// holdsPaused reports that a property which is limited to the run is proved without that, too.
func (c *Checker) holdsPaused(p *workflow.Property) bool {
	whole := *p
	whole.Running = false
	return c.property(&whole).Verdict == Proved
}

// proved returns the verdict without a finding: it is proved only for a complete
// exploration.
func (c *Checker) proved(g *graph, calls bool) Result {
	r := Result{Verdict: Proved, States: len(g.globals), Explored: g.digest()}
	undecided := func(format string, args ...any) {
		r.Verdict = Undecided
		if r.Reason != "" {
			r.Reason += "; "
		}
		r.Reason += fmt.Sprintf(format, args...)
	}
	if g.full {
		undecided("%d states were explored, and there are more (--max-states)", len(g.globals))
	}
	for _, why := range c.causes {
		undecided("%s", why)
	}
	if names := slices.Sorted(maps.Keys(c.stubbed)); len(names) > 0 {
		if calls {
			undecided("%s is invoked and was not given, so the calls in it are not known", quoted(names))
		} else {
			r.Notes = append(r.Notes, quoted(names)+" is invoked and was not given: it is taken to end in any way")
		}
	}
	for _, u := range c.units {
		if u.words.tracing() {
			r.Notes = append(r.Notes, "operators are assumed to fire no events with data, because their data meets every source that a guard asks for")
			break
		}
	}
	if len(c.missing) > 0 {
		r.Notes = append(r.Notes, "policy "+quoted(c.missing)+" was not given, and is taken to allow everything")
	}
	return r
}

func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = document.Quote(name)
	}
	return strings.Join(all, ", ")
}

// offence is where a property is not kept.
type offence struct {
	// at is the global state before it, and by the step that is one; nil where a call is.
	at int32
	by *step
	// call that is allowed there, of the run and lane.
	call   answer
	path   []int
	branch string
	paused bool
}

// never decides never and before: the subject happens only where the condition is met.
func (c *Checker) never(p *workflow.Property) Result {
	var found, vague *offence
	look := look{
		step: func(_ *graph, from int32, s *step) (follow, going bool) {
			s.to.met = s.from.met || c.Meets(p.Condition, s)
			if c.SubjectOf(&p.Subject, s) && !s.to.met && !c.evident(p.Condition, s.from, s.path, &s.before) {
				found = &offence{at: from, by: s}
				return false, false
			}
			return !s.to.met, true
		},
	}
	if p.Subject.Calls() {
		look.globalState = func(g *graph, at int32) bool {
			o := c.callIn(p, g.globals[at].globalState)
			if o == nil {
				return true
			}
			o.at = at
			if !o.call.certain {
				if vague == nil {
					vague = o
				}
				return true
			}
			found = o
			return false
		}
	}
	c.stubbed, c.sought = map[string]bool{}, p.Subject.Event
	defer func() { c.sought = "" }()
	var initial *globalState
	g := c.explore(p.Name, look, func(w *globalState) {
		w.met = BegunIn(p.Condition, w.root.run.State)
		if p.Subject.State != "" && p.Subject.State == w.root.run.State && !w.met {
			initial = w
		}
	})
	if initial != nil {
		return Result{Verdict: Refuted, States: len(g.globals), Reason: "every run begins in state " +
			document.Quote(p.Subject.State)}
	}
	r := c.proved(g, p.Subject.Calls())
	switch {
	case found != nil:
		return c.refute(p, g, found, r)
	case vague != nil:
		r.Verdict = Undecided
		r.Reason = fmt.Sprintf("in state %s a call of %s could be allowed, and no such call was found; list the commands of the state",
			document.Quote(g.globals[vague.at].at(vague.path).laneOf(vague.branch).State), document.Quote(vague.call.tool))
	}
	return r
}

// laneOf returns the lane of a branch.
func (n *node) laneOf(branch string) workflow.View { return n.run.At(branch) }

// Meets reports that a step meets a condition, other than by evidence.
func (c *Checker) Meets(cond *workflow.Condition, s *step) bool {
	switch {
	case cond == nil:
		return false
	case len(cond.Any) > 0:
		return slices.ContainsFunc(cond.Any, func(one workflow.Condition) bool { return c.Meets(&one, s) })
	case cond.Event != "":
		return c.takes(cond.Event, s)
	case cond.State != "":
		return c.enters(cond.State, s)
	case cond.Approval != nil:
		return c.approves(cond.Approval, s)
	default:
		return false
	}
}

// evident reports that the evidence of a condition is held in a lane.
func (c *Checker) evident(cond *workflow.Condition, w *globalState, path []int, lane *workflow.View) bool {
	if cond != nil && len(cond.Any) > 0 {
		return slices.ContainsFunc(cond.Any, func(one workflow.Condition) bool { return c.evident(&one, w, path, lane) })
	}
	if cond == nil || cond.Evidence == "" {
		return false
	}
	at := *lane
	if len(path) > 0 || at.Run == nil {
		at = w.root.run.At("")
	}
	return w.root.holds(&at, cond.Evidence)
}

// SubjectOf reports that a step is the subject of a property.
func (c *Checker) SubjectOf(s *workflow.Subject, by *step) bool {
	switch {
	case s.State != "":
		return c.enters(s.State, by)
	case s.Event != "":
		return c.takes(s.Event, by)
	default:
		return false
	}
}

// takes reports that the main run has taken an event.
func (c *Checker) takes(event string, s *step) bool {
	return c.happens(s, func(ev *workflow.Event) bool {
		switch ev.Type {
		case workflow.EventTransitioned, workflow.EventForked, workflow.EventInvoked:
			return ev.Event == event
		default:
			return false
		}
	})
}

// enters reports that a lane of the main run has come into a state.
func (c *Checker) enters(state string, s *step) bool {
	return c.happens(s, func(ev *workflow.Event) bool {
		switch ev.Type {
		case workflow.EventTransitioned, workflow.EventInterrupted, workflow.EventForced, workflow.EventJoined,
			workflow.EventChildEnded, workflow.EventBranchEnded:
			return ev.To == state
		case workflow.EventApprovalRejected:
			return ev.To == state && ev.From != ev.To
		case workflow.EventForked:
			fork := c.Main.Machine.State(ev.From).Fork(ev.Event)
			return fork != nil && slices.ContainsFunc(fork.Branches, func(b workflow.ForkBranch) bool { return b.Initial == state })
		default:
			return false
		}
	})
}

func (c *Checker) happens(s *step, is func(*workflow.Event) bool) bool {
	for _, t := range s.runEvents {
		if t.of != c.Main {
			continue
		}
		for i := range t.events {
			if is(&t.events[i]) {
				return true
			}
		}
	}
	return false
}

// approves reports that a step is an agreement of humans, of those that a condition asks
// for.
func (c *Checker) approves(a *workflow.ApprovalCondition, s *step) bool {
	if s.kind != grants || s.entry == nil || s.entry.Type != workflow.EventTransitioned {
		return false
	}
	of := s.from.at(s.path).of
	if (a.State != "" || a.Event != "") && of != c.Main {
		return false
	}
	return (a.State == "" || a.State == s.entry.From) && (a.Event == "" || a.Event == s.entry.Event) &&
		(a.By == "" || c.terms(of).needs(a.By))
}

// callIn finds a call of the subject that could be allowed in a global state in which it must
// not.
func (c *Checker) callIn(p *workflow.Property, w *globalState) *offence {
	if w.met {
		return nil
	}
	var found *offence
	consider := func(path []int, n *node, lane workflow.View, paused bool) {
		if found != nil && found.call.certain {
			return
		}
		a := c.calls(w, path, n, &lane, p.Subject)
		switch {
		case !a.possible:
			return
		case n.of.stub:
			c.stubbed[n.of.Machine.Name()] = true
			return
		case c.evident(p.Condition, w, path, &lane):
			return
		case a.asks && c.AgreedTo(p.Condition, n.of):
			return
		}
		if found == nil || a.certain {
			found = &offence{call: a, path: path, branch: lane.Branch, paused: paused}
		}
	}
	w.root.each(nil, func(path []int, n *node) {
		for _, lane := range n.run.Lanes() {
			if !n.run.Status.Ended() {
				consider(path, n, lane, false)
			}
		}
		if p.Running {
			return
		}
		if n.run.Status.Ended() {
			consider(path, n, n.run.At(""), false)
			return
		}
		if c.leaves(w) && !keepsBelow(w) {
			out := n.of.Machine.Step(n.run, workflow.Pause{Actor: agent}, epoch)
			if out.Changed {
				for _, lane := range out.Run.Lanes() {
					consider(path, n, lane, true)
				}
			}
		}
	})
	return found
}

// AgreedTo reports that the approval of a call meets a condition.
func (c *Checker) AgreedTo(cond *workflow.Condition, of *Unit) bool {
	switch {
	case cond == nil:
		return false
	case len(cond.Any) > 0:
		return slices.ContainsFunc(cond.Any, func(one workflow.Condition) bool { return c.AgreedTo(&one, of) })
	case cond.Approval == nil || cond.Approval.State != "" || cond.Approval.Event != "":
		return false
	default:
		return cond.Approval.By == "" || c.terms(of).needs(cond.Approval.By)
	}
}

// BegunIn reports that a condition is met by the state that a run begins in.
func BegunIn(cond *workflow.Condition, state string) bool {
	return cond != nil && (cond.State == state || slices.ContainsFunc(cond.Any,
		func(one workflow.Condition) bool { return BegunIn(&one, state) }))
}

// keepsBelow reports that a run which was invoked and has not ended cannot be left, so that none
// of the family can be paused. Those that are not given may be left.
func keepsBelow(w *globalState) bool {
	keeps := false
	w.root.each(nil, func(_ []int, n *node) {
		keeps = keeps || !n.of.stub && !n.run.Status.Ended() && (n.of.Machine.Enforcement().Keeps() || n.of.Process != nil)
	})
	return keeps
}

// leaves reports that the agent may pause the run when it waits for no other, which lifts enforcement.
func (c *Checker) leaves(w *globalState) bool {
	return !w.root.of.Machine.Enforcement().Keeps() && w.root.of.Process == nil
}

// atMost decides how often a call can be allowed in one run. A state admits as many in
// each entry as max_iterations says; other limits are not relied on.
func (c *Checker) atMost(p *workflow.Property) Result {
	over := int(p.Most) + 1
	var found *offence
	vague, open := false, false
	name := func(n *node, lane *workflow.View) string { return fmt.Sprint(n.run.ID, " ", lane.Entry) }
	gain := func(w *globalState, before []string) {
		w.root.each(nil, func(path []int, n *node) {
			for _, lane := range n.run.Lanes() {
				if n.run.Status.Ended() || slices.Contains(before, name(n, &lane)) {
					continue
				}
				a := c.calls(w, path, n, &lane, p.Subject)
				if !a.possible {
					continue
				}
				vague = vague || !a.certain
				state := n.of.Machine.State(lane.State)
				most := state.MaxIterations
				if most == 0 || c.leaves(w) || uncounted(state, p.Subject) { // a pause makes a new entry
					most = int64(over)
				}
				w.count = min(over, w.count+int(min(most, int64(over))))
			}
		})
	}
	entries := func(w *globalState) (all []string) {
		w.root.each(nil, func(_ []int, n *node) {
			for _, lane := range n.run.Lanes() {
				all = append(all, name(n, &lane))
			}
		})
		return all
	}
	look := look{
		globalState: func(g *graph, at int32) bool {
			w := g.globals[at].globalState
			o := c.openCall(p, w)
			switch {
			case w.count >= over:
				found = &offence{at: at}
			case o != nil && o.call.certain:
				o.at = at
				found = o
			case o != nil:
				open = true
			}
			return found == nil
		},
		step: func(_ *graph, _ int32, s *step) (follow, going bool) {
			s.to.count = s.from.count
			gain(s.to, entries(s.from))
			return true, true
		},
		better: func(known, now *globalState) bool { return now.count > known.count },
	}
	c.stubbed = map[string]bool{}
	g := c.explore(p.Name, look, func(w *globalState) { gain(w, nil) })
	r := c.proved(g, true)
	r.Notes = append(r.Notes, "a run that an operator has held begins a new entry of its state when it is resumed; that is left aside")
	switch {
	case found != nil && !vague:
		return c.refute(p, g, found, r)
	case found != nil, open:
		r.Verdict, r.Reason = Undecided, "more calls could be allowed, and no such calls were found"
	}
	return r
}

// uncounted reports that max_iterations does not count all calls of a subject (S3).
func uncounted(in *workflow.StateView, s workflow.Subject) bool {
	switch {
	case toolcall.Own(s.Tool):
		return true
	case names([]string{s.Tool}, toolname.Loader):
		return in.Tool(toolname.Loader) != workflow.ToolDisallowed
	default:
		return false
	}
}

// openCall finds a call that could be allowed without an end: after the run, or while its agent
// has paused it.
func (c *Checker) openCall(p *workflow.Property, w *globalState) *offence {
	if p.Running {
		return nil
	}
	inner := *p
	inner.Condition = nil
	o := c.callIn(&inner, w)
	if o == nil || !o.paused && !w.root.run.Status.Ended() {
		return nil
	}
	return o
}
