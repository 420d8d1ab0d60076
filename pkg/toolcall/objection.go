package toolcall

import (
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// objections are the objections of the rules for commands to a line, in the order in which
// they are checked: the first is the denial. A decision stops there, and an explanation has
// all.
type objections struct {
	all   bool
	found []objection
	// plan is the line, and named how many words of each of its commands an entry of
	// allowed_commands names: as far as they were looked at.
	plan  *shell.Plan
	named []int
	// jail is the one that the line runs in, and declares is meta.commands.
	jail     jailing
	declares map[string]workflow.CommandClass
}

// objection is one of them. It is about a command of the plan, or about the line between
// start and end when that is -1; all of the line when these are 0.
type objection struct {
	command    int
	start, end int
	code       Code
	why        string
	// hidden: its effects are unknown, rather than refused.
	hidden bool
}

// enough reports whether the search may end.
func (o *objections) enough() bool { return !o.all && len(o.found) > 0 }

// line objects to the line as a whole, and returns enough.
func (o *objections) line(code Code, why string) bool { return o.at(-1, code, why) }

// at objects to a command, and returns enough.
func (o *objections) at(command int, code Code, why string) bool {
	o.found = append(o.found, objection{command: command, code: code, why: why})
	return o.enough()
}

// about objects to a finding, and returns enough.
func (o *objections) about(f shell.Finding, code Code, why string) bool {
	o.found = append(o.found, objection{
		command: f.Command, start: f.Start, end: f.End, code: code, why: why,
		hidden: f.Kind == shell.Hidden || f.Kind == shell.Stranger,
	})
	return o.enough()
}
