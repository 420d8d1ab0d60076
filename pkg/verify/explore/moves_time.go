package explore

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// clock is the actor of the steps that time brings about.
const clock = "clock"

// elapsesAll takes the steps that time may bring about in a whole run: the end by a deadline, and of forks.
func (x *Explorer) elapsesAll(w *model.GlobalState, path []int, n *model.Node, visit func(*Step) bool) bool {
	for _, due := range n.Unit.Machine.Dues(n.Run) {
		if due.Kind != workflow.DueDeadline && due.Kind != workflow.DueFork {
			continue
		}
		s := &Step{Move: elapses(path, due), From: w, Before: n.Run.At(due.Branch)}
		if x.do(w, path, workflow.Elapse{Due: due, Actor: clock}, s) && !visit(s) {
			return false
		}
	}
	return true
}

// elapsesIn takes the steps that time may bring about in a lane, at any moment (S25.10). Clocks stand still while humans are
// asked.
func (x *Explorer) elapsesIn(w *model.GlobalState, path []int, n *model.Node, lane workflow.View, visit func(*Step) bool) bool {
	if lane.Approval.Pending() {
		return true
	}
	m := n.Unit.Machine
	state := m.State(lane.State)
	if state.Stale != nil && state.Stale.Target != "" {
		due := workflow.Due{Kind: workflow.DueStale, Branch: lane.Branch, After: state.Stale.After}
		s := &Step{Move: elapses(path, due), From: w, Before: lane}
		if x.do(w, path, workflow.Elapse{Due: due, Actor: clock}, s) && !visit(s) {
			return false
		}
	}
	for i := range state.After {
		if !x.elapsesAfter(w, path, n, lane, &state.After[i], visit) {
			return false
		}
	}
	return true
}

// elapsesAfter takes a transition of "after", with every choice of values that its guards distinguish.
func (x *Explorer) elapsesAfter(w *model.GlobalState, path []int, n *model.Node, lane workflow.View, t *workflow.Delayed,
	visit func(*Step) bool,
) bool {
	guards := workflow.GuardsOf(&t.Transition)
	choices, complete := n.Unit.Words.Assignments(lane.Context, guards)
	if !complete {
		x.AddCause("the guards of \"after\" in state " + document.Quote(lane.State) + " distinguish too many combinations of values")
	}
	due := workflow.Due{Kind: workflow.DueAfter, Branch: lane.Branch, After: t.Delay, Event: t.Event}
	for _, chosen := range choices {
		at := *n
		at.Run = withContext(n.Run, lane.Branch, model.Assign(lane.Context, chosen))
		s := &Step{Move: elapses(path, due), From: w, Before: lane}
		s.Chosen, s.guards, s.unsure = chosen, guards, anyMissing(chosen)
		if !x.doAs(w, path, &at, workflow.Elapse{Due: due, Evidence: n.Standings(&lane), Actor: clock}, s, false) ||
			s.Entry.Type == workflow.EventTimerBlocked {
			continue
		}
		s.To.Root = released(s.To.Root, path, lane.Context, chosen)
		if !visit(s) {
			return false
		}
	}
	return true
}

func elapses(path []int, due workflow.Due) Move {
	return Move{Kind: Elapses, Path: path, Branch: due.Branch, Event: due.Event, Due: due}
}
