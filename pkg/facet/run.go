package facet

import (
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// InRun returns a call with its facts, as far as the run that makes it shows them: who calls is not
// known.
func InRun(m *workflow.Machine, at *workflow.View, call toolcall.Call) toolcall.Call {
	call.Facts = Of(Subject{
		Tool: call.Tool, Qualified: call.Qualified, Shell: toolcall.Shell(m.State(at.State), call.Tool), Input: call.Input,
		Workspace: at.Workspace, Folder: call.Folder, Tools: m.Meta().Described, Edits: m.Meta().EditTools,
		SessionDepth: -1, RunState: at.State, RunWorkflow: at.Workflow,
	})
	return call
}
