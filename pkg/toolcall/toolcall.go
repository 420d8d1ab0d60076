// Package toolcall decides whether a tool call is legal in the state of a run:
// the run's status, the state's tool lists, its rules for commands and edits,
// its limits (S3).
//
// It is pure: a compiled workflow, a run and a call in, a verdict out. It must
// never look at the clock, read anything, or keep count: what has to be counted
// is said in the verdict and counted by whoever makes it durable. Whatever it
// can not decide it denies.
package toolcall

import (
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Call is what an agent asks to do.
type Call struct {
	// Tool is its name exactly as the agent knows it.
	Tool string
	// Input is the tool's arguments, JSON; may be empty.
	Input []byte
}

// Decide judges a call in the order of S3; the first check that denies answers.
// m must be the machine that the run is pinned to.
//
// An allowed call with Counted set must be counted against MaxIterations in the
// run's present entry, atomically, before it is allowed: when that limit is
// reached, IterationLimitReached is the answer instead.
func Decide(m *workflow.Machine, run *workflow.Run, call Call) Verdict {
	if Own(call.Tool) {
		return Verdict{Decision: Allow, Tool: call.Tool}
	}
	if m == nil || run == nil {
		return Unavailable()
	}
	if call.Tool == "" {
		return deny(call, CodeInvalidInput, noTool)
	}
	state := m.State(run.State)
	switch standingOf(m, run, state) {
	case closed:
		return deny(call, CodeRunNotActive, "")
	case open:
		return Verdict{Decision: Allow, Tool: call.Tool}
	case judged:
	}
	if code := checkGate(state, call.Tool); code != "" {
		return deny(call, code, "")
	}
	if code, why := checkCommand(state, call); code != "" {
		return deny(call, code, why)
	}
	if code, why := checkEdit(state, call); code != "" {
		return deny(call, code, why)
	}
	return Verdict{Decision: Allow, Tool: call.Tool, Counted: true, MaxIterations: state.MaxIterations}
}
