package workflow

import (
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// Approval is a transition that humans were asked about (S9.1). While it is pending the
// transition is parked: it waits with its data, the lane stays where it is, and no other
// transition is taken there. The outcome of one that did not fire stays until the lane
// moves on, for anyone who asks.
type Approval struct {
	// ID of the approval, whose votes the approval service keeps.
	ID string
	// Event that was fired, and the state that it leads to.
	Event, To string
	// Data waits with the transition; it is gone when that did not fire.
	Data document.Value
	// Message is for the approvers, as the definition has it.
	Message string
	// Actor asked, at Since, by which the run got its version RunVersion. Person is the registered person
	// that the actor is; empty for none.
	Actor      string
	Person     string
	Since      time.Time
	RunVersion int64
	// Reads has the facts that the question rests on; nil if there is none (S18.5).
	Reads *consent.Reads

	// Outcome is empty while it is pending.
	Outcome ApprovalOutcome
	// Note is the text for the agent, and DecidedBy its author.
	Note      string
	DecidedBy string
}

// ApprovalOutcome is why a parked transition did not fire.
type ApprovalOutcome string

// The outcomes.
const (
	ApprovalRejected ApprovalOutcome = "REJECTED"
	// ApprovalExpired: there was no decision in time, which is not a rejection (S9.3).
	ApprovalExpired   ApprovalOutcome = "EXPIRED"
	ApprovalCancelled ApprovalOutcome = "CANCELLED"
	// ApprovalStale: it was granted, and the transition was already closed (S9.1).
	ApprovalStale ApprovalOutcome = "STALE"
)

// Grant lets a parked transition fire: humans have agreed (S9.1). While the
// run is held it is refused with RUN_NOT_RUNNING, and can come again.
type Grant struct {
	ApprovalID string
	// Data replaces the data that was parked, when it is not missing (S9.4).
	Data document.Value
	// Note of the approvers who agreed, for history.
	Note string
	// Evidence is how that of the run stands now; see Fire.Evidence.
	Evidence evidence.Statuses
	// Actor has made the decision.
	Actor string
}

// Reject drops a parked transition, with its data.
type Reject struct {
	ApprovalID string
	// Outcome says why; a rejection when it is empty.
	Outcome ApprovalOutcome
	// Note is for the agent.
	Note  string
	Actor string
}

func (c Grant) actor() string  { return c.Actor }
func (c Reject) actor() string { return c.Actor }

// Pending reports that humans have not decided yet; a nil approval is not pending.
func (a *Approval) Pending() bool { return a != nil && a.Outcome == "" }

// Approvals names the approvals that the run's lanes wait for. One that a change
// has removed from there is settled, or void because its lane has moved on or
// ended.
func (r *Run) Approvals() []string {
	if r.Fork == nil && !r.Approval.Pending() {
		return nil
	}
	var ids []string
	r.eachLane(func(path []int) {
		if at := r.lane(path); at.Approval.Pending() {
			ids = append(ids, at.Approval.ID)
		}
	})
	return ids
}

// Asking returns the run as the lane that waits for an approval sees it.
func (r *Run) Asking(approvalID string) (View, bool) {
	at, found := r.waitingFor(approvalID)
	return at.View, found
}

func (r *Run) waitingFor(id string) (cursor, bool) {
	return r.laneWhere(func(l *Lane) bool { return l.Approval.Pending() && l.Approval.ID == id && id != "" })
}

// Asked returns the exact action that humans are asked for in a lane, as Asking returns
// it: the transition, of this run at that version, and its data. The kind says its
// meaning for people: a transition, or the step of a process.
func (at *View) Asked(kind consent.Kind) consent.Action {
	a := at.Approval
	text := func(name, value string) document.Member {
		return document.Member{Name: name, Value: document.StringValue(value)}
	}
	number := func(name string, n int64) document.Member {
		return document.Member{Name: name, Value: document.NumberValue(strconv.FormatInt(n, 10))}
	}
	subject := []document.Member{
		text("run_id", at.ID), number("run_version", a.RunVersion),
		text("workflow", at.Workflow), number("workflow_version", at.WorkflowVersion),
		text("branch", at.Branch), text("state", at.State), text("event", a.Event), text("to", a.To),
	}
	if a.Reads != nil {
		subject = append(subject, a.Reads.Subject())
	}
	return consent.Action{Kind: kind, Subject: document.ObjectValue(subject), Data: a.Data}
}

// CheckData describes why data cannot be merged into a context, and is empty when it can
// (S2.6): an approver learns that before the decision is made.
func CheckData(data document.Value) string {
	_, why := badData(data)
	return why
}
