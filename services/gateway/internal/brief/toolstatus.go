package brief

import (
	"slices"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// ToolStatus is the meaning of a run's status for its agent's tools, as far as the contract
// shows it. It is for display: the gate decides.
type ToolStatus uint8

// The statuses of tools.
const (
	Closed ToolStatus = iota // only Interlock's own tools
	Judged                   // by the rules of the state
	Open                     // not enforced
)

// ToolStatusOf returns a run's standing. Unknown ones are Closed.
func ToolStatusOf(run *enginev1.Run) ToolStatus {
	if run.GetBranchOver() || run.GetSupersededBy() != "" {
		return Closed
	}
	switch run.GetStatus() {
	case enginev1.RunStatus_RUN_STATUS_RUNNING, enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL:
		return Judged
	case enginev1.RunStatus_RUN_STATUS_PAUSED:
		return openUnless(run.GetWorkflowMeta().GetEnforcement() != "while_running")
	case enginev1.RunStatus_RUN_STATUS_FAILED:
		return openUnless(len(run.GetRules().GetLegalEvents()) > 0 || run.GetWorkflowMeta().GetEnforcement() != "while_running")
	case enginev1.RunStatus_RUN_STATUS_COMPLETED:
		// A run may fail in a state that is not final, which opens no tools. Final states
		// have no events.
		return openUnless(len(run.GetRules().GetLegalEvents()) > 0 || !slices.Contains([]string{"while_running", "until_success"}, run.GetWorkflowMeta().GetEnforcement()))
	default:
		return Closed
	}
}

func openUnless(closed bool) ToolStatus {
	if closed {
		return Closed
	}
	return Open
}

// Waits reports whether a run, or the branch that is looked at, continues only after an
// act of others: a human, or agents in other branches.
func Waits(run *enginev1.Run) bool {
	switch run.GetStatus() {
	case enginev1.RunStatus_RUN_STATUS_WAITING, enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL:
		return true
	case enginev1.RunStatus_RUN_STATUS_RUNNING:
		return run.GetBranchOver() && run.GetFork() != nil
	default:
		return false
	}
}
