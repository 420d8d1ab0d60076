// Package toolname distinguishes names of existing tools from mistakes. A list that forbids
// "bash" has no effect where the tool is "Bash", and the mistake shows only when it matters.
//
// It only ever refuses definitions. Calls are decided by exact names elsewhere.
package toolname

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// CodeUnknownTool is the code of a name that no tool has.
const CodeUnknownTool document.Code = "UNKNOWN_TOOL"

// known are the tools of Claude Code (BUILTIN_TOOL_NAMES of @anthropic-ai/claude-agent-sdk 0.3.332, and older ones), of other
// clients where hooks do not translate their names to those, and Interlock's own.
var known = []string{
	"Agent", "Artifact", "AskUserQuestion", "Bash", "BashOutput", "ClaudeDesign", "CronCreate", "CronDelete", "CronList", "Edit", "EndConversation",
	"EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep", "KillBash", "KillShell", "ListAgents", "ListMcpResourcesTool", "LS",
	"LSP", "Monitor", "MultiEdit", "NotebookEdit", "NotebookRead", "OfferChromeSetup", "PowerShell", "Projects", "ProposeGoal", "PushNotification",
	"REPL", "Read", "ReadMcpResourceDirTool", "ReadMcpResourceTool", "ReadNotifications", "RefreshMcpTools", "RemoteTrigger", "ReportFindings",
	"ScheduleWakeup", "SendFeedback", "SendMessage", "SendUserFile", "SendUserMessage", "SetGoal", "ShareOnboardingGuide", "ShowOnboardingRolePicker",
	"Skill", "SlashCommand", "SubagentHandback", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate",
	"TeamDelete", "TodoRead", "TodoWrite", "ToolSearch", "WaitForMcpServers", "WebFetch", "WebSearch", "Workflow", "Write", "propose_skills",

	"Delete", "apply_patch", "create_file", "create_goal", "delete_file", "edit_file", "exec_command", "execute_command",
	"fetch_copilot_cli_documentation", "get_goal", "list_agents", "list_background_processes", "list_bash", "list_directory", "local_shell", "move_file",
	"read_agent", "read_background_output", "read_file", "replace_in_file", "request_user_input", "resend-email", "run_in_terminal",
	"run_shell_command", "run_terminal_cmd", "session_store_sql", "sql", "str_replace_based_edit_tool", "str_replace_editor", "tool_search",
	"update_goal", "update_topic", "view_image", "web_search", "write_agent", "write_file", "write_stdin", "write_to_file",

	"component_read", "component_update", "create_workflow", "deactivate", "force_state", "get_state", "get_status", "list_workflows", "load_workflow", "pause",
	"process_step", "session_result", "start_agent_session", "state_create", "state_patch", "state_read", "state_schema", "state_update", "transition", "wait",
	"wait_approval",
}

// Position is the effect of a list on the tools that it names.
type Position uint8

// The positions.
const (
	// Grants: a name that no tool has has no effect. Only a mistake is refused.
	Grants Position = iota
	// Restricts: a name that no tool has drops the protection. It must be known or declared.
	Restricts
)

// Names judges names. The zero Names knows only the tools that are well known.
type Names struct {
	declared map[string]bool
	folded   []folding
}

// folding is a name and the same in lower case.
type folding struct{ name, lower string }

var knownFolded = fold(known)

// With returns Names that also know the author's own tools (meta.tools).
func With(declared []string) Names {
	n := Names{declared: make(map[string]bool, len(declared)), folded: fold(declared)}
	for _, name := range declared {
		n.declared[name] = true
	}
	return n
}

func fold(names []string) []folding {
	folded := make([]folding, len(names))
	for i, name := range names {
		folded[i] = folding{name, strings.ToLower(name)}
	}
	return folded
}

// Fault describes the problem with a tool's name, and how to fix it; or "". Names with a trailing *,
// and those of MCP servers (mcp__server__tool), can be anyone's.
func (n Names) Fault(name string, position Position) string {
	switch {
	case name == "" || strings.HasSuffix(name, "*") || n.declared[name], mcp(name), slices.Contains(known, name):
		return ""
	}
	if strings.HasPrefix(name, "@") {
		return group(name, position)
	}
	if near, ok := n.near(name); ok {
		return fmt.Sprintf("no tool is named %s; did you mean %q? If it is a tool of your own, add it to \"tools\" in \"meta\"",
			document.Quote(name), near)
	}
	if position == Grants {
		return ""
	}
	if rest, ok := strings.CutPrefix(name, mcpPrefix); ok {
		server, _, _ := strings.Cut(rest, "__")
		return fmt.Sprintf("no tool is named %s; write mcp__%s__*, or name the tool: mcp__server__tool", document.Quote(name), server)
	}
	return fmt.Sprintf("no tool is known by the name %s, so this may have no effect; correct the name, or add it to \"tools\" in \"meta\"",
		document.Quote(name))
}

// group describes the problem with the name of a group of tools, or "".
func group(name string, position Position) string {
	switch {
	case name != ClientGroup:
		return fmt.Sprintf("there is no %s; the only group of tools is %q", document.Quote(name), ClientGroup)
	case position == Restricts:
		return fmt.Sprintf("%q allows a group of tools; to forbid some, name them", ClientGroup)
	default:
		return ""
	}
}

// Known reports that clients or Interlock have a tool of this name, in any case. A tool of an MCP
// server must not be called so.
func Known(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(knownFolded, func(f folding) bool { return f.lower == lower })
}

const mcpPrefix = "mcp__"

// mcp reports the name of an MCP server's tool, as agents write it.
func mcp(name string) bool {
	rest, ok := strings.CutPrefix(name, mcpPrefix)
	server, tool, found := strings.Cut(rest, "__")
	return ok && found && server != "" && tool != ""
}

// longest is the longest name that is compared.
const longest = 64

// Near returns the known tool whose name differs only in case, or else by one edit; or "".
func Near(name string) string {
	near, _ := Names{}.near(name)
	return near
}

// near returns the tool whose name differs only in case, or else by one edit.
func (n Names) near(name string) (string, bool) {
	if len(name) > longest {
		return "", false
	}
	lower := strings.ToLower(name)
	if strings.HasPrefix(lower, mcpPrefix) && !strings.HasPrefix(name, mcpPrefix) {
		return mcpPrefix + name[len(mcpPrefix):], true
	}
	byOne := ""
	for _, names := range [][]folding{knownFolded, n.folded} {
		for _, other := range names {
			switch {
			case other.lower == lower:
				return other.name, true
			case byOne == "" && len(other.name) > shortest && oneEdit(lower, other.lower):
				byOne = other.name
			}
		}
	}
	return byOne, byOne != ""
}

// shortest is the longest name that has no near ones but by case: LS is one edit from too many.
const shortest = 2

// oneEdit reports that a becomes b by one insertion, deletion or substitution, or by a swap of
// neighbours. A letter of several bytes counts as several.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	start := 0
	for start < len(a) && a[start] == b[start] {
		start++
	}
	a, b = a[start:], b[start:]
	switch {
	case len(a) < len(b):
		return a == b[1:]
	case a == "" || a[1:] == b[1:]:
		return true
	}
	return a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}

// Read returns the names that "tools" of "meta" declares, and reports the problems with them.
func Read(meta document.Fields, most int) []string {
	items, ok := meta.Strings("tools", most)
	if !ok {
		return nil
	}
	for _, item := range items {
		Check(meta.Report, item.Text, item.At)
	}
	meta.Report.Duplicates(items)
	return document.Texts(items)
}

// Check reports a name that cannot be that of one tool.
func Check(r *document.Report, name string, at *document.Path) {
	switch {
	case name == "":
		r.Errorf(at, document.CodeEmpty, "the tool name is empty; name a tool or remove the item")
	case strings.ContainsAny(name, " \t\r\n*(),"):
		r.Errorf(at, document.CodeName, "%s is not a valid tool name; write exactly one name, without spaces and wildcards", document.Quote(name))
	}
}
