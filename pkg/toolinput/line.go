// Package toolinput reads the arguments of well-known tools of coding agents, by any of their
// spellings: edits of files, patches, and command lines.
//
// It is pure: it must never run a program or read a file. Input that it cannot read is reported as
// wrong, so that a judge of it can refuse it.
package toolinput

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// TakesCode reports tools that run code which is no command line.
func TakesCode(tool string) bool {
	var buf [toolname.LongestFolded]byte
	return coders[string(toolname.Folded(&buf, tool))]
}

// coders are the names that tools which run code are known by, as toolname.Folded gives them.
var coders = map[string]bool{
	"workflow": true, "repl": true, "executecode": true, "runcode": true, "executepython": true, "runpython": true, "python": true,
	"pythonrepl": true, "noderepl": true, "jsrepl": true, "executejavascript": true, "runjavascript": true, "codeinterpreter": true,
	"evaluate": true, "eval": true, "execcode": true, "browserruncode": true, "browserevaluate": true, "evaluatescript": true, "runnode": true,
	"executescript": true, "executepythoncode": true, "runpythoncode": true, "pythonexec": true, "jupyterexecute": true, "executecell": true,
}

// SpeaksOther reports shells that are not like bash.
func SpeaksOther(tool string) bool {
	var buf [toolname.LongestFolded]byte
	switch string(toolname.Folded(&buf, tool)) {
	case "zsh", "fish", "cmd", "powershell", "pwsh", "executecmd":
		return true
	default:
		return false
	}
}

const (
	// NoCommand says that the input of a shell has no command line.
	NoCommand = "its input must be a JSON object with the command line as a string in \"command\""
	oddInput  = ", which could change the program that runs; give only the command line in \"command\", and \"description\", \"timeout\" or \"run_in_background\" if needed"
)

// CommandLine returns the line that the input of a shell tool would run, or why there is
// none. Keys that could change the command are refused: an environment, another shell.
func CommandLine(input []byte) (line, why string) {
	v, problem := document.Parse(input, document.Limits{})
	if problem != nil {
		return "", NoCommand
	}
	return LineOf(v)
}

// LineOf does the work of CommandLine for an input that has been read.
func LineOf(v document.Value) (line, why string) {
	command, given := v.Get("command")
	if !given {
		command, _ = v.Get("cmd")
	}
	if command.Kind() != document.String {
		return "", NoCommand
	}
	line = command.Str()
	for key, value := range v.Members() {
		kind := value.Kind()
		if key == "cmd" && !given {
			continue
		}
		switch want, known := inputKeys[key]; {
		case !known || kind != want && kind != document.Null, key == unsandboxed && value.Bool():
			return "", "its input has " + document.Quote(key) + oddInput
		case slices.Contains(folderKeys, key) && kind == document.String && value.Str() != "" && value.Str() != ".":
			folder, err := syntax.Quote(value.Str(), syntax.LangBash)
			if err != nil {
				return "", "its input has " + document.Quote(key) + oddInput
			}
			line = "cd -- " + folder + "\n" + line // as a cd, which a list of commands has to name
		}
	}
	return line, ""
}

// LineKey returns the kind of a key of the input of a shell, or false for one that is not known.
func LineKey(key string) (kind document.Kind, known bool) {
	kind, known = inputKeys[key]
	return kind, known
}

// FolderKeys returns the keys that name the folder which a line runs in.
func FolderKeys() []string { return slices.Clone(folderKeys) }

// unsandboxed would take away the other bounds of the command.
const unsandboxed = "dangerouslyDisableSandbox"

// folderKeys name the folder that the line runs in.
var folderKeys = []string{"workdir", "cwd", "directory", "dir_path", "working_directory"}

// inputKeys are those of the shell tools of coding agents: the line, where it runs,
// and how the answer is waited for.
var inputKeys = map[string]document.Kind{
	"command": document.String,
	"workdir": document.String, "cwd": document.String, "directory": document.String, "dir_path": document.String, "working_directory": document.String,
	"description": document.String, "explanation": document.String, "justification": document.String, "goal": document.String,
	"timeout": document.Number, "timeout_ms": document.Number, "timeoutMs": document.Number, "timeout_seconds": document.Number,
	"persistent": document.Bool, "yield_time_ms": document.Number, "max_output_tokens": document.Number,
	"run_in_background": document.Bool, "is_background": document.Bool, "isBackground": document.Bool, "background": document.Bool,
	"requires_approval": document.Bool, "require_user_approval": document.Bool, unsandboxed: document.Bool,
}
