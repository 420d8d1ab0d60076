package toolcall

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/interlock-run/interlock/pkg/document"
)

// What denials of shell calls say of their input.
const (
	noCommand = "its input must be a JSON object with the command line as a string in \"command\""
	oddInput  = ", which could change what runs; give only the command line in \"command\", and \"description\", \"timeout\" or \"run_in_background\" if needed"
)

// commandLine is the line that the input of a shell tool would run, or why there
// is none. Keys that could change what runs are refused: an environment, another
// shell.
func commandLine(input []byte) (line, why string) {
	v, problem := document.Parse(input, document.Limits{})
	if problem != nil {
		return "", noCommand
	}
	command, _ := v.Get("command")
	if command.Kind() != document.String {
		return "", noCommand
	}
	line = command.Str()
	for key, value := range v.Members() {
		kind := value.Kind()
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

// unsandboxed would take away what holds the command besides these rules.
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
	"yield_time_ms": document.Number, "max_output_tokens": document.Number,
	"run_in_background": document.Bool, "is_background": document.Bool, "isBackground": document.Bool, "background": document.Bool,
	"requires_approval": document.Bool, "require_user_approval": document.Bool, unsandboxed: document.Bool,
}
