package run

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// One is the flags of a command on one run.
type One struct {
	client.Connection
	show.Printer
	RunID string `arg:"" name:"run" help:"Id of the run, or its beginning; @last for the newest."`
}

// BranchFlag names a branch of a run's fork.
type BranchFlag struct {
	Branch string `help:"Branch of the run's fork; by default the one that unbound callers work in." placeholder:"NAME"`
}

// OnceFlags make a change that is repeated, or that was meant for another version of the
// run, harmless.
type OnceFlags struct {
	ExpectedVersion int64  `help:"Fail unless the run is at this version." placeholder:"N"`
	IdempotencyKey  string `help:"Makes a repeat of this command answer the first outcome." placeholder:"KEY" xor:"once"`
}

// Resolve finds the run that is meant.
func (c *One) Resolve(ctx context.Context, conn grpc.ClientConnInterface) (err error) {
	c.RunID, err = client.RunID(ctx, conn, c.RunID)
	return err
}

// call does something with runs, and knows which one is meant.
func (c *One) call(ctx context.Context, io console.Streams, do func(enginev1.RunServiceClient) error) error {
	return c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		if err := c.Resolve(ctx, conn); err != nil {
			return err
		}
		return do(enginev1.NewRunServiceClient(conn))
	})
}

// show prints the run that a service returns.
func (c *One) show(ctx context.Context, io console.Streams, do func(enginev1.RunServiceClient) (hasRun, error)) error {
	return c.call(ctx, io, func(runs enginev1.RunServiceClient) error {
		resp, err := do(runs)
		if err != nil {
			return err
		}
		return printRun(c.Printer, io.Out, resp.GetRun())
	})
}

type hasRun interface{ GetRun() *enginev1.Run }

type startCommand struct {
	client.Connection
	show.Printer
	Workflow       string `arg:"" help:"Name of the workflow."`
	Version        int64  `help:"Version of the workflow; the latest by default."`
	Session        string `help:"Session that drives the run." placeholder:"ID"`
	Context        string `help:"JSON object merged over the workflow's context; @FILE reads a file." placeholder:"JSON"`
	Workspace      string `help:"Root that file patterns are relative to; this folder by default." placeholder:"DIR"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first run." placeholder:"KEY"`
	Resume         bool   `help:"Resume the newest paused run of the workflow instead, when there is one."`
}

func (c *startCommand) Run(ctx context.Context, io console.Streams) error {
	context, err := input.Object("context", c.Context, io)
	if err != nil {
		return err
	}
	workspace, err := input.Workspace(c.Workspace)
	if err != nil {
		return err
	}
	return c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewRunServiceClient(c.Vouched(conn)).StartRun(ctx, &enginev1.StartRunRequest{
			Workflow: c.Workflow, WorkflowVersion: c.Version, SessionId: c.Session, Context: context,
			Workspace: workspace, IdempotencyKey: c.IdempotencyKey, Resume: c.Resume,
		})
		if fault.ReasonOf(err) == fault.NotFound && input.IsDefinition(c.Workflow) {
			return console.Misusedf("no workflow is called %q: register the file with `interlock workflow register`, "+
				"and start the workflow by the name that this prints", c.Workflow)
		}
		if err != nil {
			return err
		}
		return printRun(c.Printer, io.Out, resp.GetRun())
	})
}

type listCommand struct {
	client.Connection
	show.Printer
	Status      string   `help:"Only runs of this status, e.g. RUNNING." placeholder:"STATUS"`
	Workflow    string   `help:"Only runs of this workflow." placeholder:"NAME"`
	Session     string   `help:"Only runs that this session drives." placeholder:"ID"`
	Schedule    string   `help:"Only runs that this schedule has started." placeholder:"NAME"`
	Text        string   `help:"Only runs with this text in the workflow, the state, the session or the id." placeholder:"TEXT"`
	NotStatus   []string `help:"No runs of this status; several by commas." placeholder:"STATUS"`
	NotWorkflow []string `help:"No runs of this workflow; several by commas." placeholder:"NAME"`
	Stale       string   `help:"Only active runs that have made no progress for so long, such as 10m, the most silent first." placeholder:"TIME"`
	client.Page
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	status, err := client.Choice("status", c.Status, enginev1.RunStatus_value, "RUN_STATUS_", jsonview.StatusNames())
	if err != nil {
		return err
	}
	view := enginev1.RunView_RUN_VIEW_FULL
	if c.ForPeople() {
		view = enginev1.RunView_RUN_VIEW_BASIC
	}
	stale, err := c.staleFor()
	if err != nil {
		return err
	}
	var all []jsonview.Run
	err = c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		before, err := c.Term(ctx, conn, client.RunID)
		if err != nil {
			return err
		}
		filter := listing.Filter(
			listing.Term{Key: "status", Value: protomap.Word(enginev1.RunStatus(status), "RUN_STATUS_")},
			listing.Term{Key: "workflow", Value: c.Workflow}, listing.Term{Key: "session_id", Value: c.Session},
			listing.Term{Key: "schedule", Value: c.Schedule},
			listing.Term{Key: "text", Value: c.Text}, listing.Term{Key: "not_status", Value: listing.List(c.NotStatus...)},
			listing.Term{Key: "not_workflow", Value: listing.List(c.NotWorkflow...)}, before,
		)
		runs := enginev1.NewRunServiceClient(conn)
		all, err = client.Collect(c.Limit, jsonview.RunOf, func(token string, size int32) ([]*enginev1.Run, string, error) {
			page, err := runs.ListRuns(ctx, &enginev1.ListRunsRequest{
				PageSize: size, PageToken: token, Filter: filter, View: view, StaleFor: stale,
			})
			return page.GetRuns(), page.GetNextPageToken(), err
		})
		return err
	})
	if err != nil {
		return err
	}
	head := "RUN\tWORKFLOW\tSTATUS\tSTATE\tSESSION\tUPDATED"
	if stale != nil {
		head = "RUN\tWORKFLOW\tSTATUS\tSTATE\tSESSION\tLAST PROGRESS"
	}
	return show.Table(c.Printer, io.Out, head, all, func(r *jsonview.Run) []any {
		state := r.State
		if r.PendingApproval != nil {
			state += " (waits for approval " + r.PendingApproval.ApprovalID + ")"
		}
		at := r.UpdatedAt
		if stale != nil {
			at = r.LastActivity
		}
		return []any{show.ID(r.RunID), r.Workflow, show.Word(r.Status), state, cmp.Or(r.SessionID, "-"), at}
	})
}

// staleFor returns the silence that is asked for, or nil.
func (c *listCommand) staleFor() (*durationpb.Duration, error) {
	if c.Stale == "" {
		return nil, nil
	}
	d, err := document.ParseDuration(c.Stale)
	if err != nil || d < time.Second {
		return nil, fault.New(fault.InvalidRequest, "--stale %s is not a time; write one such as 90s, 10m, 2h or 3d", document.Quote(c.Stale))
	}
	return durationpb.New(d), nil
}

type getCommand struct {
	One
	BranchFlag
	Active bool `help:"Show the run whose rules are in force instead: the innermost that this one has invoked."`
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.show(ctx, io, func(runs enginev1.RunServiceClient) (hasRun, error) {
		return runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: c.RunID, Branch: c.Branch, Active: c.Active})
	})
}

type pauseCommand struct {
	One
	Reason string `help:"Why." placeholder:"TEXT"`
}

func (c *pauseCommand) Run(ctx context.Context, io console.Streams) error {
	return c.show(ctx, io, func(runs enginev1.RunServiceClient) (hasRun, error) {
		return runs.PauseRun(ctx, &enginev1.PauseRunRequest{RunId: c.RunID, Reason: c.Reason})
	})
}

type resumeCommand struct{ One }

func (c *resumeCommand) Run(ctx context.Context, io console.Streams) error {
	return c.show(ctx, io, func(runs enginev1.RunServiceClient) (hasRun, error) {
		return runs.ResumeRun(ctx, &enginev1.ResumeRunRequest{RunId: c.RunID})
	})
}

type cancelCommand struct {
	One
	Reason string `help:"Why." placeholder:"TEXT"`
}

func (c *cancelCommand) Run(ctx context.Context, io console.Streams) error {
	return c.show(ctx, io, func(runs enginev1.RunServiceClient) (hasRun, error) {
		return runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: c.RunID, Reason: c.Reason})
	})
}
