// Package call shows the calls without a reported outcome, and settles them.
package call

import (
	"context"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command is the family of commands on calls whose outcome is not known.
type Command struct {
	List   listCommand   `cmd:"" help:"List the calls of a run whose end is not reported."`
	Settle settleCommand `cmd:"" set:"caller=approver" help:"Say how such a call has ended."`
}

type listCommand struct {
	client.Connection
	show.Printer
	RunID string `arg:"" name:"run" help:"Id of the run."`
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		run, err := client.RunID(ctx, conn, c.RunID)
		if err != nil {
			return err
		}
		resp, err := policyv1.NewPolicyEnforcerServiceClient(conn).ListOpenCalls(ctx, &policyv1.ListOpenCallsRequest{RunId: run})
		if err != nil {
			return err
		}
		return table(c.Printer, io, jsonview.Each(resp.GetCalls(), jsonview.OpenCallOf))
	})
}

type settleCommand struct {
	client.Connection
	show.Printer
	RunID   string `arg:"" name:"run" help:"Id of the run."`
	CallID  string `arg:"" name:"call" help:"Id of the call."`
	Outcome string `required:"" enum:"ok,failed,not_executed" help:"How it has ended: ok, failed or not_executed." placeholder:"OUTCOME"`
	Note    string `help:"How that is known, for the record." placeholder:"TEXT"`
}

func (c *settleCommand) Run(ctx context.Context, io console.Streams) error {
	if err := c.Decides(io, "settling a call"); err != nil {
		return err
	}
	return c.AskAs(ctx, auth.Approver, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		run, err := client.RunID(ctx, conn, c.RunID)
		if err != nil {
			return err
		}
		resp, err := policyv1.NewPolicyEnforcerServiceClient(conn).SettleToolCall(ctx, &policyv1.SettleToolCallRequest{
			RunId: run, CallId: c.CallID, Outcome: c.Outcome, Note: c.Note,
		})
		if err != nil {
			return err
		}
		return show.Table(c.Printer, io.Out, "CALL\tRUN\tTOOL\tWHAT\tOUTCOME", []*policyv1.SettleToolCallResponse{resp}, func(r **policyv1.SettleToolCallResponse) []any {
			of := (*r).GetCall()
			return []any{of.GetCallId(), show.ID(of.GetRunId()), of.GetTool(), of.GetWhat(), (*r).GetOutcome()}
		})
	})
}

func table(p show.Printer, io console.Streams, all []jsonview.OpenCall) error {
	return show.Table(p, io.Out, "CALL\tRUN\tTOOL\tWHAT\tMADE BY\tALLOWED\tDUE\tUNKNOWN", all, func(c *jsonview.OpenCall) []any {
		due := any("-")
		if !c.DueAt.IsZero() {
			due = c.DueAt
		}
		return []any{c.CallID, show.ID(c.RunID), c.Tool, c.What, c.MadeBy, c.AllowedAt, due, c.Unknown}
	})
}
