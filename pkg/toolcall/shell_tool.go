package toolcall

import "github.com/interlock-run/interlock/pkg/workflow"

// Shell reports that a tool runs command lines: by its name, in whatever spelling,
// or because the state names it in allowed_commands_tool. Without a state, nil, the
// name alone tells.
func Shell(state *workflow.StateView, tool string) bool {
	if state == nil {
		state = &noState
	}
	return isShell(state, tool)
}

// noState names no shell.
var noState workflow.StateView
