package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// actor is who does everything in a case, in the tree of session.
const (
	actor   = "agent"
	session = "agent"
)

// simulation is the environment of one case: a run, those that it invokes, the sessions that
// work in them, and the counts.
type simulation struct {
	suite    *Suite
	coverage *Coverage
	began    time.Time
	depth    int
	who      who
	now      time.Time
	runs     map[string]*tracked
	order    []*tracked // in the order in which they were started
	// binding is where the steps come from: the session that drives the first run, or
	// one that a branch was given to.
	binding binding
	// approvals are all that humans were asked for, in that order.
	approvals []*asked
	// tally counts against limits of policies, and made are the counted calls, until they
	// are reported.
	tally rules.Tally
	made  []made
	// observed has the observations of the runs' calls (S14); granted are evidences of the
	// shared state, which a case does not have, that it was given.
	observed evidence.Record
	granted  map[string]bool
	// events are the types of this step's events, and interrupt is the last interrupt
	// that has fired in it.
	events    []string
	interrupt string
	// fired is the event of the last transition of this step that a clock has brought about.
	fired string
	// freezes that were not lifted.
	freezes []frozen
}

// tracked is a run and the state kept next to it.
type tracked struct {
	run    *workflow.Run
	of     *definition
	counts map[int64]*count // by entry
	clocks
}

// count holds the counts in one entry of a state (S2.10).
type count struct {
	iterations int64
	bytes      int64 // of results
	files      toolcall.Files
}

// binding is a run, and the branch of it that a session is bound to.
type binding struct {
	*tracked
	branch string
}

// at returns the run as it stands there.
func (s binding) at() workflow.View { return s.run.At(s.branch) }

func newSimulation(s *Suite, c *testCase, coverage *Coverage) *simulation {
	w := &simulation{suite: s, coverage: coverage, now: c.begins, began: c.begins, depth: c.depth, who: c.who, runs: make(map[string]*tracked)}
	if s.main != nil {
		w.binding = binding{tracked: w.add(c.start, s.main)}
		w.observed, w.granted = c.observed, c.granted
	}
	if c.freeze.lasts > 0 {
		c.freeze.act(w)
	}
	return w
}

func (w *simulation) add(run workflow.Run, of *definition) *tracked {
	t := &tracked{run: &run, of: of, counts: make(map[int64]*count)}
	w.runs[run.ID] = t
	w.order = append(w.order, t)
	w.coverage.enter(of, run.State)
	return t
}

// count returns the counts of an entry so far.
func (t *tracked) count(entry int64) *count {
	c := t.counts[entry]
	if c == nil {
		c = &count{}
		t.counts[entry] = c
	}
	return c
}

// here returns where the caller works: in the innermost run that was invoked from the
// binding (S5.5).
func (w *simulation) here() binding {
	s := w.binding
	for {
		at := s.at()
		if at.Child == nil {
			return s
		}
		child := w.runs[at.Child.RunID]
		if child == nil {
			return s
		}
		s = binding{tracked: child}
	}
}

// outermost returns the run that waits for all others around the binding.
func (w *simulation) outermost() *tracked {
	t := w.binding.tracked
	for {
		parent, waits := w.parent(t)
		if !waits {
			return t
		}
		t = parent.tracked
	}
}

// parent returns where a run was invoked, and false when no run waits for it there.
func (w *simulation) parent(t *tracked) (binding, bool) {
	if t.run.Parent == nil {
		return binding{}, false
	}
	parent := w.runs[t.run.Parent.RunID]
	if parent == nil {
		return binding{}, false
	}
	for _, lane := range parent.run.Lanes() {
		if lane.Child != nil && lane.Child.RunID == t.run.ID {
			return binding{parent, lane.Branch}, true
		}
	}
	return binding{}, false
}

// take does a step's action.
func (w *simulation) take(a action) outcome {
	w.events, w.interrupt, w.fired = w.events[:0], "", ""
	return a.act(w)
}

// step gives a command to a run, and carries out the consequences.
func (w *simulation) step(t *tracked, cmd workflow.Command) workflow.Result {
	before := t.run
	out := w.decide(t, cmd)
	w.settle(t, before, &out)
	if out.Changed {
		t.moved(cmd, out.Entry.Branch, w.now)
	}
	return out
}

// settle takes the outcome of a step over, and its effects on other runs: a child that
// was invoked, those that are no longer awaited, and the run that waited for this one
// (S5.5).
func (w *simulation) settle(t *tracked, before *workflow.Run, out *workflow.Result) {
	w.announce(out.Events)
	if !out.Changed {
		return
	}
	t.run = &out.Run
	for _, entry := range workflow.EntriesLeft(before, t.run) {
		delete(t.counts, entry)
	}
	w.coverage.step(t.of, t.run, out.Events)
	w.keepApprovals(t)
	if child := out.Spawned; child != nil {
		w.add(child.Run, w.suite.workflows[child.Run.Workflow])
		w.announce(child.Events)
	}
	waited := t.run.Children()
	for _, id := range before.Children() {
		if child := w.runs[id]; !slices.Contains(waited, id) && child != nil && !child.run.Status.Ended() {
			w.step(child, workflow.Cancel{Reason: "the run that invoked it has moved on", Actor: actor})
		}
	}
	if t.run.Parent == nil || !t.run.Status.Ended() {
		return
	}
	if parent := w.runs[t.run.Parent.RunID]; parent != nil {
		w.step(parent, workflow.ChildEnded{Child: *t.run, Actor: actor})
	}
}

func (w *simulation) announce(events []workflow.Event) {
	for i := range events {
		w.events = append(w.events, events[i].Type)
		if events[i].Type == workflow.EventInterrupted {
			w.interrupt = events[i].Interrupt
		}
	}
}

// family gives a command to the outermost run, and to all that it has invoked
// (S6.2). It answers for the first.
func (w *simulation) family(cmd workflow.Command) workflow.Result {
	members := w.members()
	answer := w.step(members[0], cmd)
	if answer.Rejection != nil {
		return answer
	}
	for _, t := range members[1:] {
		w.step(t, cmd)
	}
	return answer
}

// members returns the outermost run, first, and all that it waits for.
func (w *simulation) members() []*tracked {
	all := []*tracked{w.outermost()}
	for i := 0; i < len(all); i++ {
		for _, id := range all[i].run.Children() {
			if child := w.runs[id]; child != nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// childID names the run that an event would start.
func (w *simulation) childID() string { return fmt.Sprintf("run%d", len(w.order)+1) }
