package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type runCommand struct {
	Start      runStart      `cmd:"" help:"Start a run of a workflow."`
	List       runList       `cmd:"" help:"List runs."`
	Get        runGet        `cmd:"" help:"Show a run."`
	Transition runTransition `cmd:"" help:"Ask a run to move on."`
	History    runHistory    `cmd:"" help:"Show every change of a run."`
	Watch      runWatch      `cmd:"" help:"Show a run now and after every change, until it ends."`
	Pause      runPause      `cmd:"" help:"Hold a run: its tool calls are denied until it is resumed."`
	Resume     runResume     `cmd:"" help:"Resume a paused run."`
	Cancel     runCancel     `cmd:"" help:"Cancel a run."`
	ForceState runForceState `cmd:"" help:"Jump to any state of a workflow with meta.debug."`
}

// call connects, does something with runs, and closes the connection.
func (f *clientFlags) call(ctx context.Context, do func(enginev1.RunServiceClient) error) error {
	conn, err := f.dial(ctx, auth.Operator)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(enginev1.NewRunServiceClient(conn))
}

type runStart struct {
	clientFlags
	show.Printer
	Workflow       string `arg:"" help:"Name of the workflow."`
	Version        int64  `help:"Version of the workflow; the latest by default."`
	Session        string `help:"Session that drives the run." placeholder:"ID"`
	Context        string `help:"JSON object merged over the workflow's context; @FILE reads a file." placeholder:"JSON"`
	Workspace      string `help:"Root that file patterns are relative to; this folder by default." placeholder:"DIR"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first run." placeholder:"KEY"`
	Resume         bool   `help:"Resume the newest paused run of the workflow instead, when there is one."`
}

func (c *runStart) Run(ctx context.Context, io console.Streams) error {
	context, err := input.Object("context", c.Context, io)
	if err != nil {
		return err
	}
	if c.Workspace == "" {
		if c.Workspace, err = os.Getwd(); err != nil {
			return fmt.Errorf("find this folder: %w; give --workspace", err)
		}
	}
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.StartRun(ctx, &enginev1.StartRunRequest{
			Workflow: c.Workflow, WorkflowVersion: c.Version, SessionId: c.Session, Context: context,
			Workspace: c.Workspace, IdempotencyKey: c.IdempotencyKey, Resume: c.Resume,
		})
		if err != nil {
			return err
		}
		return printRun(c.Printer, io.Out, resp.GetRun())
	})
}

type runList struct {
	clientFlags
	show.Printer
	Status   string `help:"Only runs of this status, e.g. RUNNING." placeholder:"STATUS"`
	Workflow string `help:"Only runs of this workflow." placeholder:"NAME"`
	Limit    int    `help:"At most so many." default:"1000"`
}

func (c *runList) Run(ctx context.Context, io console.Streams) error {
	status := enginev1.RunStatus_RUN_STATUS_UNSPECIFIED
	if c.Status != "" {
		n, ok := enginev1.RunStatus_value["RUN_STATUS_"+strings.ToUpper(c.Status)]
		if !ok || n == 0 {
			return fmt.Errorf("unknown status %q; one of %s", c.Status, strings.Join(jsonview.StatusNames(), ", "))
		}
		status = enginev1.RunStatus(n)
	}
	all := []jsonview.Run{}
	err := c.call(ctx, func(runs enginev1.RunServiceClient) error {
		for token := ""; len(all) < c.Limit; {
			page, err := runs.ListRuns(ctx, &enginev1.ListRunsRequest{
				Status: status, Workflow: c.Workflow, PageToken: token, PageSize: int32(min(1000, c.Limit-len(all))),
			})
			if err != nil {
				return err
			}
			for _, r := range page.GetRuns() {
				all = append(all, jsonview.RunOf(r))
			}
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.Print(io.Out, all, func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "RUN\tWORKFLOW\tSTATUS\tSTATE\tUPDATED")
		for _, r := range all {
			state := r.State
			if r.PendingApproval != nil {
				state += " (waits for approval " + r.PendingApproval.ApprovalID + ")"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.RunID, show.Text(r.Workflow), r.Status, show.Text(state), show.Time(r.UpdatedAt))
		}
	})
}

// oneRun names the run of a command.
type oneRun struct {
	clientFlags
	show.Printer
	RunID string `arg:"" name:"run" help:"Id of the run."`
}

// branchFlag names a branch of a run's fork.
type branchFlag struct {
	Branch string `help:"Branch of the run's fork; by default the one that unbound callers work in." placeholder:"NAME"`
}

type runGet struct {
	oneRun
	branchFlag
	Active bool `help:"Show the run whose rules are in force instead: the innermost that this one has invoked."`
}

func (c *runGet) Run(ctx context.Context, io console.Streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: c.RunID, Branch: c.Branch, Active: c.Active})
		if err != nil {
			return err
		}
		return printRun(c.Printer, io.Out, resp.GetRun())
	})
}

type runTransition struct {
	oneRun
	branchFlag
	Event           string `arg:"" help:"The event."`
	DataJSON        string `name:"data" help:"JSON object that merges into the context; @FILE reads a file." placeholder:"JSON"`
	ExpectedVersion int64  `help:"Fail unless the run is at this version." placeholder:"N"`
	IdempotencyKey  string `help:"Makes a repeat of this command answer the first outcome." placeholder:"KEY"`
}

func (c *runTransition) Run(ctx context.Context, io console.Streams) error {
	data, err := input.Object("data", c.DataJSON, io)
	if err != nil {
		return err
	}
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{
			RunId: c.RunID, Event: c.Event, Data: data, ExpectedVersion: c.ExpectedVersion, IdempotencyKey: c.IdempotencyKey,
			Branch: c.Branch,
		})
		if err != nil {
			return err
		}
		return c.printTransition(io.Out, transitionView{
			Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()),
			Rejection: jsonview.RejectionOf(resp.GetRejection()), ApprovalID: resp.GetApprovalId(), Note: resp.GetNote(),
		})
	})
}

type runForceState struct {
	oneRun
	branchFlag
	State           string `required:"" help:"The state." placeholder:"NAME"`
	Context         string `help:"JSON object merged over the run's context; @FILE reads a file." placeholder:"JSON"`
	ExpectedVersion int64  `help:"Fail unless the run is at this version." placeholder:"N"`
	IdempotencyKey  string `help:"Makes a repeat of this command answer the first outcome." placeholder:"KEY"`
}

func (c *runForceState) Run(ctx context.Context, io console.Streams) error {
	patch, err := input.Object("context", c.Context, io)
	if err != nil {
		return err
	}
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.ForceState(ctx, &enginev1.ForceStateRequest{
			RunId: c.RunID, State: c.State, Context: patch, ExpectedVersion: c.ExpectedVersion, IdempotencyKey: c.IdempotencyKey,
			Branch: c.Branch,
		})
		if err != nil {
			return err
		}
		return c.printTransition(io.Out, transitionView{
			Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()), Rejection: jsonview.RejectionOf(resp.GetRejection()),
		})
	})
}

type runWatch struct {
	clientFlags
	RunID  string `arg:"" name:"run" help:"Id of the run."`
	Format string `help:"Output: table or json (one object a line)." enum:"table,json" default:"table"`
}

func (c *runWatch) Run(ctx context.Context, streams console.Streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		stream, err := runs.WatchRun(ctx, &enginev1.WatchRunRequest{RunId: c.RunID})
		for err == nil {
			err = c.next(stream, streams.Out)
		}
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		return err
	})
}

func (c *runWatch) next(stream grpc.ServerStreamingClient[enginev1.WatchRunResponse], out io.Writer) error {
	resp, err := stream.Recv()
	if err != nil {
		return err
	}
	view := jsonview.RunOf(resp.GetRun())
	if c.Format == "json" {
		return json.MarshalEncode(jsontext.NewEncoder(out), view)
	}
	_, err = fmt.Fprintf(out, "%s  version %d  %s  %s\n", show.Time(view.UpdatedAt), view.Version, view.Status, show.Text(whereabouts(&view)))
	return err
}

type runPause struct {
	oneRun
	Reason string `help:"Why." placeholder:"TEXT"`
}

func (c *runPause) Run(ctx context.Context, io console.Streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.PauseRun(ctx, &enginev1.PauseRunRequest{RunId: c.RunID, Reason: c.Reason})
		if err != nil {
			return err
		}
		return printRun(c.Printer, io.Out, resp.GetRun())
	})
}

type runResume struct{ oneRun }

func (c *runResume) Run(ctx context.Context, io console.Streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.ResumeRun(ctx, &enginev1.ResumeRunRequest{RunId: c.RunID})
		if err != nil {
			return err
		}
		return printRun(c.Printer, io.Out, resp.GetRun())
	})
}

type runCancel struct {
	oneRun
	Reason string `help:"Why." placeholder:"TEXT"`
}

func (c *runCancel) Run(ctx context.Context, io console.Streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: c.RunID, Reason: c.Reason})
		if err != nil {
			return err
		}
		return printRun(c.Printer, io.Out, resp.GetRun())
	})
}
