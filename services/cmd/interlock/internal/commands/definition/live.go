package definition

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Precondition is the flag of the live version that a change is made on.
type Precondition struct {
	ExpectedVersion int64 `help:"Change it only if this version is live." placeholder:"VERSION"`
}

// Named names a workflow or process.
type Named struct {
	client.Connection
	show.Printer
	Name string `arg:"" help:"Its name."`
}

// change makes a change, and prints how the workflow stands after it.
func (c *Named) change(ctx context.Context, io console.Streams, done string, change func(enginev1.WorkflowServiceClient) (*enginev1.Workflow, error)) error {
	return c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		w, err := change(enginev1.NewWorkflowServiceClient(conn))
		if err != nil {
			return err
		}
		view := jsonview.WorkflowOf(w)
		view.Definition = nil
		return c.Print(io.Out, view, func(out *show.Sheet) {
			fmt.Fprintf(out, "%s\t%s\tlive %s\n", done, show.Text(view.Name), Live(view.LiveVersion, view.Retired))
		})
	})
}

// Live describes the version that new runs get.
func Live(version int64, retired *jsonview.Retirement) string {
	switch {
	case retired != nil:
		return "- (retired)"
	case version == 0:
		return "-"
	}
	return fmt.Sprint(version)
}

// Promote is the command that makes a version live.
type Promote struct {
	Named
	Precondition
	Version int64 `arg:"" help:"Version to make live."`
}

// Run makes the version live.
func (c *Promote) Run(ctx context.Context, io console.Streams) error {
	return c.change(ctx, io, "promoted", func(s enginev1.WorkflowServiceClient) (*enginev1.Workflow, error) {
		resp, err := s.PromoteWorkflow(ctx, &enginev1.PromoteWorkflowRequest{Name: c.Name, Version: c.Version, ExpectedVersion: c.ExpectedVersion})
		return resp.GetWorkflow(), err
	})
}

// Retire is the command that ends new runs.
type Retire struct {
	Named
	Reason string `help:"Why, for those whose start is refused." placeholder:"TEXT"`
}

// Run ends new runs.
func (c *Retire) Run(ctx context.Context, io console.Streams) error {
	return c.change(ctx, io, "retired", func(s enginev1.WorkflowServiceClient) (*enginev1.Workflow, error) {
		resp, err := s.RetireWorkflow(ctx, &enginev1.RetireWorkflowRequest{Name: c.Name, Reason: c.Reason})
		return resp.GetWorkflow(), err
	})
}

// Restore is the command that undoes Retire.
type Restore struct{ Named }

// Run lets new runs start again.
func (c *Restore) Run(ctx context.Context, io console.Streams) error {
	return c.change(ctx, io, "restored", func(s enginev1.WorkflowServiceClient) (*enginev1.Workflow, error) {
		resp, err := s.RestoreWorkflow(ctx, &enginev1.RestoreWorkflowRequest{Name: c.Name})
		return resp.GetWorkflow(), err
	})
}
