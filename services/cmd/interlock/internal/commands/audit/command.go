// Package audit verifies the log of decisions.
package audit

// Command is the family of commands that verify the log of decisions.
type Command struct {
	Verify verifyCommand `cmd:"" help:"Recompute the hash chains of the decision log, and show the problems."`
}
