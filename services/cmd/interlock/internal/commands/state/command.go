// Package state creates, reads and changes the states that sessions share.
package state

// Command is the family of commands on shared states.
type Command struct {
	Create  createCommand  `cmd:"" help:"Create a state for a root session, which is made when there is none."`
	Get     getCommand     `cmd:"" help:"Show a state, or parts of it."`
	List    listCommand    `cmd:"" help:"List states."`
	Put     putCommand     `cmd:"" help:"Replace the document of a state."`
	Patch   patchCommand   `cmd:"" help:"Change the document of a state."`
	Migrate migrateCommand `cmd:"" help:"Move a state to a newer version of its schema."`
	Delete  deleteCommand  `cmd:"" help:"Delete a state, with its history."`
	History historyCommand `cmd:"" help:"Show every change of a state."`
	Diff    diffCommand    `cmd:"" help:"Show the differences between two versions of a state."`
	Watch   watchCommand   `cmd:"" help:"Show every change of a state, until it is deleted."`
	Lock    lockCommand    `cmd:"" help:"Lock a state: only writes with the fencing token are accepted."`
	Renew   renewCommand   `cmd:"" help:"Renew the lock on a state."`
	Unlock  unlockCommand  `cmd:"" help:"Give the lock on a state back."`
}
