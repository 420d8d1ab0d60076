package shell

import (
	"slices"
	"strings"
)

// @inert is an entry that an author may list: commands that have no effect by themselves,
// and wrappers that only say how long their command may take. Such a command must match
// an entry of its own.

var (
	inertCommands  = []string{"cd", "true", "false", ":", "echo", "printf", "test", "[", "pwd", "exit", "sleep"}
	inertWrappers  = []string{"timeout", "time", "nice"}
	inertVariables = []string{"CI", "NODE_ENV", "NO_COLOR", "FORCE_COLOR", "RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED", "TERM", "LANG", "TZ", "COLUMNS"}
)

// isInert reports a command that @inert allows. Operands of test must be static,
// and so must the first of printf, which could be -v.
func isInert(words []Word) bool {
	name, args := words[0].Text, words[1:]
	switch {
	case slices.Contains(inertWrappers, name):
		return true
	case !slices.Contains(inertCommands, name):
		return false
	case name == "printf":
		return len(args) == 0 || args[0].Static && !strings.HasPrefix(args[0].Text, "-v")
	case name == "test" || name == "[":
		return !slices.ContainsFunc(args, func(w Word) bool { return !w.Static })
	}
	return true
}

// inertAssignments returns how many assignments a command begins with that @inert allows.
func inertAssignments(c Command) int {
	for i, w := range c.Words[:c.Assigns] {
		name, _, _ := strings.Cut(w.Text, "=")
		if !slices.Contains(inertVariables, name) && !strings.HasPrefix(name, "LC_") {
			return i
		}
	}
	return c.Assigns
}
