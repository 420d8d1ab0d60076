package explore

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// do gives a command to the run at a path, and carries out the consequences in others.
// false without a change.
func (x *Explorer) do(w *model.GlobalState, path []int, cmd workflow.Command, s *Step) bool {
	n := w.At(path)
	return x.doAs(w, path, n, cmd, s, false)
}

// doAs does the work of do for a run that may have other values than it has in the global state.
func (x *Explorer) doAs(w *model.GlobalState, path []int, n *model.Node, cmd workflow.Command, s *Step, childEnded bool) bool {
	out := n.Unit.Machine.Step(n.Run, cmd, model.Epoch)
	if !out.Changed {
		return false
	}
	if s.Entry == nil {
		s.Entry = &out.Entry
	}
	s.runEvents = append(s.runEvents, runEvents{n.Unit, out.Events})
	next := &model.Node{
		Unit: n.Unit, Run: model.Tidy(&out.Run, n.Unit.Words, childEnded), Children: slices.Clone(n.Children), Late: x.unreported(w, path, n),
	}
	lanes := entriesOf(next.Run)
	for _, h := range n.Held {
		if h.Entry == 0 || slices.Contains(lanes, h.Entry) {
			next.Held = append(next.Held, h)
		}
	}
	if child := out.Spawned; child != nil {
		of := x.Unit(child.Run.Workflow)
		run := child.Run
		run.Context = of.Words.Restrict(run.Context)
		next.Children = append(next.Children, &model.Node{Unit: of, Run: model.Tidy(&run, of.Words, false)})
		s.runEvents = append(s.runEvents, runEvents{of, child.Events})
		if of.Stub {
			x.Stubbed[of.Machine.Name()] = true
		}
	}
	waits := next.Run.Children()
	next.Children = slices.DeleteFunc(next.Children, func(kid *model.Node) bool { return !slices.Contains(waits, kid.Run.ID) })
	slices.SortFunc(next.Children, func(a, b *model.Node) int { return strings.Compare(a.Run.ID, b.Run.ID) })
	to := &model.GlobalState{Root: model.Replace(w.Root, path, next), Met: w.Met, Count: w.Count}
	if len(path) == 0 || !next.Run.Status.Ended() {
		s.To = to
		return true
	}
	outer := path[:len(path)-1]
	return x.doAs(to, outer, to.At(outer), workflow.ChildEnded{Child: *next.Run, Actor: model.Agent}, s, true)
}

// unreported returns the names of the evidence that calls may give which were allowed until
// now.
func (x *Explorer) unreported(w *model.GlobalState, path []int, n *model.Node) []string {
	if !x.Observing {
		return nil
	}
	late := n.Late
	for _, spec := range n.Unit.Machine.Evidence() {
		if spec.Tool == "" || spec.WithinEntry || slices.Contains(late, spec.Name) { // an entry that was left counts no more
			continue
		}
		for _, lane := range n.Run.Lanes() {
			if x.Observable(w, path, n, &lane, &spec).Possible {
				late = append(slices.Clone(late), spec.Name)
				slices.Sort(late)
				break
			}
		}
	}
	return late
}

func entriesOf(run *workflow.Run) []int64 {
	var all []int64
	for _, lane := range run.Lanes() {
		all = append(all, lane.Entry)
	}
	return all
}

// Moves visits every step that can follow on a global state, until visit returns false.
func (x *Explorer) Moves(w *model.GlobalState, visit func(*Step) bool) {
	going := true
	w.Root.Each(nil, func(path []int, n *model.Node) {
		if !going || n.Run.Status.Ended() {
			return
		}
		if going = x.elapsesAll(w, path, n, visit); !going {
			return
		}
		for _, lane := range n.Open(x.Reduced) {
			if going = going && x.ofLane(w, path, n, lane, visit); !going {
				return
			}
		}
		if len(path) > 0 {
			s := &Step{Move: Move{Kind: Cancels, Path: path}, From: w}
			if x.do(w, path, workflow.Cancel{Reason: "an operator cancels it", Actor: "operator"}, s) {
				going = visit(s)
			}
		}
	})
	if going {
		x.evidenceMoves(w, visit)
	}
}

func (x *Explorer) ofLane(w *model.GlobalState, path []int, n *model.Node, lane workflow.View, visit func(*Step) bool) bool {
	start := func(kind MoveKind, event string) *Step {
		return &Step{Move: Move{Kind: kind, Path: path, Branch: lane.Branch, Event: event}, From: w, Before: lane}
	}
	try := func(s *Step, cmd workflow.Command) bool { return !x.do(w, path, cmd, s) || visit(s) }
	if !x.elapsesIn(w, path, n, lane, visit) {
		return false
	}
	if lane.Approval.Pending() {
		return x.decisions(w, path, n, lane, start, try, visit)
	}
	if lane.Status != workflow.Running {
		return true
	}
	m := n.Unit.Machine
	for _, legal := range x.tried(n, &lane) {
		if !x.fire(w, path, n, lane, legal.Event, legal.Guards, visit) {
			return false
		}
	}
	unfired := len(m.Definition().Interrupts) > 0 && !x.Editable(w, path, n, &lane)
	for i := range m.Definition().Interrupts {
		name := m.Definition().Interrupts[i].Name
		s := start(Diverts, name)
		s.doubtful = unfired
		if !try(s, workflow.Divert{Interrupt: name, Branch: lane.Branch, Actor: model.Agent}) {
			return false
		}
	}
	if !m.Meta().Debug {
		return true
	}
	for i := range m.Definition().States {
		name := m.Definition().States[i].Name
		if !try(start(Forces, name), workflow.Force{
			State: name, Context: n.Unit.Words.Anything(nil), Branch: lane.Branch,
			Actor: model.Agent,
		}) {
			return false
		}
	}
	return true
}

// decisions returns the possible outcomes of a parked transition.
func (x *Explorer) decisions(
	w *model.GlobalState, path []int, n *model.Node, lane workflow.View, start func(MoveKind, string) *Step, try func(*Step,
		workflow.Command) bool, visit func(*Step) bool,
) bool {
	id, event := lane.Approval.ID, lane.Approval.Event
	if x.Terms(n.Unit).Grantable() {
		grant := workflow.Grant{ApprovalID: id, Actor: "approver", Evidence: n.Standings(&lane)}
		if !x.grant(w, path, n, lane, grant, visit) {
			return false
		}
		if n.Unit.Words.Tracing() && n.Unit.Process == nil {
			for _, data := range x.edited(n.Unit.Words, lane.Approval.Data) {
				grant.Data = data
				if !x.grant(w, path, n, lane, grant, visit) {
					return false
				}
			}
		}
	}
	return try(start(Rejects, event), workflow.Reject{ApprovalID: id, Actor: "approver"}) &&
		try(start(Expires, event), workflow.Reject{ApprovalID: id, Outcome: workflow.ApprovalExpired, Actor: "expiry"})
}

// grant lets a parked transition fire, with the values that it has been parked by. One
// that is stale leads to where an expired one does.
func (x *Explorer) grant(w *model.GlobalState, path []int, n *model.Node, lane workflow.View, cmd workflow.Grant,
	visit func(*Step) bool,
) bool {
	event := lane.Approval.Event
	edited := ""
	if !cmd.Data.IsZero() {
		edited = cmd.Data.String()
	}
	var guards []string
	for _, legal := range n.Unit.Machine.LegalEvents(lane.State) {
		if legal.Event == event {
			guards = legal.Guards
		}
	}
	choices, complete := x.choices(n, &lane, event, guards)
	if !complete {
		x.AddCause("the guards of event " + document.Quote(event) + " in state " + document.Quote(lane.State) +
			" distinguish too many combinations of values")
	}
	for _, chosen := range choices {
		at := *n
		at.Run = withContext(n.Run, lane.Branch, model.Assign(lane.Context, chosen))
		s := &Step{
			Move: Move{Kind: Grants, Path: path, Branch: lane.Branch, Event: event, Edited: edited, Chosen: x.grantedBy(chosen)},
			From: w, Before: lane,
		}
		if !x.doAs(w, path, &at, cmd, s, false) || s.Entry.Type == workflow.EventStale {
			continue
		}
		s.To.Root = released(s.To.Root, path, lane.Context, chosen)
		if going := visit(s); !going || !x.EveryGrant {
			return going
		}
	}
	return true
}

// tried returns the events that are fired in a lane, with their guards.
func (x *Explorer) tried(n *model.Node, lane *workflow.View) []workflow.LegalEvent {
	state := n.Unit.Machine.State(lane.State)
	if x.Events == nil || n.Unit != x.Main {
		legal := state.LegalEvents()
		if state.SafeNext != "" {
			legal = append(slices.Clip(legal), workflow.LegalEvent{Event: x.undefined(n.Unit)})
			if x.Sought != "" && n.Unit == x.Main && !slices.ContainsFunc(legal, func(e workflow.LegalEvent) bool { return e.Event == x.Sought }) {
				legal = append(legal, workflow.LegalEvent{Event: x.Sought})
			}
		}
		return legal
	}
	var all []workflow.LegalEvent
	for _, name := range x.Events(n, lane) {
		all = append(all, workflow.LegalEvent{Event: name, Guards: GuardsOf(n.Unit.Machine, lane.State, name)})
	}
	return all
}

// fire takes an event with every choice of values that its guards distinguish, and with
// every choice of the keys that its data leaves alone.
func (x *Explorer) fire(w *model.GlobalState, path []int, n *model.Node, lane workflow.View, event string, guards []string,
	visit func(*Step) bool,
) bool {
	for _, closed := range windowsOf(n.Unit.Machine, lane.State, event) {
		if !x.fireBy(w, path, n, lane, event, guards, closed, visit) {
			return false
		}
	}
	return true
}

// windowsOf returns whether windows are closed while an event is fired: both, where it depends on that.
func windowsOf(m *workflow.Machine, state, event string) []bool {
	for _, t := range m.State(state).On {
		if t.Event == event && slices.ContainsFunc(t.Branches, func(b workflow.Branch) bool { return b.Window != "" }) {
			return []bool{false, true}
		}
	}
	return []bool{false}
}

// fireBy does the work of fire with windows that are open, or closed.
func (x *Explorer) fireBy(w *model.GlobalState, path []int, n *model.Node, lane workflow.View, event string, guards []string, closed bool,
	visit func(*Step) bool,
) bool {
	words := n.Unit.Words
	choices, complete := x.choices(n, &lane, event, guards)
	if !complete {
		x.AddCause("the guards of event " + document.Quote(event) + " in state " + document.Quote(lane.State) +
			" distinguish too many combinations of values")
	}
	standings := n.Standings(&lane)
	for _, chosen := range choices {
		at := n
		if len(chosen) > 0 {
			other := *n
			other.Run = withContext(n.Run, lane.Branch, model.Assign(lane.Context, chosen))
			at = &other
		}
		for _, keep := range x.keeps(words, lane.Context) {
			cmd := workflow.Fire{
				Event: event, Data: words.Anything(keep), Branch: lane.Branch, Actor: model.Agent, Evidence: standings,
				ApprovalID: "apr " + n.Run.ID + "/" + lane.Branch, Closed: closed,
			}
			if name := n.Unit.Machine.State(lane.State).Invokes(event); name != "" {
				cmd.Child, cmd.ChildID = x.Unit(name).Machine, n.Run.ID+"/"+lane.Branch+"."
			}
			s := &Step{
				Move: Move{
					Kind: Fires, Path: path, Branch: lane.Branch, Event: event, Chosen: chosen, guards: guards, Keep: keep,
					unsure: anyMissing(chosen),
				},
				From: w, Before: lane,
			}
			if !x.doAs(w, path, at, cmd, s, false) {
				continue
			}
			// The choice held at that moment. Afterwards it is any value again, which
			// forgets more than a run does.
			s.To.Root = released(s.To.Root, path, lane.Context, chosen)
			if !visit(s) {
				return false
			}
		}
	}
	return true
}

// undefined returns an event that no state of a workflow defines.
func (x *Explorer) undefined(of *model.Unit) string {
	name := "UNDEFINED"
	for Defines(of.Machine, name) {
		name += "_"
	}
	return name
}

// GuardsOf returns the guards of an event in a state.
func GuardsOf(m *workflow.Machine, state, event string) []string {
	for _, legal := range m.LegalEvents(state) {
		if legal.Event == event {
			return legal.Guards
		}
	}
	return nil
}

// Defines reports that a state of a workflow has an event.
func Defines(m *workflow.Machine, event string) bool {
	return slices.ContainsFunc(m.Definition().States, func(s workflow.State) bool {
		return slices.ContainsFunc(s.On, func(t workflow.Transition) bool { return t.Event == event })
	})
}
