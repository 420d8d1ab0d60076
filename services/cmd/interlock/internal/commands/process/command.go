// Package process registers processes, starts them, and answers their questions.
package process

// Command is the family of commands on processes.
type Command struct {
	Register registerCommand `cmd:"" help:"Register a definition as the next version of its process."`
	List     listCommand     `cmd:"" help:"List processes."`
	Get      getCommand      `cmd:"" help:"Show a process."`
	Start    startCommand    `cmd:"" help:"Start a process, and show its first question."`
	Answer   answerCommand   `cmd:"" help:"Answer the question of a process, and show the next one."`
}
