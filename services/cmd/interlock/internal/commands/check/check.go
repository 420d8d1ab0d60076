// Package check asks whether a tool call is allowed.
package check

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
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
	Tool    string  `arg:"" help:"Name of the tool."`
	RunID   string  `name:"run" required:"" xor:"run" help:"Id of the run, or its beginning; @last for the newest." placeholder:"RUN"`
	Session string  `required:"" xor:"run" help:"Instead, the session that drives the run, by id or name." placeholder:"SESSION"`
	Input   string  `help:"The tool's arguments as a JSON object; @FILE reads a file." placeholder:"JSON"`
	CallID  string  `help:"Id of the call; minted by default." placeholder:"ID" xor:"once"`
	Cost    string  `name:"estimated-cost-usd" help:"The estimated cost of the call: reserved of budgets until it is reported." placeholder:"USD"`
	DryRun  bool    `help:"Decide only: the decision is not counted or logged, no approver is asked, and the call must not be made." xor:"once"`
	Explain bool    `help:"Explain the decision, and how to get the call allowed."`
	As      asFlags `embed:"" prefix:"as-"`
}

// asFlags say whose call a dry run is.
type asFlags struct {
	Principal  string            `help:"With --dry-run, as an operator: decide as for an agent of this name." placeholder:"NAME"`
	Human      string            `help:"With --dry-run, as an operator: decide as on behalf of this human." placeholder:"NAME"`
	Issuer     string            `help:"The issuer of the name of --as-human; a person of this deployment by default." placeholder:"URL"`
	Groups     []string          `help:"All groups of --as-human; not known by default." placeholder:"NAME"`
	Attributes map[string]string `help:"Attributes of --as-human." placeholder:"NAME=VALUE"`
	Agent      string            `help:"With --dry-run, as an operator: decide as in a session that has started from this agent." placeholder:"NAME"`
}

// proto returns whose call it is; nil for the caller's own.
func (f *asFlags) proto(dryRun bool) (*policyv1.CallAs, error) {
	of := len(f.Issuer) > 0 || len(f.Groups) > 0 || len(f.Attributes) > 0
	switch {
	case f.Human == "" && of:
		return nil, console.Misusedf("--as-issuer, --as-groups and --as-attributes are about --as-human: give its name")
	case f.Principal == "" && f.Human == "" && f.Agent == "":
		return nil, nil
	case !dryRun:
		return nil, console.Misusedf("a call is tried as another caller in a dry run only: add --dry-run")
	}
	as := &policyv1.CallAs{Principal: f.Principal, Agent: f.Agent}
	if f.Human == "" {
		return as, nil
	}
	as.Human = &policyv1.Human{Name: f.Human, Issuer: f.Issuer, Groups: f.Groups, GroupsKnown: len(f.Groups) > 0}
	if len(f.Attributes) > 0 {
		text, err := json.Marshal(f.Attributes, json.Deterministic(true))
		if err != nil {
			return nil, console.Misusedf("--as-attributes: %w", err)
		}
		as.Human.Attributes = text
	}
	return as, nil
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
	as, err := c.As.proto(c.DryRun)
	if err != nil {
		return err
	}
	var resp *policyv1.CheckToolCallResponse
	err = c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) (err error) {
		if c.Session == "" {
			if c.RunID, err = client.RunID(ctx, conn, c.RunID); err != nil {
				return err
			}
		}
		resp, err = policyv1.NewPolicyEnforcerServiceClient(conn).CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
			RunId: c.RunID, SessionId: c.Session, Tool: c.Tool, Input: input, CallId: c.CallID, Branch: c.Branch, EstimatedCostUsd: c.Cost,
			DryRun: c.DryRun, Explain: c.Explain, As: as,
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
