// Package lease shows the leases of approvers, by which calls pass without another
// question, and revokes them.
package lease

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command is the family of commands on leases.
type Command struct {
	List   listCommand   `cmd:"" help:"List the leases that last."`
	Revoke revokeCommand `cmd:"" set:"caller=approver" help:"Revoke a lease."`
}

type listCommand struct {
	client.Connection
	show.Printer
	RunID string `name:"run" help:"Only leases of this run." placeholder:"RUN"`
	Limit int    `help:"Show at most this many." default:"1000" placeholder:"N"`
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		run, err := client.RunID(ctx, conn, c.RunID)
		if err != nil {
			return err
		}
		leases := approvalv1.NewApprovalServiceClient(conn)
		all, err := client.Collect(c.Limit, jsonview.LeaseOf, func(token string, size int32) ([]*approvalv1.Lease, string, error) {
			page, err := leases.ListLeases(ctx, &approvalv1.ListLeasesRequest{PageSize: size, PageToken: token, RunId: run})
			return page.GetLeases(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return table(c.Printer, io, all)
	})
}

type revokeCommand struct {
	client.Connection
	show.Printer
	LeaseID string `arg:"" name:"lease" help:"Id of the lease."`
}

func (c *revokeCommand) Run(ctx context.Context, io console.Streams) error {
	if err := c.Decides(io, "revoking a lease"); err != nil {
		return err
	}
	return c.AskAs(ctx, auth.Approver, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		resp, err := approvalv1.NewApprovalServiceClient(conn).RevokeLease(ctx, &approvalv1.RevokeLeaseRequest{LeaseId: c.LeaseID})
		if err != nil {
			return err
		}
		return table(c.Printer, io, []jsonview.Lease{jsonview.LeaseOf(resp.GetLease())})
	})
}

func table(p show.Printer, io console.Streams, all []jsonview.Lease) error {
	return show.Table(p, io.Out, "LEASE\tRUN\tSTATE\tCAPABILITY\tCOVERS\tCALLS LEFT\tUNTIL\tGRANTED BY", all, func(l *jsonview.Lease) []any {
		return []any{show.ID(l.LeaseID), show.ID(l.RunID), l.State, l.Capability, covers(l), l.CallsLeft, l.ExpiresAt, l.GrantedBy}
	})
}

// covers returns the pattern and the condition of a lease.
func covers(l *jsonview.Lease) string {
	return strings.TrimSpace(l.Pattern + " " + string(l.Only))
}
