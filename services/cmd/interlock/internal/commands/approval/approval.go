package approval

import (
	"context"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// oneApproval names the approval of a command.
type oneApproval struct {
	client.Connection
	show.Printer
	ApprovalID string `arg:"" name:"approval" help:"Id of the approval, or its beginning; @last for the newest."`
}

// resolve finds the approval that is meant.
func (c *oneApproval) resolve(ctx context.Context, conn grpc.ClientConnInterface) (err error) {
	c.ApprovalID, err = client.ApprovalID(ctx, conn, c.ApprovalID)
	return err
}

// statusOfApproval returns the status in a line, with the votes as long as it counts
// them.
func statusOfApproval(a *jsonview.Approval) string {
	if required := max(a.Terms.Required, 1); a.Status == "PENDING" && required > 1 {
		return fmt.Sprintf("%s (%d of %d)", a.Status, votes(a, true), required)
	}
	return a.Status
}

func votes(a *jsonview.Approval, approve bool) int {
	n := 0
	for i := range a.Votes {
		if a.Votes[i].Approve == approve {
			n++
		}
	}
	return n
}

// printOutcome describes how an approval stands.
func printOutcome(p show.Printer, out io.Writer, a *jsonview.Approval) error {
	return p.Print(out, a, func(w *show.Sheet) {
		fmt.Fprintf(w, "%s\t%s\n", show.Text(a.ApprovalID), w.Word(statusOfApproval(a)))
		if a.Outcome != "" {
			fmt.Fprintln(w, show.Text(sentence(a.Outcome)))
		}
	})
}

// sentence makes a sentence of words that a service has put together.
func sentence(text string) string {
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

type listCommand struct {
	client.Connection
	show.Printer
	Status string `help:"Only approvals of this status, e.g. PENDING." placeholder:"STATUS"`
	RunID  string `name:"run" help:"Only approvals of this run." placeholder:"RUN"`
	client.Page
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	status, err := client.Choice(
		"status", c.Status, approvalv1.ApprovalStatus_value, "APPROVAL_STATUS_", jsonview.ApprovalStatuses(),
	)
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		run, err := client.RunID(ctx, conn, c.RunID)
		if err != nil {
			return err
		}
		before, err := c.Term(ctx, conn, client.ApprovalID)
		if err != nil {
			return err
		}
		filter := listing.Filter(
			listing.Term{Key: "status", Value: protomap.Word(approvalv1.ApprovalStatus(status), "APPROVAL_STATUS_")},
			listing.Term{Key: "run_id", Value: run}, before,
		)
		approvals := approvalv1.NewApprovalServiceClient(conn)
		all, err := client.Collect(c.Limit, jsonview.ApprovalOf,
			func(token string, size int32) ([]*approvalv1.Approval, string, error) {
				page, err := approvals.ListApprovals(ctx, &approvalv1.ListApprovalsRequest{
					PageSize: size, PageToken: token, Filter: filter,
				})
				return page.GetApprovals(), page.GetNextPageToken(), err
			})
		if err != nil {
			return err
		}
		const columns = "APPROVAL\tSTATUS\tRUN\tASKED BY\tWHAT\tUNTIL"
		return show.Table(c.Printer, io.Out, columns, all, func(a *jsonview.Approval) []any {
			return []any{show.ID(a.ApprovalID), show.Word(statusOfApproval(a)), show.ID(a.RunID), a.Asker.Principal, what(a), a.ExpiresAt}
		})
	})
}

// what describes the object of an approval in a line: of a call with its command line or its file.
func what(a *jsonview.Approval) string {
	asked := jsonview.AskedFor(a)
	if a.Kind == "tool_call" {
		if argument := show.Argument(a.Data); argument != "" {
			asked += ": " + argument
		}
	}
	return show.Shortened(asked)
}
