package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"

	"github.com/interlock-run/interlock/services/engine/internal/registry"
)

// Moves moves runs by commands of callers.
type Moves struct {
	ports    *ports.Ports
	registry *registry.Registry
	runs     *Runs
	views    *Views
	changes  *Changes
	reads    *Reads
}

// Transition is a request to move a run on.
type Transition struct {
	Target ports.Target
	Event  string
	Data   []byte

	ExpectedVersion int64
	IdempotencyKey  string
	// DryRun only decides.
	DryRun bool
	// Tree is the digest of the workspace's files now, as the caller says; empty when it does not.
	Tree string
}

// Transition asks the machine to move on (S2). A refusal is an Outcome, not an
// error; it is recorded and announced like any other decision, unless this is a dry run.
func (mv *Moves) Transition(ctx context.Context, caller ports.Caller, req Transition) (*Outcome, error) {
	data, err := parseObject("data", req.Data)
	if err != nil {
		return nil, err
	}
	if req.DryRun {
		req.IdempotencyKey = "" // it is no request to answer twice
	}
	tree := ""
	if caller.Vouched { // an agent's word is none (S14.4)
		tree = req.Tree
	}
	return mv.changes.change(ctx, caller, request{
		dry:      req.DryRun,
		tree:     tree,
		op:       authority.Transition,
		target:   req.Target,
		command:  workflow.Fire{Event: req.Event, Data: data, Actor: caller.Principal.Name, Person: caller.Principal.Person},
		expected: req.ExpectedVersion,
		key:      ports.RequestKey(caller, req.IdempotencyKey, ports.Digest("transition", req.Event, string(req.Data))),
	})
}

// Force is a request to jump to a state (S6.3).
type Force struct {
	Target  ports.Target
	State   string
	Context []byte

	ExpectedVersion int64
	IdempotencyKey  string
}

// Force jumps to a state of a workflow with meta.debug; agents do so as far as that lets
// them (S15.7). Named by its id, the run itself jumps, and its invoked runs are
// cancelled; named by the session that drives it, it is the run whose rules are in force.
func (mv *Moves) Force(ctx context.Context, caller ports.Caller, req Force) (*Outcome, error) {
	data, err := parseObject("context", req.Context)
	if err != nil {
		return nil, err
	}
	return mv.changes.change(ctx, caller, request{
		op:       authority.Force,
		target:   req.Target,
		command:  workflow.Force{State: req.State, Context: data, Actor: caller.Principal.Name, Agent: caller.Principal.Role.Drives(), Source: caller.Source()},
		expected: req.ExpectedVersion,
		key:      ports.RequestKey(caller, req.IdempotencyKey, ports.Digest("force_state", req.State, string(req.Context))),
	})
}

// Pause stops a run and its family (S6.2). An agent's pause lifts enforcement, so under
// meta.enforcement "always" it is refused (S6.6); an operator's holds the run.
func (mv *Moves) Pause(ctx context.Context, caller ports.Caller, runID, reason, key string) (*Outcome, error) {
	pause := workflow.Pause{Reason: reason, Actor: caller.Principal.Name}
	if !caller.Principal.Role.Drives() {
		pause.Hold = workflow.HoldOperator
	}
	return mv.changes.change(ctx, caller, request{
		op:      authority.Pause,
		target:  ports.Target{RunID: runID},
		command: pause,
		key:     ports.RequestKey(caller, key, ports.Digest("pause", reason)),
	})
}

// Resume continues a paused run and its family. An agent cannot lift a hold.
func (mv *Moves) Resume(ctx context.Context, caller ports.Caller, runID, key string) (*Outcome, error) {
	return mv.changes.change(ctx, caller, request{
		op:      authority.Resume,
		target:  ports.Target{RunID: runID},
		command: resumeBy(caller),
		key:     ports.RequestKey(caller, key, ports.Digest("resume")),
	})
}

// resumeBy lifts the holds that a caller may lift.
func resumeBy(caller ports.Caller) workflow.Resume {
	return workflow.Resume{Lifts: caller.Who().Lifts(authority.Resume), Actor: caller.Principal.Name}
}

// Cancel ends a run and its invoked runs. When its agent does, the session is free again.
func (mv *Moves) Cancel(ctx context.Context, caller ports.Caller, runID, reason, key string) (*Outcome, error) {
	return mv.changes.change(ctx, caller, request{
		op:      authority.Cancel,
		target:  ports.Target{RunID: runID},
		command: workflow.Cancel{Reason: reason, Actor: caller.Principal.Name},
		key:     ports.RequestKey(caller, key, ports.Digest("cancel", reason)),
	})
}
