package toolcall

import "github.com/interlock-run/interlock/pkg/workflow"

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
