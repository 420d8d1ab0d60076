// Package upstream shows the tools of MCP servers behind the gate, and accepts changes.
package upstream

import (
	"cmp"
	"context"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Command is the family of these commands.
type Command struct {
	List   listCommand   `cmd:"" help:"List the tools that were seen, and what has changed of them."`
	Accept acceptCommand `cmd:"" help:"Accept what has changed of a server's tools."`
}

// tool is the JSON of a tool.
type tool struct {
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Accepted    string `json:"accepted"`
	Changed     string `json:"changed,omitempty"`
	Description string `json:"description,omitempty"`
}

func print(printer show.Printer, io console.Streams, all []*policyv1.UpstreamTool) error {
	rows := make([]tool, len(all))
	for i, t := range all {
		rows[i] = tool{t.GetServer(), t.GetTool(), t.GetAccepted(), t.GetChanged(), t.GetDescription()}
	}
	const columns = "SERVER\tTOOL\tACCEPTED\tCHANGED\tNEW DESCRIPTION"
	return show.Table(printer, io.Out, columns, rows, func(t *tool) []any {
		return []any{t.Server, t.Tool, short(t.Accepted), cmp.Or(short(t.Changed), "-"), cmp.Or(t.Description, "-")}
	})
}

// short is enough of a digest to compare by eye.
func short(digest string) string { return digest[:min(len(digest), 12)] }

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewUpstreamServiceClient(conn).ListUpstreamTools(ctx, &policyv1.ListUpstreamToolsRequest{})
		if err != nil {
			return err
		}
		return print(c.Printer, io, resp.GetTools())
	})
}

type acceptCommand struct {
	client.Connection
	show.Printer
	Server string `arg:"" help:"Name of the server."`
	Tool   string `arg:"" optional:"" help:"Name of its tool; all that have changed by default."`
}

func (c *acceptCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewUpstreamServiceClient(conn).AcceptUpstreamTools(ctx, &policyv1.AcceptUpstreamToolsRequest{
			Server: c.Server, Tool: c.Tool,
		})
		if err != nil {
			return err
		}
		return print(c.Printer, io, resp.GetTools())
	})
}
