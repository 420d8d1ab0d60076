// Package halt stops work, lets it go on, and lists the halts.
package halt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command is the family of commands on halts.
type Command struct {
	Now  nowCommand  `cmd:"" default:"withargs" set:"caller=operator" help:"Stop all work in a scope, or let it go on with --lift. The same as interlock halt."`
	List listCommand `cmd:"" help:"List the halts in force."`
}

type nowCommand struct {
	client.Connection
	show.Printer
	Session   string `xor:"scope" help:"Halt a session, with all below it." placeholder:"SESSION"`
	Workflow  string `xor:"scope" help:"Halt the runs of a workflow or process." placeholder:"NAME"`
	Principal string `xor:"scope" help:"Halt a principal, under all its tokens." placeholder:"NAME"`
	Person    string `xor:"scope" help:"Halt a person." placeholder:"NAME"`
	Human     string `xor:"scope" help:"Halt all who act on behalf of a human." placeholder:"NAME"`
	Group     string `xor:"scope" help:"Halt all who act on behalf of a human of a group." placeholder:"NAME"`
	Agent     string `xor:"scope" help:"Halt the sessions that were started from an agent, with all below them." placeholder:"NAME"`
	All       bool   `xor:"scope" help:"Halt the whole deployment. It needs the role root."`
	Lift      string `xor:"scope" help:"Lift a halt: the work in its scope goes on." placeholder:"HALT"`
	Reason    string `required:"" help:"Why, in one line: agents and people read it." placeholder:"TEXT"`
}

// scope returns the scope to halt: the named namespace unless a narrower one is given.
func (c *nowCommand) scope() (*identityv1.HaltScope, error) {
	if c.All {
		return jsonview.HaltScope("all", ""), nil
	}
	named := []struct{ kind, name string }{
		{"session", c.Session},
		{"workflow", c.Workflow},
		{"principal", c.Principal},
		{"person", c.Person},
		{"human", c.Human},
		{"group", c.Group},
		{"agent", c.Agent},
	}
	if i := slices.IndexFunc(named, func(s struct{ kind, name string }) bool { return s.name != "" }); i >= 0 {
		return jsonview.HaltScope(named[i].kind, named[i].name), nil
	}
	if c.Namespace == "" {
		return nil, console.Misusedf("give the scope to halt: --session, --workflow, --principal, --person, --human, --group, --agent, --namespace NAME alone, or --all")
	}
	return jsonview.HaltScope("namespace", ""), nil
}

func (c *nowCommand) Run(ctx context.Context, io console.Streams) error {
	if c.All && c.As == "" && c.Has(ctx, io, auth.Root) {
		return errors.New("only the role root halts the whole deployment, and you have the role root: add --as root")
	}
	act := func(conn grpc.ClientConnInterface) (*identityv1.Halt, error) {
		resp, err := identityv1.NewHaltServiceClient(conn).LiftHalt(ctx, &identityv1.LiftHaltRequest{Id: c.Lift, Reason: c.Reason})
		return resp.GetHalt(), err
	}
	if c.Lift == "" {
		scope, err := c.scope()
		if err != nil {
			return err
		}
		act = func(conn grpc.ClientConnInterface) (*identityv1.Halt, error) {
			resp, err := identityv1.NewHaltServiceClient(conn).CreateHalt(ctx, &identityv1.CreateHaltRequest{Scope: scope, Reason: c.Reason})
			return resp.GetHalt(), err
		}
	}
	return c.AskAs(ctx, auth.Operator, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		h, err := act(conn)
		if err != nil {
			return err
		}
		view := jsonview.HaltOf(h)
		if c.Lift != "" {
			return c.Print(io.Out, view, func(w *show.Sheet) {
				fmt.Fprintf(w, "lifted\t%s (%s)\n", show.Text(view.HaltID), show.Text(scopeOf(&view)))
			})
		}
		if view.Kind == "session" {
			fmt.Fprintln(io.Err, "new sessions are not halted: --workflow, --principal or --namespace NAME halts those too")
		}
		return table(c.Printer, io, []jsonview.Halt{view})
	})
}

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := identityv1.NewHaltServiceClient(conn).ListHalts(ctx, &identityv1.ListHaltsRequest{})
		if err != nil {
			return err
		}
		return table(c.Printer, io, jsonview.Each(resp.GetHalts(), jsonview.HaltOf))
	})
}

func scopeOf(h *jsonview.Halt) string { return strings.TrimSpace(h.Kind + " " + h.Name) }

func table(p show.Printer, io console.Streams, all []jsonview.Halt) error {
	return show.Table(p, io.Out, "HALT\tSCOPE\tNAMESPACE\tREASON\tBY\tSINCE", all, func(h *jsonview.Halt) []any {
		namespace := h.Namespace
		if namespace == "" {
			namespace = "*"
		}
		return []any{h.HaltID, scopeOf(h), namespace, h.Reason, h.CreatedBy, h.CreatedAt}
	})
}
