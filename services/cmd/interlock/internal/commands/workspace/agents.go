package workspace

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
)

// Other agents than Claude Code do not give their MCP servers the session of a conversation.
// Their hooks and their server share one session of the workspace instead.

type (
	codexCommand   struct{ setup }
	cursorCommand  struct{ setup }
	geminiCommand  struct{ setup }
	copilotCommand struct{ setup }
)

// agentEvent is one that an agent calls the hook for. A stop must not be blocked forever by a
// program that is gone.
type agentEvent struct {
	name string
	stop bool
	asks bool // before a call, and people may be asked first
}

// orBlock ends a command that blocks when the hook is missing or killed. It writes why: Codex and
// Gemini CLI continue after a code 2 without a text.
const orBlock = " || { echo 'Interlock blocks this: its hook has not allowed it' >&2; exit 2; }"

// endless is when an agent may give up on a hook that it asks before a call, in seconds, where it
// would make the call then. The hook itself answers long before, unless it is stopped.
const endless = 24 * 60 * 60

func (c *codexCommand) Run(ctx context.Context, io console.Streams) error {
	if err := c.prepare(ctx, io); err != nil {
		return err
	}
	events := []agentEvent{
		{name: "PreToolUse", asks: true},
		{name: "PostToolUse"},
		{name: "UserPromptSubmit"},
		{name: "SessionStart"},
		{name: "SubagentStart"},
		{name: "Stop", stop: true},
		{name: "SubagentStop", stop: true},
	}
	session := c.session("codex")
	hooks := c.hooks(events, c.hook("codex", session), func(e agentEvent, command string, seconds int) any {
		return hookGroup{Hooks: []hookEntry{{Type: "command", Command: command, Timeout: e.unlimited(seconds)}}}
	})
	_, err := c.write(ctx, io, []edit{{path: ".codex/hooks.json", add: hooks, remove: withoutHooks}},
		"restart Codex and trust the hooks with /hooks: until you do, it skips them")
	if err == nil && !c.Undo {
		fmt.Fprintf(io.Out, "add the MCP server with: codex mcp add interlock -- %s mcp --data-dir %s --session %s\n", c.binary(), c.data, session)
	}
	return err
}

func (c *cursorCommand) Run(ctx context.Context, io console.Streams) error {
	if err := c.prepare(ctx, io); err != nil {
		return err
	}
	type entry struct {
		Command    string `json:"command"`
		Timeout    int    `json:"timeout"`
		FailClosed bool   `json:"failClosed,omitempty"`
	}
	events := []agentEvent{
		{name: "preToolUse", asks: true},
		{name: "beforeMCPExecution", asks: true},
		{name: "postToolUse"},
		{name: "postToolUseFailure"},
		{name: "sessionStart"},
		{name: "beforeSubmitPrompt"},
		{name: "stop", stop: true},
	}
	session := c.session("cursor")
	hooks := c.hooks(events, c.hook("cursor", session), func(e agentEvent, command string, seconds int) any {
		return entry{Command: command, Timeout: seconds, FailClosed: e.asks}
	})
	_, err := c.write(ctx, io, []edit{
		{path: ".cursor/hooks.json", add: versioned(hooks), remove: unversioned},
		{path: ".cursor/mcp.json", add: c.server(session), remove: withoutServer},
	}, "restart Cursor")
	return err
}

func (c *geminiCommand) Run(ctx context.Context, io console.Streams) error {
	if err := c.prepare(ctx, io); err != nil {
		return err
	}
	type entry struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"` // milliseconds
	}
	type group struct {
		Hooks []entry `json:"hooks"`
	}
	events := []agentEvent{
		{name: "BeforeTool", asks: true},
		{name: "BeforeAgent"},
		{name: "SessionStart"},
		{name: "AfterAgent", stop: true},
	}
	session := c.session("gemini")
	hooks := c.hooks(events, c.hook("gemini", session), func(e agentEvent, command string, seconds int) any {
		return group{Hooks: []entry{{Name: "interlock", Type: "command", Command: command, Timeout: 1000 * e.unlimited(seconds)}}}
	})
	server := c.server(session)
	_, err := c.write(ctx, io, []edit{{
		path: ".gemini/settings.json",
		add: func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
			doc, err := hooks(doc, indent)
			if err != nil {
				return nil, err
			}
			return server(doc, indent)
		},
		remove: func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
			doc, err := withoutHooks(doc, indent)
			if err != nil {
				return nil, err
			}
			return withoutServer(doc, indent)
		},
	}}, "restart Gemini CLI")
	return err
}

func (c *copilotCommand) Run(ctx context.Context, io console.Streams) error {
	if err := c.prepare(ctx, io); err != nil {
		return err
	}
	type entry struct {
		Type    string `json:"type"`
		Bash    string `json:"bash"`
		Timeout int    `json:"timeoutSec"`
	}
	events := []agentEvent{
		{name: "PreToolUse", asks: true},
		{name: "PermissionRequest"},
		{name: "UserPromptSubmit"},
		{name: "SessionStart"},
		{name: "Stop", stop: true},
	}
	session := c.session("copilot")
	hooks := c.hooks(events, c.hook("copilot", session), func(e agentEvent, command string, seconds int) any {
		return entry{Type: "command", Bash: command, Timeout: e.unlimited(seconds)}
	})
	_, err := c.write(ctx, io, []edit{{path: ".github/hooks/interlock.json", add: versioned(hooks), remove: unversioned}}, "restart Copilot CLI")
	if err == nil && !c.Undo {
		fmt.Fprintf(io.Out, "add the MCP server with /mcp add: the command %s, with the arguments mcp --data-dir %s --session %s\n", c.binary(), c.data, session)
	}
	return err
}

// unlimited returns the time for a hook of an agent that makes the call when it gives up
// waiting.
func (e agentEvent) unlimited(seconds int) int {
	if e.asks {
		return endless
	}
	return seconds
}

// hooks puts our command on each event of a document's hooks, once.
func (s *setup) hooks(events []agentEvent, command []string, element func(e agentEvent, command string, seconds int) any) change {
	return func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
		hooks, err := inside(doc, "hooks", jsontext.KindBeginObject)
		if err != nil {
			return nil, err
		}
		for _, event := range events {
			all, err := inside(hooks, event.name, jsontext.KindBeginArray)
			if err != nil {
				return nil, fmt.Errorf("hooks: %w", err)
			}
			words, seconds := command, hookTimeout
			if event.asks {
				words, seconds = patient(command, s.wait())
			}
			text := shellwords.Join(words)
			if !event.stop {
				text += orBlock
			}
			all, err = placed(all, jsonfile.Render(element(event, text, seconds), indent, 3), indent)
			if err != nil {
				return nil, fmt.Errorf("hooks: %s: %w", event.name, err)
			}
			hooks = jsonfile.Set(hooks, event.name, jsonfile.Write(all, jsontext.KindBeginArray, indent, 2))
		}
		return jsonfile.Set(doc, "hooks", jsonfile.Write(hooks, jsontext.KindBeginObject, indent, 1)), nil
	}
}

// versioned returns a change of a file of hooks that has a version, 1.
func versioned(to change) change {
	return func(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
		switch i := jsonfile.Find(doc, "version"); {
		case i < 0:
			doc = append([]jsonfile.Member{{Name: "version", Value: jsontext.Value("1")}}, doc...)
		case string(doc[i].Value) != "1":
			return nil, fmt.Errorf("it has version %s, and only 1 is known", doc[i].Value)
		}
		return to(doc, indent)
	}
}

// unversioned takes our hooks out, and the version where it is all that is left.
func unversioned(doc []jsonfile.Member, indent string) ([]jsonfile.Member, error) {
	doc, err := withoutHooks(doc, indent)
	if err == nil && len(doc) == 1 && doc[0].Name == "version" {
		return nil, nil
	}
	return doc, err
}
