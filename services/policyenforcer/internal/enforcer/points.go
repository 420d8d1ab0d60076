package enforcer

import (
	"context"

	"github.com/interlock-run/interlock/pkg/rules"
)

// Points asks decision points outside of Interlock (S21.19).
type Points interface {
	// Ask returns whether a decision point agrees with a call. An error says what came in place of an answer, for the agent,
	// without a full stop.
	Ask(ctx context.Context, at *rules.Point, q *Question) (agrees bool, err error)
}

// Question is a call that a decision point is asked about.
type Question struct {
	// Principal makes the call, in Session, which may be empty.
	Principal, Role, Namespace, Session string
	Tool, Capability                    string
	// Input is the tool's arguments; JSON, may be empty.
	Input []byte
	// RunID and the following are empty for a session that drives no run.
	RunID, Workflow, State string
}
