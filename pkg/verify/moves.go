package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// moveKind is the kind of an act.
type moveKind uint8

const (
	begins moveKind = iota
	fires
	diverts
	grants
	rejects
	expires
	cancels // an operator ends a run that was invoked
	forces
	gains // an evidence
	loses
)

// move is the step from one global state to the next.
type move struct {
	kind   moveKind
	path   []int  // of the run
	branch string // of its lane
	event  string // or the name of an interrupt, of an evidence, or of a state that is forced
	// chosen are the values that guards were judged by.
	chosen []assigned
	guards []string
	// keep are the keys that data leaves as they are.
	keep []string
	// edited is the data that an approver sets in the place of the agent's; empty for none.
	edited string
	// why an evidence is lost.
	why string
	// unsure is true when the values are not known to be those that a run has.
	unsure bool
	// doubtful is true when no call is known by which an evidence is gained, or an interrupt
	// fires. spends is true when the call may be one that max_iterations has no room for.
	doubtful, spends bool
}

// step is a move with its result.
type step struct {
	move
	from, to *globalState
	// before is the lane that it began in, and runEvents its events.
	before    workflow.View
	runEvents []runEvents
	entry     *workflow.HistoryEntry
}

// runEvents are the events of one run.
type runEvents struct {
	of     *Unit
	events []workflow.Event
}

// withContext returns a run whose lane has another context.
func withContext(run *workflow.Run, branch string, context document.Value) *workflow.Run {
	next := *run
	lane := &next.Lane
	if branch != "" {
		for name := range strings.SplitSeq(branch, "/") {
			fork := *lane.Fork
			fork.Branches = slices.Clone(fork.Branches)
			lane.Fork = &fork
			i := slices.IndexFunc(fork.Branches, func(b workflow.BranchProgress) bool { return b.Name == name })
			lane = &fork.Branches[i].Lane
		}
	}
	lane.Context = context
	return &next
}

// do gives a command to the run at a path, and carries out the consequences in others.
// false without a change.
func (c *Checker) do(w *globalState, path []int, cmd workflow.Command, s *step) bool {
	n := w.at(path)
	return c.doAs(w, path, n, cmd, s, false)
}

// doAs does the work of do for a run that may have other values than it has in the global state.
func (c *Checker) doAs(w *globalState, path []int, n *node, cmd workflow.Command, s *step, childEnded bool) bool {
	out := n.of.Machine.Step(n.run, cmd, epoch)
	if !out.Changed {
		return false
	}
	if s.entry == nil {
		s.entry = &out.Entry
	}
	s.runEvents = append(s.runEvents, runEvents{n.of, out.Events})
	next := &node{
		of: n.of, run: tidy(&out.Run, n.of.words, childEnded), kids: slices.Clone(n.kids), late: c.unreported(w, path, n),
	}
	lanes := entriesOf(next.run)
	for _, h := range n.held {
		if h.entry == 0 || slices.Contains(lanes, h.entry) {
			next.held = append(next.held, h)
		}
	}
	if child := out.Spawned; child != nil {
		of := c.Unit(child.Run.Workflow)
		run := child.Run
		run.Context = of.words.restrict(run.Context)
		next.kids = append(next.kids, &node{of: of, run: tidy(&run, of.words, false)})
		s.runEvents = append(s.runEvents, runEvents{of, child.Events})
		if of.stub {
			c.stubbed[of.Machine.Name()] = true
		}
	}
	waits := next.run.Children()
	next.kids = slices.DeleteFunc(next.kids, func(kid *node) bool { return !slices.Contains(waits, kid.run.ID) })
	slices.SortFunc(next.kids, func(a, b *node) int { return strings.Compare(a.run.ID, b.run.ID) })
	to := &globalState{root: replace(w.root, path, next), met: w.met, count: w.count}
	if len(path) == 0 || !next.run.Status.Ended() {
		s.to = to
		return true
	}
	outer := path[:len(path)-1]
	return c.doAs(to, outer, to.at(outer), workflow.ChildEnded{Child: *next.run, Actor: agent}, s, true)
}

// unreported returns the names of the evidence that calls may give which were allowed until
// now.
func (c *Checker) unreported(w *globalState, path []int, n *node) []string {
	if !c.observing {
		return nil
	}
	late := n.late
	for _, spec := range n.of.Machine.Evidence() {
		if spec.Tool == "" || spec.WithinEntry || slices.Contains(late, spec.Name) { // an entry that was left counts no more
			continue
		}
		for _, lane := range n.run.Lanes() {
			if c.observable(w, path, n, &lane, &spec).possible {
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

// moves visits every step that can follow on a global state, until visit returns false.
func (c *Checker) moves(w *globalState, visit func(*step) bool) {
	going := true
	w.root.each(nil, func(path []int, n *node) {
		if !going || n.run.Status.Ended() {
			return
		}
		for _, lane := range n.open(c.reduced) {
			if going = going && c.ofLane(w, path, n, lane, visit); !going {
				return
			}
		}
		if len(path) > 0 {
			s := &step{move: move{kind: cancels, path: path}, from: w}
			if c.do(w, path, workflow.Cancel{Reason: "an operator cancels it", Actor: "operator"}, s) {
				going = visit(s)
			}
		}
	})
	if going {
		c.evidenceMoves(w, visit)
	}
}

func (c *Checker) ofLane(w *globalState, path []int, n *node, lane workflow.View, visit func(*step) bool) bool {
	start := func(kind moveKind, event string) *step {
		return &step{move: move{kind: kind, path: path, branch: lane.Branch, event: event}, from: w, before: lane}
	}
	try := func(s *step, cmd workflow.Command) bool { return !c.do(w, path, cmd, s) || visit(s) }
	if lane.Approval.Pending() {
		return c.decisions(w, path, n, lane, start, try, visit)
	}
	if lane.Status != workflow.Running {
		return true
	}
	m := n.of.Machine
	for _, legal := range c.tried(n, &lane) {
		if !c.fire(w, path, n, lane, legal.Event, legal.Guards, visit) {
			return false
		}
	}
	unfired := len(m.Definition().Interrupts) > 0 && !c.editable(w, path, n, &lane)
	for i := range m.Definition().Interrupts {
		name := m.Definition().Interrupts[i].Name
		s := start(diverts, name)
		s.doubtful = unfired
		if !try(s, workflow.Divert{Interrupt: name, Branch: lane.Branch, Actor: agent}) {
			return false
		}
	}
	if !m.Meta().Debug {
		return true
	}
	for i := range m.Definition().States {
		name := m.Definition().States[i].Name
		if !try(start(forces, name), workflow.Force{
			State: name, Context: n.of.words.anything(nil), Branch: lane.Branch,
			Actor: agent,
		}) {
			return false
		}
	}
	return true
}

// decisions returns the possible outcomes of a parked transition.
func (c *Checker) decisions(
	w *globalState, path []int, n *node, lane workflow.View, start func(moveKind, string) *step, try func(*step,
		workflow.Command) bool, visit func(*step) bool,
) bool {
	id, event := lane.Approval.ID, lane.Approval.Event
	if c.terms(n.of).grantable() {
		grant := workflow.Grant{ApprovalID: id, Actor: "approver", Evidence: n.standings(&lane)}
		if !c.grant(w, path, n, lane, grant, visit) {
			return false
		}
		if n.of.words.tracing() && n.of.Process == nil {
			for _, data := range c.edited(n.of.words, lane.Approval.Data) {
				grant.Data = data
				if !c.grant(w, path, n, lane, grant, visit) {
					return false
				}
			}
		}
	}
	return try(start(rejects, event), workflow.Reject{ApprovalID: id, Actor: "approver"}) &&
		try(start(expires, event), workflow.Reject{ApprovalID: id, Outcome: workflow.ApprovalExpired, Actor: "expiry"})
}

// edited returns the data that an approver can put in the place of those that wait. A key of
// which a guard asks where its value comes from is the approver's, or left alone, or stays as
// the agent has it.
func (c *Checker) edited(words *vocabulary, waits document.Value) (all []document.Value) {
	var traced []string
	for _, key := range words.keys {
		if words.traced[key] {
			traced = append(traced, key)
		}
	}
	for _, away := range c.subsets(traced) {
		var agents []string // that stay as they are
		for _, key := range traced {
			if _, has := waits.Get(key); has && !slices.Contains(away, key) {
				agents = append(agents, key)
			}
		}
		for _, stay := range c.subsets(agents) {
			var members []document.Member
			for _, key := range words.keys {
				waiting, _ := waits.Get(key)
				switch {
				case slices.Contains(away, key):
				case slices.Contains(stay, key):
					members = append(members, document.Member{Name: key, Value: waiting})
				default:
					members = append(members, document.Member{Name: key, Value: freeByHuman})
				}
			}
			all = append(all, document.ObjectValue(members))
		}
	}
	return all
}

// grant lets a parked transition fire, with the values that it has been parked by. One
// that is stale leads to where an expired one does.
func (c *Checker) grant(w *globalState, path []int, n *node, lane workflow.View, cmd workflow.Grant,
	visit func(*step) bool,
) bool {
	event := lane.Approval.Event
	edited := ""
	if !cmd.Data.IsZero() {
		edited = cmd.Data.String()
	}
	var guards []string
	for _, legal := range n.of.Machine.LegalEvents(lane.State) {
		if legal.Event == event {
			guards = legal.Guards
		}
	}
	choices, complete := c.choices(n, &lane, event, guards)
	if !complete {
		c.addCause("the guards of event " + document.Quote(event) + " in state " + document.Quote(lane.State) +
			" distinguish too many combinations of values")
	}
	for _, chosen := range choices {
		at := *n
		at.run = withContext(n.run, lane.Branch, with(lane.Context, chosen))
		s := &step{
			move: move{kind: grants, path: path, branch: lane.Branch, event: event, edited: edited, chosen: c.grantedBy(chosen)},
			from: w, before: lane,
		}
		if !c.doAs(w, path, &at, cmd, s, false) || s.entry.Type == workflow.EventStale {
			continue
		}
		s.to.root = released(s.to.root, path, lane.Context, chosen)
		if going := visit(s); !going || !c.everyGrant {
			return going
		}
	}
	return true
}

// grantedBy returns the values by which a grant is distinguished, where each counts.
func (c *Checker) grantedBy(chosen []assigned) []assigned {
	if c.everyGrant {
		return chosen
	}
	return nil
}

// choices returns the values of guards that are tried for an event.
func (c *Checker) choices(n *node, lane *workflow.View, event string, guards []string) ([][]assigned, bool) {
	if c.choose != nil && n.of == c.Main {
		return c.choose(n, lane, event)
	}
	return n.of.words.assignments(lane.Context, guards)
}

// tried returns the events that are fired in a lane, with their guards.
func (c *Checker) tried(n *node, lane *workflow.View) []workflow.LegalEvent {
	state := n.of.Machine.State(lane.State)
	if c.events == nil || n.of != c.Main {
		legal := state.LegalEvents()
		if state.SafeNext != "" {
			legal = append(slices.Clip(legal), workflow.LegalEvent{Event: c.undefined(n.of)})
			if c.sought != "" && n.of == c.Main && !slices.ContainsFunc(legal, func(e workflow.LegalEvent) bool { return e.Event == c.sought }) {
				legal = append(legal, workflow.LegalEvent{Event: c.sought})
			}
		}
		return legal
	}
	var all []workflow.LegalEvent
	for _, name := range c.events(n, lane) {
		all = append(all, workflow.LegalEvent{Event: name, Guards: guardsOf(n.of.Machine, lane.State, name)})
	}
	return all
}

// fire takes an event with every choice of values that its guards distinguish, and with
// every choice of the keys that its data leaves alone.
func (c *Checker) fire(w *globalState, path []int, n *node, lane workflow.View, event string, guards []string,
	visit func(*step) bool,
) bool {
	words := n.of.words
	choices, complete := c.choices(n, &lane, event, guards)
	if !complete {
		c.addCause("the guards of event " + document.Quote(event) + " in state " + document.Quote(lane.State) +
			" distinguish too many combinations of values")
	}
	standings := n.standings(&lane)
	for _, chosen := range choices {
		at := n
		if len(chosen) > 0 {
			other := *n
			other.run = withContext(n.run, lane.Branch, with(lane.Context, chosen))
			at = &other
		}
		for _, keep := range c.keeps(words, lane.Context) {
			cmd := workflow.Fire{
				Event: event, Data: words.anything(keep), Branch: lane.Branch, Actor: agent, Evidence: standings,
				ApprovalID: "apr " + n.run.ID + "/" + lane.Branch,
			}
			if name := n.of.Machine.State(lane.State).Invokes(event); name != "" {
				cmd.Child, cmd.ChildID = c.Unit(name).Machine, n.run.ID+"/"+lane.Branch+"."
			}
			s := &step{
				move: move{
					kind: fires, path: path, branch: lane.Branch, event: event, chosen: chosen, guards: guards, keep: keep,
					unsure: anyMissing(chosen),
				},
				from: w, before: lane,
			}
			if !c.doAs(w, path, at, cmd, s, false) {
				continue
			}
			// The choice held at that moment. Afterwards it is any value again, which
			// forgets more than a run does.
			s.to.root = released(s.to.root, path, lane.Context, chosen)
			if !visit(s) {
				return false
			}
		}
	}
	return true
}

// released returns a tree in which a run's lanes have any value again where they have the
// one that was chosen for an event.
func released(root *node, path []int, before document.Value, chosen []assigned) *node {
	n := root
	for _, i := range path {
		if i >= len(n.kids) {
			return root // it has ended
		}
		n = n.kids[i]
	}
	if len(chosen) == 0 {
		return root
	}
	next := *n
	run := *n.run
	releaseLane(&run.Lane, before, chosen)
	next.run = &run
	return replace(root, path, &next)
}

func releaseLane(l *workflow.Lane, before document.Value, chosen []assigned) {
	var members []document.Member
	for _, a := range chosen {
		held, ok := l.Context.Get(a.key)
		if a.value.IsZero() && !ok || !a.value.IsZero() && ok && document.Equal(held, a.value) {
			free, _ := before.Get(a.key)
			members = append(members, document.Member{Name: a.key, Value: free})
		}
	}
	if len(members) > 0 {
		l.Context = document.MergeTop(l.Context, document.ObjectValue(members))
	}
	if l.Fork == nil {
		return
	}
	fork := *l.Fork
	fork.Branches = slices.Clone(fork.Branches)
	for i := range fork.Branches {
		releaseLane(&fork.Branches[i].Lane, before, chosen)
	}
	l.Fork = &fork
}

func anyMissing(chosen []assigned) bool {
	return slices.ContainsFunc(chosen, func(a assigned) bool { return a.value.IsZero() })
}

// keeps returns the choices of keys that data can leave alone. It makes a difference only
// where a guard asks where a value comes from, and it is not the agent's already.
func (c *Checker) keeps(words *vocabulary, context document.Value) [][]string {
	var keys []string
	for _, key := range words.keys {
		v, ok := context.Get(key)
		if words.traced[key] && ok && v.Str() != freeByAgent.Str() {
			keys = append(keys, key)
		}
	}
	return c.subsets(keys)
}

// mostTraced bounds the keys of which guards ask where their values come from, and of which
// each may have been set or not.
const mostTraced = 6

// subsets returns all choices among some keys, none first.
func (c *Checker) subsets(keys []string) [][]string {
	if len(keys) > mostTraced {
		c.addCause(fmt.Sprintf("guards ask of more than %d keys where their values come from", mostTraced))
	}
	return SubsetsOf(keys)
}

// SubsetsOf returns all choices among the first keys, none first.
func SubsetsOf(keys []string) [][]string {
	all := [][]string{nil}
	for _, key := range keys[:min(len(keys), mostTraced)] {
		for _, some := range all[:len(all):len(all)] {
			all = append(all, append(slices.Clip(some), key))
		}
	}
	return all
}

// undefined returns an event that no state of a workflow defines.
func (c *Checker) undefined(of *Unit) string {
	name := "UNDEFINED"
	for defines(of.Machine, name) {
		name += "_"
	}
	return name
}

func guardsOf(m *workflow.Machine, state, event string) []string {
	for _, legal := range m.LegalEvents(state) {
		if legal.Event == event {
			return legal.Guards
		}
	}
	return nil
}

// defines reports that a state of a workflow has an event.
func defines(m *workflow.Machine, event string) bool {
	return slices.ContainsFunc(m.Definition().States, func(s workflow.State) bool {
		return slices.ContainsFunc(s.On, func(t workflow.Transition) bool { return t.Event == event })
	})
}

// words say a move shortly.
func (m *move) words() string {
	in := ""
	if m.branch != "" {
		in = " in " + m.branch
	}
	switch m.kind {
	case begins:
		return ""
	case fires:
		return m.event + in
	case diverts:
		return "interrupt " + m.event + in
	case grants:
		return m.event + in + " is approved"
	case rejects:
		return m.event + in + " is rejected"
	case expires:
		return m.event + in + " expires"
	case cancels:
		return "an invoked run is cancelled"
	case forces:
		return "state " + m.event + " is forced"
	case gains:
		return "evidence " + m.event
	default:
		return "evidence " + m.event + " is void"
	}
}

// RecordedStep returns the step of one recorded change of a run, with its result.
func RecordedStep(of *Unit, before *workflow.Run, e *workflow.HistoryEntry, out *workflow.Result) *step {
	s := &step{
		from: &globalState{root: &node{of: of, run: before}}, before: before.At(e.Branch), entry: &out.Entry,
		runEvents: []runEvents{{of: of, events: out.Events}},
	}
	if _, waits := before.Asking(e.ApprovalID); waits && e.Type == workflow.EventTransitioned {
		s.kind = grants
	}
	return s
}
