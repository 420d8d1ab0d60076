// Package token makes and reads tokens: of agents that are bound to a session, and of people
// and programs that a tokens file names.
package token

// Command is the family of commands on tokens.
type Command struct {
	Add       addCommand       `cmd:"" help:"Add a token to a tokens file, and print it."`
	List      listCommand      `cmd:"" help:"List the tokens of a tokens file, which shows none of them."`
	Revoke    revokeCommand    `cmd:"" help:"Remove a token from a tokens file."`
	Hash      hashCommand      `cmd:"" help:"Replace the tokens in plain text of a tokens file by hashes."`
	Bootstrap bootstrapCommand `cmd:"" help:"Make a Secret in Kubernetes, or files, with tokens of all roles, unless they are there."`
	Mint      mintCommand      `cmd:"" help:"Print a new token for an agent that may act in one session only."`
	Inspect   inspectCommand   `cmd:"" help:"Show the claims of a session's token."`
}
