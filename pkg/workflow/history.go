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
	EventResumed      = "resumed"
)

// HistoryEntry is one change of a run (S6.4). Nothing edits history.
type HistoryEntry struct {
	Time  time.Time
	Actor string
	// Type is EventStarted, EventTransitioned, EventPaused, EventResumed or
	// EventCancelled.
	Type string
	// Event that was fired.
	Event string
	// From and To are states: the same one unless the run has moved. A started
	// run comes from nowhere.
	From, To string
	// Data as the caller gave it, or missing.
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
	// Reason that was given, or what else a reader must know.
	Reason string
	// SafeNext is true when the event was undefined and safe_next was taken.
	SafeNext bool
}

// Event is one fact to announce. It holds nothing of the context and of the data
// that callers give, but for a rationale that is meant for readers.
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
	// Reason that a run was paused, cancelled, or has ended for.
	Reason string
}
