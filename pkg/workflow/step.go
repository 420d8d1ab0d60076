package workflow

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// Start makes a new run in the initial state, at version 1. When the context is
// refused, the outcome has no run.
func (m *Machine) Start(p StartParams, actor string, now time.Time) Result {
	run := Run{
		ID: p.ID, Workflow: m.Name(), WorkflowVersion: m.version,
		SessionID: p.SessionID, Workspace: p.Workspace, Claimed: p.Claimed, Owner: p.Owner, Parent: p.Parent, Schedule: p.Schedule,
		Entries: 1, Version: 1, CreatedAt: now, UpdatedAt: now,
	}
	refuse := func(code RejectionCode, why string) Result {
		r := m.refusals().refused((&Run{}).whole(), code, "the context of a new run of %s is refused: %s.", document.Quote(m.Name()), why)
		return Result{Rejection: r, Entry: HistoryEntry{Time: now, Actor: actor}}
	}
	initial := m.Initial()
	if !initial.Known() {
		return refuse(RejectUnsupported, "the workflow has no initial state "+document.Quote(m.definition.Initial))
	}
	if f := m.freeze; f != nil && m.stopped.events == nil && m.stopped.marked && m.stopped.states[initial.Name] {
		r := m.refusals().refused((&Run{}).whole(), RejectFrozen, "a new run of %s is refused: its first state %s is frozen until %s, by %s: %s. Start it then.",
			document.Quote(m.Name()), document.Quote(initial.Name), f.Until.UTC().Format(time.RFC3339), document.Quote(f.By), f.Reason)
		return Result{Rejection: r, Entry: HistoryEntry{Time: now, Actor: actor}}
	}
	if code, why := badData(p.Context); code != "" {
		return refuse(code, why)
	}
	context, fits := merged(m.definition.Context, p.Context)
	if !fits {
		return refuse(RejectInvalidData, tooLarge)
	}
	run.Lane = Lane{State: initial.Name, Entry: 1, Context: context, Sources: m.sourceRules().initialSources(&p), Clock: Clock{Since: now}}
	run.Deadline = m.deadline(now, p.Deadline)
	run.Status = initial.status()
	out := Result{
		Run: run, Changed: true,
		Entry: entryOf(&run, EventStarted, actor, now),
		Events: []Event{{
			Type: EventStarted, To: run.State, Cause: p.Cause,
		}},
	}
	out.Entry.From, out.Entry.Data, out.Entry.SessionID = "", p.Context, p.SessionID
	out.Entry.Cause, out.Entry.Reason = p.Cause, p.Reason
	out.announceEnd(initial)
	return out
}

var tooLargeTogether = fmt.Sprintf(
	"the contexts of the run's branches would have more than %d bytes together; store large data elsewhere and keep references", MaxRunBytes)

var tooLarge = fmt.Sprintf("the run's context would have more than %d bytes; store large data elsewhere and keep a reference", MaxContextBytes)

// Step decides a command on a run. It never changes its arguments; the answer depends on
// them alone.
func (m *Machine) Step(run *Run, cmd Command, now time.Time) Result {
	if !m.Drives(run) {
		return rejected(run, cmd, now, m.refusals().foreign(run))
	}
	if r := m.expired(run, cmd, now); r != nil {
		return rejected(run, cmd, now, r)
	}
	out := m.frozenFor(cmd).obey(run, cmd, now)
	if r := m.keptAlive(run, cmd, &out); r != nil {
		return rejected(run, cmd, now, r)
	}
	return out
}

// obey decides a command that the run takes now.
func (m *Machine) obey(run *Run, cmd Command, now time.Time) Result {
	switch c := cmd.(type) {
	case Fire:
		return m.fire(run, &c, now)
	case Divert:
		return m.divert(run, c, now)
	case Bind:
		return m.bind(run, c, now)
	case ChildEnded:
		return m.childEnded(run, c, now)
	case Grant:
		return m.approvalSteps().grant(run, c, now)
	case Reject:
		return m.approvalSteps().reject(run, c, now)
	case Force:
		return m.force(run, c, now)
	case Pause:
		return m.pause(run, c, now)
	case Resume:
		return m.resume(run, c, now)
	case Cancel:
		return m.cancel(run, c, now)
	case Migrate:
		return m.migrate(run, c, now)
	case Elapse:
		return m.elapse(run, &c, now)
	default:
		return rejected(run, nil, now, m.refusals().refused(run.whole(), RejectUnsupported, "there is no command of type %T.", cmd))
	}
}

// fire takes a transition, or says why not.
func (m *Machine) fire(run *Run, c *Fire, now time.Time) Result {
	if name, done := strings.CutPrefix(c.Event, branchDone+":"); done {
		return m.branchRules().branchDone(run, name, c, now)
	}
	if c.Event == branchDone && c.Branch != "" { // a caller that is bound to a branch means that one
		if own := run.locate(c.Branch, c.Lost); len(own.path) > 0 && m.State(own.State).ways[branchDone] == nil {
			name := run.branchAt(own.path).Name
			c.Event += ":" + name
			return m.branchRules().branchDone(run, name, c, now)
		}
	}
	at := cursor{View: run.whole()}
	if run.Fork != nil || c.Branch != "" {
		var r *Rejection
		if at, r = m.enterLane(run, c.Branch, c.Lost, "event "+document.Quote(c.Event)); r != nil {
			return rejected(run, *c, now, r)
		}
	}
	return m.fireIn(run, &at, c, now)
}

// fireIn takes a transition in a lane, or says why not.
func (m *Machine) fireIn(run *Run, at *cursor, c *Fire, now time.Time) Result {
	d, r := m.decide(at, c, now)
	if r != nil {
		return rejected(run, *c, now, r)
	}
	if d.needsApproval(m) {
		return m.approvalSteps().park(at, &d, c, now)
	}
	s := m.begin(run, c.Actor, now)
	s.take(at, &d, c)
	if s.refusal != nil {
		return rejected(run, *c, now, s.refusal)
	}
	return s.finish()
}

// decision is the result of an event in a lane.
type decision struct {
	way      *way
	taken    *arm // nil where the way delegates
	results  []GuardResult
	safeNext bool
	context  document.Value // with the data merged
	// outside is true of a transition outside of its window, which asks humans (S25.7).
	outside bool
}

// decide finds the transition of an event, or refuses it. The decision up to then comes
// with the refusal.
func (m *Machine) decide(at *cursor, c *Fire, now time.Time) (d decision, refused *Rejection) {
	if r := m.admit(&at.View, c); r != nil {
		return d, r
	}
	state := m.State(at.State)
	if d.way = state.ways[c.Event]; d.way != nil && ByClock(c.Event) && !c.timed {
		return d, m.refusals().unknownEvent(at.View, state, c.Event)
	}
	if d.way == nil {
		if d.way = state.fallback; d.way == nil {
			return d, m.refusals().unknownEvent(at.View, state, c.Event)
		}
		d.safeNext = true
	}
	d.taken, d.results = d.way.choose(&given{at.Context, at.Sources, c.Evidence})
	if r := m.passable(&at.View, state, d.way, d.taken, c, d.results); r != nil {
		return d, r
	}
	if r := m.judgeFreeze(&at.View, &d, c); r != nil {
		return d, r
	}
	if r := m.timely(&at.View, &d, c, now); r != nil {
		return d, r
	}
	for _, end := range [...]*arm{d.taken, d.way.done, d.way.fail} {
		if r := m.branchRules().leavesBranch(at, end, c); r != nil {
			return d, r
		}
	}
	var fits bool
	if d.context, fits = merged(at.Context, c.Data); !fits {
		return d, m.refusals().refused(at.View, RejectInvalidData, "event %s refused: %s.", document.Quote(c.Event), tooLarge)
	}
	if !at.hasRoom(d.context, d.way.fork) {
		return d, m.refusals().refused(at.View, RejectInvalidData, "event %s refused: %s.", document.Quote(c.Event), tooLargeTogether)
	}
	return d, nil
}

// enterLane finds the lane that a caller works in. The last argument begins the refusal
// when there is none.
func (m *Machine) enterLane(run *Run, branch string, lost bool, what string) (cursor, *Rejection) {
	at := run.locate(branch, lost)
	switch {
	case !at.Over:
		return at, nil
	case lost:
		return at, m.refusals().refused(run.At(""), RejectUnknownBranch,
			"%s refused: branch %s is no longer assigned to this session, and it takes no more events.",
			what, document.Quote(branch))
	default:
		return at, m.refusals().branchOver(at.View, branch, what)
	}
}

// admit checks the parts that do not depend on the transition: the run, its state, the
// data and the event's name.
func (m *Machine) admit(at *View, c *Fire) *Rejection {
	if at.Status != Running && !c.timed {
		return m.refusals().notRunning(*at, "event "+document.Quote(c.Event))
	}
	state := m.State(at.State)
	if !state.Known() {
		return m.refusals().refused(*at, RejectUnsupported, "the workflow has no state %s; an operator must cancel this run.", document.Quote(at.State))
	}
	if code, why := badData(c.Data); code != "" {
		return m.refusals().refused(*at, code, "data of event %s: %s. No change was made. %s", document.Quote(c.Event), why, state.moves)
	}
	if strings.HasPrefix(c.Event, branchDone) && state.ways[c.Event] == nil {
		return m.refusals().refused(*at, RejectUnknownBranch, "event %s refused: name the branch that is done, as in %s. %s",
			document.Quote(c.Event), branchDone+":"+ownBranch(at), state.moves)
	}
	if c.Event == "" {
		return m.refusals().unknownEvent(*at, state, c.Event)
	}
	return nil
}

// ownBranch returns the name of the branch that a caller works in, or of some branch outside of
// forks.
func ownBranch(at *View) string {
	if at.Branch == "" {
		return "NAME"
	}
	return at.Branch[strings.LastIndex(at.Branch, branchSeparator)+1:]
}

// choose finds the first arm whose guards all pass, or nil, and the results of
// every guard that was evaluated on the way. No guard is left out because an
// earlier one failed, and none is evaluated twice.
func (w *way) choose(see *given) (*arm, []GuardResult) {
	if len(w.guards) == 0 {
		if len(w.arms) == 0 {
			return nil, nil
		}
		return &w.arms[0], nil
	}
	results := make([]GuardResult, 0, len(w.guards))
	for i := range w.arms {
		passed := true
		for _, g := range w.arms[i].guards {
			if g == len(results) { // met for the first time: they are in that order
				results = results[:g+1]
				w.guards[g].evaluate(see, &results[g])
			}
			passed = passed && results[g].Passed
		}
		if passed {
			return &w.arms[i], results
		}
	}
	return nil, results
}

// passable refuses a closed transition: by guards, by depth, by missing targets.
func (m *Machine) passable(at *View, state *StateView, w *way, taken *arm, c *Fire, results []GuardResult) *Rejection {
	refuse := func(code RejectionCode, why string) *Rejection {
		return m.refusals().refused(*at, code, "event %s refused in state %s: %s. %s",
			document.Quote(c.Event), document.Quote(at.State), why, state.moves)
	}
	switch {
	case w.done != nil && w.done.target == nil || w.fork != nil && !m.branchRules().forkable(w.fork):
		return refuse(RejectUnsupported, "it does not lead to a state of this workflow")
	case w.invoke != nil:
		if code, why := m.uninvokable(at.Run, w.invoke, c); code != "" {
			return refuse(code, why)
		}
		return nil
	case w.fork != nil:
		return nil
	case taken == nil && len(w.arms) > 0:
		return m.refusals().guardsFailed(*at, state, w, c.Data, results)
	case taken == nil || taken.target == nil && !taken.returns:
		return refuse(RejectUnsupported, "it does not lead to a state of this workflow")
	case taken.returns && at.Interrupt == nil:
		return refuse(RejectReturnOutsideInterrupt, "it returns to an interrupted state, and no interrupt is active")
	case taken.approval && c.ApprovalID == "" && !m.approvalAdvisory():
		why := "no approver can be asked here"
		if c.Unasked != "" {
			why = c.Unasked
		}
		return refuse(RejectUnsupported, fmt.Sprintf("it requires approval by a human (approval_mode %q), and %s", m.definition.Meta.ApprovalMode, why))
	default:
		return nil
	}
}

// approvalAdvisory reports that requires_approval does not park (S9.1).
func (m *Machine) approvalAdvisory() bool {
	mode := m.definition.Meta.ApprovalMode
	return mode == "" || mode == "none"
}

// advisory returns the note in history about an approval that was not asked for.
func advisory(message string) string {
	s := `approval was advisory: approval_mode is "none", so no one was asked`
	if message != "" {
		s += ": " + message
	}
	return s
}

// status returns that of a run which has entered the state.
func (s *StateView) status() Status {
	switch {
	case !s.Final:
		return Running
	case s.Outcome == Failure:
		return Failed
	case s.Outcome == Block:
		return Blocked
	default:
		return Completed
	}
}

// announceEnd adds that the run has reached a final state, if it has.
func (out *Result) announceEnd(state *StateView) {
	switch out.Run.Status {
	case Completed:
		out.Events = append(out.Events, Event{Type: EventCompleted, To: state.Name})
	case Failed:
		out.Events = append(out.Events, Event{Type: EventFailed, To: state.Name})
	case Blocked:
		out.Events = append(out.Events, Event{Type: EventBlocked, To: state.Name})
	default:
	}
}

// entryOf returns the history entry of a run after a change that stays in its state.
func entryOf(run *Run, kind, actor string, now time.Time) HistoryEntry {
	return HistoryEntry{
		Time: now, Actor: actor, Type: kind, From: run.State, To: run.State,
		WorkflowVersion: run.WorkflowVersion, RunVersion: run.Version, Status: run.Status,
	}
}
