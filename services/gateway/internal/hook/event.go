package hook

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// event is the input of coding agents to a hook on standard input, in the words of Claude
// Code. Fields that this project does not act on are ignored: agents add new ones.
type event struct {
	SessionID string `json:"session_id"`
	// AgentID is set in the events of subagents, which have the session of the
	// agent that started them.
	AgentID    string         `json:"agent_id"`
	Name       string         `json:"hook_event_name"`
	WorkingDir string         `json:"cwd"`
	Tool       string         `json:"tool_name"`
	Input      jsontext.Value `json:"tool_input"`
	Response   jsontext.Value `json:"tool_response"`
	// Error is text, of most events.
	Error jsontext.Value `json:"error"`
	// Reason is why a call was not made that Interlock allowed, of PermissionDenied.
	Reason    string `json:"reason"`
	ToolUseID string `json:"tool_use_id"`
	// Skill is the skill or the slash command whose text holds the command, of PreSkillShellCommand.
	Skill          string `json:"command_name"`
	StopHookActive bool   `json:"stop_hook_active"`
	// Interrupted is set where the user has stopped a call.
	Interrupted bool `json:"is_interrupt"`

	kind hookevent.Kind
	// raw is the call in the agent's own words; empty where they are Claude Code's.
	raw rawCall
}

type rawCall struct {
	tool  string
	input jsontext.Value
}

// parse reads an event strictly: a name twice, or in another case, must not hide the
// arguments of a tool. Invalid UTF-8 passes here, because tools may print any bytes; the
// input is checked where it is decided on.
func parse(data []byte, into any) error {
	if err := json.Unmarshal(data, into, jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("the hook event cannot be read: %w", err)
	}
	return nil
}

// sorted checks an event whose fields are read, and sets its kind. An event that is not
// known is ignored, but not with a call of a tool: it could be the question whether that may
// be made. Handle looks for other signs of one.
func (ev *event) sorted(agent Agent) (*event, error) {
	ev.kind = hookevent.Of(string(agent), ev.Name)
	switch {
	case ev.kind == hookevent.Unknown && ev.Tool != "":
		return nil, fmt.Errorf("unknown hook event %q about a call of %s", ev.Name, ev.Tool)
	case ev.kind == hookevent.Unknown && ev.Name == "":
		return nil, errors.New("the hook event has no hook_event_name")
	case ev.kind == hookevent.Unknown || ev.kind == hookevent.Ignored:
		return ev, nil
	case ev.SessionID == "":
		return nil, errors.New("the hook event has no session_id")
	case ev.kind.HasCall() && ev.Tool == "":
		return nil, fmt.Errorf("the %s event has no tool_name", ev.Name)
	}
	return ev, nil
}

// inSkill reports a command in the text of a skill. It runs as the skill is loaded.
func (ev *event) inSkill() bool { return ev.Name == hookevent.SkillCommand }

// stoppedBefore reports an agent's second try to stop. An uncounted cause, such as a
// service that is away, must not block it again: that could continue forever.
func (ev *event) stoppedBefore() bool {
	return ev.StopHookActive && (ev.kind == hookevent.Stop || ev.kind == hookevent.SubagentStop)
}

// resultBytes returns the size of the tool's result.
func (ev *event) resultBytes() int64 {
	return int64(len(ev.Response) + len(text(ev.Error)) + len(ev.notMade()))
}

// notMade returns why a call was not made; empty for any other event.
func (ev *event) notMade() string {
	if ev.Name != "PermissionDenied" {
		return ""
	}
	return ev.Reason
}

// outcomeUnknown reports that the event does not show how the call ended: for a command,
// that is its exit status, which only Claude Code's events have (S14.5). A call that was
// not made, or that the user has stopped, has none.
func (ev *event) outcomeUnknown(agent Agent) bool {
	return ev.notMade() != "" || ev.Name == "PermissionDenied" || ev.Interrupted || ev.ran().unfinished() ||
		cmp.Or(agent, ClaudeCode) != ClaudeCode && toolcall.Shell(nil, ev.Tool)
}

// ran is Claude Code's description of a command whose event is that of a success: it may
// still be running, and its status need not be 0.
type ran struct {
	Interrupted        bool           `json:"interrupted"`
	TaskID             jsontext.Value `json:"backgroundTaskId"`
	ByUser             bool           `json:"backgroundedByUser"`
	TimedOut           jsontext.Value `json:"timedOutAfterMs"`
	AutoBackground     bool           `json:"assistantAutoBackgrounded"`
	Interpretation     string         `json:"returnCodeInterpretation"`
	cannotBeUnderstood bool
}

// unfinished reports a command that was stopped, or that continues in the background: at its
// timeout, which agents set, or by a key of the user.
func (r ran) unfinished() bool {
	return r.cannotBeUnderstood || r.Interrupted || r.ByUser || r.AutoBackground || said(r.TaskID) || said(r.TimedOut)
}

// continues reports a command whose program runs on after its result.
func (r ran) continues() bool {
	return r.cannotBeUnderstood || r.ByUser || r.AutoBackground || said(r.TaskID) || said(r.TimedOut)
}

func said(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// ran reads the result of a shell. Tools that are none may have other fields by these names.
func (ev *event) ran() (r ran) {
	if ev.Response.Kind() == '{' && toolcall.Shell(nil, ev.Tool) && parse(ev.Response, &r) != nil {
		r.cannotBeUnderstood = true
	}
	return r
}

// maxOutput bounds its report: a byte more than history keeps, so that it is known to be
// cut.
const maxOutput = 64<<10 + 1

// output returns the tool's result, as text where it is text.
func (ev *event) output() []byte {
	out := text(jsontext.Value(cmp.Or(string(ev.Response), string(ev.Error), ev.notMade())))
	return out[:min(len(out), maxOutput)]
}

// text returns the text of a JSON string, and any other value as it is.
func text(value jsontext.Value) []byte {
	if s, err := jsontext.AppendUnquote(nil, value); err == nil {
		return s
	}
	return value
}

// input returns the tool's arguments; empty for a tool that takes none.
func (ev *event) input() jsontext.Value {
	if string(ev.Input) == "null" {
		return nil
	}
	return ev.Input
}
