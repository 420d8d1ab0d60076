// Package freeze stops some transitions of workflows for a time, lists such freezes, and lifts them.
package freeze

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command is the family of commands on freezes.
type Command struct {
	Add  addCommand  `cmd:"" set:"caller=operator" help:"Freeze workflows until a time: the transitions that they name, or that lead to dangerous states, are refused."`
	List listCommand `cmd:"" help:"List the freezes in force."`
	Lift liftCommand `cmd:"" set:"caller=operator" help:"Lift a freeze before its time."`
}

type addCommand struct {
	client.Connection
	show.Printer
	Workflow string `required:"" help:"The workflows: a name, in which * stands for any text." placeholder:"PATTERN"`
	Until    string `required:"" help:"Its end, at most 366 days from now: 14d, or 2026-01-31T08:00:00Z." placeholder:"TIME"`
	Reason   string `required:"" help:"Why, in one line: agents and people read it." placeholder:"TEXT"`
}

func (c *addCommand) Run(ctx context.Context, io console.Streams) error {
	until, err := input.End(c.Until, time.Now())
	if err != nil {
		return err
	}
	return c.AskAs(ctx, auth.Operator, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		resp, err := identityv1.NewHaltServiceClient(conn).CreateFreeze(ctx, &identityv1.CreateFreezeRequest{
			Workflow: c.Workflow, Until: timestamppb.New(until), Reason: c.Reason,
		})
		if err != nil {
			return err
		}
		if names, err := known(ctx, conn); err == nil {
			c.warn(ctx, io, conn, slices.DeleteFunc(names, func(name string) bool { return !workflow.FreezeCovers(c.Workflow, name) }))
		}
		return table(c.Printer, io, jsonview.FreezeOf(resp.GetFreeze()))
	})
}

// warn says where the freeze stops nothing.
func (c *addCommand) warn(ctx context.Context, io console.Streams, conn grpc.ClientConnInterface, names []string) {
	if len(names) == 0 {
		fmt.Fprintln(io.Err, "interlock: no workflow matches", show.Text(c.Workflow), "yet")
	}
	for _, name := range names[:min(len(names), mostWarnings)] {
		resp, err := enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: name})
		if err != nil { // a process, which no freeze is about in parts
			continue
		}
		def, problems := workflow.Parse(resp.GetWorkflow().GetDefinition())
		if !problems.HasErrors() && !workflow.Compile(def, 0).StopsAny() {
			fmt.Fprintln(io.Err, "interlock: the freeze stops nothing in", show.Text(name)+
				`: no state that an event leads to has a "danger_level" of "moderate" or more; list the events in "freeze" of the workflow`)
		}
	}
}

// mostWarnings is how many workflows a new freeze is tried on.
const mostWarnings = 20

// known returns the names of the workflows and processes that are registered.
func known(ctx context.Context, conn grpc.ClientConnInterface) ([]string, error) {
	workflows, processes := enginev1.NewWorkflowServiceClient(conn), enginev1.NewProcessServiceClient(conn)
	names, err := client.Collect(client.NoLimit, (*enginev1.Workflow).GetName, func(token string, size int32) ([]*enginev1.Workflow, string, error) {
		page, err := workflows.ListWorkflows(ctx, &enginev1.ListWorkflowsRequest{PageToken: token, PageSize: size})
		return page.GetWorkflows(), page.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	more, err := client.Collect(client.NoLimit, (*enginev1.Process).GetName, func(token string, size int32) ([]*enginev1.Process, string, error) {
		page, err := processes.ListProcesses(ctx, &enginev1.ListProcessesRequest{PageToken: token, PageSize: size})
		return page.GetProcesses(), page.GetNextPageToken(), err
	})
	return append(names, more...), err
}

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := identityv1.NewHaltServiceClient(conn).ListFreezes(ctx, &identityv1.ListFreezesRequest{})
		if err != nil {
			return err
		}
		return table(c.Printer, io, jsonview.Each(resp.GetFreezes(), jsonview.FreezeOf)...)
	})
}

type liftCommand struct {
	client.Connection
	show.Printer
	ID     string `arg:"" name:"freeze" help:"Id of the freeze."`
	Reason string `required:"" help:"Why, in one line." placeholder:"TEXT"`
}

func (c *liftCommand) Run(ctx context.Context, io console.Streams) error {
	return c.AskAs(ctx, auth.Operator, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		resp, err := identityv1.NewHaltServiceClient(conn).LiftFreeze(ctx, &identityv1.LiftFreezeRequest{Id: c.ID, Reason: c.Reason})
		if err != nil {
			return err
		}
		view := jsonview.FreezeOf(resp.GetFreeze())
		return c.Print(io.Out, view, func(w *show.Sheet) {
			fmt.Fprintf(w, "lifted\t%s (%s)\n", show.Text(view.FreezeID), show.Text(view.Workflow))
		})
	})
}

func table(p show.Printer, io console.Streams, all ...jsonview.Freeze) error {
	return show.Table(p, io.Out, "FREEZE\tWORKFLOW\tUNTIL\tREASON\tBY\tSINCE", all, func(f *jsonview.Freeze) []any {
		return []any{f.FreezeID, f.Workflow, f.Until, f.Reason, f.CreatedBy, f.CreatedAt}
	})
}
