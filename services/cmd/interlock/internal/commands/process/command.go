// Package process registers processes, starts them, and answers their questions.
package process

import "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/definition"

// Command is the family of commands on processes.
type Command struct {
	Register registerCommand    `cmd:"" help:"Register a definition as the next version of its process."`
	List     listCommand        `cmd:"" help:"List processes."`
	Get      getCommand         `cmd:"" help:"Show a process."`
	Promote  definition.Promote `cmd:"" help:"Make a version live: new runs get it."`
	Retire   definition.Retire  `cmd:"" help:"Start no more runs of a process. Those that run go on."`
	Restore  definition.Restore `cmd:"" help:"End that."`
	Start    startCommand       `cmd:"" help:"Start a process, and show its first question."`
	Answer   answerCommand      `cmd:"" help:"Answer the question of a process, and show the next one."`
}
