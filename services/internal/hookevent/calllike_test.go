package hookevent_test

import (
	"testing"

	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// S13.9: an event of an unknown name is taken for a call when it has the members of one.
func TestCallLike(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]bool{
		`{"session_id": "s", "hook_event_name": "New", "toolName": "Bash"}`:     true,
		`{"hook_event_name": "New", "command": "rm -rf x"}`:                     true,
		`{"hook_event_name": "New", "commandLine": "rm"}`:                       true,
		`{"hook_event_name": "New", "tool_name": ""}`:                           true,
		`{"hook_event_name": "New", "TOOL-NAME": "Bash"}`:                       true,
		`{"hook_event_name": "New", "tool": {"name": "Bash"}}`:                  true,
		`{"hook_event_name": "New", "data": {"call": {"name": "x"}}}`:           true,
		`{"hook_event_name": "New", "events": [{"type": "x"}, {"params": {}}]}`: true,
		`{"hook_event_name": "New", "mcpServer": "x"}`:                          true,
		`{"hook_event_name": "New", "functionCall": {}}`:                        true,
		`{"hook_event_name": "New", "script": "x"}`:                             true,
		`{"hook_event_name": "New", "file_path": "a"}`:                          true,
		`{"hook_event_name": "New", "used_tools": []}`:                          true,
		`{"hook_event_name": "New", "cmd": ["a"]}`:                              true,
		`{`:                          true,
		`{"hook_event_name": "New"}`: false,
		`{"hook_event_name": "New", "session_id": "s", "transcript_path": "/t", "cwd": "/w"}`:      false,
		`{"hook_event_name": "New", "message": "run the command", "model": "m", "reason": "tool"}`: false,
		`{"hook_event_name": "New", "permission_mode": "plan", "agent_id": "a", "effort": 3}`:      false,
	} {
		if got := hookevent.CallLike([]byte(event)); got != want {
			t.Errorf("%s: %v", event, got)
		}
	}
}
