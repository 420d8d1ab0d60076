package hook

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// event is what coding agents send to a hook on standard input. Fields that this
// project does not act on are ignored: agents add new ones.
type event struct {
	SessionID string `json:"session_id"`
	// AgentID is set in the events of subagents, which have the session of the
	// agent that started them.
	AgentID        string         `json:"agent_id"`
	Name           string         `json:"hook_event_name"`
	WorkingDir     string         `json:"cwd"`
	Tool           string         `json:"tool_name"`
	Input          jsontext.Value `json:"tool_input"`
	Response       jsontext.Value `json:"tool_response"`
	Error          string         `json:"error"`
	ToolUseID      string         `json:"tool_use_id"`
	StopHookActive bool           `json:"stop_hook_active"`
}

// Names of the events, as Claude Code documents them. Codex has the same but
// PostToolUseFailure.
const (
	preToolUse         = "PreToolUse"
	postToolUse        = "PostToolUse"
	postToolUseFailure = "PostToolUseFailure"
	userPromptSubmit   = "UserPromptSubmit"
	sessionStart       = "SessionStart"
	subagentStart      = "SubagentStart"
	stop               = "Stop"
	subagentStop       = "SubagentStop"
)

// parseEvent reads an event strictly: a name twice, or in another case, must not
// hide what a tool is asked to do. Invalid UTF-8 passes here, because tools may
// print anything; the input is checked where it is decided on.
func parseEvent(data []byte) (*event, error) {
	var ev event
	if err := json.Unmarshal(data, &ev, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("the hook event cannot be read: %w", err)
	}
	if ev.SessionID == "" {
		return nil, errors.New("the hook event has no session_id")
	}
	if ev.Tool == "" && (ev.Name == preToolUse || ev.Name == postToolUse || ev.Name == postToolUseFailure) {
		return nil, fmt.Errorf("the %s event has no tool_name", ev.Name)
	}
	return &ev, nil
}

// stoppedBefore is an agent's second try to stop. What nobody counts, such as a
// service that is away, must not block it again: that could continue forever.
func (ev *event) stoppedBefore() bool {
	return ev.StopHookActive && (ev.Name == stop || ev.Name == subagentStop)
}

// resultBytes is the size of what the tool gave back.
func (ev *event) resultBytes() int64 { return int64(len(ev.Response) + len(ev.Error)) }

// maxOutput bounds what is reported of it: a byte more than history keeps, so that
// it is known to be cut.
const maxOutput = 64<<10 + 1

// output is what the tool gave back, as text where it is text.
func (ev *event) output() []byte {
	out := []byte(ev.Error)
	if out == nil || len(ev.Response) > 0 {
		out = ev.Response
		if s, err := jsontext.AppendUnquote(nil, ev.Response); err == nil {
			out = s
		}
	}
	return out[:min(len(out), maxOutput)]
}

// input is the tool's arguments; nothing for a tool that takes none.
func (ev *event) input() jsontext.Value {
	if string(ev.Input) == "null" {
		return nil
	}
	return ev.Input
}
