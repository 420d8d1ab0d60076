package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// Types of events, and of history entries where they change the run.
const (
	EventStarted      = "started"
	EventTransitioned = "transitioned"
	EventRejected     = "rejected"
	EventCompleted    = "completed"
	EventFailed       = "failed"
	EventCancelled    = "cancelled"
	EventPaused       = "paused"
	EventHeld         = "held"        // a paused run got one more hold
	EventHoldLifted   = "hold.lifted" // and others still hold the run
	EventResumed      = "resumed"
	EventForced       = "forced"
	EventMigrated     = "migrated" // to another version of its workflow
	EventInterrupted  = "interrupt.fired"
	EventForked       = "fork.started"
	EventBound        = "fork.branch_bound"
	EventBranchEnded  = "fork.branch_ended" // announced only
	EventJoined       = "fork.joined"       // announced only
	EventInvoked      = "invoke.started"
	EventChildEnded   = "invoke.ended"
	// A transition waits for humans; one that they let through has transitioned.
	EventParked            = "approval.parked"
	EventApprovalRejected  = "approval.rejected"
	EventApprovalExpired   = "approval.expired"
	EventApprovalCancelled = "approval.cancelled"
	EventStale             = "approval.stale"
	EventBlocked           = "blocked" // announced only: an end, as completed and failed
	EventWarned            = "warned"  // announced only: the entry is Warned
	// Changes by clocks that are no transitions.
	EventReminded     = "reminded"
	EventSilent       = "stale"
	EventTimerBlocked = "timer.blocked" // a transition was due, and its guards did not pass
	// EventTimerRestored is announced, and in no history: what a clock had made due waits, since the store was restored from a backup.
	EventTimerRestored = "timer.restored"
)

// HistoryEntry is one change of a run (S6.4). History is never edited.
type HistoryEntry struct {
	Time  time.Time
	Actor string
	// Type is one of the types above that is not only announced, nor a rejection
	// or an end: those follow from the change that led there.
	Type string
	// Event that was fired.
	Event string
	// From and To are states: the same one unless the run has moved. A started
	// run comes from nowhere.
	From, To string
	// Data as the caller gave it, or missing; of an invoked run that has ended its context.
	Data document.Value
	// Rationale is data.rationale when that is a string (S2.8).
	Rationale string
	// Guards that were evaluated, in order, also those of branches that were
	// passed over.
	Guards          []GuardResult
	WorkflowVersion int64
	// RunVersion and Status are those after the change.
	RunVersion int64
	Status     Status
	// Reason that was given, or further facts for a reader.
	Reason string
	// SafeNext is true when the event was undefined and safe_next was taken.
	SafeNext bool
	// Warned is true when the transition warns (S8.2).
	Warned bool
	// Branch that it happened in, as View.Branch.
	Branch string
	// Joins that the change has led to, from inside out.
	Joins []Join
	// Interrupt that fired, and the files that fired it.
	Interrupt string
	Files     []string
	// ChildRunID of an invoked run that was started or has ended.
	ChildRunID string
	// ChildStatus is the final status of an invoked run.
	ChildStatus Status
	// SessionID that a branch was bound to, or that drives the run from its start, or from
	// being resumed on.
	SessionID string
	// ApprovalID of the parked transition, or of the grant that let it through.
	ApprovalID string
	// HoldCauses are those of the hold that was placed, or of the holds that were lifted.
	HoldCauses []HoldCause
	// Cause is set where a clock has brought the change about.
	Cause *Cause
}

// Cause is the clock that has brought a change about (S25.9), or the time of the schedule that has started the run (S25.22).
type Cause struct {
	Kind DueKind
	// After is the time of the clock, and Due when it was reached. The change is late by the time between Due and that of
	// the entry.
	After time.Duration
	Due   time.Time
}

// Event is one fact to announce. It has no part of the context or of callers' data,
// except a rationale that is meant for readers.
type Event struct {
	Type string
	// Event, From, To, Rationale and SafeNext of a transition.
	Event, From, To string
	Rationale       string
	SafeNext        bool
	// Guards are the names of those that passed, or of those that failed when
	// the transition was rejected.
	Guards []string
	// Code and Message of a rejection.
	Code    RejectionCode
	Message string
	// Reason that a run was paused, held, cancelled, or has ended for.
	Reason string
	// Branch that it happened in, as View.Branch; BranchStatus when that has ended,
	// SessionID when it was bound.
	Branch       string
	BranchStatus BranchStatus
	SessionID    string
	// Branches of a fork that has started; Join when it has joined.
	Branches []string
	Join     *Join
	// Interrupt that fired, and the files that fired it.
	Interrupt string
	Files     []string
	// Child of an invoke.
	ChildRunID    string
	ChildWorkflow string
	ChildStatus   Status
	// ApprovalID of the parked transition, or of the grant that let it through.
	ApprovalID string
	// FromVersion is the version of the workflow that the run has moved from.
	FromVersion int64
	// Cause is set where a clock has brought the change about.
	Cause *Cause
}
