// Package namespace lists the namespaces that the caller may call in.
package namespace

import (
	"context"

	"google.golang.org/grpc"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command is the family of commands on namespaces.
type Command struct {
	List listCommand `cmd:"" help:"List the namespaces that you may call in."`
}

type listCommand struct {
	client.Connection
	show.Printer
}

// Run prints the namespaces.
func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := identityv1.NewNamespaceServiceClient(conn).ListNamespaces(ctx, &identityv1.ListNamespacesRequest{})
		if err != nil {
			return err
		}
		return show.Table(c.Printer, io.Out, "NAMESPACE", jsonview.Each(resp.GetNamespaces(), jsonview.NamespaceOf),
			func(n *jsonview.Namespace) []any { return []any{n.Name} })
	})
}
