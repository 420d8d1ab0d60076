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

// moves reports a run that nothing holds: what it does follows from its lanes.
func (s Status) moves() bool {
	return s == Running || s == Waiting || s == AwaitingApproval
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
	// Over is true in what At answers of a branch that has ended: nothing is
	// allowed there any more.
	Over bool

	ID string
	// SessionID is the conversation that drives the run, or empty.
	SessionID string
	// Workspace is the root that file globs are relative to.
	Workspace string
	// Owner is the principal that started it.
	Owner string

	// Entry numbers the present entry of the state, from 1: no two entries of a
	// run, in whatever branch, have the same number. Counters of tool calls
	// belong to one entry (S2.10).
	Entry int64
	// Entries is the highest number that was given to an entry.
	Entries int64
	// TransitionCount counts accepted transitions.
	TransitionCount int64
	// Version counts changes, from 1.
	Version int64
	// Context is what guards see: an object.
	Context document.Value

	// Interrupt is set while a handler is at work (S4).
	Interrupt *Interruption
	// Fork is set while the run is in branches (S5.1). State, Entry and Context
	// are those it forked from until the branches join.
	Fork *ForkProgress
	// Child is set while the run waits for one that it invoked (S5.5).
	Child *Invocation
	// Approval is set while a transition is parked, and afterwards when it did not
	// fire, until the run moves on (S9.1).
	Approval *Approval
	// Parent is set in a run that was invoked.
	Parent *Parent
	// Branch is set in what At answers: the branch that the rest is of, as a path
	// of names from outside in ("ci/lint").
	Branch string
	// Joined has the branches that succeeded in forks that have joined, as paths,
	// until the lane that they joined in moves on: their BRANCH_DONE may still come
	// (S5.2).
	Joined []string

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
	// Parent of a run that is invoked by another.
	Parent *Parent
}
