package policy

import (
	"context"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/definition"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

type shadowWorkflowCommand struct {
	client.Connection
	show.Printer
	File string `arg:"" optional:"" help:"The other definition of the workflow, JSON or YAML by its name." placeholder:"FILE"`
	End  string `help:"End the shadow of this workflow." placeholder:"NAME"`
}

func (c *shadowWorkflowCommand) Run(ctx context.Context, io console.Streams) error {
	if (c.File == "") == (c.End == "") {
		return console.Misusedf("give the file of a definition, or --end with the name of a workflow")
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		view := definition.Shadow{Workflow: c.End}
		var err error
		if c.End == "" {
			view, err = definition.PutShadow(ctx, conn, c.File, io)
		} else {
			_, err = policyv1.NewPolicyServiceClient(conn).ShadowWorkflow(ctx, &policyv1.ShadowWorkflowRequest{Workflow: c.End})
		}
		if err != nil {
			return err
		}
		return c.Print(io.Out, view, func(w *show.Sheet) { view.Row(w) })
	})
}
