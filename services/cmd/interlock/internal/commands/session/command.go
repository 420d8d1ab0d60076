// Package session creates, stops and watches over sessions.
package session

// Command is the family of commands on sessions.
type Command struct {
	Create createCommand `cmd:"" help:"Create a session, at the root or under a parent."`
	Get    getCommand    `cmd:"" help:"Show a session."`
	List   listCommand   `cmd:"" help:"List sessions."`
	Tree   treeCommand   `cmd:"" help:"Draw a session and those below it."`
	Stop   stopCommand   `cmd:"" help:"Say that a session's agent has stopped."`
	Result resultCommand `cmd:"" help:"Show the result that a session has left."`
	Resume resumeCommand `cmd:"" help:"Say that a session's agent works again, or have a runner resume it."`
	Delete deleteCommand `cmd:"" help:"Delete a session that has ended."`
	Narrow narrowCommand `cmd:"" help:"Narrow the calls of a session and of those below it."`
	Token  tokenCommand  `cmd:"" help:"Tokens of a session."`
	Grant  grantCommand  `cmd:"" help:"Let a session read a state of another tree."`
	Revoke revokeCommand `cmd:"" help:"Take a grant back."`
}
