// Package check asks whether a tool call is allowed.
package check

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/run"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command asks whether a tool call is allowed.
type Command struct {
	client.Connection
	show.Printer
	run.BranchFlag
	Tool    string `arg:"" help:"Name of the tool."`
	RunID   string `name:"run" required:"" help:"Id of the run, or its beginning; @last for the newest." placeholder:"RUN"`
	Input   string `help:"The tool's arguments as a JSON object; @FILE reads a file." placeholder:"JSON"`
	CallID  string `help:"Id of the call; minted by default." placeholder:"ID" xor:"once"`
	Cost    string `name:"estimated-cost-usd" help:"The estimated cost of the call: reserved of budgets until it is reported." placeholder:"USD"`
	DryRun  bool   `help:"Decide only: the decision is not counted or logged, no approver is asked, and the call must not be made." xor:"once"`
	Explain bool   `help:"Explain the decision, and how to get the call allowed."`
}

// decisionView is the JSON of a decision.
type decisionView struct {
	jsonview.Decision
	DryRun bool `json:"dry_run,omitzero"`
}

// Run prints the decision. It returns console.ErrWaits when a human is asked, and
// console.ErrNo when the call is denied.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	input, err := input.Object("input", c.Input, io)
	if err != nil {
		return err
	}
	var resp *policyv1.CheckToolCallResponse
	err = c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) (err error) {
		if c.RunID, err = client.RunID(ctx, conn, c.RunID); err != nil {
			return err
		}
		resp, err = policyv1.NewPolicyEnforcerServiceClient(conn).CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
			RunId: c.RunID, Tool: c.Tool, Input: input, CallId: c.CallID, Branch: c.Branch, EstimatedCostUsd: c.Cost,
			DryRun: c.DryRun, Explain: c.Explain,
		})
		return err
	})
	if err != nil {
		return err
	}
	view := jsonview.DecisionOf(resp)
	err = c.Print(io.Out, decisionView{view, c.DryRun}, func(w *show.Sheet) {
		fmt.Fprintln(w, strings.TrimSpace(w.Word(view.Decision)+"  "+view.Code))
		if view.Message != "" {
			fmt.Fprintln(w, show.Text(view.Message))
		}
		switch {
		case c.DryRun:
			fmt.Fprintln(w, "Dry run: the decision was not counted or logged, no approver was asked, and the call must not be made.")
		case view.Decision == "ASK" && view.ApprovalID != "":
			fmt.Fprintf(w, "approval\t%s\n", show.Text(view.ApprovalID))
		}
		if view.Explanation != nil {
			show.Explanation(w, view.Explanation)
		}
	})
	if err != nil {
		return err
	}
	switch resp.GetDecision() {
	case policyv1.Decision_DECISION_ALLOW:
		return nil
	case policyv1.Decision_DECISION_ASK:
		return console.ErrWaits
	default:
		return console.ErrNo
	}
}
