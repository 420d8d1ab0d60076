package session

import (
	"context"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
)

type narrowCommand struct {
	oneSession
	Only    string `xor:"only" help:"Entries that all calls of the session and of those below it must meet: a JSON list, written as the calls of a state; @FILE reads a file. They are added." placeholder:"JSON|@FILE"`
	Replace bool   `help:"The entries replace those that there are. Operators only."`
	Clear   bool   `xor:"only" help:"Remove all entries. Operators only."`
}

func (c *narrowCommand) Run(ctx context.Context, io console.Streams) error {
	if c.Only == "" && !c.Clear {
		return console.Misusedf("give --only with the entries, or --clear to remove all")
	}
	only, err := input.Text(c.Only, io)
	if err != nil {
		return err
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSessionServiceClient(conn).NarrowSession(ctx, &statev1.NarrowSessionRequest{
			SessionId: c.Name, Session: c.AsSession, Only: only, Replace: c.Replace || c.Clear,
		})
		if err != nil {
			return err
		}
		return printSession(c.Printer, io, resp.GetSession())
	})
}
