package workflow

import (
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// Command asks for a change of a run. Commands with a Branch are meant for that
// branch of the run's fork (see Run.At); without one they are meant for the
// branch that unbound callers work in, or for the run when it is in no fork. Lost
// says that the branch is no longer the caller's own: there the command is refused
// (see Run.Lost).
type Command interface{ actor() string }

// Fire asks to move on by an event (S2).
type Fire struct {
	Event string
	// Data is an object that merges into the context once the transition has
	// succeeded; may be missing.
	Data   document.Value
	Branch string
	Lost   bool
	// Child is the machine of the workflow that the event invokes, and ChildID the
	// id of the run that it would start; see Machine.Invokes. No machine stands
	// for a workflow that does not exist.
	Child   *Machine
	ChildID string
	// ApprovalID is the id of the approval that the event would wait for, if it needs
	// one; see Machine.Asks. Without an id no one can be asked, and such an event is
	// refused; Unasked says why.
	ApprovalID string
	Unasked    string
	// Reads has the facts that the question would rest on; nil if there is none (S18.5).
	Reads *consent.Reads
	Actor string
	// Person is who fires it, when that is a registered person: who may not grant it under another name.
	Person string
	// Source is where Data comes from; the zero value is the agent.
	Source evidence.Source
	// Evidence is how that of the run stands now, as far as the event asks for it; see
	// Machine.AsksEvidence. Missing evidence is not held.
	Evidence evidence.Statuses

	// edited are the keys of Data that an approver has set.
	edited map[string]bool
	// Closed closes the windows, for a machine of any time.
	Closed bool
	// timed is true of the event of a clock.
	timed bool
}

// Divert asks to leave for the handler of an interrupt, because a matching file was
// changed (S4.1). Where interrupts do not fire it makes no change.
type Divert struct {
	Interrupt string
	// Files that were changed, one of which matches; for history.
	Files  []string
	Branch string
	Lost   bool
	Actor  string
}

// Bind gives a branch of the run's fork to a session of its own (S5.3).
type Bind struct {
	Branch    string
	SessionID string
	Actor     string
}

// ChildEnded notifies a run that the one it invoked has ended (S5.5).
type ChildEnded struct {
	Child Run
	Actor string
}

// Force jumps to any state, past guards, counters and approvals (S6.3).
type Force struct {
	State string
	// Context is merged over the run's; may be missing.
	Context document.Value
	Branch  string
	Lost    bool
	Actor   string
	// Source is where Context comes from.
	Source evidence.Source
	// Agent: an agent asks, which needs more than an operator (S15.7).
	Agent bool
}

// Pause stops a run until it is resumed (S6.2).
type Pause struct {
	Reason string
	// Hold makes it a hold for that cause: tool calls are denied until it is lifted. A
	// run that is paused or held for another cause takes it as well. Without a cause it
	// is an agent's own pause, which is not a hold.
	Hold  HoldCause
	Actor string
}

// Resume lifts the holds of some causes. When none is left, the paused run continues
// as a new entry of its state (S6.2).
type Resume struct {
	Lifts []HoldCause
	Actor string
}

// Cancel ends a run.
type Cancel struct {
	Reason string
	Actor  string
}

func (c Fire) actor() string       { return c.Actor }
func (c Divert) actor() string     { return c.Actor }
func (c Bind) actor() string       { return c.Actor }
func (c ChildEnded) actor() string { return c.Actor }
func (c Force) actor() string      { return c.Actor }
func (c Pause) actor() string      { return c.Actor }
func (c Resume) actor() string     { return c.Actor }
func (c Cancel) actor() string     { return c.Actor }

// Result is the outcome of a command.
type Result struct {
	// Run as it is now: the same as before without a change.
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
	// Note says why a command that was not refused has made no change.
	Note string
	// Spawned is the start of the child run that an event has invoked.
	Spawned *Result
}
