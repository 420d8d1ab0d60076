package brief

import (
	"slices"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Standing is what a run's status means for its agent's tools, as far as the
// contract shows it. It is for telling: the gate decides.
type Standing uint8

// The standings.
const (
	Closed Standing = iota // only Interlock's own tools
	Judged                 // by the rules of the state
	Open                   // nothing is enforced
)

// StandingOf tells a run's standing. What it does not know is Closed.
func StandingOf(run *enginev1.Run) Standing {
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
		// A run may fail in a state that is not final, which opens nothing. Final
		// states have no events.
		return openUnless(len(run.GetRules().GetLegalEvents()) > 0 || !slices.Contains([]string{"while_running", "until_success"}, run.GetWorkflowMeta().GetEnforcement()))
	default:
		return Closed
	}
}

func openUnless(closed bool) Standing {
	if closed {
		return Closed
	}
	return Open
}

// Waits is whether a run, or the branch that is looked at, continues only when
// somebody else has done something: a human, or those in other branches.
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
