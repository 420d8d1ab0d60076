package toolcall

import "github.com/interlock-run/interlock/pkg/workflow"

// standing is what a run's status means for tool calls.
type standing uint8

const (
	closed standing = iota // only Interlock's own tools
	judged                 // the state's rules
	open                   // enforcement is off
)

// standingOf is the first check of S3. A final state and the agent's own pause
// lift enforcement, unless the workflow enforces always (S2.9, S6.2).
func standingOf(m *workflow.Machine, at *workflow.View, state *workflow.StateView) standing {
	if !m.Drives(at.Run) || !state.Known() || at.Over {
		return closed
	}
	switch at.Status {
	case workflow.Running, workflow.AwaitingApproval:
		return judged
	case workflow.Completed, workflow.Failed:
		return openIf(state.Final && !m.AlwaysEnforce())
	case workflow.Paused:
		return openIf(!at.Held() && !m.AlwaysEnforce())
	default: // waiting for others, blocked, cancelled, and whatever is not known here
		return closed
	}
}

func openIf(lifted bool) standing {
	if lifted {
		return open
	}
	return closed
}
