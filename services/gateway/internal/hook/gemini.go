package hook

import (
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// geminiTools are the tools of Gemini CLI 0.61 (its tools/definitions).
var geminiTools = tools{
	"run_shell_command": "Bash", "read_file": "Read", "write_file": "Write", "replace": "Edit", "glob": "Glob", "grep_search": "Grep",
	"search_file_content": "Grep", "list_directory": "LS", "web_fetch": "WebFetch", "google_web_search": "WebSearch",
	"write_todos": "TodoWrite", "ask_user": "AskUserQuestion", "invoke_agent": "Agent", "enter_plan_mode": "EnterPlanMode",
	"exit_plan_mode": "ExitPlanMode", "activate_skill": "Skill", "list_mcp_resources": "ListMcpResourcesTool",
	"read_mcp_resource": "ReadMcpResourceTool",
}

func readGemini(data []byte) (*event, error) {
	var raw struct {
		event
		MCP *struct {
			Server string `json:"server_name"`
			Tool   string `json:"tool_name"`
		} `json:"mcp_context"`
	}
	if err := parse(data, &raw); err != nil {
		return nil, err
	}
	ev := &raw.event
	if raw.MCP != nil {
		ev.Tool = "mcp__" + raw.MCP.Server + "__" + raw.MCP.Tool
	} else if err := geminiTools.translated(ev, nil); err != nil {
		return nil, err
	}
	// It has no id of calls, so that results cannot be distinguished.
	ev.ToolUseID = ""
	return ev.sorted(Gemini)
}

func writeGemini(ev *event, out outcome) (Answer, error) {
	specific := fields{"hookEventName": ev.Name}
	switch {
	case out.verdict == deny:
		return answerWith(fields{"decision": "deny", "reason": out.reason})
	case out.verdict == allow && out.input != nil:
		specific["tool_input"] = out.input
		return answerWith(fields{"decision": "allow", "hookSpecificOutput": specific})
	case out.verdict == allow:
		return answerWith(fields{"decision": "allow"})
	case out.context != "":
		specific["additionalContext"] = out.context
		return withShown(out, fields{"hookSpecificOutput": specific})
	case out.goOn != "" && ev.kind == hookevent.Stop:
		return answerWith(fields{"decision": "deny", "reason": out.goOn})
	}
	return Answer{}, nil
}
