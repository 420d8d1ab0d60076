package verify

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Explored is everything that was explored of a model, to hold real runs against.
type Explored struct {
	c     *explore.Explorer
	lanes map[string][]*workflow.Lane
	// Global states is how many there are.
	GlobalStates int
}

// Explore explores a model.
func Explore(m *model.Model) *Explored {
	c := explore.NewExplorer(m, explore.Bounds{MaxStates: 200_000})
	e := &Explored{c: c, lanes: map[string][]*workflow.Lane{}}
	g := c.Explore("", explore.Visitor{}, nil)
	for i := range g.Globals {
		g.Globals[i].Root.Each(nil, func(path []int, n *model.Node) {
			for _, key := range standingOf(n.Unit.Machine.Name(), n.Run) {
				lane := n.Run.At(key.branch)
				e.lanes[key.text] = append(e.lanes[key.text], lane.Lane)
			}
		})
	}
	e.GlobalStates = len(g.Globals)
	return e
}

type laneKey struct{ text, branch string }

// standingOf is where the lanes of a run stand, without their contexts.
func standingOf(workflowName string, run *workflow.Run) (all []laneKey) {
	for _, lane := range run.Lanes() {
		key := fmt.Sprintf("%s %s %q %q", workflowName, lane.Branch, lane.State, run.State)
		if lane.Interrupt != nil {
			key += fmt.Sprintf(" interrupted %s %s", lane.Interrupt.Name, lane.Interrupt.ReturnTo)
		}
		if lane.Approval.Pending() {
			key += fmt.Sprintf(" parked %s %s", lane.Approval.Event, lane.Approval.To)
		}
		if lane.Child != nil {
			key += " waits " + lane.Child.Event
		}
		if run.Status.Ended() {
			key += " " + string(run.Status)
		}
		all = append(all, laneKey{key, lane.Branch})
	}
	return all
}

// Uncovered says which lane of a run was not explored, or is empty.
func (e *Explored) Uncovered(run *workflow.Run) string {
	u := e.c.Units[run.Workflow]
	for _, key := range standingOf(run.Workflow, run) {
		if run.Status.Ended() { // no context matters any more
			if len(e.lanes[key.text]) == 0 {
				return key.text
			}
			continue
		}
		real := run.At(key.branch)
		covered := false
		for _, l := range e.lanes[key.text] {
			covered = covered || covers(u.Words, l, real.Lane)
		}
		if !covered {
			return fmt.Sprintf("%s %s %v, of %d", key.text, real.Context, real.Sources, len(e.lanes[key.text]))
		}
	}
	return ""
}

func covers(v *model.Vocabulary, abstract, real *workflow.Lane) bool {
	for _, key := range v.Keys {
		a, has := abstract.Context.Get(key)
		r, set := real.Context.Get(key)
		from := func(l *workflow.Lane) evidence.Source {
			if s, ok := l.Sources[key]; ok {
				return s
			}
			return evidence.Agent
		}
		switch {
		case v.Traced[key] && key != model.ResultsKey && set && from(abstract) != from(real):
			return false
		case has && model.IsFree(a):
			if !set && !v.Optional[key] {
				return false
			}
		case has != set:
			return false
		case has && !sameTo(v, key, a, r):
			return false
		}
	}
	return true
}

// sameTo reports that no guard tells two values apart.
func sameTo(v *model.Vocabulary, key string, a, b document.Value) bool {
	t := v.Trees[key]
	return string(t.Vector(nil, a)) == string(t.Vector(nil, b))
}

// Possible reports that the exploration takes a call to be possible in a lane of a run
// that nobody has invoked.
func (e *Explored) Possible(run *workflow.Run, branch string, s workflow.Subject) bool {
	w := &model.GlobalState{Root: &model.Node{Unit: e.c.Units[run.Workflow], Run: run}}
	lane := run.At(branch)
	return e.c.Decide(w, nil, w.Root, &lane, s).Possible
}

// Classes are the values that stand for all of a key, and whether they do.
func Classes(m *workflow.Machine, key string) (values []document.Value, complete bool) {
	v := model.NewVocabulary(m)
	for _, c := range v.Coarse {
		if c == key {
			return v.Classes[key], false
		}
	}
	return v.Classes[key], true
}

// Vector is what every comparison of a key says of a value.
func Vector(m *workflow.Machine, key string, value document.Value) string {
	v := model.NewVocabulary(m)
	return string(v.Trees[key].Vector(nil, value))
}
