package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// Status is what a run is doing (S6.1).
type Status string

// The statuses.
const (
	Running          Status = "RUNNING"
	Waiting          Status = "WAITING"
	AwaitingApproval Status = "AWAITING_APPROVAL"
	Paused           Status = "PAUSED"
	Completed        Status = "COMPLETED"
	Failed           Status = "FAILED"
	Blocked          Status = "BLOCKED"
	Cancelled        Status = "CANCELLED"
)

// Ended reports that nothing can change a run any more.
func (s Status) Ended() bool {
	switch s {
	case Completed, Failed, Blocked, Cancelled:
		return true
	default:
		return false
	}
}

// Run is one instance of a workflow as it is after one change: a snapshot that
// nobody writes to. The next change is another Run.
//
// What a decision on a tool call reads comes first: it shares one cache line,
// which counts when a service has many runs at hand.
type Run struct {
	// Workflow and WorkflowVersion name the machine that the run is pinned to.
	Workflow        string
	WorkflowVersion int64
	Status          Status
	State           string
	// Held is true while an operator's pause holds the run (S6.2).
	Held bool

	ID string
	// SessionID is the conversation that drives the run, or empty.
	SessionID string
	// Workspace is the root that file globs are relative to.
	Workspace string
	// Owner is the principal that started it.
	Owner string

	// Entry counts the entries of states, from 1. Counters of tool calls belong
	// to one entry (S2.10).
	Entry int64
	// TransitionCount counts accepted transitions.
	TransitionCount int64
	// Version counts changes, from 1.
	Version int64
	// Context is what guards see: an object.
	Context document.Value

	CreatedAt time.Time
	UpdatedAt time.Time
}

// StartParams are what a new run is made of, beside its workflow.
type StartParams struct {
	ID        string
	SessionID string
	Workspace string
	Owner     string
	// Context is merged over the workflow's context; may be missing.
	Context document.Value
}

// Command asks for a change of a run: Fire, Pause, Resume or Cancel.
type Command interface{ actor() string }

// Fire asks to move on by an event (S2).
type Fire struct {
	Event string
	// Data is an object that merges into the context once the transition has
	// succeeded; may be missing.
	Data  document.Value
	Actor string
}

// Pause stops a run until it is resumed (S6.2).
type Pause struct {
	Reason string
	// Operator makes it a hold: tool calls are denied until it is resumed.
	Operator bool
	Actor    string
}

// Resume continues a paused run as a new entry of its state (S6.2).
type Resume struct{ Actor string }

// Cancel ends a run.
type Cancel struct {
	Reason string
	Actor  string
}

func (c Fire) actor() string   { return c.Actor }
func (c Pause) actor() string  { return c.Actor }
func (c Resume) actor() string { return c.Actor }
func (c Cancel) actor() string { return c.Actor }

// Result is what came of a command.
type Result struct {
	// Run as it is now: the same as before when the command was refused.
	Run Run
	// Changed is true when the run has a new version.
	Changed bool
	// Entry is the change for the run's history. Of a refusal, which history
	// does not keep, it has only Time and Actor.
	Entry HistoryEntry
	// Events to announce, in order.
	Events []Event
	// Rejection is set when the command was refused.
	Rejection *Rejection
}
