package toolcall

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Own reports that a tool is Interlock's own, which is always allowed and never
// counted (S3). Names match exactly, case included, and with exactly the
// prefixes under which agents see this server: none, statewright_ and interlock_,
// on a server of the name interlock or statewright. The same word from any other
// server (mcp__evil__transition) is that server's tool, and so is one with a prefix
// of a user's choice: the MCP edge knows its own tools under any, but a gate that
// is asked about them by name, as a coding agent's hook is, judges those as any
// other tool.
func Own(tool string) bool {
	switch tool {
	case "mcp__interlock__shell", "mcp__interlock__interlock_shell", "mcp__interlock__statewright_shell":
		return true // it is judged as Bash where it is called; a tool that is called shell alone is a client's
	}
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

// Loads reports the tool by which agents find tools of MCP servers, Interlock's own among
// them. It is allowed and not counted unless it is disallowed, or an agent could not find
// the tool that leaves a state (S3).
func Loads(tool string) bool { return tool == toolname.Loader }

func ownName(name string) bool {
	switch name {
	case "transition", "get_state", "get_status",
		"list_workflows", "load_workflow", "create_workflow",
		"pause", "deactivate", "force_state", "wait", "process_step", "wait_approval",
		"state_create", "state_read", "state_update", "state_patch", "state_schema",
		"session_result", "start_agent_session", "component_read", "component_update":
		return true
	default:
		return false
	}
}

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

// longestFolded is the longest name that folded gives.
const longestFolded = 32

// folded returns the last part of a tool's name (after the server, in mcp__server__tool)
// without case, dashes and underscores, so that the spellings of one tool by different
// agents are the same. It is empty when that is too long. It only ever makes more calls
// subject to a check; permission is decided by exact names.
func folded(buf *[longestFolded]byte, name string) []byte {
	start := len(name)
	for start > 0 && (start < 2 || name[start-1] != '_' || name[start-2] != '_') {
		start--
	}
	out := buf[:0]
	for i := start; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '_' || c == '-':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if len(out) == longestFolded {
			return nil
		}
		out = append(out, c)
	}
	return out
}
