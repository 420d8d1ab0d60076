package approval

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type statsCommand struct {
	client.Connection
	show.Printer
	Since time.Duration `help:"Only approvals that were asked for in this time." default:"720h" placeholder:"DURATION"`
}

// Run shows which questions people are asked, and how they answer.
func (c *statsCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := approvalv1.NewApprovalServiceClient(conn).GetApprovalStats(ctx, &approvalv1.GetApprovalStatsRequest{
			Since: timestamppb.New(time.Now().Add(-c.Since)),
		})
		if err != nil {
			return err
		}
		const columns = "ASKED FOR\tBY\tASKED\tGRANTED\tREJECTED\tEXPIRED\tWITHIN 3S\tHINT"
		return show.Table(c.Printer, io.Out, columns, jsonview.Each(resp.GetQuestions(), jsonview.QuestionOf), func(q *jsonview.Question) []any {
			return []any{show.Shortened(q.What), q.AskedBy, q.Asked, q.Granted, q.Rejected, q.Expired, q.Quick, q.Hint}
		})
	})
}
