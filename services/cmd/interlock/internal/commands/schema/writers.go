package schema

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type writersCommand struct {
	client.Connection
	show.Printer
	Name    string `arg:"" help:"Name of the schema."`
	Version int64  `help:"Version; the latest by default." placeholder:"N"`
}

func (c *writersCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSchemaServiceClient(conn).GetSchema(ctx, &statev1.GetSchemaRequest{Name: c.Name, Version: c.Version})
		if err != nil {
			return err
		}
		lists, err := jsonview.MayWriteOf(resp.GetSchema().GetJsonSchema())
		if err != nil {
			return err
		}
		if len(lists) == 0 && c.ForPeople() {
			_, err := fmt.Fprintf(io.Out, "schema %s lists no writers: every session of the tree may write all of the state\n", show.Text(c.Name))
			return err
		}
		const columns = "POINTER\tMAY WRITE"
		return show.Table(c.Printer, io.Out, columns, lists, func(l *jsonview.MayWrite) []any {
			who := ""
			for i, w := range l.Writers {
				if i > 0 {
					who += ", "
				}
				who += w
			}
			if who == "" {
				who = "(no writer after the state was created)"
			}
			if l.Pointer == "" {
				return []any{"(the document)", who}
			}
			return []any{l.Pointer, who}
		})
	})
}
