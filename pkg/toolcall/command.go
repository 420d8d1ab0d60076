package toolcall

import (
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const defaultShell = "Bash"

// otherLanguage is said of shells whose lines bash's grammar does not tell.
const otherLanguage = "its command lines are not written for bash and cannot be judged, and the state restricts commands; use a bash tool"

// checkCommand applies allowed_commands, write detection and blocked_env to calls
// of a shell (S3.3, rules R1 to R4). Every rule that applies must pass.
func checkCommand(state *workflow.StateView, call Call) (Code, string) {
	reading := state.ToolsRestricted && !state.Editable()
	if !state.CommandsRestricted && !reading && len(state.BlockedEnv) == 0 || !isShell(state, call.Tool) {
		return "", ""
	}
	if speaksOther(call.Tool) {
		return CodeCommandUnparsable, otherLanguage
	}
	line, why := commandLine(call.Input)
	if why != "" {
		return CodeInvalidInput, why
	}
	plan, err := shell.Parse(line)
	if err != nil {
		return CodeCommandUnparsable, err.Error()
	}
	var named []int
	if state.CommandsRestricted {
		if named, why = checkList(state, plan); why != "" {
			return CodeCommandNotAllowed, why
		}
	}
	if reading {
		if why := checkWrites(plan, named); why != "" {
			return CodeCommandWrites, why
		}
	}
	if len(state.BlockedEnv) > 0 {
		if why := checkEnvironment(state, plan); why != "" {
			return CodeEnvBlocked, why
		}
	}
	return "", ""
}

// isShell reports that a tool runs command lines: the one that the state names in
// allowed_commands_tool, and those that are known to, whatever it names.
func isShell(state *workflow.StateView, tool string) bool {
	named := state.AllowedCommandsTool
	if named == "" {
		named = defaultShell
	}
	if tool == named {
		return true
	}
	var buf [longestFolded]byte
	switch string(folded(&buf, tool)) {
	case "bash", "sh", "zsh", "fish", "cmd", "powershell", "pwsh",
		"shell", "localshell", "shellcommand", "shellexec", "terminal",
		"exec", "execcommand", "unifiedexec", "writestdin",
		"executebash", "executecmd", "executecommand", "executeshell", "executeshellcommand",
		"runbash", "runcommand", "runshell", "runshellcommand",
		"runinterminal", "runterminalcmd", "runterminalcommand":
		return true
	default:
		return false
	}
}

// speaksOther reports shells that are not like bash.
func speaksOther(tool string) bool {
	var buf [longestFolded]byte
	switch string(folded(&buf, tool)) {
	case "zsh", "fish", "cmd", "powershell", "pwsh", "executecmd":
		return true
	default:
		return false
	}
}
