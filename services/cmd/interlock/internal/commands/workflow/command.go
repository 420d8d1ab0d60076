// Package workflow registers, reads and compares workflows.
package workflow

// Command is the family of commands on workflows.
type Command struct {
	Register registerCommand `cmd:"" help:"Register a definition as the next version of its workflow."`
	List     listCommand     `cmd:"" help:"List workflows."`
	Get      getCommand      `cmd:"" help:"Show a workflow."`
	Diff     diffCommand     `cmd:"" help:"Show how two versions, or two files, differ."`
}
