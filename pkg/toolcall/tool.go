package toolcall

import (
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Own reports that a tool is Interlock's own, which is always allowed and never
// counted (S3).
func Own(tool string) bool { return toolname.Own(tool) }

// Loads reports the tool by which agents find tools of MCP servers, Interlock's own among
// them. It is allowed and not counted unless it is disallowed, or an agent could not find
// the tool that leaves a state (S3).
func Loads(tool string) bool { return tool == toolname.Loader }

// Shell reports that a tool runs command lines: by its name, in any spelling, or because
// the state names it in allowed_commands_tool. Without a state, nil, only the name
// counts.
func Shell(state *workflow.StateView, tool string) bool {
	if state == nil {
		state = &noState
	}
	return isShell(state, tool)
}

// noState names no shell.
var noState workflow.StateView
