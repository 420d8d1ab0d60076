// Package run starts runs, drives them and watches them.
package run

// Command is the family of commands on runs.
type Command struct {
	Start      startCommand      `cmd:"" help:"Start a run of a workflow."`
	List       listCommand       `cmd:"" help:"List runs."`
	Get        getCommand        `cmd:"" help:"Show a run."`
	Transition transitionCommand `cmd:"" help:"Ask a run to move on."`
	History    historyCommand    `cmd:"" help:"Show every change of a run."`
	Watch      watchCommand      `cmd:"" help:"Show a run now and after every change, until it ends."`
	Pause      pauseCommand      `cmd:"" help:"Hold a run: its tool calls are denied until it is resumed."`
	Resume     resumeCommand     `cmd:"" help:"Resume a paused run."`
	Cancel     cancelCommand     `cmd:"" help:"Cancel a run."`
	ForceState forceStateCommand `cmd:"" help:"Jump to any state of a workflow with meta.debug."`
}
