package workflow

import (
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// needsApproval reports that a human is asked before this is done (S9.1).
func (d *decision) needsApproval(m *Machine) bool {
	return d.taken != nil && (d.taken.approval && !m.approvalAdvisory() || d.outside)
}

// Asks reports that an event of a state may have to wait for humans (S9.1).
func (m *Machine) Asks(state, event string) bool {
	w := m.State(state).ways[event]
	return w != nil && !m.approvalAdvisory() && slices.ContainsFunc(w.arms, func(a arm) bool { return a.approval || a.outsideAsks })
}

// park makes a transition wait for humans.
func (m approvalSteps) park(at *cursor, d *decision, c *Fire, now time.Time) Result {
	target := m.targetOf(d.taken, at)
	s := m.begin(at.Run, c.Actor, now)
	next := *at.Lane
	next.Approval = &Approval{
		ID: c.ApprovalID, Event: c.Event, To: target.Name, Data: c.Data, Message: d.taken.message,
		Actor: c.Actor, Person: c.Person, Since: now, RunVersion: s.out.Run.Version, Reads: c.Reads,
	}
	s.out.Run.setLane(at.path, next)
	e := &s.out.Entry
	s.note(c, at, d)
	e.Type, e.ApprovalID, e.Reason = EventParked, c.ApprovalID, d.taken.message
	s.announce(Event{
		Type: EventParked, Event: c.Event, From: at.State, To: target.Name, Branch: at.Branch, ApprovalID: c.ApprovalID,
		Rationale: e.Rationale, Guards: guardNames(e.Guards, true), Reason: d.taken.message,
	})
	return s.finish()
}

// grant fires a parked transition, if it is still open as things stand now. If it
// is not, the approval has become stale, and the lane continues without it.
func (m approvalSteps) grant(run *Run, c Grant, now time.Time) Result {
	at, r := m.parked(run, c.ApprovalID)
	if r != nil {
		return rejected(run, c, now, r)
	}
	if run.Held() {
		return rejected(run, c, now, m.refusals().notRunning(run.whole(), "the grant of approval "+document.Quote(c.ApprovalID)))
	}
	a := at.Approval
	fire := Fire{Event: a.Event, Data: a.Data, ApprovalID: a.ID, Actor: c.Actor, Evidence: c.Evidence}
	if !c.Data.IsZero() {
		fire.Data, fire.edited = c.Data, differing(a.Data, c.Data)
	}
	at.Status = Running // it alone does not park the run
	d, r := m.decide(&at, &fire, now)
	if r == nil && (d.taken == nil || m.targetOf(d.taken, &at).Name != a.To) {
		r = m.refusals().refused(at.View, RejectUnsupported, "event %s no longer leads to %s", document.Quote(a.Event), document.Quote(a.To))
	}
	if r == nil {
		s := m.begin(run, c.Actor, now)
		s.out.Entry.ApprovalID = a.ID
		s.take(&at, &d, &fire)
		if r = s.refusal; r == nil {
			s.agreed(&at, a, c.Actor)
			s.because(c.Note)
			return s.finish()
		}
	}
	s := m.begin(run, c.Actor, now)
	s.out.Entry.Guards = d.results
	s.settle(&at, ApprovalStale, r.public, EventStale)
	return s.finish()
}

// reject drops a parked transition. Where the definition says where that leads,
// the lane goes there (S8.3); else it stays, and continues.
func (m approvalSteps) reject(run *Run, c Reject, now time.Time) Result {
	at, r := m.parked(run, c.ApprovalID)
	if r != nil {
		return rejected(run, c, now, r)
	}
	s := m.begin(run, c.Actor, now)
	switch c.Outcome {
	case ApprovalExpired:
		s.settle(&at, ApprovalExpired, c.Note, EventApprovalExpired)
	case ApprovalCancelled:
		s.settle(&at, ApprovalCancelled, c.Note, EventApprovalCancelled)
	case ApprovalStale:
		s.settle(&at, ApprovalStale, c.Note, EventStale)
	default:
		s.settle(&at, ApprovalRejected, c.Note, EventApprovalRejected)
		s.leaveRejected(&at)
	}
	return s.finish()
}

// parked finds the lane that waits for an approval.
func (m approvalSteps) parked(run *Run, id string) (cursor, *Rejection) {
	at, found := run.waitingFor(id)
	if !found {
		return at, m.refusals().refused(run.At(""), RejectNotParked, "this run does not wait for approval %s: it was already settled, or is void; no action is needed.",
			document.Quote(id))
	}
	return at, nil
}

// settle ends the wait of a lane without the transition.
func (s *stepper) settle(at *cursor, outcome ApprovalOutcome, note, event string) {
	a := *at.Approval
	a.Data, a.Outcome, a.Note, a.DecidedBy = document.Value{}, outcome, note, s.out.Entry.Actor
	next := *at.Lane
	next.Approval = &a
	s.out.Run.setLane(at.path, next)
	e := &s.out.Entry
	e.Type, e.Event, e.ApprovalID, e.Branch, e.From, e.To, e.Reason = event, a.Event, a.ID, at.Branch, at.State, at.State, note
	s.announce(Event{
		Type: event, Event: a.Event, From: at.State, To: at.State, Branch: at.Branch, ApprovalID: a.ID,
		Guards: guardNames(e.Guards, false), Reason: note,
	})
}

// leaveRejected goes where a rejection leads, if it leads anywhere.
func (s *stepper) leaveRejected(at *cursor) {
	w := s.m.State(at.State).ways[at.Approval.Event]
	if w == nil {
		return
	}
	settled := s.out.Run.lane(at.path).Approval
	for i := range w.arms {
		if to := w.arms[i].rejected; to != nil && w.arms[i].approval {
			s.out.Run.TransitionCount++
			s.out.Run.forgetJoins(at.Branch)
			s.out.Entry.To, s.out.Events[0].To = to.Name, to.Name
			s.enter(at, *at.Lane, to)
			if len(at.path) == 0 {
				s.out.Run.Approval = settled // says why the run is there
			}
			return
		}
	}
}

// targetOf returns the state that an arm leads to from a lane.
func (m approvalSteps) targetOf(a *arm, at *cursor) *StateView {
	if a.returns {
		return m.State(at.Interrupt.ReturnTo)
	}
	return a.target
}
