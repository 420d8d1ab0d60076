// Package hookevent classifies the events of coding agents' hooks. It holds names only,
// because the hook reads it before any question.
package hookevent

// Agents, as `interlock hook --agent` names them.
const (
	ClaudeCode = "claude-code"
	Codex      = "codex"
	Cursor     = "cursor"
	Gemini     = "gemini"
	Copilot    = "copilot"
)

// Known reports that an agent's hooks are understood.
func Known(agent string) bool {
	switch agent {
	case ClaudeCode, Codex, Cursor, Gemini, Copilot:
		return true
	}
	return false
}

// Kind is the purpose of an event.
type Kind uint8

// The kinds.
const (
	// Unknown is an event that this version does not know.
	Unknown Kind = iota
	// Ignored reports something that Interlock does not judge, or that another event
	// has asked about already.
	Ignored
	// Before asks about a call of a tool.
	Before
	// After reports a call that has a result, Failed of one that has none.
	After
	Failed
	// Permission asks about a call that the agent would ask its user about.
	Permission
	// Prompt is a prompt of the user, Start the start of a session, SubagentStart that of a
	// subagent: the agent is informed where its run stands.
	Prompt
	Start
	SubagentStart
	// Stop is an agent that is about to stop, SubagentStop a subagent.
	Stop
	SubagentStop
)

// Informs reports that an event only informs the agent.
func (k Kind) Informs() bool { return k == Prompt || k == Start || k == SubagentStart }

// HasCall reports that an event is about a call of a tool, and names it.
func (k Kind) HasCall() bool { return k == Before || k == After || k == Failed || k == Permission }

// Of returns the kind of an agent's event.
func Of(agent, name string) Kind {
	switch agent {
	case Cursor:
		return cursor(name)
	case Gemini:
		return gemini(name)
	default:
		return claude(name)
	}
}

// SkillCommand is the event of Claude Code that asks about a command which the text of a skill or of
// a slash command runs as it is loaded. No event reports its end.
const SkillCommand = "PreSkillShellCommand"

// claude has the events of Claude Code (HOOK_EVENTS of @anthropic-ai/claude-agent-sdk 0.3.332).
// Codex and Copilot have some of them, and Copilot ErrorOccurred.
func claude(name string) Kind {
	switch name {
	case "PreToolUse", SkillCommand:
		return Before
	case "PostToolUse":
		return After
	case "PostToolUseFailure", "PermissionDenied": // a call that was admitted, and not made
		return Failed
	case "PermissionRequest":
		return Permission
	case "UserPromptSubmit":
		return Prompt
	case "SessionStart":
		return Start
	case "SubagentStart":
		return SubagentStart
	case "Stop":
		return Stop
	case "SubagentStop":
		return SubagentStop
	case "ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation", "ElicitationResult", "ErrorOccurred", "FileChanged", "InstructionsLoaded",
		"MessageDisplay", "Notification", "PostCompact", "PostModelSwitch", "PostToolBatch", "PreCompact", "PreModelSwitch",
		"SessionEnd", "Setup", "StopFailure", "TaskCompleted", "TaskCreated", "TeammateIdle", "UserPromptExpansion", "WorktreeCreate", "WorktreeRemove":
		return Ignored
	}
	return Unknown
}

// cursor has the events of Cursor 2 (cursor.com/docs/hooks). Those of single tools ask about
// the same as preToolUse, but beforeMCPExecution, which alone names the server.
func cursor(name string) Kind {
	switch name {
	case "preToolUse", "beforeMCPExecution", "beforeShellExecution", "beforeReadFile":
		return Before
	case "postToolUse":
		return After
	case "postToolUseFailure":
		return Failed
	case "beforeSubmitPrompt":
		return Prompt
	case "sessionStart":
		return Start
	case "stop":
		return Stop
	case "afterAgentResponse", "afterAgentThought", "afterFileEdit", "afterMCPExecution", "afterShellExecution", "afterTabFileEdit",
		"beforeTabFileRead", "preCompact", "sessionEnd", "subagentStart", "subagentStop", "workspaceOpen":
		return Ignored
	}
	return Unknown
}

// gemini has the events of Gemini CLI 0.61 (its hooks/types.d.ts).
func gemini(name string) Kind {
	switch name {
	case "BeforeTool":
		return Before
	case "AfterTool":
		return After
	case "BeforeAgent":
		return Prompt
	case "SessionStart":
		return Start
	case "AfterAgent":
		return Stop
	case "AfterModel", "BeforeModel", "BeforeToolSelection", "Notification", "PreCompress", "SessionEnd":
		return Ignored
	}
	return Unknown
}
