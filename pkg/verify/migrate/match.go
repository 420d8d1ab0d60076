package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/verify/report"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// match pairs every step of the new version with those of the old one that it may be.
func (p *planner) match(at int32, was, is []*explore.Step) {
	pr := p.pairs[at]
	for _, s := range is {
		matched := together(matching(was, s), matching(is, s), s)
		switch {
		case len(s.Path) > 0: // an invoked run is the same in both
			p.pairUp(at, matched, s)
		case s.Kind == explore.Fires:
			p.fired(at, matched, s)
		case s.Kind == explore.Grants:
			if len(matched) == 0 {
				matched = firing(was, s)
			}
			if matched = passed(matched); len(matched) == 0 {
				p.newlyLeads(at, s, "is approved, and would be refused")
				continue
			}
			p.pairUp(at, matched, s)
		case s.Kind == explore.Forces:
			if matched = forcing(was, s, p.m.States); len(matched) == 0 {
				p.newlyLeads(at, s, "can be forced")
				continue
			}
			p.pairUp(at, matched, s)
		case s.Kind == explore.Diverts && !p.watchAlike(): // a file may match any of the old patterns, or none
			p.pairUp(at, diverting(was, s), s)
			p.add(pr.was, s.To, at, s.Words())
		case s.Kind == explore.Elapses && len(matched) == 0:
			p.pairUp(at, p.elapsing(was, s), s)
		default: // external events are no right of the agent's
			p.pairUp(at, matched, s)
		}
	}
	for _, s := range was { // external events of the old version only
		known := slices.Contains(p.kept, s.Event)
		befalls := (s.Kind == explore.Gains || s.Kind == explore.Loses) && len(s.Path) == 0 && !known ||
			s.Kind == explore.Diverts && len(s.Path) == 0 && (len(matching(is, s)) == 0 || !p.watchAlike())
		if befalls {
			p.add(s.To, pr.is, at, s.Words())
		}
	}
}

// together keeps those of the steps of the old version that leave the same keys alone as a step of
// the new one: the data of an event is one for both. ofNew are all steps of the new one that differ in that alone.
func together(matched, ofNew []*explore.Step, s *explore.Step) []*explore.Step {
	known := func(all []*explore.Step) (keys []string) {
		for _, one := range all {
			keys = append(keys, one.Keep...)
		}
		return keys
	}
	inOld, inNew := known(matched), known(ofNew)
	common := func(keep, of []string) []string {
		return slices.DeleteFunc(slices.Clone(keep), func(key string) bool { return !slices.Contains(of, key) })
	}
	return slices.DeleteFunc(slices.Clone(matched), func(m *explore.Step) bool {
		return !slices.Equal(common(m.Keep, inNew), common(s.Keep, inOld))
	})
}

// elapsing returns the steps of the old version by which time leads to the same state, sooner or later.
func (p *planner) elapsing(was []*explore.Step, s *explore.Step) (same []*explore.Step) {
	for _, w := range was {
		if w.Kind != explore.Elapses || len(w.Path) > 0 || w.Branch != s.Branch {
			continue
		}
		to := w.Entry.To
		if name, renamed := p.m.States[to]; renamed {
			to = name
		}
		if to == s.Entry.To {
			same = append(same, w)
		}
	}
	return same
}

// pairUp adds the results of a step and each of its matches; without one, the old version
// stays where it is.
func (p *planner) pairUp(at int32, matched []*explore.Step, s *explore.Step) {
	if len(matched) == 0 {
		p.add(p.pairs[at].was, s.To, at, s.Words())
	}
	for _, m := range matched {
		p.add(m.To, s.To, at, s.Words())
	}
}

// fired handles an event that the new version takes.
func (p *planner) fired(at int32, matched []*explore.Step, s *explore.Step) {
	parks := s.Entry.Type == workflow.EventParked
	direct := passed(matched)
	switch {
	case parks && len(direct) < len(matched): // both ask
		p.pairUp(at, asked(matched), s)
	case parks: // the old version waits with it until it is decided
		p.add(p.pairs[at].was, s.To, at, s.Words())
	case len(direct) > 0:
		p.invoked(at, s)
		p.pairUp(at, direct, s)
	case len(matched) > 0:
		p.newlyLeads(at, s, "needs no approval any more")
	default:
		p.newlyLeads(at, s, "was refused")
	}
}

// invoked reports that an event starts a run that it has not started in the old version. Acts in
// such a run are judged by its own workflow, and a guard there may read its input.
func (p *planner) invoked(at int32, s *explore.Step) {
	was, is := p.lanes(&p.pairs[at], s.Branch)
	before, now := p.m.From.State(was.State).Invocation(s.Event), p.m.To.State(is.State).Invocation(s.Event)
	switch {
	case now == nil:
	case before == nil || before.Workflow != now.Workflow:
		p.gained(&at, was.State, is.State, gainOf(GainTransition, "%s starts a run of %s, and did not", document.Quote(s.Event), document.Quote(now.Workflow)))
	case !document.Equal(before.Input, now.Input):
		p.gained(&at, was.State, is.State, gainOf(GainTransition, "%s starts a run of %s with other input", document.Quote(s.Event), document.Quote(now.Workflow)))
	}
}

// newlyLeads reports a transition that the old version does not take.
func (p *planner) newlyLeads(at int32, s *explore.Step, how string) {
	was, is := p.lanes(&p.pairs[at], s.Branch)
	what := fmt.Sprintf("%s leads to %s, and %s", document.Quote(s.Event), document.Quote(s.Entry.To), how)
	if s.Kind == explore.Forces {
		what = fmt.Sprintf("%s %s", document.Quote(s.Event), how)
	}
	if strings.HasSuffix(how, "refused") && len(explore.GuardsOf(p.m.From, was.State, s.Event)) > 0 {
		what += " by " + report.Quoted(explore.GuardsOf(p.m.From, was.State, s.Event))
	}
	p.gained(&at, was.State, is.State, gain{GainTransition, what})
}

// passed and asked are the steps that do not wait, and those that do.
func passed(all []*explore.Step) []*explore.Step {
	return slices.DeleteFunc(slices.Clone(all), func(s *explore.Step) bool { return s.Entry != nil && s.Entry.Type == workflow.EventParked })
}

func asked(all []*explore.Step) []*explore.Step {
	return slices.DeleteFunc(slices.Clone(all), func(s *explore.Step) bool { return s.Entry == nil || s.Entry.Type != workflow.EventParked })
}

// matching returns the steps that happen to the old version when one happens to the new.
func matching(was []*explore.Step, s *explore.Step) (all []*explore.Step) {
	for _, w := range was {
		if w.Kind == s.Kind && slices.Equal(w.Path, s.Path) && w.Branch == s.Branch && w.Event == s.Event && sameValues(w.Chosen, s.Chosen) &&
			(s.Kind != explore.Grants || w.Edited == s.Edited) && watches(w) == watches(s) {
			all = append(all, w)
		}
		if (s.Kind == explore.Gains || s.Kind == explore.Loses) && w.Kind == s.Kind && slices.Equal(w.Path, s.Path) && w.Event == s.Event && w.Branch != s.Branch {
			all = append(all, w)
		}
	}
	return all
}

// watchAlike reports that both versions have the same interrupts in the same order: then a file
// fires the same one in both.
func (p *planner) watchAlike() bool {
	a, b := p.m.From.Definition().Interrupts, p.m.To.Definition().Interrupts
	return slices.EqualFunc(a, b, func(x, y workflow.Interrupt) bool { return x.Name == y.Name && x.FilePattern == y.FilePattern })
}

// diverting returns the steps to a handler in the lane in which another one diverts.
func diverting(was []*explore.Step, s *explore.Step) (all []*explore.Step) {
	for _, w := range was {
		if w.Kind == explore.Diverts && len(w.Path) == 0 && w.Branch == s.Branch {
			all = append(all, w)
		}
	}
	return all
}

// watches returns the pattern of the interrupt that a step is of.
func watches(s *explore.Step) string {
	if s.Kind != explore.Diverts {
		return ""
	}
	n := s.From.At(s.Path)
	for _, in := range n.Unit.Machine.Definition().Interrupts {
		if in.Name == s.Event {
			return in.FilePattern
		}
	}
	return ""
}

// firing returns the steps of the old version that do the approved act of the new one at
// once.
func firing(was []*explore.Step, s *explore.Step) (all []*explore.Step) {
	for _, w := range was {
		if w.Kind == explore.Fires && len(w.Path) == 0 && w.Branch == s.Branch && w.Event == s.Event && sameValues(w.Chosen, s.Chosen) {
			all = append(all, w)
		}
	}
	return all
}

// forcing returns the steps that force the state of which another one is the image.
func forcing(was []*explore.Step, s *explore.Step, states map[string]string) (all []*explore.Step) {
	for _, w := range was {
		name := w.Event
		if to, is := states[name]; is {
			name = to
		}
		if w.Kind == explore.Forces && w.Branch == s.Branch && name == s.Event {
			all = append(all, w)
		}
	}
	return all
}

func sameValues(a, b []model.Assignment) bool {
	return slices.EqualFunc(a, b, func(x, y model.Assignment) bool {
		return x.Key == y.Key && (x.Value.IsZero() == y.Value.IsZero()) && (x.Value.IsZero() || document.Equal(x.Value, y.Value))
	})
}
