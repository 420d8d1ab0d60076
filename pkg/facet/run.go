package facet

import (
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// InRun returns a call with its facts, as far as the run that makes it shows them: who calls is not
// known.
func InRun(m *workflow.Machine, at *workflow.View, call toolcall.Call) toolcall.Call {
	return InRunBy(Subject{SessionDepth: -1}, m, at, call)
}

// InRunBy does the work of InRun for a caller, about whom the subject has the facts.
func InRunBy(caller Subject, m *workflow.Machine, at *workflow.View, call toolcall.Call) toolcall.Call {
	s := caller
	s.Tool, s.Qualified, s.Shell, s.Input = call.Tool, call.Qualified, toolcall.Shell(m.State(at.State), call.Tool), call.Input
	s.Workspace, s.Folder, s.Tools, s.Edits = at.Workspace, call.Folder, m.Meta().Described, m.Meta().EditTools
	s.RunState, s.RunWorkflow = at.State, at.Workflow
	call.Facts = Of(s)
	return call
}
