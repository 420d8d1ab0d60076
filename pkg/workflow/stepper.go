package workflow

import "time"

// stepper builds the outcome of a command that was accepted. The run in out is its own to
// write to; data behind its pointers is copied before it is changed.
type stepper struct {
	m   *Machine
	out Result
	// status is that of the run as the command found it.
	status Status
	// refusal is set if the command is refused on the way: then it is not finished.
	refusal *Rejection
	// failure is why the run has failed on the way, in no final state.
	failure string
	// cause is the clock that brings the change about; nil for none.
	cause *Cause
	// resumes is true when the lane returns to an interrupted state.
	resumes bool
}

func (m *Machine) begin(run *Run, actor string, now time.Time) *stepper {
	s := &stepper{m: m, status: run.Status, out: Result{Run: *run}}
	s.out.Run.UpdatedAt = now
	s.out.Run.Version++
	s.out.Entry = HistoryEntry{Time: now, Actor: actor, WorkflowVersion: run.WorkflowVersion, RunVersion: run.Version + 1}
	return s
}

// finish returns the outcome. A run without a hold is running when the lane of its
// unbound callers is. One that has ended has no hold and no handler, also when it was
// paused.
func (s *stepper) finish() Result {
	run := &s.out.Run
	switch {
	case run.Status.moves():
		run.Status = run.settled()
	case run.Status.Ended():
		run.Holds, run.Interrupt = nil, nil
		if run.Approval.Pending() {
			run.Approval = nil
		}
	}
	s.keepClocks(s.out.Entry.Time)
	s.out.Entry.Status = run.Status
	s.out.Changed = true
	if run.Status != s.status {
		s.out.announceEnd(s.m.State(run.State))
	}
	if s.failure != "" {
		s.out.Events[len(s.out.Events)-1].Reason = s.failure
	}
	return s.out
}

// settled returns the status of a run without a hold.
func (r *Run) settled() Status {
	if r.Fork == nil {
		return r.status()
	}
	at := r.lane(r.Fork.follow(nil))
	return at.status()
}

func (s *stepper) announce(ev Event) {
	ev.Cause = s.cause
	s.out.Events = append(s.out.Events, ev)
}

func (s *stepper) newEntry() int64 {
	run := &s.out.Run
	run.Entries = max(run.Entries, run.Entry) + 1
	return run.Entries
}

// note keeps an event and the causes of its transition.
func (s *stepper) note(c *Fire, at *cursor, d *decision) {
	rationale, _ := c.Data.Get("rationale")
	e := &s.out.Entry
	e.Type, e.Event, e.Branch = EventTransitioned, c.Event, at.Branch
	e.From, e.To = at.State, at.State
	e.Data, e.Rationale, e.Guards, e.SafeNext = c.Data, rationale.Str(), d.results, d.safeNext
}

// take carries out a decision.
func (s *stepper) take(at *cursor, d *decision, c *Fire) {
	s.note(c, at, d)
	s.out.Run.TransitionCount++
	s.out.Run.forgetJoins(at.Branch)
	next := *at.Lane
	next.Context, next.Approval = d.context, nil
	next.Sources = s.m.sourceRules().sourcesAfter(at.Sources, c.Data, c.Source, c.edited)
	switch {
	case d.way.invoke != nil:
		s.invoke(at, next, d.way, c)
	case d.way.fork != nil:
		s.spawnBranches(at, next, d.way, c)
	default:
		s.move(at, next, d.taken, c)
	}
}

// move takes a transition into a state. Also into the same state it is a new
// entry (S2.10).
func (s *stepper) move(at *cursor, next Lane, taken *arm, c *Fire) {
	target := s.m.approvalSteps().targetOf(taken, at)
	if taken.returns {
		s.resume(&next)
	}
	e := &s.out.Entry
	e.To = target.Name
	if taken.approval && s.m.approvalAdvisory() {
		e.Reason = advisory(taken.message)
	}
	announced := 1
	if target.Final {
		announced = 2
	}
	s.out.Events = make([]Event, 1, announced)
	ev := &s.out.Events[0]
	ev.Type, ev.Event, ev.From, ev.To, ev.Branch = EventTransitioned, c.Event, e.From, e.To, e.Branch
	ev.Rationale, ev.SafeNext, ev.Guards = e.Rationale, e.SafeNext, guardNames(e.Guards, true)
	ev.ApprovalID, ev.Cause = e.ApprovalID, s.cause
	if taken.warns {
		e.Warned = true
		s.announce(Event{Type: EventWarned, Event: c.Event, From: e.From, To: e.To, Branch: e.Branch, Rationale: e.Rationale})
	}
	s.enter(at, next, target)
}

// enter puts a lane into a state, and ends it when that is final. A lane that leaves
// the states of a handler has left the interrupt (S4.1).
func (s *stepper) enter(at *cursor, next Lane, target *StateView) {
	if next.Interrupt != nil && !s.m.handling(next.Interrupt, target) {
		next.Interrupt = nil
	}
	if target.Name != at.State && !s.resumes {
		next.Clock = Clock{Since: s.out.Entry.Time}
	}
	s.resumes = false
	next.State, next.Entry = target.Name, s.newEntry()
	next.Fork, next.Child, next.Approval = nil, nil, nil
	s.out.Run.setLane(at.path, next)
	switch {
	case !target.Final:
	case len(at.path) == 0:
		s.out.Run.Status = target.status()
		s.keepEnd(at)
	default:
		status := BranchFailed
		if target.Name == s.m.branchRules().forkBranch(at).Terminal {
			status = BranchSucceeded
		}
		s.endBranch(at.path, status)
	}
}

// resume returns a lane to the interrupted state, whose clock runs on.
func (s *stepper) resume(next *Lane) {
	next.Clock, s.resumes = next.Interrupt.Clock, true
	next.Clock.start(s.out.Entry.Time)
	next.Interrupt = nil
}

// enterBy follows on_complete or on_fail; without one the lane fails.
func (s *stepper) enterBy(at *cursor, next Lane, a *arm, why string) string {
	var target *StateView
	switch {
	case a == nil:
	case a.returns && next.Interrupt != nil:
		target = s.m.State(next.Interrupt.ReturnTo)
		s.resume(&next)
	default:
		target = a.target
	}
	if target == nil {
		s.fail(at, next, why)
		return next.State
	}
	s.enter(at, next, target)
	return target.Name
}

// fail ends a lane that has nowhere to go: its branch fails, or the run does.
func (s *stepper) fail(at *cursor, next Lane, why string) {
	next.Fork, next.Child = nil, nil
	s.out.Run.setLane(at.path, next)
	s.because(why)
	if len(at.path) == 0 {
		s.out.Run.Status, s.failure = Failed, why
		s.keepEnd(at)
		return
	}
	s.endBranch(at.path, BranchFailed)
}

// because adds a fact for readers of the history.
func (s *stepper) because(why string) {
	if s.out.Entry.Reason != "" && why != "" {
		s.out.Entry.Reason += "; "
	}
	s.out.Entry.Reason += why
}
