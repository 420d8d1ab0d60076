package approval

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// someApprovals names the approvals of a command.
type someApprovals struct {
	client.Connection
	show.Printer
	ApprovalIDs []string `arg:"" name:"approval" help:"Ids of approvals, or their beginnings; @last for the newest. Several are decided together, all or none: they must ask for the same thing."`
}

// one returns the only approval that is named; nil for several.
func (c *someApprovals) one() *oneApproval {
	if len(c.ApprovalIDs) > 1 {
		return nil
	}
	return &oneApproval{Connection: c.Connection, Printer: c.Printer, ApprovalID: c.ApprovalIDs[0]}
}

type approveCommand struct {
	someApprovals
	signing
	Note    string `help:"Note for the agent, and for the record." placeholder:"TEXT"`
	Input   string `help:"JSON object that replaces the data of the request; @FILE reads a file." placeholder:"JSON"`
	Digest  string `help:"Fail unless this is the digest of the request, as it was shown before." placeholder:"HEX"`
	Lease   string `help:"Let later calls pass too whose command matches this entry of allowed_commands; with --calls, --minutes or both." placeholder:"PATTERN"`
	Only    string `name:"lease-only" help:"Let later calls pass too that meet this condition, a JSON object; @FILE reads a file. What it does not name stays as in this call. With --calls, --minutes or both; next to --lease, both must match." placeholder:"JSON"`
	Calls   int64  `help:"With --lease or --lease-only: how many calls." placeholder:"N"`
	Minutes int64  `help:"With --lease or --lease-only: for how long." placeholder:"N"`
	Yes     bool   `short:"y" help:"Do not show it and ask on a terminal."`
}

func (c *approveCommand) Run(ctx context.Context, io console.Streams) error {
	data, err := input.Object("input", c.Input, io)
	if err != nil {
		return err
	}
	lease, err := c.lease(io)
	if err != nil {
		return err
	}
	one := c.one()
	if one == nil {
		if c.Input != "" || c.Digest != "" || lease != nil {
			return console.Misusedf("--input, --digest, --lease and --lease-only are of one approval; name one")
		}
		return c.decideAll(ctx, io, &approvalv1.DecideApprovalsRequest{Approve: true, Note: c.Note}, c.Yes, &c.signing)
	}
	return one.decide(ctx, io, func(conn grpc.ClientConnInterface) (*approvalv1.DecideApprovalRequest, error) {
		digest := c.Digest
		if digest == "" {
			shown, err := readApproval(ctx, conn, one.ApprovalID)
			if err != nil {
				return nil, err
			}
			if !c.Yes && c.ForPeople() && io.Interactive() {
				if err := one.print(ctx, io, conn, shown); err != nil {
					return nil, err
				}
				if !io.Confirm("Approve this?") {
					fmt.Fprintln(io.Err, "interlock: not approved; the request is still open")
					return nil, console.ErrNo
				}
			}
			digest = shown.Digest
		}
		signed, err := c.signed(ctx, io, conn, &approvalv1.GetApprovalStatementRequest{
			Approve: true, Note: c.Note, EditedData: data, Lease: lease,
			Items: []*approvalv1.DecideApprovalsItem{{ApprovalId: one.ApprovalID, Digest: digest}},
		})
		if err != nil {
			return nil, err
		}
		return &approvalv1.DecideApprovalRequest{Approve: true, Note: c.Note, EditedData: data, Digest: digest, Lease: lease, Signature: signed}, nil
	})
}

// lease returns that of the flags; nil for none.
func (c *approveCommand) lease(io console.Streams) (*approvalv1.LeaseTerms, error) {
	given := c.Lease != "" || c.Only != ""
	switch {
	case !given && (c.Calls != 0 || c.Minutes != 0):
		return nil, console.Misusedf("--calls and --minutes limit a lease; give --lease or --lease-only too")
	case !given:
		return nil, nil //nolint:nilnil // most approvals have none
	case c.Calls < 0 || c.Minutes < 0 || c.Calls == 0 && c.Minutes == 0:
		return nil, console.Misusedf("a lease needs --calls, --minutes or both, from 1")
	}
	only, err := input.Object("lease-only", c.Only, io)
	if err != nil {
		return nil, err
	}
	return &approvalv1.LeaseTerms{Pattern: c.Lease, Only: only, Calls: c.Calls, Minutes: c.Minutes}, nil
}

type rejectCommand struct {
	someApprovals
	signing
	Note string `help:"Note for the agent, and for the record." placeholder:"TEXT"`
}

func (c *rejectCommand) Run(ctx context.Context, io console.Streams) error {
	one := c.one()
	if one == nil {
		return c.decideAll(ctx, io, &approvalv1.DecideApprovalsRequest{Note: c.Note}, true, &c.signing)
	}
	return one.decide(ctx, io, func(conn grpc.ClientConnInterface) (*approvalv1.DecideApprovalRequest, error) {
		req := &approvalv1.DecideApprovalRequest{Note: c.Note}
		if c.Sign == "" && c.Key == "" {
			return req, nil
		}
		shown, err := readApproval(ctx, conn, one.ApprovalID)
		if err != nil {
			return nil, err
		}
		req.Signature, err = c.signed(ctx, io, conn, &approvalv1.GetApprovalStatementRequest{
			Note: c.Note, Items: []*approvalv1.DecideApprovalsItem{{ApprovalId: one.ApprovalID, Digest: shown.Digest}},
		})
		return req, err
	})
}

// decide casts a vote, as an approver unless a token names another role. That the caller
// may not decide, or not any more, is an answer too.
func (c *oneApproval) decide(
	ctx context.Context, io console.Streams,
	vote func(grpc.ClientConnInterface) (*approvalv1.DecideApprovalRequest, error),
) error {
	if err := c.Decides(io, "deciding an approval"); err != nil {
		return err
	}
	return c.AskAs(ctx, auth.Approver, io, undecided(), func(conn grpc.ClientConnInterface) error {
		if err := c.resolve(ctx, conn); err != nil {
			return err
		}
		req, err := vote(conn)
		if err != nil {
			return err
		}
		req.ApprovalId = c.ApprovalID
		resp, err := approvalv1.NewApprovalServiceClient(conn).DecideApproval(ctx, req)
		if err != nil {
			return err
		}
		view := jsonview.ApprovalOf(resp.GetApproval())
		return printOutcome(c.Printer, io.Out, &view)
	})
}

// undecided returns refusals that are answers to a vote.
func undecided() []fault.Reason {
	return append(slices.Clone(client.Refusals), fault.PermissionDenied, fault.ApprovalDecided)
}

// decideAll casts one vote on several approvals, with the digests that they have now.
func (c *someApprovals) decideAll(ctx context.Context, io console.Streams, req *approvalv1.DecideApprovalsRequest, yes bool, sign *signing) error {
	if err := c.Decides(io, "deciding approvals"); err != nil {
		return err
	}
	return c.AskAs(ctx, auth.Approver, io, undecided(), func(conn grpc.ClientConnInterface) error {
		var all []*jsonview.Approval
		for _, named := range c.ApprovalIDs {
			id, err := client.ApprovalID(ctx, conn, named)
			if err != nil {
				return err
			}
			shown, err := readApproval(ctx, conn, id)
			if err != nil {
				return err
			}
			all = append(all, shown)
			req.Items = append(req.Items, &approvalv1.DecideApprovalsItem{ApprovalId: id, Digest: shown.Digest})
		}
		if !yes && c.ForPeople() && io.Interactive() {
			for _, a := range all {
				one := oneApproval{Connection: c.Connection, Printer: c.Printer, ApprovalID: a.ApprovalID}
				if err := one.print(ctx, io, conn, a); err != nil {
					return err
				}
			}
			if !io.Confirm(fmt.Sprintf("Approve these %d?", len(all))) {
				fmt.Fprintln(io.Err, "interlock: not approved; the request is still open")
				return console.ErrNo
			}
		}
		signed, err := sign.signed(ctx, io, conn, &approvalv1.GetApprovalStatementRequest{Approve: req.GetApprove(), Note: req.GetNote(), Items: req.GetItems()})
		if err != nil {
			return err
		}
		req.Signature = signed
		resp, err := approvalv1.NewApprovalServiceClient(conn).DecideApprovals(ctx, req)
		if err != nil {
			return err
		}
		views := jsonview.Each(resp.GetApprovals(), jsonview.ApprovalOf)
		return show.Table(c.Printer, io.Out, "APPROVAL\tSTATUS\tRUN\tASKED BY\tWHAT", views, func(a *jsonview.Approval) []any {
			return []any{show.ID(a.ApprovalID), show.Word(statusOfApproval(a)), show.ID(a.RunID), a.Asker.Principal, what(a)}
		})
	})
}
