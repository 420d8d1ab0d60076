package process

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/definition"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/run"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// turnView is the JSON of where a process stands.
type turnView struct {
	Run  jsonview.Run  `json:"run"`
	Turn jsonview.Turn `json:"turn"`
}

// table writes where a process stands, in the words that its agent reads.
func (v *turnView) table(w io.Writer) {
	fmt.Fprintf(w, "state\t%s\t%s\n\n%s\n", show.Text(v.Turn.State), v.Turn.Status, show.Lines(v.Turn.Text))
}

type registerCommand struct{ definition.Flags }

// registeredProcess is the JSON of a registered process.
type registeredProcess struct {
	jsonview.Process
	Created bool `json:"created"`
}

func (c *registerCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Register(ctx, io, "process", func(conn grpc.ClientConnInterface, source []byte) (*definition.Registered, error) {
		req := &enginev1.RegisterProcessRequest{Definition: source, ExpectedVersion: c.ExpectedVersion, Staged: c.Staged, DryRun: c.DryRun}
		resp, err := enginev1.NewProcessServiceClient(conn).RegisterProcess(ctx, req)
		view := registeredProcess{jsonview.ProcessOf(resp.GetProcess()), resp.GetCreated()}
		view.Definition = nil
		return &definition.Registered{Value: view, Name: view.Name, Version: view.Version, Outcome: resp}, err
	})
}

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		processes := enginev1.NewProcessServiceClient(conn)
		all, err := client.Collect(client.NoLimit, jsonview.ProcessOf,
			func(token string, size int32) ([]*enginev1.Process, string, error) {
				page, err := processes.ListProcesses(ctx, &enginev1.ListProcessesRequest{PageSize: size, PageToken: token})
				return page.GetProcesses(), page.GetNextPageToken(), err
			})
		if err != nil {
			return err
		}
		return show.Table(c.Printer, io.Out, "NAME\tVERSION\tLIVE\tCREATED\tBY", all, func(v *jsonview.Process) []any {
			return []any{v.Name, v.Version, definition.Live(v.LiveVersion, v.Retired), v.CreatedAt, v.CreatedBy}
		})
	})
}

type getCommand struct {
	client.Connection
	show.Printer
	Name    string `arg:"" help:"Name of the process."`
	Version int64  `help:"Version; the live one by default."`
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewProcessServiceClient(conn).GetProcess(ctx, &enginev1.GetProcessRequest{
			Name: c.Name, Version: c.Version,
		})
		if err != nil {
			return err
		}
		view := jsonview.ProcessOf(resp.GetProcess())
		return c.Print(io.Out, view, func(w *show.Sheet) {
			fmt.Fprintf(w, "%s\tversion %d\t%s\n", show.Text(view.Name), view.Version, view.Digest)
			fmt.Fprintf(w, "tools\t%s\n", show.Text(strings.Join(view.Tools, ", ")))
			fmt.Fprintln(w, show.Lines(string(view.Definition)))
		})
	})
}

type startCommand struct {
	client.Connection
	show.Printer
	Process        string `arg:"" help:"Name of the process."`
	Version        int64  `help:"Version of the process; the latest by default."`
	Session        string `help:"Session that answers." placeholder:"ID"`
	Workspace      string `help:"Root that file patterns are relative to; this folder by default." placeholder:"DIR"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first run." placeholder:"KEY"`
}

func (c *startCommand) Run(ctx context.Context, io console.Streams) error {
	workspace, err := input.Workspace(c.Workspace)
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewProcessServiceClient(c.Vouched(conn)).StartProcess(ctx, &enginev1.StartProcessRequest{
			Process: c.Process, Version: c.Version, SessionId: c.Session, Workspace: workspace, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		view := turnView{Run: jsonview.RunOf(resp.GetRun()), Turn: jsonview.TurnOf(resp.GetTurn())}
		return c.Print(io.Out, view, func(w *show.Sheet) {
			fmt.Fprintf(w, "run\t%s\n", view.Run.RunID)
			view.table(w)
		})
	})
}

type answerCommand struct {
	run.One
	Answer string `arg:"" optional:"" help:"The answer; without one the question is shown again."`
	Note   string `help:"Why, for history." placeholder:"TEXT"`
	run.OnceFlags
}

// answerView is the JSON of the outcome of an answer.
type answerView struct {
	Accepted bool `json:"accepted"`
	turnView
	Rejection  *jsonview.Rejection `json:"rejection,omitempty"`
	ApprovalID string              `json:"approval_id,omitempty"`
}

func (c *answerCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		if err := c.Resolve(ctx, conn); err != nil {
			return err
		}
		resp, err := enginev1.NewProcessServiceClient(conn).AnswerQuestion(ctx, &enginev1.AnswerQuestionRequest{
			RunId: c.RunID, Answer: c.Answer, Note: c.Note, ExpectedVersion: c.ExpectedVersion, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		view := answerView{
			Accepted:  resp.GetAccepted(),
			turnView:  turnView{Run: jsonview.RunOf(resp.GetRun()), Turn: jsonview.TurnOf(resp.GetTurn())},
			Rejection: jsonview.RejectionOf(resp.GetRejection()), ApprovalID: resp.GetApprovalId(),
		}
		err = c.Print(io.Out, view, func(w *show.Sheet) {
			if r := view.Rejection; r != nil {
				fmt.Fprintf(w, "rejected\t%s\n%s\n", r.Code, show.Text(r.Message))
				return
			}
			if view.ApprovalID != "" {
				fmt.Fprintf(w, "approval\t%s\n", show.Text(view.ApprovalID))
			}
			view.table(w)
		})
		return cmp.Or(err, run.Outcome(view.Accepted, view.ApprovalID))
	})
}
