// Package toolcall decides whether a tool call is legal in the state of a run:
// the run's status, the state's tool lists, its rules for commands and edits,
// its limits (S3).
//
// It is pure: a compiled workflow, a run and a call in, a verdict out. It must
// never look at the clock, read anything, or keep count: what has to be counted
// is said in the verdict and counted by the caller that makes it durable. Whatever it
// cannot decide it denies.
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
	// Folder that it is made in, where that is known.
	Folder string
	// Places are where Interlock is on the machine of the call.
	Places Places
}

// Decide judges a call in the order of S3; the first check that denies answers.
// m must be the machine that the run is pinned to.
//
// An allowed call with Counted set must still be counted in the run's present
// entry, atomically, before it is allowed, in this order: Paths against MaxFiles
// (Files.Add, FileLimitReached), the call against MaxIterations
// (IterationLimitReached), and what results have cost so far against ContextBudget
// (BudgetSpent, ContextBudgetSpent).
func Decide(m *workflow.Machine, at *workflow.View, call Call) Verdict {
	if Own(call.Tool) {
		return Verdict{Decision: Allow, Tool: call.Tool}
	}
	if m == nil || at == nil {
		return Unavailable()
	}
	if call.Tool == "" {
		return deny(call, CodeInvalidInput, noTool)
	}
	if call.Places.Folder == "" {
		call.Places.Folder = at.Workspace
	}
	state := m.State(at.State)
	if Loads(call.Tool) && state.Tool(call.Tool) != workflow.ToolDisallowed {
		return Verdict{Decision: Allow, Tool: call.Tool}
	}
	switch standingOf(m, at, state) {
	case closed:
		return deny(call, CodeRunNotActive, "")
	case reading:
		return decideReading(m, state, call)
	case open:
		if code, why := Protected(m, state, call); code != "" {
			return deny(call, code, why)
		}
		return NotEnforced(call.Tool, why(at))
	case judged:
	}
	if code := checkGate(state, call.Tool); code != "" {
		return deny(call, code, "")
	}
	if code, why := checkCommand(m, at, call); code != "" {
		return deny(call, code, why)
	}
	if code, why := Protected(m, state, call); code != "" {
		return deny(call, code, why)
	}
	v := Verdict{
		Decision: Allow, Tool: call.Tool, Counted: true,
		MaxIterations: state.MaxIterations, ContextBudget: state.ContextBudgetBytes,
	}
	if c := measure(m, call); c != nil {
		return decideEdit(at, state, c, v)
	}
	return v
}

// decideEdit is the verdict on a call that edits, given the one on any other call.
func decideEdit(at *workflow.View, state *workflow.StateView, c *change, v Verdict) Verdict {
	e, code, why := checkEdit(at, state, c)
	if code != "" {
		v = deny(Call{Tool: v.Tool}, code, why)
	} else if len(e.paths) > 0 {
		v.MaxFiles = state.MaxFilesPerState
	}
	v.Paths, v.EditLines = e.paths, e.lines
	return v
}

// standing is what a run's status means for tool calls.
type standing uint8

const (
	closed  standing = iota // only Interlock's own tools
	reading                 // those, and tools that only read
	judged                  // the state's rules
	open                    // enforcement is off
)

// why is the reason for which nothing is enforced in a run.
func why(at *workflow.View) string {
	if at.Status == workflow.Paused {
		return PausedByAgent
	}
	return HasEnded
}

// standingOf is the first check of S3. A success lifts enforcement, unless the workflow
// enforces always; a failure and the agent's own pause lift it only in a workflow that
// enforces while it runs (S2.9, S6.2).
func standingOf(m *workflow.Machine, at *workflow.View, state *workflow.StateView) standing {
	if !m.Drives(at.Run) || !state.Known() || at.Over {
		return closed
	}
	switch at.Status {
	case workflow.Running, workflow.AwaitingApproval:
		return judged
	case workflow.Completed, workflow.Failed:
		switch lifts := m.Enforcement().Lifts(at.Status); {
		case lifts && state.Final:
			return open
		case m.Enforcement() == workflow.Always, lifts:
			return closed
		default:
			return reading
		}
	case workflow.Paused:
		if m.Enforcement().Keeps() {
			return closed
		}
		return open
	default: // held, waiting for others, blocked, cancelled, or not known here
		return closed
	}
}

// checkGate applies disallowed_tools and allowed_tools (S3.1).
func checkGate(state *workflow.StateView, tool string) Code {
	switch state.Tool(tool) {
	case workflow.ToolAllowed:
		return ""
	case workflow.ToolDisallowed:
		return CodeToolDisallowed
	default:
		return CodeToolNotAllowed
	}
}
