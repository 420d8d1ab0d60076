package toolcall

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// RunsCommands reports a call that may run commands: that of a tool which is known to, by its name,
// or which is not known and has a command line or code in its input. An input that cannot be read
// may have one. Claims of a workflow about its tools do not count.
func RunsCommands(tool string, input []byte) bool {
	if isShell(&noState, tool) {
		return true
	}
	is, _ := takenBy(tool, input)
	return is != takesNothing
}

// taken is the kind of code that a tool runs.
type taken uint8

const (
	takesNothing taken = iota
	takesCommand
	takesScript
	takesDoubt // the input cannot be read
)

// takenBy finds the code that a tool other than a known shell runs, by its name or by the names in its
// input. key is empty when the tool's name shows it.
func takenBy(tool string, input []byte) (is taken, key string) {
	switch {
	case toolinput.TakesCode(tool):
		return takesScript, ""
	case len(input) == 0, toolinput.FormsOf(tool) != 0, toolname.Known(tool):
		return takesNothing, ""
	default:
		return takenFrom(input)
	}
}

// takenFrom finds the code in an input.
func takenFrom(input []byte) (is taken, key string) {
	v, ok := toolinput.Read(input)
	if !ok {
		return takesDoubt, ""
	}
	for name, value := range v.Members() {
		switch word := toolWord(name); {
		case lineKeys[word]:
			return takesCommand, name
		case codeKeys[word] && !isMark(value):
			return takesScript, name
		}
	}
	if holdsLine(v) {
		return takesCommand, ""
	}
	return takesNothing, ""
}

// holdsLine reports a value with a command line at any depth: a text, or a list of texts, by the name
// of one.
func holdsLine(v document.Value) bool {
	for _, element := range v.Elements() {
		if holdsLine(element) {
			return true
		}
	}
	for name, value := range v.Members() {
		if lineKeys[toolWord(name)] && isLine(value) || holdsLine(value) {
			return true
		}
	}
	return false
}

// isLine reports a text, or a list that begins with one.
func isLine(v document.Value) bool {
	for _, first := range v.Elements() {
		return first.Kind() == document.String
	}
	return v.Kind() == document.String
}

// lineKeys are the names by which tools take a command line, as toolname.Folded gives them.
var lineKeys = words(`command cmd commands cmds commandline cmdline shellcommand bash shell shellcmd bashcommand terminalcommand exec`)

// codeKeys are the names by which tools take code, as toolname.Folded gives them.
var codeKeys = words(`code script sourcecode python pythoncode javascript js program snippet keystrokes argv scriptpath`)

// isMark reports a value that is no code: a number, or a mark such as EUR or SAVE-10.
func isMark(v document.Value) bool {
	switch v.Kind() {
	case document.String:
		return len(v.Str()) <= 32 && strings.Trim(v.Str(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
	case document.Array, document.Object:
		return false
	default:
		return true
	}
}
