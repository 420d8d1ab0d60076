package hook

import (
	"encoding/json"
	"fmt"
)

// event is what coding agents send to a hook on standard input. Fields that this
// project does not act on are ignored: agents add new ones.
type event struct {
	SessionID      string          `json:"session_id"`
	Name           string          `json:"hook_event_name"`
	WorkingDir     string          `json:"cwd"`
	Tool           string          `json:"tool_name"`
	Input          json.RawMessage `json:"tool_input"`
	Response       json.RawMessage `json:"tool_response"`
	ToolUseID      string          `json:"tool_use_id"`
	StopHookActive bool            `json:"stop_hook_active"`
}

// Names of the events, as Claude Code documents them.
const (
	preToolUse         = "PreToolUse"
	postToolUse        = "PostToolUse"
	postToolUseFailure = "PostToolUseFailure"
	userPromptSubmit   = "UserPromptSubmit"
	sessionStart       = "SessionStart"
	stop               = "Stop"
	subagentStop       = "SubagentStop"
)

func parseEvent(data []byte) (*event, error) {
	var ev event
	if err := json.Unmarshal(data, &ev); err != nil {
		return nil, fmt.Errorf("the hook event is not JSON: %w", err)
	}
	if ev.SessionID == "" {
		return nil, fmt.Errorf("the hook event has no session_id")
	}
	if ev.Tool == "" && (ev.Name == preToolUse || ev.Name == postToolUse || ev.Name == postToolUseFailure) {
		return nil, fmt.Errorf("the %s event has no tool_name", ev.Name)
	}
	return &ev, nil
}

// editTools change the file that their input names.
var editTools = map[string]string{
	"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path",
}

// filesChanged answers the file that a successful call changed, if any.
func (ev *event) filesChanged() []string {
	field, ok := editTools[ev.Tool]
	if !ok {
		return nil
	}
	var input map[string]json.RawMessage
	var file string
	if json.Unmarshal(ev.Input, &input) != nil || json.Unmarshal(input[field], &file) != nil || file == "" {
		return nil
	}
	return []string{file}
}
