// Package schema registers and reads the schemas of shared states.
package schema

// Command is the family of commands on schemas.
type Command struct {
	Register registerCommand `cmd:"" help:"Register a JSON Schema as the next version of its name."`
	List     listCommand     `cmd:"" help:"List schemas."`
	Get      getCommand      `cmd:"" help:"Show a schema."`
	Versions versionsCommand `cmd:"" help:"List the versions of a schema."`
	Writers  writersCommand  `cmd:"" help:"Show the permitted writers of values, by a schema."`
}
