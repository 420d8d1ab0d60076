package task

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

type listCommand struct {
	client.Connection
	show.Printer
	Session string `help:"Only that of this session, by id or name." placeholder:"NAME"`
	Status  string `help:"Only tasks of this status: delayed, ready or claimed." placeholder:"STATUS"`
	Limit   int    `help:"Show at most this many." default:"1000"`
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	status, err := client.Choice("status", c.Status, statev1.TaskStatus_value, "TASK_STATUS_", jsonview.TaskStatuses())
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		tasks := statev1.NewTaskServiceClient(conn)
		all, err := client.Collect(c.Limit, jsonview.TaskOf, func(token string, size int32) ([]*statev1.Task, string, error) {
			page, err := tasks.ListTasks(ctx, &statev1.ListTasksRequest{
				PageSize: size, PageToken: token,
				Filter: listing.Filter(
					listing.Term{Key: "session", Value: c.Session},
					listing.Term{Key: "status", Value: protomap.Word(statev1.TaskStatus(status), "TASK_STATUS_")},
				),
			})
			return page.GetTasks(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		const columns = "TASK\tSESSION\tKIND\tSTATUS\tGIVEN\tRUNNER\tUNTIL\tERROR"
		return show.Table(c.Printer, io.Out, columns, all, func(t *jsonview.Task) []any {
			return []any{t.TaskID, t.SessionName, taskKindText(t), t.Status, t.Given, t.Runner, until(t), t.Error}
		})
	})
}

func taskKindText(t *jsonview.Task) string {
	if t.Attempt > 0 {
		return fmt.Sprintf("%s (attempt %d)", t.Kind, t.Attempt)
	}
	return t.Kind
}

// until returns when the claim of a task ends, or a task that waits is due; zero for
// others.
func until(t *jsonview.Task) time.Time {
	switch t.Status {
	case "claimed":
		return t.ClaimExpiresAt
	case "delayed":
		return t.DueAt
	default:
		return time.Time{}
	}
}
