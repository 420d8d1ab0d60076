package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type approvalCommand struct {
	List    approvalList    `cmd:"" help:"List approvals."`
	Get     approvalGet     `cmd:"" aliases:"show" help:"Show exactly what is asked for, who asks, and what the run did before."`
	Approve approvalApprove `cmd:"" set:"caller=approver" help:"Approve. Whoever has asked cannot."`
	Reject  approvalReject  `cmd:"" set:"caller=approver" help:"Reject."`
	Wait    approvalWait    `cmd:"" help:"Wait for the decision; exit code 1 unless it is granted."`
}

type approvalList struct {
	clientFlags
	show.Printer
	Status string `help:"Only approvals of this status, e.g. PENDING." placeholder:"STATUS"`
	RunID  string `name:"run" help:"Only approvals of this run." placeholder:"RUN"`
	Limit  int    `help:"At most so many." default:"1000"`
}

func (c *approvalList) Run(ctx context.Context, io console.Streams) error {
	status, err := choice("status", c.Status, approvalv1.ApprovalStatus_value, "APPROVAL_STATUS_", jsonview.ApprovalStatuses())
	if err != nil {
		return err
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		approvals := approvalv1.NewApprovalServiceClient(conn)
		all, err := collect(c.Limit, jsonview.ApprovalOf, func(token string, size int32) ([]*approvalv1.Approval, string, error) {
			page, err := approvals.ListApprovals(ctx, &approvalv1.ListApprovalsRequest{
				Status: approvalv1.ApprovalStatus(status), RunId: c.RunID, PageSize: size, PageToken: token,
			})
			return page.GetApprovals(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return c.Print(io.Out, all, func(w *tabwriter.Writer) {
			fmt.Fprintln(w, "APPROVAL\tSTATUS\tRUN\tASKED BY\tWHAT\tUNTIL")
			for i := range all {
				a := &all[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", show.Text(a.ApprovalID), statusOfApproval(a), show.Text(a.RunID), show.Text(a.Asker.Principal),
					show.Text(show.Shortened(askedFor(a))), show.Time(a.ExpiresAt))
			}
		})
	})
}

// statusOfApproval is the status in a line, with the votes as long as it counts
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

// oneApproval names the approval of a command.
type oneApproval struct {
	clientFlags
	show.Printer
	ApprovalID string `arg:"" name:"approval" help:"Id of the approval."`
}

type approvalWait struct {
	oneApproval
	Timeout time.Duration `help:"How long to wait; 0 for as long as it takes." default:"0s" placeholder:"DURATION"`
}

func (c *approvalWait) Run(ctx context.Context, io console.Streams) error {
	var last *approvalv1.Approval
	err := c.ask(ctx, io, func(conn grpc.ClientConnInterface) (err error) {
		last, err = c.await(ctx, approvalv1.NewApprovalServiceClient(conn))
		return err
	})
	if err != nil {
		return err
	}
	if last == nil || ctx.Err() != nil {
		return fmt.Errorf("the server ended the wait for approval %s; wait again", c.ApprovalID)
	}
	view := jsonview.ApprovalOf(last)
	if err := printOutcome(c.Printer, io.Out, &view); err != nil {
		return err
	}
	switch last.GetStatus() {
	case approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED, approvalv1.ApprovalStatus_APPROVAL_STATUS_USED:
		return nil
	default:
		return console.ErrNo
	}
}

// await is the approval as it is decided, or as it stands when the time is over.
func (c *approvalWait) await(ctx context.Context, approvals approvalv1.ApprovalServiceClient) (*approvalv1.Approval, error) {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	defer cancel()
	var last *approvalv1.Approval
	stream, err := approvals.WatchApproval(waiting, &approvalv1.WatchApprovalRequest{ApprovalId: c.ApprovalID})
	for err == nil {
		var change *approvalv1.WatchApprovalResponse
		if change, err = stream.Recv(); err != nil {
			break
		}
		last = change.GetApproval()
		if last.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING {
			return last, nil
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return last, nil
	case !c.over(ctx, waiting, err):
		return last, err
	case last != nil:
		return last, nil
	}
	resp, err := approvals.GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: c.ApprovalID})
	return resp.GetApproval(), err
}

// over reports that the wait has ended because its time is over: the server may
// notice that first.
func (c *approvalWait) over(ctx, waiting context.Context, err error) bool {
	if c.Timeout <= 0 || ctx.Err() != nil {
		return false
	}
	code := status.Code(err)
	return waiting.Err() != nil || code == codes.Canceled || code == codes.DeadlineExceeded
}

// printOutcome says how an approval stands.
func printOutcome(p show.Printer, out io.Writer, a *jsonview.Approval) error {
	return p.Print(out, a, func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "%s\t%s\n", show.Text(a.ApprovalID), statusOfApproval(a))
		if a.Outcome != "" {
			fmt.Fprintln(w, show.Text(sentence(a.Outcome)))
		}
	})
}

// sentence makes a sentence of words that a service has put together.
func sentence(text string) string {
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
