package toolname

// ClientGroup is an entry of allowed_tools that stands for Client.
const ClientGroup = "@client"

// Client are the tools that coding agents have for themselves and that neither read nor change
// anything but the conversation: lists of things to do, questions to the user, modes, output
// of commands that were allowed, and subagents, whose own calls are judged. They are those
// of Claude Code 2 (@anthropic-ai/claude-agent-sdk 0.3.330); hooks translate the names of
// other agents. Skill is not one of them: a skill may run commands as it loads.
var Client = []string{
	"Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "ListMcpResourcesTool", "Task", "TaskCreate", "TaskGet",
	"TaskList", "TaskOutput", "TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch",
}

// Loader is the tool by which an agent finds the tools of MCP servers, Interlock's among them.
// It makes no calls.
const Loader = "ToolSearch"
