package token

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

type addCommand struct {
	Role   string `arg:"" help:"agent, operator, approver, observer, runtime for programs that run agents and report their calls, or service for Interlock's own services." enum:"agent,operator,approver,observer,runtime,service"`
	Name   string `required:"" help:"Name of whom the token is for, as history and approvals show it. A name has one role." placeholder:"NAME"`
	Tokens string `help:"Tokens file of the services. That in the data folder by default." env:"INTERLOCK_TOKENS" type:"path" placeholder:"FILE"`
	Data   string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the nearest workspace, here or upwards." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
}

// Run adds a token without asking any server, and prints it.
func (c *addCommand) Run(streams console.Streams) error {
	file := c.Tokens
	if file == "" {
		if err := client.NeedsPerson(streams, "adding a token", "give --tokens with the file"); err != nil {
			return err
		}
		folder, err := client.DataFolder(c.Data)
		if err != nil {
			return err
		}
		file = folder.Tokens()
	}
	token := auth.Mint()
	if err := auth.AddToken(file, c.Name, auth.Role(c.Role), token); err != nil {
		return err
	}
	fmt.Fprintf(streams.Err, "interlock: added to %s: servers know it within a second\n", file)
	_, err := fmt.Fprintln(streams.Out, token)
	return err
}
