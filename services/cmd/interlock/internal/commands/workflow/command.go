// Package workflow registers, reads and compares workflows.
package workflow

import "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/definition"

// Command is the family of commands on workflows.
type Command struct {
	Register registerCommand    `cmd:"" help:"Register a definition as the next version of its workflow."`
	List     listCommand        `cmd:"" help:"List workflows."`
	Get      getCommand         `cmd:"" help:"Show a workflow."`
	Promote  definition.Promote `cmd:"" help:"Make a version live: new runs get it."`
	Retire   definition.Retire  `cmd:"" help:"Start no more runs of a workflow. Those that run go on."`
	Restore  definition.Restore `cmd:"" help:"End that."`
	Diff     diffCommand        `cmd:"" help:"Show how two versions, or two files, differ."`
	Import   importCommand      `cmd:"" help:"Take a definition, and the MCP servers with it, from a file of Statewright."`
}
