// Package upstream shows the tools of MCP servers behind the gate, accepts changes, and forgets
// tools.
package upstream

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Command is the family of these commands.
type Command struct {
	List   listCommand   `cmd:"" help:"List the tools that were seen, and their changes."`
	Accept acceptCommand `cmd:"" help:"Accept changes of a server's tools."`
	Forget forgetCommand `cmd:"" help:"Forget a server's tools, or one of them: they are pinned again when they are next seen."`
}

// tool is the JSON of a tool.
type tool struct {
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Accepted    string `json:"accepted"`
	Changed     string `json:"changed,omitempty"`
	Description string `json:"description,omitempty"`
	ReportedBy  string `json:"reported_by,omitempty"`
	LeftOut     string `json:"left_out,omitempty"`
}

// print shows tools. A change has its whole digest: who offers a tool could make two changes
// with the same beginning.
func print(printer show.Printer, io console.Streams, all []*policyv1.UpstreamTool) error {
	rows := make([]tool, len(all))
	for i, t := range all {
		rows[i] = tool{t.GetServer(), t.GetTool(), t.GetAccepted(), t.GetChanged(), t.GetDescription(), t.GetReportedBy(), t.GetLeftOut()}
	}
	const columns = "SERVER\tTOOL\tREPORTED BY\tACCEPTED\tCHANGED\tNEW DESCRIPTION\tLEFT OUT, AND CANNOT BE USED"
	return show.Table(printer, io.Out, columns, rows, func(t *tool) []any {
		return []any{
			t.Server, t.Tool, cmp.Or(t.ReportedBy, "-"), cmp.Or(short(t.Accepted), "-"), cmp.Or(t.Changed, "-"), cmp.Or(t.Description, "-"),
			cmp.Or(t.LeftOut, "-"),
		}
	})
}

// short returns enough of a digest to compare by eye.
func short(digest string) string { return digest[:min(len(digest), 12)] }

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		all, err := list(ctx, conn)
		if err != nil {
			return err
		}
		return print(c.Printer, io, all)
	})
}

func list(ctx context.Context, conn grpc.ClientConnInterface) ([]*policyv1.UpstreamTool, error) {
	resp, err := policyv1.NewUpstreamServiceClient(conn).ListUpstreamTools(ctx, &policyv1.ListUpstreamToolsRequest{})
	return resp.GetTools(), err
}

type acceptCommand struct {
	client.Connection
	show.Printer
	Server string `arg:"" help:"Name of the server."`
	Tool   string `arg:"" optional:"" help:"Name of its tool; all that have changed by default."`
	Digest string `help:"Accept the change with this digest, as upstream list shows it; without it, changes are shown on a terminal, and asked about." placeholder:"HEX"`
}

func (c *acceptCommand) Run(ctx context.Context, io console.Streams) error {
	switch {
	case c.Digest != "" && c.Tool == "":
		return console.Misusedf("--digest is that of one tool: name the tool")
	case c.Digest == "" && !io.Interactive():
		return console.Misusedf("give --digest with the digest that `interlock upstream list` shows: " +
			"a person must see the changes before accepting them, and this is no terminal")
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		changes := []*policyv1.UpstreamTool{{Server: c.Server, Tool: c.Tool, Changed: c.Digest}}
		if c.Digest == "" {
			var err error
			if changes, err = c.confirmed(ctx, io, conn); err != nil {
				return err
			}
		}
		var accepted []*policyv1.UpstreamTool
		for _, change := range changes {
			resp, err := policyv1.NewUpstreamServiceClient(conn).AcceptUpstreamTools(ctx, &policyv1.AcceptUpstreamToolsRequest{
				Server: change.GetServer(), Tool: change.GetTool(), Digest: change.GetChanged(),
			})
			if err != nil {
				return err
			}
			accepted = append(accepted, resp.GetTools()...)
		}
		return print(c.Printer, io, accepted)
	})
}

type forgetCommand struct {
	client.Connection
	show.Printer
	Server string `arg:"" help:"Name of the server."`
	Tool   string `arg:"" optional:"" help:"Name of its tool; all of its tools by default."`
}

func (c *forgetCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewUpstreamServiceClient(conn).ForgetUpstreamTools(ctx, &policyv1.ForgetUpstreamToolsRequest{Server: c.Server, Tool: c.Tool})
		if err != nil {
			return err
		}
		return print(c.Printer, io, resp.GetTools())
	})
}

// confirmed returns the changes that a person has seen and wants.
func (c *acceptCommand) confirmed(ctx context.Context, io console.Streams, conn grpc.ClientConnInterface) ([]*policyv1.UpstreamTool, error) {
	changes, err := list(ctx, conn)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(t *policyv1.UpstreamTool) bool {
		return t.GetServer() != c.Server || c.Tool != "" && t.GetTool() != c.Tool || t.GetChanged() == ""
	})
	if len(changes) == 0 {
		return nil, fmt.Errorf("no change of such a tool of the server %q waits to be accepted", c.Server)
	}
	if err := print(show.Printer{}, console.Streams{Out: io.Err}, changes); err != nil {
		return nil, err
	}
	if !(console.Streams{In: io.In, Out: io.Err}).Confirm("Accept this?") {
		fmt.Fprintln(io.Err, "interlock: not accepted")
		return nil, console.ErrNo
	}
	return changes, nil
}
