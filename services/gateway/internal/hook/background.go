package hook

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// task is Claude Code's description of a program in the background: its name, in the result of
// the call that leaves it there, and how it is, in the result of a call that asks for it.
type task struct {
	BackgroundTaskID string `json:"backgroundTaskId"`
	StartedID        string `json:"taskId"`
	TaskID           string `json:"task_id"`
	AgentID          string `json:"agentId"`
	ShellID          string `json:"shellId"`
	OldShellID       string `json:"shell_id"`
	Status           string `json:"status"`
	Task             *task  `json:"task"`
}

func (t *task) id() string {
	for _, id := range []string{t.BackgroundTaskID, t.StartedID, t.TaskID, t.AgentID, t.ShellID, t.OldShellID} {
		if id != "" {
			return id
		}
	}
	return ""
}

// The tools that start programs, those that show them, and those that stop them. A tool of an MCP
// server with fields by these names does not mention the client's programs.
var (
	starts = []string{"Monitor", "Agent", "Task"}
	shows  = []string{"TaskOutput", "BashOutput"}
	stops  = []string{"TaskStop", "KillShell", "KillBash"}
)

// ends are the states of a program that does not run any more.
var ends = []string{"completed", "failed", "killed", "stopped"}

// longestTask is the longest name of a program, in bytes.
const longestTask = 256

// background names the program that a call has left in the background, and the one whose end its
// result shows; empty for none (S14.6).
func (ev *event) background() (left, ended string) {
	var t task
	if ev.Response.Kind() == '{' && parse(ev.Response, &t) != nil {
		t = task{}
	}
	switch {
	case ev.notMade() != "" || ev.Name == "PermissionDenied":
		return "", ""
	case toolcall.Shell(nil, ev.Tool) || slices.Contains(starts, ev.Tool):
		if left = t.id(); left == "" && ev.ran().continues() {
			left = evidence.Unnamed
		}
		if slices.Contains(starts, ev.Tool) && slices.Contains(ends, t.Status) {
			left = "" // an agent that was waited for
		}
	case slices.Contains(shows, ev.Tool):
		of := &t
		if t.Task != nil {
			of = t.Task
		}
		if slices.Contains(ends, of.Status) {
			ended = of.id()
		}
	case slices.Contains(stops, ev.Tool) && ev.kind == hookevent.After:
		var asked task
		if ended = t.id(); ended == "" && ev.Input.Kind() == '{' && parse(ev.Input, &asked) == nil {
			ended = asked.id()
		}
	}
	return left[:min(len(left), longestTask)], ended[:min(len(ended), longestTask)]
}
