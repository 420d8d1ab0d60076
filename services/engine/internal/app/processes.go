package app

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// StartProcess begins a run of a process (S8.5).
func (ss *Starts) StartProcess(ctx context.Context, caller ports.Caller, req Start) (*View, error) {
	if _, _, err := ss.registry.Process(ctx, caller.Namespace, req.Workflow, req.Version); err != nil {
		return nil, err
	}
	view, _, err := ss.Start(ctx, caller, req)
	return view, err
}

// Answer is the answer to the present question of a process; an empty one asks for
// that question again.
type Answer struct {
	Target ports.Target
	Answer string
	Note   string

	ExpectedVersion int64
	IdempotencyKey  string
}

// Answer gives the answer to the question that a run of a process asks now (S8.1). A refusal is an
// Outcome whose message lists the valid answers (S8.4).
func (mv *Moves) Answer(ctx context.Context, caller ports.Caller, req Answer) (*Outcome, error) {
	if req.Answer == "" {
		view, err := mv.reads.Get(ctx, caller, req.Target, true)
		if err != nil {
			return nil, err
		}
		if view.Process == nil {
			return nil, noProcess(view.Run)
		}
		return &Outcome{View: view}, nil
	}
	outcome, err := mv.changes.change(ctx, caller, request{
		op:       authority.Answer,
		target:   req.Target,
		command:  process.Fire(req.Answer, req.Note, "", caller.Principal.Name),
		expected: req.ExpectedVersion,
		key:      ports.RequestKey(caller, req.IdempotencyKey, ports.Digest("answer", req.Answer, req.Note)),
	})
	if err != nil {
		return nil, err
	}
	if r, p := outcome.Rejection, outcome.View.Process; r != nil && p != nil {
		explained := *r
		explained.Message = p.Explain(req.Answer, &workflow.Rejection{Code: r.Code, Message: r.Message, State: r.State})
		outcome.Rejection = &explained
	}
	return outcome, nil
}

func noProcess(run *workflow.Run) error {
	return fault.New(fault.FailedPrecondition, "run %s is of workflow %q, which asks no questions; use its events",
		run.ID, run.Workflow)
}

// Turn returns where a session of a process stands, and the text for its agent. A process
// that a workflow has invoked leads back to that workflow, which has no question.
func (v *View) Turn() (turn process.Turn, text string) {
	if v.Process != nil {
		turn = v.Process.Turn(&v.At)
		return turn, turn.String()
	}
	text = fmt.Sprintf("The process is over. Workflow %s is %s in state %s. %s",
		document.Quote(v.Run.Workflow), v.At.Status, document.Quote(v.At.State), v.State().DescribeEvents())
	return process.Turn{State: v.At.State, Status: v.At.Status}, text
}
