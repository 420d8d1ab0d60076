// Package workflow holds the rules of workflows: it reads and validates
// definitions (S1), compiles them, and steps runs by commands (S2, S6).
//
// It is pure: values in, values out. It must never do I/O, look at the clock, make a new
// id, or change a value that it was given; its caller makes the result durable before
// anyone sees it. It refuses commands that it does not execute.
//
// The words: a transition of a definition is compiled into a way, and each case of
// a branched transition into an arm of that way. Where a run stands is a lane: its
// own, or that of each branch of a fork.
//
// (S7.6), (R2) and the like name rules of docs/semantics.md.
package workflow

import (
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/shell"
)

// Machine is one version of a workflow, compiled into tables: immutable, and safe for
// concurrent use. Every name in it is resolved, so that stepping a run or judging a tool
// call only looks things up.
type Machine struct {
	version    int64
	definition *Definition
	states     map[string]*StateView
	handlers   map[string]*handler // by the name of the interrupt
	watched    pathglob.Set        // patterns of the interrupts, in their order
	// traces: a guard asks where values come from; approvals: an evidence asks for
	// agreements of humans.
	traces, approvals bool
	// checks are the commands of the evidence, each compiled; nil where there is none.
	checks []*shell.List
	// expires has the target of the deadline; nil for none.
	expires []string
	// silence is true where a state has "stale".
	silence bool
	// anyTime is true of a machine for which time is of no account.
	anyTime bool
	// stopped are the transitions that a freeze stops; freeze is the one in force, or nil.
	stopped stopped
	freeze  *Freeze
}

// AnyTime returns the machine as it may be at any moment: all that clocks make due is due, no transition comes too early, and
// windows are open, but for a Fire that says otherwise. So explorations see all that time can bring about.
func (m *Machine) AnyTime() *Machine {
	other := *m
	other.anyTime = true
	return &other
}

// StateView is a state as the rest of the system sees it: its definition, and its
// consequences. Immutable; callers must not write to its slices.
type StateView struct {
	State

	legal    []LegalEvent
	moves    string
	ways     map[string]*way
	fallback *way // safe_next, or nil
	tools    toolTable
	jail     jail.Rules
}

// JailRules returns the settings of jails in the state: its own, and those of meta.jail (S20).
func (s *StateView) JailRules() *jail.Rules { return &s.jail }

// LegalEvent is one event that a state defines (S2.7).
type LegalEvent struct {
	Event string
	// Targets are the states that it may lead to, in definition order.
	Targets []string
	// Guards that it may evaluate, in order, without repeats.
	Guards           []string
	RequiresApproval bool
}

// way is the transition of one event of one state.
type way struct {
	event    string
	arms     []arm
	branched bool
	// guards of all arms, each once, in the order in which they are first met.
	guards []*predicate
	// invoke or fork is set when the event delegates instead; done and fail lead
	// on when that is over, and fail is nil without on_fail.
	invoke     *Invoke
	fork       *Fork
	branches   []region // the states of each of the fork's branches
	done, fail *arm
}

// arm is one case of a way. One whose target is unknown has none: it is never
// taken.
type arm struct {
	target   *StateView
	returns  bool  // the target is $return
	guards   []int // places in way.guards
	approval bool
	message  string     // for the approver
	rejected *StateView // where a rejection leads, or nil
	warns    bool
	// notBefore is the time on the state's clock before which it is refused.
	notBefore time.Duration
	// window names the window outside of which it is refused, or with outsideAsks asks humans.
	window      string
	outsideAsks bool
}

// nowhere stands for a state that a workflow does not have: no tool is allowed
// there, and no event leads out.
var nowhere = &StateView{State: State{ToolsRestricted: true}}

// Compile turns a definition that Parse found valid into a Machine. The definition
// belongs to the machine from then on and must not be changed. A part that cannot be
// resolved (which validation rules out) is never taken: a guard that does not exist
// fails, a target that does not exist is not reached.
func Compile(def *Definition, version int64) *Machine {
	m := &Machine{version: version, definition: def, states: make(map[string]*StateView, len(def.States))}
	for i := range def.States {
		s := &def.States[i]
		if _, repeated := m.states[s.Name]; !repeated {
			m.states[s.Name] = &StateView{State: *s, tools: newToolTable(s), jail: def.Meta.Jail.With(s.Jail)}
		}
	}
	guards := make(map[string]*predicate, len(def.Guards)+1)
	for i := range def.Guards {
		p := newPredicate(&def.Guards[i])
		guards[def.Guards[i].Name] = p
		m.traces = m.traces || p.asksSource()
	}
	guards[evidence.NoUnknownEffects] = noUnknownEffects
	m.checks = make([]*shell.List, len(def.Evidence))
	for i := range def.Evidence {
		if command := def.Evidence[i].Command; command != "" {
			m.checks[i] = shell.NewList([]string{command})
		}
	}
	if d := def.Meta.Deadline; d != nil {
		m.expires = []string{d.Target}
	}
	m.stopped = m.newStopped()
	m.silence = slices.ContainsFunc(def.States, func(s State) bool { return s.Stale != nil })
	m.approvals = slices.ContainsFunc(def.Evidence, func(spec evidence.Spec) bool { return spec.Approval != "" })
	for _, s := range m.states {
		m.connect(s, guards)
	}
	for _, s := range m.states {
		m.branchRules().findBranches(s)
	}
	m.branchRules().endByEvent()
	m.branchRules().findHandlers()
	m.watched = make(pathglob.Set, len(def.Interrupts))
	for i := range def.Interrupts {
		// One that is not valid, which validation rules out, has no matches.
		m.watched[i], _ = pathglob.Compile(def.Interrupts[i].FilePattern)
	}
	return m
}

// connect compiles the transitions of a state.
func (m *Machine) connect(s *StateView, guards map[string]*predicate) {
	s.ways = make(map[string]*way, len(s.On))
	s.legal = make([]LegalEvent, 0, len(s.On))
	for i := range s.On {
		t := &s.On[i]
		if _, repeated := s.ways[t.Event]; repeated {
			continue
		}
		w := m.newWay(t, guards)
		s.ways[t.Event] = w
		legal := newLegalEvent(t)
		if slices.Contains(w.guards, noUnknownEffects) {
			legal.Guards = append(legal.Guards, evidence.NoUnknownEffects)
		}
		s.legal = append(s.legal, legal)
	}
	s.After = slices.Clone(s.After)
	for i := range s.After {
		t := &s.After[i].Transition
		s.After[i].targets = newLegalEvent(t).Targets
		s.ways[t.Event] = m.newWay(t, guards)
	}
	if s.SafeNext != "" {
		s.fallback = m.newWay(&Transition{Branches: []Branch{{Target: s.SafeNext}}}, guards)
	}
	s.moves = describeLegal(s.legal, neverFrozen)
}

func (m *Machine) newWay(t *Transition, guards map[string]*predicate) *way {
	w := &way{event: t.Event, branched: t.Branched}
	switch {
	case t.Invoke != nil:
		w.invoke = t.Invoke
		w.done, w.fail = m.newEnds(t.Invoke.OnComplete, t.Invoke.OnFail)
		return w
	case t.Fork != nil:
		w.fork = t.Fork
		w.done, w.fail = m.newEnds(t.Fork.OnComplete, t.Fork.OnFail)
		return w
	}
	places := make(map[string]int)
	for i := range t.Branches {
		b := &t.Branches[i]
		a := m.newArm(b)
		names := b.Guards
		if m.demands(&a) {
			names = append(slices.Clip(names), evidence.NoUnknownEffects)
		}
		for _, name := range names {
			place, met := places[name]
			if !met {
				guard, known := guards[name]
				if !known {
					guard = newPredicate(&Guard{Name: name})
				}
				place = len(w.guards)
				places[name] = place
				w.guards = append(w.guards, guard)
			}
			a.guards = append(a.guards, place)
		}
		w.arms = append(w.arms, a)
	}
	return w
}

// demands reports that an arm leads into a state with no_unknown_effects, or returns to one
// that is not known yet (S16.3).
func (m *Machine) demands(a *arm) bool {
	if a.returns {
		return slices.ContainsFunc(m.definition.States, func(s State) bool { return s.NoUnknownEffects })
	}
	return a.target != nil && a.target.NoUnknownEffects
}

func (m *Machine) newArm(b *Branch) arm {
	return arm{
		target:   m.states[b.Target],
		returns:  b.Target == ReturnTarget,
		approval: b.RequiresApproval,
		message:  b.ApprovalMessage,
		rejected: m.states[b.OnReject],
		warns:    b.Warn,

		notBefore: b.NotBefore, window: b.Window, outsideAsks: b.OutsideAsks,
	}
}

// newEnds compiles on_complete and on_fail.
func (m *Machine) newEnds(complete, fail string) (done, failed *arm) {
	a := m.newArm(&Branch{Target: complete})
	if fail == "" {
		return &a, nil
	}
	b := m.newArm(&Branch{Target: fail})
	return &a, &b
}

// Rules of a machine, by subject.
type (
	branchRules   struct{ *Machine } // forks, their branches and handlers
	approvalSteps struct{ *Machine }
	sourceRules   struct{ *Machine } // where values of the context come from
	refusals      struct{ *Machine }
)

func (m *Machine) branchRules() branchRules     { return branchRules{m} }
func (m *Machine) approvalSteps() approvalSteps { return approvalSteps{m} }
func (m *Machine) sourceRules() sourceRules     { return sourceRules{m} }
func (m *Machine) refusals() refusals           { return refusals{m} }

// Name returns the id of the workflow.
func (m *Machine) Name() string { return m.definition.ID }

// Version returns the version of the workflow that the machine executes.
func (m *Machine) Version() int64 { return m.version }

// Definition returns the source of the machine. Read only.
func (m *Machine) Definition() *Definition { return m.definition }

// Meta returns the workflow's meta.
func (m *Machine) Meta() Meta { return m.definition.Meta }

// Enforcement returns meta.enforcement (S2.9, S6.6).
func (m *Machine) Enforcement() Enforcement { return m.definition.Meta.Enforcement }

// State returns a state by its exact name. It is never nil: a name that the workflow does
// not have gives a state without a name and without rights.
func (m *Machine) State(name string) *StateView {
	if s, ok := m.states[name]; ok {
		return s
	}
	return nowhere
}

// Evidence returns the declarations of the workflow, in definition order (S14.1). Read
// only.
func (m *Machine) Evidence() []evidence.Spec { return m.definition.Evidence }

// Checks reports that each command of a line is the one that an evidence asks for, by its
// place in Evidence.
func (m *Machine) Checks(i int, plan *shell.Plan) bool {
	if plan == nil || plan.Empty || m.checks[i] == nil {
		return false
	}
	return !slices.ContainsFunc(plan.Commands, func(c shell.Command) bool {
		named, ok := m.checks[i].Match(c)
		return !ok || m.definition.Evidence[i].Exact && named != len(c.Words)
	})
}

// MayCheck reports that a command is one that some evidence asks for, in some call.
func (m *Machine) MayCheck(c shell.Command) bool {
	return slices.ContainsFunc(m.checks, func(check *shell.List) bool {
		_, ok := check.Match(c)
		return ok
	})
}

// IsCheck reports that a command is one that some evidence asks for. facts are those of its call; nil where they are
// not known.
func (m *Machine) IsCheck(c shell.Command, facts condition.Facts) bool {
	for i, check := range m.checks {
		if _, ok := check.Match(c); ok && m.definition.Evidence[i].Gives(facts) {
			return true
		}
	}
	return false
}

// ReadsOutput returns the tools whose results the evidence reads.
func (m *Machine) ReadsOutput() []string {
	var tools []string
	for i := range m.definition.Evidence {
		if spec := &m.definition.Evidence[i]; spec.Output != nil && !slices.Contains(tools, spec.Tool) {
			tools = append(tools, spec.Tool)
		}
	}
	for i := range m.definition.Meta.Reconcile {
		if tool := m.definition.Meta.Reconcile[i].Tool; !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	}
	return tools
}

// KnowsSilence reports that a state bounds how long an agent may be silent.
func (m *Machine) KnowsSilence() bool { return m.silence }

// KeepsAccount reports that calls with effects wait for their reports (S16.1).
func (m *Machine) KeepsAccount() bool { return m.definition.Meta.EffectDeadline > 0 }

// AsksEvidence reports that an event of the state is guarded by some.
func (m *Machine) AsksEvidence(state, event string) bool {
	s := m.State(state)
	w := s.ways[event]
	if w == nil {
		w = s.fallback
	}
	return w != nil && slices.ContainsFunc(w.guards, (*predicate).asksEvidence)
}

// Initial returns the state that runs begin in.
func (m *Machine) Initial() *StateView { return m.State(m.definition.Initial) }

// LegalEvents returns the events that a state defines, in definition order. The
// slice is shared: read only.
func (m *Machine) LegalEvents(state string) []LegalEvent { return m.State(state).legal }

// LegalEvents returns the events that the state defines, in definition order.
// The slice is shared: read only.
func (s *StateView) LegalEvents() []LegalEvent { return s.legal }

// DescribeEvents describes the legal events and where they lead in one line, as messages
// to agents end with.
func (s *StateView) DescribeEvents() string { return s.moves }

// Watches returns the first interrupt, in definition order, whose pattern any of the
// files matches (S4.1).
func (m *Machine) Watches(root pathglob.Root, files []string) (name string, ok bool) {
	i := m.watched.First(root, files)
	if i < 0 {
		return "", false
	}
	return m.definition.Interrupts[i].Name, true
}

// FirstInterrupt is the one that fires where the files that were changed are not known (S4.1).
func (m *Machine) FirstInterrupt() (name string, ok bool) {
	if len(m.definition.Interrupts) == 0 {
		return "", false
	}
	return m.definition.Interrupts[0].Name, true
}

// LeavesRunning reports that commands of some state may leave programs in the background.
func (m *Machine) LeavesRunning() bool {
	return m.definition.Meta.Jail.Background || slices.ContainsFunc(m.definition.States, func(s State) bool { return s.Jail.Background })
}

// Invokes names the workflow that an event of the state would start a child run
// of, or is empty.
func (s *StateView) Invokes(event string) string {
	if w := s.ways[event]; w != nil && w.invoke != nil {
		return w.invoke.Workflow
	}
	return ""
}

// Invocation returns the workflow and the input of the child run that an event of the
// state starts, or nil.
func (s *StateView) Invocation(event string) *Invoke {
	if w := s.ways[event]; w != nil {
		return w.invoke
	}
	return nil
}

// Fork returns the fork that an event of the state begins, or nil.
func (s *StateView) Fork(event string) *Fork {
	if w := s.ways[event]; w != nil {
		return w.fork
	}
	return nil
}

// Known reports whether the state exists. It is false for the state that stands for
// unknown names.
func (s *StateView) Known() bool { return s != nowhere }

// Drives reports that a run is pinned to this workflow and version.
func (m *Machine) Drives(run *Run) bool {
	return run.WorkflowVersion == m.version && run.Workflow == m.definition.ID
}
