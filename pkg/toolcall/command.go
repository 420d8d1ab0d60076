package toolcall

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const defaultShell = "Bash"

// What denials of shell calls say.
const (
	noCommand = "its input must be a JSON object with the command line as a string in \"command\""

	unjudged         = "this version of Interlock can not judge command lines yet, and the state restricts them: "
	byCommands       = unjudged + "it has allowed_commands"
	byBlockedEnv     = unjudged + "it has blocked_env"
	byWriteDetection = unjudged + "its allowed_tools have no tool that writes files, so the shell must not write either"
)

// checkCommand applies allowed_commands, write detection and blocked_env to
// calls of a shell (S3.3). Command lines are not parsed in this version, so in a
// state where one of them applies every such call is denied.
func checkCommand(state *workflow.StateView, call Call) (Code, string) {
	var why string
	switch {
	case state.CommandsRestricted:
		why = byCommands
	case state.ToolsRestricted && !state.Editable():
		why = byWriteDetection
	case len(state.BlockedEnv) > 0:
		why = byBlockedEnv
	default:
		return "", ""
	}
	if !shell(state, call.Tool) {
		return "", ""
	}
	if _, ok := commandOf(call.Input); !ok {
		return CodeInvalidInput, noCommand
	}
	return CodeCommandUnparsable, why
}

// commandOf is the command line of a shell call.
func commandOf(input []byte) (string, bool) {
	v, problem := document.Parse(input, document.Limits{})
	if problem != nil {
		return "", false
	}
	command, _ := v.Get("command")
	return command.Str(), command.Kind() == document.String
}

// shell reports that a tool runs command lines: the one that the state names in
// allowed_commands_tool, and those that are known to, whatever it names.
func shell(state *workflow.StateView, tool string) bool {
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
