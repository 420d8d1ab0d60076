// Package whoami shows who the caller is.
package whoami

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command shows the caller as the server knows it.
type Command struct {
	client.Connection
	show.Printer
	Session string `help:"The session that the caller acts in; by default that of its token." placeholder:"ID"`
}

// Run prints the caller.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewPolicyEnforcerServiceClient(conn).WhoAmI(ctx, &policyv1.WhoAmIRequest{SessionId: c.Session})
		if err != nil {
			return err
		}
		view := jsonview.CallerOf(resp)
		return c.Print(io.Out, view, func(w *show.Sheet) {
			table(w, &view)
			show.Rows{W: w}.Row("token from", c.Source())
		})
	})
}

func table(w *show.Sheet, v *jsonview.Caller) {
	t := show.Rows{W: w}
	t.Row("principal", v.Principal)
	t.Row("role", v.Role)
	t.Row("token", strings.TrimSpace(v.Token+" "+v.TokenID))
	t.Row("namespaces", strings.Join(v.Namespaces, ", "))
	t.Row("person", v.Person)
	t.Row("presence", v.Presence)
	t.Row("relay", v.Relay)
	t.Row("session", v.SessionID)
	t.Row("branch", v.Branch)
	t.Row("lineage", strings.Join(v.Lineage, " > "))
	t.Row("agent", v.Agent)
	t.Row("human", HumanText(v.Human))
	t.Time("expires", v.Expires)
	t.Row("may", v.May)
}

// HumanText describes a human; empty for none.
func HumanText(h *jsonview.Human) string {
	if h == nil {
		return ""
	}
	from := h.Source
	if h.Issuer != "" {
		from += ", " + h.Issuer
	}
	return h.Name + " (" + from + ")"
}
