package hook

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// agentArgument names the subagent that calls one of Interlock's own tools. The MCP
// server cannot know: all share one connection. Only the hook sets it.
const agentArgument = "agent"

// actsOnSession reports that a tool is one of Interlock's own that act on the
// session of the caller, and take the argument.
func actsOnSession(tool string) bool {
	if !toolcall.Own(tool) {
		return false
	}
	name := tool
	if i := strings.LastIndex(tool, "__"); i >= 0 { // mcp__server__tool
		name = tool[i+2:]
	}
	name = strings.TrimPrefix(name, "interlock_")
	name = strings.TrimPrefix(name, "statewright_")
	switch name {
	case "transition", "get_state", "get_status", "load_workflow", "pause", "deactivate", "force_state", "wait", "process_step", "wait_approval",
		"state_create", "state_read", "state_update", "state_patch", "state_schema",
		"session_result", "start_agent_session", "component_read", "component_update":
		return true
	default:
		return false
	}
}

// rewritten returns the input of a call of an own tool with the true subagent in it, or
// nil when it can stay as it is.
func (ev *event) rewritten() (jsontext.Value, error) {
	if !actsOnSession(ev.Tool) {
		return nil, nil
	}
	args := map[string]jsontext.Value{}
	if input := ev.input(); len(input) > 0 {
		if input.Kind() != '{' {
			return nil, nil // the tool refuses it
		}
		if err := json.Unmarshal(input, &args); err != nil {
			return nil, fmt.Errorf("read the input of %s: %w", ev.Tool, err)
		}
	}
	_, given := args[agentArgument]
	switch {
	case ev.AgentID != "":
		id, err := json.Marshal(ev.AgentID)
		if err != nil {
			return nil, fmt.Errorf("read agent_id: %w", err)
		}
		args[agentArgument] = id
	case given:
		delete(args, agentArgument)
	default:
		return nil, nil
	}
	input, err := json.Marshal(args, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write the input of %s: %w", ev.Tool, err)
	}
	return input, nil
}
