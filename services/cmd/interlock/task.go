package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type taskCommand struct {
	List taskList `cmd:"" help:"List the tasks that runners have or wait for."`
}

type taskList struct {
	clientFlags
	show.Printer
	Session string `help:"Only that of this session, by id or name." placeholder:"NAME"`
	Status  string `help:"Only tasks of this status: delayed, ready or leased." placeholder:"STATUS"`
	Limit   int    `help:"At most so many." default:"1000"`
}

func (c *taskList) Run(ctx context.Context, io console.Streams) error {
	status, err := choice("status", c.Status, statev1.TaskStatus_value, "TASK_STATUS_", jsonview.TaskStatuses())
	if err != nil {
		return err
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		tasks := statev1.NewTaskServiceClient(conn)
		all, err := collect(c.Limit, jsonview.TaskOf, func(token string, size int32) ([]*statev1.Task, string, error) {
			page, err := tasks.ListTasks(ctx, &statev1.ListTasksRequest{
				Session: c.Session, Status: statev1.TaskStatus(status), PageToken: token, PageSize: size,
			})
			return page.GetTasks(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return c.Print(io.Out, all, func(w *tabwriter.Writer) {
			fmt.Fprintln(w, "TASK\tSESSION\tKIND\tSTATUS\tGIVEN\tRUNNER\tUNTIL\tERROR")
			for i := range all {
				t := &all[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", t.TaskID, show.Text(t.SessionName), taskKindText(t), t.Status, t.Given,
					show.Text(t.Runner), untilText(t), show.Text(t.Error))
			}
		})
	})
}

func taskKindText(t *jsonview.Task) string {
	if t.Attempt > 0 {
		return fmt.Sprintf("%s (attempt %d)", t.Kind, t.Attempt)
	}
	return t.Kind
}

// untilText is when the lease of a task ends, or a task that waits is due.
func untilText(t *jsonview.Task) string {
	until := time.Time{}
	switch t.Status {
	case "leased":
		until = t.LeaseExpiresAt
	case "delayed":
		until = t.DueAt
	}
	if until.IsZero() {
		return ""
	}
	return show.Time(until)
}
