package run

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type transitionCommand struct {
	One
	BranchFlag
	Event string `arg:"" help:"The event."`
	Input string `help:"JSON object that merges into the context; @FILE reads a file." placeholder:"JSON"`
	OnceFlags
	DryRun bool `help:"Decide only: print the run as it would be. The run stays as it is, and no approval is requested." xor:"once"`
}

func (c *transitionCommand) Run(ctx context.Context, io console.Streams) error {
	if c.Event == client.Last || strings.HasPrefix(c.Event, typeid.Run+"_") {
		return console.Misusedf("%q is a run: write it before the event, as in `interlock run transition %[1]s %s`", c.Event, c.RunID)
	}
	data, err := input.Object("input", c.Input, io)
	if err != nil {
		return err
	}
	return c.move(ctx, io, func(runs enginev1.RunServiceClient) (transitionView, error) {
		resp, err := runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{
			RunId: c.RunID, Branch: c.Branch, Event: c.Event, Data: data,
			ExpectedVersion: c.ExpectedVersion, IdempotencyKey: c.IdempotencyKey,
			DryRun: c.DryRun,
		})
		return transitionView{
			Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()),
			Rejection: jsonview.RejectionOf(resp.GetRejection()), ApprovalID: resp.GetApprovalId(), Note: resp.GetNote(),
			DryRun: c.DryRun,
		}, err
	})
}

// transitionView is the JSON of a transition's outcome, and of a force-state's.
type transitionView struct {
	Accepted   bool                `json:"accepted"`
	Run        jsonview.Run        `json:"run"`
	Rejection  *jsonview.Rejection `json:"rejection,omitempty"`
	ApprovalID string              `json:"approval_id,omitempty"`
	Note       string              `json:"note,omitempty"`
	DryRun     bool                `json:"dry_run,omitempty"`
}

// move asks for a transition and prints its outcome, and returns the error of Outcome.
func (c *One) move(
	ctx context.Context, io console.Streams, do func(enginev1.RunServiceClient) (transitionView, error),
) error {
	return c.call(ctx, io, func(runs enginev1.RunServiceClient) error {
		view, err := do(runs)
		if err != nil {
			return err
		}
		err = c.Print(io.Out, view, func(w *show.Sheet) { view.table(w, c.RunID) })
		return cmp.Or(err, Outcome(view.Accepted, view.ApprovalID))
	})
}

// Outcome returns nil for a transition that was made, console.ErrWaits for one that waits
// for humans, and console.ErrNo for one that was rejected.
func Outcome(accepted bool, approvalID string) error {
	switch {
	case !accepted:
		return console.ErrNo
	case approvalID != "":
		return console.ErrWaits
	default:
		return nil
	}
}

// table writes the outcome; asked is the run that the transition was asked of, which may
// not be the run that moved.
func (v *transitionView) table(w *show.Sheet, asked string) {
	would := ""
	if v.DryRun {
		would = "would be "
		defer fmt.Fprintln(w, "Dry run: no change was made, and no approver was asked.")
	}
	if r := v.Rejection; r != nil {
		fmt.Fprintf(w, would+"rejected\t%s\n%s\n", r.Code, show.Text(r.Message))
		return
	}
	verb, run := "accepted", v.Run
	if v.ApprovalID != "" {
		verb = "parked"
	}
	if v.DryRun { // no approval has an id yet
		run.PendingApproval, v.Note = nil, ""
	}
	fmt.Fprintf(w, would+verb+"\t%s\t%s\n", show.Text(whereabouts(&run)), w.Word(run.Status))
	if v.Run.RunID != asked {
		fmt.Fprintf(w, "run\t%s of %s\n", v.Run.RunID, show.Text(v.Run.Workflow))
	}
	if v.Note != "" {
		fmt.Fprintln(w, show.Text(v.Note))
	}
}

type forceStateCommand struct {
	One
	BranchFlag
	State   string `required:"" help:"The state." placeholder:"NAME"`
	Context string `help:"JSON object merged over the run's context; @FILE reads a file." placeholder:"JSON"`
	OnceFlags
}

func (c *forceStateCommand) Run(ctx context.Context, io console.Streams) error {
	if err := c.Decides(io, "forcing a state"); err != nil {
		return err
	}
	patch, err := input.Object("context", c.Context, io)
	if err != nil {
		return err
	}
	return c.move(ctx, io, func(runs enginev1.RunServiceClient) (transitionView, error) {
		resp, err := runs.ForceState(ctx, &enginev1.ForceStateRequest{
			RunId: c.RunID, Branch: c.Branch, State: c.State, Context: patch,
			ExpectedVersion: c.ExpectedVersion, IdempotencyKey: c.IdempotencyKey,
		})
		return transitionView{
			Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()),
			Rejection: jsonview.RejectionOf(resp.GetRejection()),
		}, err
	})
}
