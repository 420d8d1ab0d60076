// Package token makes and reads tokens of agents that are bound to a session.
package token

// Command is the family of commands on tokens of sessions.
type Command struct {
	Mint    mintCommand    `cmd:"" help:"Print a new token for an agent that may act in one session only."`
	Inspect inspectCommand `cmd:"" help:"Show what a session's token says."`
}
