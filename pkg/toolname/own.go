package toolname

import (
	"maps"
	"slices"
	"strings"
)

// Own reports that a tool is Interlock's own, which is always allowed and never
// counted (S3). Names match exactly, case included, and with exactly the
// prefixes under which agents see this server: none, statewright_ and interlock_,
// on a server of the name interlock or statewright, or one of these of the plugin
// of its name. The same word from any other
// server (mcp__evil__transition) is that server's tool, and so is one with a prefix
// of a user's choice: the MCP edge knows its own tools under any, but a gate that
// is asked about them by name, as a coding agent's hook is, judges those as any
// other tool.
func Own(tool string) bool {
	if name, ok := strings.CutPrefix(tool, "mcp__plugin_interlock_interlock__"); ok {
		tool = "mcp__interlock__" + name
	} else if name, ok := strings.CutPrefix(tool, "mcp__plugin_statewright_statewright__"); ok {
		tool = "mcp__statewright__" + name
	}
	switch tool {
	case "mcp__interlock__shell", "mcp__interlock__interlock_shell", "mcp__interlock__statewright_shell":
		return true // it is judged as Bash where it is called; a tool that is called shell alone is a client's
	}
	if name, ok := strings.CutPrefix(tool, "mcp__statewright__statewright_"); ok {
		return ownName(name)
	}
	tool = strings.TrimPrefix(tool, "mcp__interlock__")
	if name, ok := strings.CutPrefix(tool, "statewright_"); ok {
		return ownName(name)
	}
	if name, ok := strings.CutPrefix(tool, "interlock_"); ok {
		return ownName(name)
	}
	return ownName(tool)
}

func ownName(name string) bool {
	switch name {
	case "transition", "get_state", "get_status",
		"list_workflows", "load_workflow", "create_workflow",
		"pause", "deactivate", "force_state", "wait", "process_step", "wait_approval",
		"state_create", "state_read", "state_update", "state_patch", "state_schema",
		"session_result", "start_agent_session", "component_read", "component_update":
		return true
	default:
		return false
	}
}

// Shell reports that a tool runs command lines, by its name in any spelling.
func Shell(name string) bool {
	var buf [LongestFolded]byte
	return shells[string(Folded(&buf, name))]
}

// shells are the names that tools which run command lines are known by, as Folded gives them.
var shells = map[string]bool{
	"bash": true, "sh": true, "zsh": true, "fish": true, "cmd": true, "powershell": true, "pwsh": true,
	"shell": true, "localshell": true, "shellcommand": true, "shellexec": true, "terminal": true,
	"exec": true, "execcommand": true, "unifiedexec": true, "writestdin": true,
	"startprocess": true, "runprocess": true, "spawnprocess": true, "interactwithprocess": true, "containerexec": true,
	"executebash": true, "executecmd": true, "executecommand": true, "executeshell": true, "executeshellcommand": true,
	"runbash": true, "runcommand": true, "runshell": true, "runshellcommand": true,
	"runinterminal": true, "runterminalcmd": true, "runterminalcommand": true,
	"monitor": true, "execute": true, "run": true, "runscript": true, "sendkeys": true, "writetoterminal": true,
	"executeterminalcommand": true, "runinshell": true, "shellrun": true, "shellexecute": true, "bashexec": true, "bashtool": true,
	"processstart": true, "processexec": true, "runcmd": true, "terminalexec": true, "terminalexecute": true, "terminalrun": true, "sshexec": true,
	"sendinput": true, "sendterminalinput": true, "terminalinput": true, "sendtoterminal": true, "typeinterminal": true, "writebash": true,
	"commandexec": true, "commandrun": true, "executecommands": true, "runcommands": true, "system": true, "spawn": true, "subprocess": true,
}

// Shells returns the names by which tools that run command lines are known, in one spelling
// each, in order. After the name of a server they are such tools too.
func Shells() []string { return slices.Sorted(maps.Keys(shells)) }

// LongestFolded is the longest name that Folded gives.
const LongestFolded = 32

// Folded returns the last part of a tool's name (after the server, in mcp__server__tool)
// without case, dashes and underscores, so that the spellings of one tool by different
// agents are the same. It is empty when that is too long. It only ever makes more calls
// subject to a check; permission is decided by exact names.
func Folded(buf *[LongestFolded]byte, name string) []byte {
	start := len(name)
	for start > 0 && (start < 2 || name[start-1] != '_' || name[start-2] != '_') {
		start--
	}
	out := buf[:0]
	for i := start; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '_' || c == '-':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if len(out) == LongestFolded {
			return nil
		}
		out = append(out, c)
	}
	return out
}
