package hook

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// copilotTools are the tools of Copilot CLI, as events in its own form name them.
var copilotTools = tools{
	"bash": "Bash", "powershell": "PowerShell", "view": "Read", "create": "Write", "edit": "Edit", "str_replace_editor": "Edit",
	"grep": "Grep", "rg": "Grep", "glob": "Glob", "web_fetch": "WebFetch", "web_search": "WebSearch", "ask_user": "AskUserQuestion",
	"update_todo": "TodoWrite", "task": "Agent", "skill": "Skill",
	// Input to a running shell is not a command line, but it may have the same effects.
	"write_bash": "Bash", "write_powershell": "PowerShell",
	"read_bash": "BashOutput", "read_powershell": "BashOutput", "stop_bash": "KillShell", "stop_powershell": "KillShell",
}

// copilotWaiting are of its bash: which of its shells runs the command, and how long it is
// waited for.
var copilotWaiting = waiting{
	"shellId": '"', "sessionId": '"', "mode": '"', "initial_wait": '0', "delay": '0', "async": 't', "detach": 't',
}

// readCopilot reads both forms of events: the one that reports which event it is and has
// Claude Code's names, for which hooks are set up with names such as PreToolUse, and the one
// for names such as preToolUse, of which only those about calls can be notified.
func readCopilot(data []byte) (*event, error) {
	var raw struct {
		event
		Result jsontext.Value `json:"tool_result"`

		OwnSession string         `json:"sessionId"`
		OwnTool    string         `json:"toolName"`
		OwnInput   jsontext.Value `json:"toolArgs"`
		OwnResult  jsontext.Value `json:"toolResult"`
	}
	if err := parse(data, &raw); err != nil {
		return nil, err
	}
	ev := &raw.event
	ev.Input = object(ev.Input)
	if len(raw.Result) > 0 {
		ev.Response = raw.Result
	}
	if ev.Name == "" && raw.OwnTool != "" {
		ev.SessionID, ev.Tool, ev.Input, ev.Response = raw.OwnSession, raw.OwnTool, object(raw.OwnInput), raw.OwnResult
		switch {
		case len(raw.OwnResult) > 0:
			ev.Name = "PostToolUse"
		case len(ev.Error) > 0:
			ev.Name = "PostToolUseFailure"
		default:
			ev.Name = "PreToolUse"
		}
	}
	if tool, ours := strings.CutPrefix(ev.Tool, "interlock-"); ours { // SERVER-TOOL
		ev.Tool = "mcp__interlock__" + tool
	}
	if err := copilotTools.translated(ev, copilotWaiting); err != nil {
		return nil, err
	}
	// It has no id of calls, so that results cannot be distinguished.
	ev.ToolUseID = ""
	return ev.sorted(Copilot)
}

func writeCopilot(ev *event, out outcome) (Answer, error) {
	specific := fields{"hookEventName": ev.Name}
	switch {
	case ev.kind == hookevent.Permission && out.verdict == deny:
		return answerWith(fields{"behavior": "deny", "message": out.reason})
	case out.verdict != noOpinion:
		decision := "allow"
		if out.verdict == deny {
			decision = "deny"
		}
		specific["permissionDecision"], specific["permissionDecisionReason"] = decision, out.reason
		answer := fields{"permissionDecision": decision, "permissionDecisionReason": out.reason, "hookSpecificOutput": specific}
		if out.verdict == allow && out.input != nil {
			answer["modifiedArgs"] = out.input
			specific["updatedInput"] = out.input
		}
		return answerWith(answer)
	case out.context != "" && ev.kind != hookevent.Prompt: // to which it cannot be added
		specific["additionalContext"] = out.context
		return answerWith(fields{"additionalContext": out.context, "hookSpecificOutput": specific})
	case out.goOn != "":
		return answerWith(fields{"decision": "block", "reason": out.goOn})
	}
	return Answer{}, nil
}
