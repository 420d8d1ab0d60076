package workflow

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/definition"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type registerCommand struct {
	definition.Flags
	Shadow bool `help:"Judge tool calls by it alongside the live version, without enforcing it."`
}

func (c *registerCommand) Run(ctx context.Context, io console.Streams) error {
	if c.Shadow {
		return c.PutShadows(ctx, io)
	}
	return c.Register(ctx, io, "workflow", func(conn grpc.ClientConnInterface, source []byte) (*definition.Registered, error) {
		req := &enginev1.RegisterWorkflowRequest{Definition: source, ExpectedVersion: c.ExpectedVersion, Staged: c.Staged, DryRun: c.DryRun}
		resp, err := enginev1.NewWorkflowServiceClient(conn).RegisterWorkflow(ctx, req)
		view := registeredWorkflow{jsonview.WorkflowOf(resp.GetWorkflow()), resp.GetCreated()}
		view.Definition = nil
		return &definition.Registered{Value: view, Name: view.Name, Version: view.Version, Outcome: resp}, err
	})
}

// registeredWorkflow is the JSON of a registered workflow.
type registeredWorkflow struct {
	jsonview.Workflow
	Created bool `json:"created"`
}

type getCommand struct {
	client.Connection
	show.Printer
	Name    string `arg:"" help:"Name of the workflow."`
	Version int64  `help:"Version; the live one by default."`
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{
			Name: c.Name, Version: c.Version,
		})
		if err != nil {
			return err
		}
		view := jsonview.WorkflowOf(resp.GetWorkflow())
		return c.Print(io.Out, view, func(w *show.Sheet) {
			fmt.Fprintf(w, "%s\tversion %d\t%s\n", show.Text(view.Name), view.Version, view.Digest)
			fmt.Fprintln(w, show.Lines(string(view.Definition)))
		})
	})
}

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		workflows := enginev1.NewWorkflowServiceClient(conn)
		all, err := client.Collect(client.NoLimit, jsonview.WorkflowOf,
			func(token string, size int32) ([]*enginev1.Workflow, string, error) {
				page, err := workflows.ListWorkflows(ctx, &enginev1.ListWorkflowsRequest{PageToken: token, PageSize: size})
				return page.GetWorkflows(), page.GetNextPageToken(), err
			})
		if err != nil {
			return err
		}
		return show.Table(c.Printer, io.Out, "NAME\tVERSION\tLIVE\tCREATED\tBY", all, func(v *jsonview.Workflow) []any {
			return []any{v.Name, v.Version, definition.Live(v.LiveVersion, v.Retired), v.CreatedAt, v.CreatedBy}
		})
	})
}
