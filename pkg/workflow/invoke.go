package workflow

import (
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// MaxInvokeDepth is how deep invoked runs may nest (S5.5).
const MaxInvokeDepth = 16

// resultsKey is the key of a context under which the contexts of child runs are
// kept, by the event that invoked them.
const resultsKey = "results"

// Depth counts the runs above this one.
func (r *Run) Depth() int {
	if r.Parent == nil {
		return 0
	}
	return r.Parent.Depth
}

// Root returns the outermost of the runs that wait for each other down to this one.
func (r *Run) Root() string {
	if r.Parent == nil {
		return r.ID
	}
	return r.Parent.Root
}

// uninvokable describes why a child cannot be started, with its code; the code is empty
// when it can.
func (m *Machine) uninvokable(run *Run, invoke *Invoke, c *Fire) (RejectionCode, string) {
	switch {
	case run.Depth() >= MaxInvokeDepth:
		return RejectInvokeTooDeep, fmt.Sprintf("it invokes workflow %s, but %d runs are already nested, which is the limit",
			document.Quote(invoke.Workflow), run.Depth())
	case c.Child == nil || c.Child.Name() != invoke.Workflow:
		return RejectUnknownWorkflow, fmt.Sprintf("it invokes workflow %s, which is not registered, or which only an agent registered while an operator registered this one; register it first",
			document.Quote(invoke.Workflow))
	default:
		return "", ""
	}
}

// invoke starts a child run, for which the lane waits (S5.5).
func (s *stepper) invoke(at *cursor, next Lane, w *way, c *Fire) {
	run := &s.out.Run
	child := c.Child.Start(StartParams{
		ID: c.ChildID, SessionID: run.sessionAt(at.path), Workspace: run.Workspace, Claimed: run.Claimed, Owner: run.Owner,
		Context: w.invoke.Input, Source: evidence.Operator, Parent: &Parent{RunID: run.ID, Root: run.Root(), Depth: run.Depth() + 1},
		Deadline: run.Deadline,
	}, c.Actor, s.out.Entry.Time)
	if child.Rejection != nil {
		s.refusal = s.m.refusals().refused(at.View, child.Rejection.Code, "event %s refused in state %s: %s",
			document.Quote(c.Event), document.Quote(at.State), child.Rejection.Message)
		return
	}
	next.Child = &Invocation{RunID: c.ChildID, Workflow: c.Child.Name(), Event: w.event}
	run.setLane(at.path, next)
	s.out.Entry.Type, s.out.Entry.ChildRunID = EventInvoked, c.ChildID
	s.announce(Event{
		Type: EventInvoked, Event: c.Event, From: s.out.Entry.From, To: s.out.Entry.To, Branch: s.out.Entry.Branch,
		ChildRunID: c.ChildID, ChildWorkflow: c.Child.Name(), Rationale: s.out.Entry.Rationale,
	})
	s.out.Spawned = &child
}

// SessionIn returns the session that works in a branch, as At takes it; it is empty when
// there is none, or no such branch.
func (r *Run) SessionIn(branch string) string {
	path, found := r.Fork.find(branch)
	if !found {
		return ""
	}
	return r.sessionAt(r.Fork.follow(path))
}

// sessionAt returns the session that works in the lane at a path.
func (r *Run) sessionAt(path []int) string {
	for depth := len(path); depth > 0; depth-- {
		if own := r.branchAt(path[:depth]).SessionID; own != "" {
			return own
		}
	}
	return r.SessionID
}

// childEnded continues where a child was waited for: by on_complete when it
// succeeded, else by on_fail (S5.5). That happens also while the run is paused.
func (m *Machine) childEnded(run *Run, c ChildEnded, now time.Time) Result {
	at, waits := run.laneWhere(func(l *Lane) bool { return l.Child != nil && l.Child.RunID == c.Child.ID })
	if !waits || run.Status.Ended() || !c.Child.Status.Ended() {
		return unchanged(run, c.Actor, now, "the run does not wait for this one.")
	}
	event := at.Child.Event
	var done, failed *arm
	if w := m.State(at.State).ways[event]; w != nil {
		done, failed = w.done, w.fail
	}
	if c.Child.Status == Completed && m.stopsEnd(event, at.State, done) {
		return rejected(run, c, now, m.refusals().byFreeze(at.View, "the end of the run that event "+document.Quote(event)+" invoked"))
	}
	s := m.begin(run, c.Actor, now)
	next := *at.Lane
	next.Child = nil
	reason := fmt.Sprintf("child run %s of workflow %s ended %s", c.Child.ID, document.Quote(c.Child.Workflow), c.Child.Status)
	var cut string
	if next.Context, cut = mergeFitting(at.Context, resultOf(at.Context, event, c.Child.Context)); cut != "" {
		reason += "; its end " + cut
	}
	next.Sources = m.sourceRules().resultObserved(at.Sources, event)
	end, why := done, ""
	if c.Child.Status != Completed {
		end, why = failed, "there is no on_fail"
	}
	e := &s.out.Entry
	e.Type, e.Event, e.Branch, e.ChildRunID, e.From = EventChildEnded, event, at.Branch, c.Child.ID, at.State
	e.Data, e.ChildStatus = c.Child.Context, c.Child.Status
	s.because(reason)
	s.out.Run.TransitionCount++
	s.out.Run.forgetJoins(at.Branch)
	announced := len(s.out.Events)
	s.announce(Event{
		Type: EventChildEnded, Event: event, From: at.State, Branch: at.Branch, Reason: reason,
		ChildRunID: c.Child.ID, ChildWorkflow: c.Child.Workflow, ChildStatus: c.Child.Status,
	})
	e.To = s.enterBy(&at, next, end, why)
	if s.refusal != nil {
		return rejected(run, c, now, s.refusal)
	}
	s.out.Events[announced].To = e.To
	return s.finish()
}

// resultOf returns the object that adds a child's context to the results.
func resultOf(context document.Value, event string, result document.Value) document.Value {
	results, _ := context.Get(resultsKey)
	if results.Kind() != document.Object {
		results = document.ObjectValue(nil)
	}
	results = document.MergeTop(results, document.ObjectValue([]document.Member{{Name: event, Value: result}}))
	return document.ObjectValue([]document.Member{{Name: resultsKey, Value: results}})
}
