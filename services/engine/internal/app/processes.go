package app

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// processes returns the labels of records of processes.
func processes() map[string]string { return map[string]string{"form": "process"} }

// Process does the work of Workflow for a process, and returns it compiled.
func (a *App) Process(ctx context.Context, namespace, name string, number int64) (*Version, *process.Process, error) {
	v, err := a.Workflow(ctx, namespace, name, number)
	switch {
	case fault.ReasonOf(err) == fault.NotFound && number == 0:
		return nil, nil, fault.New(fault.NotFound, "no process %q is registered; register it first", name)
	case err != nil:
		return nil, nil, err
	case !v.Process:
		return nil, nil, fault.New(fault.NotFound, "there is no process %q, but a workflow of that name; it is started as a workflow", name)
	}
	m, err := a.machine(ctx, namespace, name, v.Number)
	return v, m.Process, err
}

// Processes does the work of Workflows for processes.
func (a *App) Processes(ctx context.Context, namespace, after string, limit int) ([]*Version, string, error) {
	return a.latestVersions(ctx, store.Query{Namespace: namespace, Labels: processes(), After: after, Limit: limit})
}

// StartProcess begins a run of a process (S8.5).
func (a *App) StartProcess(ctx context.Context, caller Caller, req Start) (*View, error) {
	if _, _, err := a.Process(ctx, caller.Namespace, req.Workflow, req.Version); err != nil {
		return nil, err
	}
	view, _, err := a.Start(ctx, caller, req)
	return view, err
}

// Answer is the answer to the present question of a process; an empty one asks for
// that question again.
type Answer struct {
	Target Target
	Answer string
	Note   string

	ExpectedVersion int64
	IdempotencyKey  string
}

// Answer gives the answer to the question that a run of a process asks now (S8.1). A refusal is an
// Outcome whose message lists the valid answers (S8.4).
func (a *App) Answer(ctx context.Context, caller Caller, req Answer) (*Outcome, error) {
	if req.Answer == "" {
		view, err := a.Get(ctx, caller, req.Target, true)
		if err != nil {
			return nil, err
		}
		if view.Process == nil {
			return nil, noProcess(view.Run)
		}
		return &Outcome{View: view}, nil
	}
	outcome, err := a.change(ctx, caller, request{
		op:       authority.Answer,
		target:   req.Target,
		command:  process.Fire(req.Answer, req.Note, "", caller.Principal.Name),
		expected: req.ExpectedVersion,
		key:      requestKey(caller, req.IdempotencyKey, digest("answer", req.Answer, req.Note)),
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
