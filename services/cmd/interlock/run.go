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
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

const timeLayout = "2006-01-02 15:04:05"

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

// printRun writes one run.
func (f formatFlag) printRun(out io.Writer, run *enginev1.Run) error {
	view := jsonview.RunOf(run)
	return f.print(out, view, func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "run\t%s\n", view.RunID)
		fmt.Fprintf(w, "workflow\t%s (version %d)\n", visible(view.Workflow), view.WorkflowVersion)
		fmt.Fprintf(w, "status\t%s\n", view.Status)
		fmt.Fprintf(w, "state\t%s\n", visible(view.State))
		if view.Instructions != "" {
			fmt.Fprintf(w, "instructions\t%s\n", visible(view.Instructions))
		}
		fmt.Fprintf(w, "tools\t%s\n", visible(toolsText(view.AllowedTools)))
		for _, e := range view.LegalEvents {
			fmt.Fprintf(w, "event\t%s\n", visible(e.Event+" -> "+strings.Join(e.Targets, " | ")+guardsText(e.Guards)))
		}
		fmt.Fprintf(w, "tool calls\t%d in this state\n", view.Iterations)
		fmt.Fprintf(w, "context\t%s\n", visible(string(view.Context)))
		if view.SessionID != "" {
			fmt.Fprintf(w, "session\t%s\n", visible(view.SessionID))
		}
		fmt.Fprintf(w, "version\t%d\n", view.Version)
	})
}

func toolsText(tools *[]string) string {
	switch {
	case tools == nil:
		return "all"
	case len(*tools) == 0:
		return "none"
	default:
		return strings.Join(*tools, ", ")
	}
}

func guardsText(guards []string) string {
	if len(guards) == 0 {
		return ""
	}
	return " (guard " + strings.Join(guards, ", ") + ")"
}

type runStart struct {
	clientFlags
	formatFlag
	Workflow       string `arg:"" help:"Name of the workflow."`
	Version        int64  `help:"Version of the workflow; the latest by default."`
	Session        string `help:"Session that drives the run." placeholder:"ID"`
	Context        string `help:"JSON object merged over the workflow's context; @FILE reads a file." placeholder:"JSON"`
	Workspace      string `help:"Root that file patterns are relative to; this folder by default." placeholder:"DIR"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first run." placeholder:"KEY"`
	Resume         bool   `help:"Resume the newest paused run of the workflow instead, when there is one."`
}

func (c *runStart) Run(ctx context.Context, io streams) error {
	context, err := jsonArgument("context", c.Context, io)
	if err != nil {
		return err
	}
	if c.Workspace == "" {
		if c.Workspace, err = os.Getwd(); err != nil {
			return fmt.Errorf("find this folder: %w; give --workspace", err)
		}
	}
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.Start(ctx, &enginev1.StartRequest{
			Workflow: c.Workflow, WorkflowVersion: c.Version, SessionId: c.Session, Context: context,
			Workspace: c.Workspace, IdempotencyKey: c.IdempotencyKey, Resume: c.Resume,
		})
		if err != nil {
			return err
		}
		return c.printRun(io.out, resp.GetRun())
	})
}

// jsonArgument is a JSON object given on the command line, or in a file named
// @FILE, or on standard input (@-).
func jsonArgument(flag, arg string, io streams) ([]byte, error) {
	if arg == "" {
		return nil, nil
	}
	data := []byte(arg)
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		var err error
		if data, err = readFile(file, io); err != nil {
			return nil, err
		}
	}
	value, problems := document.ParseAll(data, document.Limits{})
	if problems.HasErrors() {
		return nil, fmt.Errorf("--%s is not good JSON: %s; write it like '{\"key\": \"value\"}', or @FILE", flag, problems[0].Message)
	}
	if value.Kind() != document.Object {
		return nil, fmt.Errorf("--%s must be a JSON object, like '{\"key\": \"value\"}'", flag)
	}
	return data, nil
}

type runList struct {
	clientFlags
	formatFlag
	Status   string `help:"Only runs of this status, e.g. RUNNING." placeholder:"STATUS"`
	Workflow string `help:"Only runs of this workflow." placeholder:"NAME"`
	Limit    int    `help:"At most so many." default:"1000"`
}

func (c *runList) Run(ctx context.Context, io streams) error {
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
			page, err := runs.List(ctx, &enginev1.RunServiceListRequest{
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
	return c.print(io.out, all, func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "RUN\tWORKFLOW\tSTATUS\tSTATE\tUPDATED")
		for _, r := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.RunID, visible(r.Workflow), r.Status, visible(r.State), r.UpdatedAt.Format(timeLayout))
		}
	})
}

// oneRun names the run of a command.
type oneRun struct {
	clientFlags
	formatFlag
	RunID string `arg:"" name:"run" help:"Id of the run."`
}

type runGet struct{ oneRun }

func (c *runGet) Run(ctx context.Context, io streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.Get(ctx, &enginev1.RunServiceGetRequest{RunId: c.RunID})
		if err != nil {
			return err
		}
		return c.printRun(io.out, resp.GetRun())
	})
}

type runTransition struct {
	oneRun
	Event           string `arg:"" help:"The event."`
	DataJSON        string `name:"data" help:"JSON object that merges into the context; @FILE reads a file." placeholder:"JSON"`
	ExpectedVersion int64  `help:"Fail unless the run is at this version." placeholder:"N"`
	IdempotencyKey  string `help:"Makes a repeat of this command answer the first outcome." placeholder:"KEY"`
}

// transitionView is the JSON of a transition's outcome.
type transitionView struct {
	Accepted   bool                `json:"accepted"`
	Run        jsonview.Run        `json:"run"`
	Rejection  *jsonview.Rejection `json:"rejection,omitempty"`
	ApprovalID string              `json:"approval_id,omitempty"`
}

func (c *runTransition) Run(ctx context.Context, io streams) error {
	data, err := jsonArgument("data", c.DataJSON, io)
	if err != nil {
		return err
	}
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.Transition(ctx, &enginev1.TransitionRequest{
			RunId: c.RunID, Event: c.Event, Data: data, ExpectedVersion: c.ExpectedVersion, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		view := transitionView{
			Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()),
			Rejection: jsonview.RejectionOf(resp.GetRejection()), ApprovalID: resp.GetApprovalId(),
		}
		err = c.print(io.out, view, func(w *tabwriter.Writer) {
			if r := view.Rejection; r != nil {
				fmt.Fprintf(w, "rejected\t%s\n%s\n", r.Code, visible(r.Message))
				return
			}
			fmt.Fprintf(w, "accepted\t%s\t%s\n", visible(view.Run.State), view.Run.Status)
		})
		if err != nil {
			return err
		}
		if !view.Accepted {
			return errNo
		}
		return nil
	})
}

type runHistory struct {
	oneRun
	After int64 `help:"Only changes after this version of the run." placeholder:"N"`
}

func (c *runHistory) Run(ctx context.Context, io streams) error {
	var entries []*enginev1.HistoryEntry
	err := c.call(ctx, func(runs enginev1.RunServiceClient) error {
		for after, more := c.After, true; more; {
			page, err := runs.History(ctx, &enginev1.HistoryRequest{RunId: c.RunID, AfterVersion: after, PageSize: 1000})
			if err != nil {
				return err
			}
			entries = append(entries, page.GetEntries()...)
			after = page.GetNextAfterVersion()
			more = after != 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	views := jsonview.HistoryOf(entries)
	return c.print(io.out, views, func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "VERSION\tTIME\tACTOR\tCHANGE\tEVENT\tFROM\tTO\tRATIONALE")
		for _, h := range views {
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", h.RunVersion, h.Time.Format(timeLayout),
				visible(h.Actor), visible(h.Type), visible(h.Event), visible(h.From), visible(h.To), visible(h.Rationale))
		}
	})
}

type runWatch struct {
	clientFlags
	RunID  string `arg:"" name:"run" help:"Id of the run."`
	Format string `help:"Output: table or json (one object a line)." enum:"table,json" default:"table"`
}

func (c *runWatch) Run(ctx context.Context, streams streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		stream, err := runs.Watch(ctx, &enginev1.WatchRequest{RunId: c.RunID})
		for err == nil {
			err = c.next(stream, streams.out)
		}
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		return err
	})
}

func (c *runWatch) next(stream grpc.ServerStreamingClient[enginev1.WatchResponse], out io.Writer) error {
	resp, err := stream.Recv()
	if err != nil {
		return err
	}
	view := jsonview.RunOf(resp.GetRun())
	if c.Format == "json" {
		return json.MarshalEncode(jsontext.NewEncoder(out), view)
	}
	_, err = fmt.Fprintf(out, "%s  version %d  %s  %s\n", view.UpdatedAt.Format(timeLayout), view.Version, view.Status, visible(view.State))
	return err
}

type runPause struct {
	oneRun
	Reason string `help:"Why." placeholder:"TEXT"`
}

func (c *runPause) Run(ctx context.Context, io streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.Pause(ctx, &enginev1.PauseRequest{RunId: c.RunID, Reason: c.Reason})
		if err != nil {
			return err
		}
		return c.printRun(io.out, resp.GetRun())
	})
}

type runResume struct{ oneRun }

func (c *runResume) Run(ctx context.Context, io streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.Resume(ctx, &enginev1.ResumeRequest{RunId: c.RunID})
		if err != nil {
			return err
		}
		return c.printRun(io.out, resp.GetRun())
	})
}

type runCancel struct {
	oneRun
	Reason string `help:"Why." placeholder:"TEXT"`
}

func (c *runCancel) Run(ctx context.Context, io streams) error {
	return c.call(ctx, func(runs enginev1.RunServiceClient) error {
		resp, err := runs.Cancel(ctx, &enginev1.CancelRequest{RunId: c.RunID, Reason: c.Reason})
		if err != nil {
			return err
		}
		return c.printRun(io.out, resp.GetRun())
	})
}
