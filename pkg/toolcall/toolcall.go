// Package toolcall decides whether a tool call is legal in the state of a run:
// the run's status, the state's tool lists, its rules for commands and edits,
// its limits (S3).
//
// It is pure: a compiled workflow, a run and a call in, a verdict out. It must never look
// at the clock, read anything, or keep count: the verdict names the counts, for the
// caller that makes it durable. It denies undecidable calls.
//
// (S7.6), (R2) and the like name rules of docs/semantics.md.
package toolcall

import (
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Call is the act that an agent asks for.
type Call struct {
	// Tool is its name exactly as the agent knows it.
	Tool string
	// Qualified is the full name of a tool of an MCP server that is called by its plain name; empty
	// for any other tool.
	Qualified string
	// Input is the tool's arguments, JSON; may be empty.
	Input []byte
	// Facts are what the call does, for conditions on it; without them, all of these are in doubt.
	Facts condition.Facts
	// Folder that it is made in, where that is known.
	Folder string
	// Places are where Interlock is on the machine of the call.
	Places Places
	// Jail is the level at which the caller runs the command line in a jail; none without one.
	Jail jail.Level
}

// Decide judges a call in the order of S3; the first check that denies answers.
// m must be the machine that the run is pinned to.
//
// An allowed call with Counted set must still be counted in the run's present entry,
// atomically, before it is allowed, in this order: Paths against MaxFiles (Files.Add,
// FileLimitReached), the call against MaxIterations (IterationLimitReached), and the cost
// of results so far against ContextBudget (BudgetSpent, ContextBudgetSpent).
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
		return decideReading(m, at, state, call)
	case open:
		call.Jail = jail.None // no rule demands one
		if code, why := SelfProtected(m, state, call); code != "" {
			return deny(call, code, why)
		}
		return NotEnforced(call.Tool, why(at))
	case judged:
	}
	if code := checkGate(state, call.Tool); code != "" {
		return deny(call, code, "")
	}
	var line objections
	shell := isShell(state, call.Tool)
	if shell || restrictsCommands(state) {
		if line.command(m, at, call); len(line.found) > 0 {
			return deny(call, line.found[0].code, line.found[0].why)
		}
	}
	call.Jail = line.jail.level
	if code, why := selfProtected(m, state, call, shell); code != "" {
		return deny(call, code, why)
	}
	if code, why := checkCalls(state, call); code != "" {
		return deny(call, code, why)
	}
	v := Verdict{
		Decision: Allow, Tool: call.Tool, Counted: true,
		MaxIterations: state.MaxIterations, ContextBudget: state.ContextBudgetBytes,
	}
	c := measure(m, call)
	if c == nil {
		c = measureUnknown(m, state, call)
	}
	if c != nil {
		return decideEdit(at, state, c, v)
	}
	v.Jail = line.profile(m, at, state)
	return v
}

// decideEdit returns the verdict on a call that edits, given the one on any other call.
func decideEdit(at *workflow.View, state *workflow.StateView, c *toolinput.Change, v Verdict) Verdict {
	e, code, why := checkEdit(at, state, c)
	if code != "" {
		v = deny(Call{Tool: v.Tool}, code, why)
	} else if len(e.paths) > 0 {
		v.MaxFiles = state.MaxFilesPerState
	}
	v.Paths, v.EditLines = e.paths, e.lines
	return v
}

// standing is the meaning of a run's status for tool calls.
type standing uint8

const (
	closed  standing = iota // only Interlock's own tools
	reading                 // those, and tools that only read
	judged                  // the state's rules
	open                    // enforcement is off
)

// why returns the reason why a run is not enforced.
func why(at *workflow.View) string {
	if at.Status == workflow.Paused {
		return PausedByAgent
	}
	return HasEnded
}

// standingOf returns the first check of S3. A success lifts enforcement, unless the
// workflow enforces always; a failure and the agent's own pause lift it only in a
// workflow that enforces while it runs (S2.9, S6.2).
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
