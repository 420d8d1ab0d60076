// Package env prints the variables that point programs at the server of a data folder.
package env

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
)

// Command prints exports for a shell. It takes no token: callers that have one need no export.
type Command struct {
	Role  string `arg:"" optional:"" help:"Whose token: agent, operator, approver, observer or runtime." enum:"agent,operator,approver,observer,runtime" default:"agent"`
	Shell string `help:"Shell that is to read them." enum:"sh,fish,powershell" default:"sh" placeholder:"SHELL"`
	Data  string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
}

// Run prints the server and the token. As in all commands, only a person at a terminal is
// anything but the agent (S13.5).
func (c *Command) Run(io console.Streams) error {
	if role := auth.Role(c.Role); role != auth.Agent {
		what := "printing the token of the " + c.Role
		if err := client.NeedsPerson(io, what, "take it from where your secrets are kept"); err != nil {
			return err
		}
	}
	folder := client.Connection{Data: c.Data}
	server, err := folder.Local()
	if err != nil {
		return err
	}
	data, err := client.DataFolder(c.Data)
	if err != nil {
		return err
	}
	token, err := auth.FileToken(data.Local(), auth.Role(c.Role))
	if err != nil {
		return fmt.Errorf("%w; a server that runs with --presence required keeps tokens of people in no file, and those of a log-in are not printed: "+
			"run the command itself here after `interlock login`, or start the server with --presence none", err)
	}
	for _, variable := range []struct{ name, value string }{{"INTERLOCK_SERVER", server}, {"INTERLOCK_TOKEN", token}} {
		fmt.Fprintln(io.Out, export(c.Shell, variable.name, variable.value))
	}
	return nil
}

// export returns the line that sets a variable in a shell.
func export(shell, name, value string) string {
	switch shell {
	case "fish":
		return "set -gx " + name + " '" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(value) + "'"
	case "powershell":
		return "$env:" + name + " = '" + strings.ReplaceAll(value, "'", "''") + "'"
	default:
		return "export " + name + "=" + shellwords.Join([]string{value})
	}
}
