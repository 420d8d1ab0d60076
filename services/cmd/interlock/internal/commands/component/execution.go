package component

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// scopeFlags say whose values of a component are meant.
type scopeFlags struct {
	client.Connection
	show.Printer
	client.Acting
	Slug    string `arg:"" optional:"" help:"Slug of the component; by default the one that the session refers to."`
	Session string `help:"Session whose values they are, by id or name; by default the one that acts." placeholder:"NAME"`
	Subject string `help:"Whose long-term values they are; by default the session's." placeholder:"NAME"`
}

type valuesCommand struct{ scopeFlags }

func (c *valuesCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).GetComponentValues(ctx, &statev1.GetComponentValuesRequest{
			Slug: c.Slug, Session: cmp.Or(c.Session, c.AsSession), Subject: c.Subject,
		})
		if err != nil {
			return err
		}
		return printExecution(c.Printer, io, resp.GetExecution())
	})
}

type beginCommand struct{ scopeFlags }

func (c *beginCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).BeginExecution(ctx, &statev1.BeginExecutionRequest{
			Slug: c.Slug, Session: cmp.Or(c.Session, c.AsSession), Subject: c.Subject,
		})
		if err != nil {
			return err
		}
		return printExecution(c.Printer, io, resp.GetExecution())
	})
}

type commitCommand struct {
	client.Connection
	show.Printer
	client.Acting
	ExecutionID string   `arg:"" name:"execution" help:"Id of the execution."`
	Values      string   `xor:"change" help:"The values, a JSON object, as JSON or in a file." placeholder:"JSON|FILE"`
	Patch       []string `xor:"change" sep:"none" help:"Operation of a JSON Patch (RFC 6902) of the values that it began with, or a list of them, as JSON or in a file. May be repeated." placeholder:"JSON|FILE"`
	Merge       string   `xor:"change" help:"JSON Merge Patch (RFC 7396) of them, as JSON or in a file." placeholder:"JSON|FILE"`
}

func (c *commitCommand) Run(ctx context.Context, io console.Streams) error {
	req := &statev1.CommitExecutionRequest{ExecutionId: c.ExecutionID, Session: c.AsSession}
	if err := c.change(req, io); err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).CommitExecution(ctx, req)
		if err != nil {
			return err
		}
		return printExecution(c.Printer, io, resp.GetExecution())
	})
}

// change sets the changes of the execution to its values: none without a flag.
func (c *commitCommand) change(req *statev1.CommitExecutionRequest, io console.Streams) error {
	switch {
	case c.Values != "":
		values, err := input.JSON("values", c.Values, io)
		req.Change = &statev1.CommitExecutionRequest_Values{Values: values}
		return err
	case len(c.Patch) > 0:
		patch, err := input.Operations("patch", c.Patch, io)
		req.Change = &statev1.CommitExecutionRequest_Patch{Patch: patch}
		return err
	case c.Merge != "":
		merge, err := input.JSON("merge", c.Merge, io)
		req.Change = &statev1.CommitExecutionRequest_MergePatch{MergePatch: merge}
		return err
	default:
		return nil
	}
}

// printExecution writes the values of a component, and of which execution they are.
func printExecution(p show.Printer, io console.Streams, execution *statev1.Execution) error {
	view := jsonview.ExecutionOf(execution)
	return p.Print(io.Out, view, func(w *show.Sheet) {
		t := show.Rows{W: w}
		t.Row("execution", view.ExecutionID)
		t.Row("component", view.Slug)
		t.Row("persistence", view.Persistence)
		t.Row("session", view.SessionID)
		t.Row("subject", view.Subject)
		t.Row("version", fmt.Sprint(view.Version))
		t.Row("never set", strings.Join(view.Unset, ", "))
		fmt.Fprintln(w, show.Indented(view.Values))
	})
}
