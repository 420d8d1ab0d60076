package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// refute writes a counterexample as a scenario and plays it. One that cannot be played is
// dropped.
func (c *Checker) refute(p *workflow.Property, g *graph, o *offence, r Result) Result {
	moves, globals := g.path(o.at)
	last := globals[len(globals)-1]
	s := c.tell(moves, globals)
	switch {
	case p.Kind == workflow.AtMost && o.call.tool == "":
		s = c.tellCalls(p, moves, globals)
		r.Reason = fmt.Sprintf("%d calls of %s are allowed in one run", p.Most+1, describe(&p.Subject))
		s.expect("decision", text(string(toolcall.Deny)))
	case o.by != nil:
		at := len(s.lines)
		s.move(&o.by.move, last)
		if len(s.lines) == at {
			return s.spurious(r, "no step of a scenario leads there")
		}
		state := o.by.before.State
		r.Reason = fmt.Sprintf("%s happens%s", describe(&p.Subject), unmet(p))
		if p.Subject.State != "" && state != p.Subject.State && len(o.by.path) == 0 {
			s.expect("state", text(state))
		} else {
			s.expect("transition_count", count(s))
		}
	default:
		if o.paused {
			s.add(member("pause", record()))
		} else if !last.root.run.Status.Ended() {
			s.sit(last, o.path, o.branch)
		}
		n := last.at(o.path)
		r.Reason = fmt.Sprintf("%s is allowed in state %s%s", describe(&p.Subject),
			document.Quote(n.run.At(o.branch).State), unmet(p))
		switch {
		case o.paused:
			r.Reason += `, because the agent may pause the run, which lifts enforcement; "enforcement": "until_success" in meta keeps it, and "while": "running" leaves that aside`
		case last.root.run.Status == workflow.Failed && last.root.of.Machine.Enforcement() != workflow.WhileRunning:
			r.Reason += `, because the run has failed, and tools that read are allowed; "enforcement": "always" in meta denies them, and "while": "running" leaves that aside`
		case last.root.run.Status.Ended():
			r.Reason += `, because the run has ended, which lifts enforcement; "enforcement": "always" in meta keeps it, and "while": "running" leaves that aside`
		}
		times := 1
		if p.Kind == workflow.AtMost {
			times = int(p.Most) + 1
		}
		for i := range times {
			s.call(n.of, &o.call)
			if i < times-1 { // also where no state judges it
				s.expect("decision", text(string(toolcall.Allow)))
			}
		}
		s.expect("decision", text(string(toolcall.Deny)))
	}
	return s.play(p, r)
}

// unmet describes the missing act.
func unmet(p *workflow.Property) string {
	cond := p.Condition
	switch {
	case cond == nil:
		return ""
	case len(cond.Any) > 0:
		return " without any of its requirements"
	case cond.Evidence != "":
		return " without the evidence " + document.Quote(cond.Evidence)
	case cond.Event != "":
		return " before event " + document.Quote(cond.Event)
	case cond.State != "":
		return " before state " + document.Quote(cond.State)
	case cond.Approval.By != "":
		return " without an approval by " + document.Quote(cond.Approval.By)
	default:
		return " without an approval"
	}
}

// describe names a subject.
func describe(s *workflow.Subject) string {
	switch {
	case s.State != "":
		return "state " + document.Quote(s.State)
	case s.Event != "":
		return "event " + document.Quote(s.Event)
	case s.Tool == "":
		return "the command " + document.Quote(s.Command)
	case s.Command != "":
		return s.Tool + " with the command " + document.Quote(s.Command)
	default:
		return "tool " + document.Quote(s.Tool)
	}
}

// count returns how many transitions the steps so far have made, as a scenario counts
// them.
func count(s *counterexample) document.Value {
	v, ok := s.without(len(s.lines) - 1)
	if !ok {
		return document.NumberValue("0")
	}
	return v
}

// without plays the first steps of the counterexample, and returns the count of transitions that
// they have led to.
func (s *counterexample) without(steps int) (document.Value, bool) {
	short := *s
	short.lines = slices.Clone(s.lines[:steps])
	short.add(member("advance", text("1ns")), member("expect", record(member("transition_count",
		document.NumberValue("-1")))))
	results, err := short.results("count")
	if err != "" || len(results) == 0 || results[0].Step != len(short.lines)-1 {
		return document.Value{}, false
	}
	return results[0].Actual.Get("transition_count")
}

// tellCalls writes moves with the calls that are made on the way.
func (c *Checker) tellCalls(p *workflow.Property, moves []move, globals []*globalState) *counterexample {
	s := &counterexample{c: c}
	left := int(p.Most) + 1
	var before []string
	for i, w := range globals {
		if moves[i].kind != begins {
			s.move(&moves[i], globals[i-1])
		}
		var now []string
		w.root.each(nil, func(path []int, n *node) {
			for _, lane := range n.run.Lanes() {
				name := fmt.Sprint(n.run.ID, " ", lane.Entry)
				now = append(now, name)
				if n.run.Status.Ended() || slices.Contains(before, name) || left == 0 {
					continue
				}
				a := c.calls(w, path, n, &lane, p.Subject)
				if !a.certain {
					continue
				}
				s.sit(w, path, lane.Branch)
				most := left
				state := n.of.Machine.State(lane.State)
				limit := state.MaxIterations
				if uncounted(state, p.Subject) {
					limit = 0
				}
				if limit > 0 && !c.leaves(w) {
					most = min(left, int(limit))
				}
				for k := range most {
					if limit > 0 && k > 0 && int64(k)%limit == 0 {
						s.add(member("pause", record()))
						s.add(member("resume", record()))
					}
					s.call(n.of, &a)
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

// spurious returns the verdict on a counterexample that is none.
func (s *counterexample) spurious(r Result, why string) Result {
	r.Verdict = Undecided
	r.Reason = "spurious: the exploration found a way that no run was found to take: " + why
	r.Counterexample = nil
	return r
}

// play confirms a counterexample: every step but the last is as it must be, and the last
// is not.
func (s *counterexample) play(p *workflow.Property, r Result) Result {
	if s.wrong != "" {
		return s.spurious(r, s.wrong)
	}
	results, err := s.results(p.Name)
	switch {
	case err != "":
		return s.spurious(r, err)
	case results[0].OK:
		return s.spurious(r, "the scenario passes")
	case results[0].Step != len(s.lines)-1:
		return s.spurious(r, fmt.Sprintf("step %d, %s, is not allowed: %s", results[0].Step+1, results[0].Action,
			results[0].Message))
	}
	if len(s.facts) > 0 { // no step gives it
		r.Reason += ", once the shared state has what evidence " + document.Quote(s.facts[0]) + " demands"
		if len(s.facts) > 1 {
			r.Reason += fmt.Sprintf(", and %d more", len(s.facts)-1)
		}
	}
	r.Verdict = Refuted
	r.Counterexample = &Counterexample{
		Steps: s.steps(), Stands: s.statesVisited(), Scenario: s.scenario(p.Name, "Property "+p.Name+" is not kept: "+r.Reason+"."),
	}
	return r
}

// results plays the scenario in memory.
func (s *counterexample) results(name string) ([]scenario.Result, string) {
	files := map[string]document.Value{}
	for _, d := range append([]Definition{s.c.model.Main}, s.c.model.Others...) {
		files[d.File] = d.Text
	}
	for _, p := range s.c.model.Policies {
		files[p.File] = p.Text
	}
	suite, problems := scenario.Parse(scenario.Source{Name: "counterexample.test.yaml", Text: s.scenario(name, name)},
		func(name string) (scenario.Source, error) {
			v, ok := files[name]
			if !ok {
				return scenario.Source{}, fmt.Errorf("there is no file %s", name)
			}
			// JSON is YAML too, for any file.
			return scenario.Source{Name: name, Text: v.AppendJSON(nil)}, nil
		})
	if suite == nil {
		all := make([]string, 0, len(problems))
		for _, problem := range problems {
			all = append(all, problem.String())
		}
		return nil, "the scenario cannot be played: " + strings.Join(all, "; ")
	}
	return suite.Play(nil), ""
}

// refuteStuck describes how a run comes to a dead end.
func (c *Checker) refuteStuck(p *workflow.Property, g *survey, at int32, chosen map[string][]assigned,
	r Result,
) Result {
	moves, globals := g.path(at)
	last := globals[len(globals)-1]
	s := c.tell(moves, globals)
	var states []string
	last.root.each(nil, func(path []int, n *node) {
		for _, lane := range n.run.Lanes() {
			states = append(states, document.Quote(lane.State))
			s.choose(path, lane.Branch, chosen[fmt.Sprint(path, lane.Branch)])
		}
	})
	goal := "a final state"
	if p.Target != "" {
		goal = "state " + document.Quote(p.Target)
	}
	r.Reason = fmt.Sprintf("from state %s no event leads on to %s", strings.Join(states, ", "), goal)
	if last.root.run.Status.Ended() {
		r.Reason = fmt.Sprintf("a run ends in state %s, from which no transition leads to %s",
			document.Quote(last.root.run.State), goal)
	}
	for _, i := range g.out[at] {
		w := &g.ways[i]
		if len(w.chosen) > 0 && !c.refused(s, w) {
			return s.spurious(r, "event "+document.Quote(w.event)+" is not refused there")
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
func (c *Checker) refused(s *counterexample, w *way) bool {
	try := *s
	try.lines = slices.Clone(s.lines)
	try.add(member("event", text(w.event)))
	results, err := try.results("refused")
	return err == "" && len(results) == 1 && !results[0].OK && results[0].Step == len(try.lines)-1
}

// tellUndecided adds to a verdict how a run comes to a global state, where that can be notified.
func (c *Checker) tellUndecided(g *graph, at int32, r *Result) {
	moves, globals := g.path(at)
	s := c.tell(moves, globals)
	if s.wrong != "" || len(s.lines) == 0 {
		return
	}
	r.Counterexample = &Counterexample{Steps: s.steps(), Stands: s.statesVisited()}
}
