package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Refute writes a counterexample as a scenario and plays it. One that cannot be played is
// dropped.
func Refute(c *explore.Explorer, p *workflow.Property, g *explore.Graph, o *explore.Violation, r Result) Result {
	moves, globals := g.Path(o.At)
	last := globals[len(globals)-1]
	s := tell(c, moves, globals)
	switch {
	case p.Kind == workflow.AtMost && o.Answer.Tool == "":
		s = tellCalls(c, p, moves, globals)
		r.Reason = fmt.Sprintf("%d calls of %s are allowed in one run", p.Most+1, describe(&p.Subject))
		s.expect("decision", text(string(toolcall.Deny)))
	case o.By != nil:
		at := len(s.lines)
		s.move(&o.By.Move, last)
		if len(s.lines) == at {
			return s.spurious(r, "no step of a scenario leads there")
		}
		state := o.By.Before.State
		r.Reason = fmt.Sprintf("%s happens%s", describe(&p.Subject), unmet(p))
		if p.Subject.State != "" && state != p.Subject.State && len(o.By.Path) == 0 {
			s.expect("state", text(state))
		} else {
			s.expect("transition_count", count(s))
		}
	default:
		if o.Paused {
			s.add(member("pause", record()))
		} else if !last.Root.Run.Status.Ended() {
			s.sit(last, o.Path, o.Branch)
		}
		n := last.At(o.Path)
		r.Reason = fmt.Sprintf("%s is allowed in state %s%s", describe(&p.Subject),
			document.Quote(n.Run.At(o.Branch).State), unmet(p))
		switch {
		case o.Paused:
			r.Reason += `, because the agent may pause the run, which lifts enforcement; "enforcement": "until_success" in meta keeps it, and "while": "running" leaves that aside`
		case last.Root.Run.Status == workflow.Failed && last.Root.Unit.Machine.Enforcement() != workflow.WhileRunning:
			r.Reason += `, because the run has failed, and tools that read are allowed; "enforcement": "always" in meta denies them, and "while": "running" leaves that aside`
		case last.Root.Run.Status.Ended():
			r.Reason += `, because the run has ended, which lifts enforcement; "enforcement": "always" in meta keeps it, and "while": "running" leaves that aside`
		}
		times := 1
		if p.Kind == workflow.AtMost {
			times = int(p.Most) + 1
		}
		for i := range times {
			s.call(n.Unit, &o.Answer)
			if i < times-1 { // also where no state judges it
				s.expect("decision", text(string(toolcall.Allow)))
			}
		}
		s.expect("decision", text(string(toolcall.Deny)))
	}
	return s.play(p, r)
}

// tellCalls writes moves with the calls that are made on the way.
func tellCalls(c *explore.Explorer, p *workflow.Property, moves []explore.Move, globals []*model.GlobalState) *counterexample {
	s := &counterexample{c: c}
	left := int(p.Most) + 1
	var before []string
	for i, w := range globals {
		if moves[i].Kind != explore.Begins {
			s.move(&moves[i], globals[i-1])
		}
		var now []string
		w.Root.Each(nil, func(path []int, n *model.Node) {
			for _, lane := range n.Run.Lanes() {
				name := fmt.Sprint(n.Run.ID, " ", lane.Entry)
				now = append(now, name)
				if n.Run.Status.Ended() || slices.Contains(before, name) || left == 0 {
					continue
				}
				a := c.Decide(w, path, n, &lane, p.Subject)
				if !a.Certain {
					continue
				}
				s.sit(w, path, lane.Branch)
				most := left
				state := n.Unit.Machine.State(lane.State)
				limit := state.MaxIterations
				if calls.Uncounted(state, p.Subject) {
					limit = 0
				}
				if limit > 0 && !w.MayPause() {
					most = min(left, int(limit))
				}
				for k := range most {
					if limit > 0 && k > 0 && int64(k)%limit == 0 {
						s.add(member("pause", record()))
						s.add(member("resume", record()))
					}
					s.call(n.Unit, &a)
				}
				left -= most
			}
		})
		before = now
		if left == 0 {
			break
		}
	}
	return s
}

// RefuteStuck describes how a run comes to a dead end.
func RefuteStuck(c *explore.Explorer, p *workflow.Property, g *explore.Survey, at int32, chosen map[string][]model.Assignment,
	r Result,
) Result {
	moves, globals := g.Path(at)
	last := globals[len(globals)-1]
	s := tell(c, moves, globals)
	var states []string
	last.Root.Each(nil, func(path []int, n *model.Node) {
		for _, lane := range n.Run.Lanes() {
			states = append(states, document.Quote(lane.State))
			s.choose(path, lane.Branch, chosen[fmt.Sprint(path, lane.Branch)])
		}
	})
	goal := "a final state"
	if p.Target != "" {
		goal = "state " + document.Quote(p.Target)
	}
	r.Reason = fmt.Sprintf("from state %s no event leads on to %s", strings.Join(states, ", "), goal)
	if last.Root.Run.Status.Ended() {
		r.Reason = fmt.Sprintf("a run ends in state %s, from which no transition leads to %s",
			document.Quote(last.Root.Run.State), goal)
	}
	for _, i := range g.Out[at] {
		w := &g.Edges[i]
		if len(w.Chosen) > 0 && !refused(s, w) {
			return s.spurious(r, "event "+document.Quote(w.Event)+" is not refused there")
		}
	}
	s.add(member("advance", text("1s")))
	if p.Target != "" {
		s.expect("state", text(p.Target))
	} else {
		s.expect("status", text(string(workflow.Completed)))
	}
	return s.play(p, r)
}

// refused plays a counterexample and then an event, which must be refused.
func refused(s *counterexample, w *explore.Edge) bool {
	try := *s
	try.lines = slices.Clone(s.lines)
	try.add(member("event", text(w.Event)))
	results, err := try.results("refused")
	return err == "" && len(results) == 1 && !results[0].OK && results[0].Step == len(try.lines)-1
}

// TellUndecided adds to a verdict how a run comes to a global state, where that can be notified.
func TellUndecided(c *explore.Explorer, g *explore.Graph, at int32, r *Result) {
	moves, globals := g.Path(at)
	s := tell(c, moves, globals)
	if s.wrong != "" || len(s.lines) == 0 {
		return
	}
	r.Counterexample = &Counterexample{Steps: s.steps(), Stands: s.statesVisited()}
}
