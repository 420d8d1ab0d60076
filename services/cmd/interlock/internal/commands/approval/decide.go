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
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type approveCommand struct {
	oneApproval
	Note   string `help:"Note for the agent, and for the record." placeholder:"TEXT"`
	Input  string `help:"JSON object that replaces the data of what is asked for; @FILE reads a file." placeholder:"JSON"`
	Digest string `help:"Fail unless this is the digest of what is asked for, as it was shown before." placeholder:"HEX"`
	Yes    bool   `short:"y" help:"Do not show it and ask on a terminal."`
}

func (c *approveCommand) Run(ctx context.Context, io console.Streams) error {
	data, err := input.Object("input", c.Input, io)
	if err != nil {
		return err
	}
	return c.decide(ctx, io, func(conn grpc.ClientConnInterface) (*approvalv1.DecideApprovalRequest, error) {
		digest := c.Digest
		if digest == "" {
			shown, err := readApproval(ctx, conn, c.ApprovalID)
			if err != nil {
				return nil, err
			}
			if !c.Yes && c.ForPeople() && io.Interactive() {
				if err := c.print(ctx, io, conn, shown); err != nil {
					return nil, err
				}
				if !io.Confirm("Approve this?") {
					fmt.Fprintln(io.Err, "interlock: not approved; nothing was decided")
					return nil, console.ErrNo
				}
			}
			digest = shown.Digest
		}
		return &approvalv1.DecideApprovalRequest{Approve: true, Note: c.Note, EditedData: data, Digest: digest}, nil
	})
}

type rejectCommand struct {
	oneApproval
	Note string `help:"Note for the agent, and for the record." placeholder:"TEXT"`
}

func (c *rejectCommand) Run(ctx context.Context, io console.Streams) error {
	return c.decide(ctx, io, func(grpc.ClientConnInterface) (*approvalv1.DecideApprovalRequest, error) {
		return &approvalv1.DecideApprovalRequest{Note: c.Note}, nil
	})
}

// decide casts a vote, as an approver unless a token names somebody else. That the
// caller may not decide, or not any more, is an answer too.
func (c *oneApproval) decide(
	ctx context.Context, io console.Streams,
	vote func(grpc.ClientConnInterface) (*approvalv1.DecideApprovalRequest, error),
) error {
	if err := c.PersonCredentials(io, "deciding an approval"); err != nil {
		return err
	}
	answers := append(slices.Clone(client.Refusals), fault.PermissionDenied, fault.ApprovalDecided)
	return c.AskAs(ctx, auth.Approver, io, answers, func(conn grpc.ClientConnInterface) error {
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
