package toolcall

import "strings"

// Own reports that a tool is Interlock's own, which is always allowed and never
// counted (S3). Names match exactly, case included, and with exactly the
// prefixes under which agents see this server: none, statewright_ and interlock_,
// on a server of the name interlock or statewright. The same word from any other
// server (mcp__evil__transition) is that server's tool, and so is one with a prefix
// of a user's choice: the MCP edge knows its own tools under any, but a gate that
// is asked about them by name, as a coding agent's hook is, judges those as any
// other tool.
func Own(tool string) bool {
	if name, ok := strings.CutPrefix(tool, "mcp__statewright__statewright_"); ok {
		return ownName(name)
	}
	tool = strings.TrimPrefix(tool, "mcp__interlock__")
	if name, ok := strings.CutPrefix(tool, "statewright_"); ok {
		return ownName(name)
	}
	if name, ok := strings.CutPrefix(tool, "interlock_"); ok {
		return ownName(name)
	}
	return ownName(tool)
}

func ownName(name string) bool {
	switch name {
	case "transition", "get_state", "get_status",
		"list_workflows", "load_workflow", "create_workflow",
		"pause", "deactivate", "force_state", "wait", "process_step", "wait_approval",
		"state_create", "state_read", "state_update", "state_patch", "state_schema":
		return true
	default:
		return false
	}
}
