package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// Status is the condition of a run (S6.1).
type Status string

// The statuses.
const (
	Running          Status = "RUNNING"
	Waiting          Status = "WAITING"
	AwaitingApproval Status = "AWAITING_APPROVAL"
	Paused           Status = "PAUSED" // by its agent
	Held             Status = "HELD"   // by an operator, or since its session has ended
	Completed        Status = "COMPLETED"
	Failed           Status = "FAILED"
	Blocked          Status = "BLOCKED"
	Cancelled        Status = "CANCELLED"
)

// Ended reports that a run can no longer change.
func (s Status) Ended() bool {
	switch s {
	case Completed, Failed, Blocked, Cancelled:
		return true
	default:
		return false
	}
}

// Stopped reports a run that is paused or held, and continues when it is resumed.
func (s Status) Stopped() bool { return s == Paused || s == Held }

// moves reports a run without a hold: its status follows from its lanes.
func (s Status) moves() bool {
	return s == Running || s == Waiting || s == AwaitingApproval
}

// Run is one instance of a workflow as it is after one change: an immutable snapshot. The
// next change is another Run.
//
// Fields that decisions on tool calls read come first: it shares one cache line, which
// counts when a service has many runs at hand.
type Run struct {
	// Workflow and WorkflowVersion name the machine that the run is pinned to.
	Workflow        string
	WorkflowVersion int64
	Status          Status
	// Lane is the run's own: where it stands while it is in no fork, or where it
	// forked from.
	Lane

	ID string
	// SessionID is the conversation that drives the run, or empty.
	SessionID string
	// Workspace is the root that file globs are relative to.
	Workspace string
	// Claimed: the agent itself has named the workspace (S14.7).
	Claimed bool
	// Owner is the principal that started it.
	Owner string

	// Holds keep the run PAUSED, one for each cause (S6.2).
	Holds []Hold
	// Entries is the highest number that was given to an entry.
	Entries int64
	// TransitionCount counts accepted transitions.
	TransitionCount int64
	// Version counts changes, from 1.
	Version int64

	// Parent is set in a run that was invoked.
	Parent *Parent
	// Joined has the branches that succeeded in forks that have joined, as paths,
	// until the lane that they joined in moves on: their BRANCH_DONE may still come
	// (S5.2).
	Joined []string

	// Approved are transitions that humans have agreed to, where an evidence asks for
	// that; the last of each state and event.
	Approved []evidence.Approved

	// Moved is true when the run has begun in another version of its workflow (S17.2).
	Moved bool
	// Schedule is the schedule that has started it; empty for none.
	Schedule string

	CreatedAt time.Time
	UpdatedAt time.Time
	// Deadline is when the run must have ended, its own or that of a run above it; zero for never (S25.8).
	Deadline time.Time
}

// StartParams are the inputs of a new run, in addition to its workflow.
type StartParams struct {
	ID        string
	SessionID string
	Workspace string
	Claimed   bool
	Owner     string
	// Context is merged over the workflow's context; may be missing.
	Context document.Value
	// Source is where Context comes from.
	Source evidence.Source
	// Parent of a run that is invoked by another.
	Parent *Parent
	// Deadline of the parent; zero for none.
	Deadline time.Time
	// Schedule is the schedule that starts it, with Cause; empty for none.
	Schedule string
	Cause    *Cause
	// Reason of the start, for the history; may be empty.
	Reason string
}
