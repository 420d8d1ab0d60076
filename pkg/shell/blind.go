package shell

import "strings"

// Blind reports a finding of a program or a script that may be any: the line does not
// show the code that would run.
func (f Finding) Blind() bool {
	if f.Kind != Hidden {
		return false
	}
	switch f.What {
	case hiddenScript, hiddenName, hiddenInput, hiddenShell, hiddenProcess, hiddenForeign, hiddenLines, hiddenArguments, ownScript,
		hiddenWord, hiddenOption:
		return true
	default:
		return false
	}
}

// Process reports a finding of a possible read of the environment or the memory of a
// process.
func (f Finding) Process() bool { return f.What == readsProcess }

// Decides reports a finding of a variable by which some programs choose their programs.
func (f Finding) Decides() bool { return f.What == holdsCode || f.What == decidesRuns }

// Texts of findings that are Blind, in addition to hiddenScript.
const (
	hiddenName      = "runs a command whose name is known only when the line runs"
	hiddenInput     = "runs what a shell reads from its input"
	hiddenShell     = "runs a shell that reads its input"
	hiddenProcess   = "runs a program by its file in /proc or /dev, which may be any program"
	hiddenForeign   = "runs a script of a shell that is not bash"
	hiddenLines     = "runs the lines of its input"
	hiddenArguments = "runs its arguments as commands"
	hiddenWord      = "runs a shell with a word that may be an option or a script"
	hiddenOption    = "runs a shell with an option that cannot be judged"
)

// ownScript describes a file that a line writes and then runs. It is code that no list knows,
// and no worse: in two calls it would be a file of the workspace.
const ownScript = "runs a file that the same line writes"

// Own reports a finding of a file that the line writes and then runs.
func (f Finding) Own() bool { return f.What == ownScript }

// CouldBe reports that a text with unknown parts could be a word.
func CouldBe(text, word string) bool { return couldBe(text, word) }

// OfProcess reports an absolute path in /proc that could be the environment or the memory
// of a process, or leads to its open files and folders.
func OfProcess(path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/proc/"), "/")
	if isProcess(parts[0]) && len(parts) > 1 {
		for _, part := range parts[1:] {
			for _, word := range []string{"fd", "root", "cwd", "map_files", "exe"} {
				if couldBe(part, word) {
					return true
				}
			}
		}
	}
	return mayBeEnvironment(path)
}
