package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type processCommand struct {
	Register processRegister `cmd:"" help:"Register a definition as the next version of its process."`
	List     processList     `cmd:"" help:"List processes."`
	Get      processGet      `cmd:"" help:"Show a process."`
	Start    processStart    `cmd:"" help:"Start a process, and show its first question."`
	Answer   processAnswer   `cmd:"" help:"Answer the question of a process, and show the next one."`
}

type processRegister struct{ registerFlags }

func (c *processRegister) Run(ctx context.Context, io console.Streams) error {
	return c.register(ctx, io, func(conn grpc.ClientConnInterface, source []byte) (*registeredView, []*enginev1.Problem, error) {
		resp, err := enginev1.NewProcessServiceClient(conn).RegisterProcess(ctx, &enginev1.RegisterProcessRequest{Definition: source})
		if err != nil {
			return nil, nil, err
		}
		view := jsonview.ProcessOf(resp.GetProcess())
		view.Definition = nil
		return &registeredView{
			value: registeredProcess{view, resp.GetCreated()}, name: view.Name, version: view.Version, created: resp.GetCreated(),
		}, resp.GetWarnings(), nil
	})
}

// registeredProcess is the JSON of a registered process.
type registeredProcess struct {
	jsonview.Process
	Created bool `json:"created"`
}

type processList struct {
	clientFlags
	show.Printer
}

func (c *processList) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		processes := enginev1.NewProcessServiceClient(conn)
		all, err := collect(noLimit, jsonview.ProcessOf, func(token string, size int32) ([]*enginev1.Process, string, error) {
			page, err := processes.ListProcesses(ctx, &enginev1.ListProcessesRequest{PageSize: size, PageToken: token})
			return page.GetProcesses(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return c.Print(io.Out, all, func(w *tabwriter.Writer) {
			fmt.Fprintln(w, "NAME\tVERSION\tCREATED\tBY")
			for _, v := range all {
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", show.Text(v.Name), v.Version, show.Time(v.CreatedAt), show.Text(v.CreatedBy))
			}
		})
	})
}

type processGet struct {
	clientFlags
	show.Printer
	Name    string `arg:"" help:"Name of the process."`
	Version int64  `help:"Version; the latest by default."`
}

func (c *processGet) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewProcessServiceClient(conn).GetProcess(ctx, &enginev1.GetProcessRequest{Name: c.Name, Version: c.Version})
		if err != nil {
			return err
		}
		view := jsonview.ProcessOf(resp.GetProcess())
		return c.Print(io.Out, view, func(w *tabwriter.Writer) {
			fmt.Fprintf(w, "%s\tversion %d\t%s\n", show.Text(view.Name), view.Version, view.Digest)
			fmt.Fprintf(w, "tools\t%s\n", show.Text(strings.Join(view.Tools, ", ")))
			fmt.Fprintln(w, show.Lines(string(view.Definition)))
		})
	})
}

type processStart struct {
	clientFlags
	show.Printer
	Process        string `arg:"" help:"Name of the process."`
	Version        int64  `help:"Version of the process; the latest by default."`
	Session        string `help:"Session that answers." placeholder:"ID"`
	Workspace      string `help:"Root that file patterns are relative to; this folder by default." placeholder:"DIR"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first run." placeholder:"KEY"`
}

func (c *processStart) Run(ctx context.Context, io console.Streams) error {
	if c.Workspace == "" {
		var err error
		if c.Workspace, err = os.Getwd(); err != nil {
			return fmt.Errorf("find this folder: %w; give --workspace", err)
		}
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewProcessServiceClient(conn).StartProcess(ctx, &enginev1.StartProcessRequest{
			Process: c.Process, Version: c.Version, SessionId: c.Session, Workspace: c.Workspace, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		view := turnView{Run: jsonview.RunOf(resp.GetRun()), Turn: jsonview.TurnOf(resp.GetTurn())}
		return c.Print(io.Out, view, func(w *tabwriter.Writer) {
			fmt.Fprintf(w, "run\t%s\n", view.Run.RunID)
			view.table(w)
		})
	})
}

// turnView is the JSON of where a process stands.
type turnView struct {
	Run  jsonview.Run  `json:"run"`
	Turn jsonview.Turn `json:"turn"`
}

// table says where a process stands, in the words that its agent reads.
func (v *turnView) table(w io.Writer) {
	fmt.Fprintf(w, "state\t%s\t%s\n\n%s\n", show.Text(v.Turn.State), v.Turn.Status, show.Lines(v.Turn.Text))
}

type processAnswer struct {
	oneRun
	Answer          string `arg:"" optional:"" help:"The answer; without one the question is shown again."`
	Note            string `help:"Why, for history." placeholder:"TEXT"`
	ExpectedVersion int64  `help:"Fail unless the run is at this version." placeholder:"N"`
	IdempotencyKey  string `help:"Makes a repeat of this command answer the first outcome." placeholder:"KEY"`
}

// answerView is the JSON of what has become of an answer.
type answerView struct {
	Accepted bool `json:"accepted"`
	turnView
	Rejection  *jsonview.Rejection `json:"rejection,omitempty"`
	ApprovalID string              `json:"approval_id,omitempty"`
}

func (c *processAnswer) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewProcessServiceClient(conn).AnswerQuestion(ctx, &enginev1.AnswerQuestionRequest{
			RunId: c.RunID, Answer: c.Answer, Note: c.Note, ExpectedVersion: c.ExpectedVersion, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		view := answerView{
			Accepted: resp.GetAccepted(), turnView: turnView{Run: jsonview.RunOf(resp.GetRun()), Turn: jsonview.TurnOf(resp.GetTurn())},
			Rejection: jsonview.RejectionOf(resp.GetRejection()), ApprovalID: resp.GetApprovalId(),
		}
		err = c.Print(io.Out, view, func(w *tabwriter.Writer) {
			if r := view.Rejection; r != nil {
				fmt.Fprintf(w, "rejected\t%s\n%s\n", r.Code, show.Text(r.Message))
				return
			}
			if view.ApprovalID != "" {
				fmt.Fprintf(w, "approval\t%s\n", show.Text(view.ApprovalID))
			}
			view.table(w)
		})
		if err == nil && !view.Accepted {
			err = console.ErrNo
		}
		return err
	})
}
