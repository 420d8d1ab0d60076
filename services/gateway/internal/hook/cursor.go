package hook

import (
	"net/url"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// cursorTools are the tools of Cursor 2 that Claude Code has by another name.
var cursorTools = tools{"Shell": "Bash", "StrReplace": "Edit", "Task": "Agent", "ListDir": "LS"}

// cursorWaiting are of its Shell.
var cursorWaiting = waiting{"block_until_ms": '0'}

// cursorMCP begins the names of tools of MCP servers in events without the server.
const cursorMCP = "MCP:"

func readCursor(data []byte) (*event, error) {
	var raw struct {
		event
		Conversation string         `json:"conversation_id"`
		Roots        []string       `json:"workspace_roots"`
		Output       jsontext.Value `json:"tool_output"`
		ErrorMessage jsontext.Value `json:"error_message"`
		LoopCount    int64          `json:"loop_count"`
		// Of the events of single tools.
		Command  string `json:"command"`
		URL      string `json:"url"`
		FilePath string `json:"file_path"`
	}
	if err := parse(data, &raw); err != nil {
		return nil, err
	}
	ev := &raw.event
	if raw.Conversation != "" {
		ev.SessionID = raw.Conversation
	}
	if ev.WorkingDir == "" && len(raw.Roots) > 0 {
		ev.WorkingDir = raw.Roots[0]
	}
	if len(raw.Output) > 0 {
		ev.Response = raw.Output
	}
	if len(raw.ErrorMessage) > 0 {
		ev.Error = raw.ErrorMessage
	}
	ev.StopHookActive = raw.LoopCount > 0
	ev.Input = object(ev.Input)
	switch {
	case ev.Name == "beforeShellExecution":
		ev.Tool, ev.Input = "Bash", quotedMember("command", raw.Command)
	case ev.Name == "beforeReadFile":
		ev.Tool, ev.Input = "Read", quotedMember("file_path", raw.FilePath)
	case ev.Name == "beforeMCPExecution" && interlockServer(raw.Command, raw.URL):
		ev.Name = "afterMCPExecution" // the gate checks these calls itself
	case ev.Name == "beforeMCPExecution" && ev.Tool != "":
		ev.Tool = "mcp__cursor__" + ev.Tool // it does not show the name of the server
	case strings.HasPrefix(ev.Tool, cursorMCP):
		ev.Name = "afterMCPExecution" // beforeMCPExecution has asked, or will
	default:
		if err := cursorTools.translated(ev, cursorWaiting); err != nil {
			return nil, err
		}
	}
	return ev.sorted(Cursor)
}

// quotedMember returns an object with one member.
func quotedMember(name, value string) jsontext.Value {
	text, err := jsontext.AppendQuote([]byte(`{"`+name+`":`), value)
	if err != nil {
		return jsontext.Value(`"` + name + ` is not text"`) // it is refused
	}
	return append(text, '}')
}

// interlockServer reports Interlock's own MCP server, by how it is reached: `interlock mcp`,
// or the path /mcp of an edge on this machine.
func interlockServer(command, address string) bool {
	if words := strings.Fields(command); len(words) >= 2 {
		return path.Base(words[0]) == "interlock" && words[1] == "mcp"
	}
	at, err := url.Parse(address)
	return err == nil && at.Path == "/mcp" && at.Port() == "7420" && (at.Hostname() == "127.0.0.1" || at.Hostname() == "localhost" || at.Hostname() == "::1")
}

func writeCursor(ev *event, out outcome) (Answer, error) {
	switch {
	case out.verdict == deny:
		return answerWith(fields{"permission": "deny", "user_message": out.reason, "agent_message": out.reason})
	case out.verdict == allow && out.input != nil:
		return answerWith(fields{"permission": "allow", "updated_input": out.input})
	case out.verdict == allow:
		return answerWith(fields{"permission": "allow"})
	case out.context != "" && ev.kind != hookevent.Prompt: // to which it cannot be added
		return answerWith(fields{"additional_context": out.context})
	case out.goOn != "":
		return answerWith(fields{"followup_message": out.goOn})
	}
	// Where hooks fail closed, no answer is a failure.
	return Answer{Exit: exitDone, Stdout: "{}"}, nil
}
