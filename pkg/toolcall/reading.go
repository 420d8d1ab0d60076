package toolcall

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// readingTools are the tools that read files of the workspace and change nothing, by their exact
// names. Tools that fetch are not among them: an address can carry data away.
var readingTools = []string{
	"Read", "Grep", "Glob", "LS", "NotebookRead", "BashOutput", "TaskOutput", "TodoRead", "TodoWrite", "AskUserQuestion",
	"read_file", "list_directory",
}

// readingPrograms are the programs that a line may run after a failure. A line with any
// finding of pkg/shell is refused whatever it runs, which covers options that write. Git is
// not among them: its configuration can name programs to run.
var readingPrograms = map[string]bool{
	"cat": true, "head": true, "tail": true, "wc": true, "nl": true, "ls": true, "pwd": true, "echo": true, "cd": true,
	"grep": true, "egrep": true, "fgrep": true, "rg": true, "find": true, "sort": true, "uniq": true, "cut": true, "tr": true,
	"diff": true, "cmp": true, "stat": true, "file": true, "du": true, "df": true, "tree": true, "basename": true, "dirname": true,
	"realpath": true, "sha256sum": true, "true": true, "false": true, "test": true, "[": true,
}

// decideReading judges a call after a failure, when only tools that read are left (S2.9).
func decideReading(m *workflow.Machine, state *workflow.StateView, call Call) Verdict {
	if !OnlyReads(state, call) {
		return deny(call, CodeRunNotActive, "")
	}
	if code, why := Protected(m, state, call); code != "" {
		return deny(call, code, why)
	}
	return Verdict{Decision: Allow, Tool: call.Tool}
}

// OnlyReads reports that a call is proved to read files and to change nothing, here or
// elsewhere. What it does not know does not only read. The state names the tool that is a
// shell, and may be nil.
func OnlyReads(state *workflow.StateView, call Call) bool {
	if slices.Contains(readingTools, call.Tool) || call.Tool == toolname.Loader {
		return true
	}
	if !Shell(state, call.Tool) || speaksOther(call.Tool) {
		return false
	}
	line, why := commandLine(call.Input)
	if why != "" {
		return false
	}
	plan, err := shell.Parse(line)
	if err != nil || plan.Empty || len(plan.Findings) > 0 || len(plan.Sets) > 0 {
		return false
	}
	return !slices.ContainsFunc(plan.Commands, func(c shell.Command) bool { return !readingCommand(c) })
}

// readingCommand reports that a simple command is written out and runs a program that only reads.
func readingCommand(c shell.Command) bool {
	if c.Assigns > 0 || len(c.Words) == 0 || !c.Words[0].Static {
		return false
	}
	return readingPrograms[c.Words[0].Text]
}
