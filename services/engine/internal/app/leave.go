package app

import (
	"cmp"
	"context"
	"slices"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// An agent leaves the run that its session drives by pausing or cancelling it, and by
// going on to another. It cannot where that would be a way around the run's rules:
// before a process, or a workflow that enforces always, has ended (S6.6, S8).

// keepsAgents reports that agents cannot leave runs of a definition before they have
// ended.
func keepsAgents(m definition.Compiled) bool { return m.AlwaysEnforce() || m.Process != nil }

// keptBy is why an agent cannot leave a run.
func keptBy(run *workflow.Run, m definition.Compiled) *fault.Error {
	if m.Process != nil {
		return fault.New(fault.EnforcementAlways,
			"an agent cannot leave process %q before it has ended: answer its questions; an operator can pause or cancel it", run.Workflow)
	}
	return fault.New(fault.EnforcementAlways,
		"workflow %q enforces always: an agent cannot leave it before a final state; an operator can", run.Workflow)
}

func runHeld(run *workflow.Run) error {
	return fault.New(fault.RunHeld, "run %s of this session is held by an operator; it must be resumed first", run.ID)
}

// escapes answers why an agent cannot leave a run by a change: for the sake of the run
// itself, of one that it waits for, or of one that waits for it. It is nil where it can.
func (a *App) escapes(ctx context.Context, caller Caller, run *workflow.Run, m definition.Compiled, c change) (*fault.Error, error) {
	if !c.leaves || caller.Principal.Role != auth.Agent {
		return nil, nil
	}
	if kept, err := a.keptBelow(ctx, caller, run, m); kept != nil || err != nil {
		return kept, err
	}
	return a.keptAbove(ctx, caller, run)
}

func (a *App) keptBelow(ctx context.Context, caller Caller, run *workflow.Run, m definition.Compiled) (*fault.Error, error) {
	if run.Status.Ended() {
		return nil, nil
	}
	if keepsAgents(m) {
		return keptBy(run, m), nil
	}
	var kept *fault.Error
	err := a.eachChild(ctx, caller.Namespace, run, func(child *workflow.Run, m definition.Compiled) error {
		deeper, err := a.keptBelow(ctx, caller, child, m)
		if kept == nil {
			kept = deeper
		}
		return err
	})
	return kept, err
}

// keptAbove looks at the runs that wait for this one: its end moves them on.
func (a *App) keptAbove(ctx context.Context, caller Caller, run *workflow.Run) (*fault.Error, error) {
	for run.Parent != nil && !run.Status.Ended() {
		parent, err := a.loadRun(ctx, runKey(caller.Namespace, run.Parent.RunID))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(parent.Children(), run.ID) {
			return nil, nil
		}
		m, err := a.machine(ctx, caller.Namespace, parent.Workflow, parent.WorkflowVersion)
		if err != nil {
			return nil, err
		}
		if keepsAgents(m) {
			return keptBy(parent, m), nil
		}
		run = parent
	}
	return nil, nil
}

// left is whether a session that is bound to a run may be bound to another one
// without more ado.
func left(run *workflow.Run, session string) bool {
	return run.Status.Ended() || run.Status == workflow.Paused && !run.Held() || run.SessionID != session
}

// mayLeave refuses an agent that would escape enforcement by loading another
// workflow (S6.6): that of the run, or of one that it waits for.
func (a *App) mayLeave(ctx context.Context, caller Caller, m definition.Compiled, run *workflow.Run) error {
	switch {
	case caller.Principal.Role != auth.Agent:
		return nil
	case run.Held():
		return runHeld(run)
	case keepsAgents(m):
		return keptBy(run, m)
	}
	return a.eachChild(ctx, caller.Namespace, run, func(child *workflow.Run, m definition.Compiled) error {
		return a.mayLeave(ctx, caller, m, child)
	})
}

// mayLeaveBranch refuses an agent that would leave a run in whose branch it works,
// or has worked, as mayLeave does for the run's own session.
func (a *App) mayLeaveBranch(ctx context.Context, caller Caller, run *workflow.Run, branch string) error {
	if branch == "" || caller.Principal.Role != auth.Agent || run.Status.Ended() {
		return nil
	}
	m, err := a.machine(ctx, caller.Namespace, run.Workflow, run.WorkflowVersion)
	switch {
	case err != nil:
		return err
	case run.Held():
		return runHeld(run)
	case keepsAgents(m):
		return keptBy(run, m)
	}
	child := run.At(branch).Child
	if child == nil {
		return nil
	}
	invoked, err := a.loadRun(ctx, runKey(caller.Namespace, child.RunID))
	if err != nil {
		return err
	}
	if m, err = a.machine(ctx, caller.Namespace, invoked.Workflow, invoked.WorkflowVersion); err != nil {
		return err
	}
	return a.mayLeave(ctx, caller, m, invoked)
}

// mayGoOn refuses an agent another run in a session whose run has ended BLOCKED: that
// end is a stop sign, which a human takes down.
func mayGoOn(caller Caller, run *workflow.Run, session, branch string) error {
	own := branch != "" || run.SessionID == session
	if caller.Principal.Role != auth.Agent || run.Status != workflow.Blocked || !own {
		return nil
	}
	return fault.New(fault.FailedPrecondition,
		"run %s of this session has ended BLOCKED, and an agent can start no other in it; an operator can", run.ID)
}

// mayLeaveBound refuses what pauseCurrent would refuse, and changes nothing.
func (a *App) mayLeaveBound(ctx context.Context, caller Caller, binding store.Record) error {
	if binding.Version == store.Absent || len(binding.Data) == 0 {
		return nil
	}
	runID, branch := boundTo(binding)
	run, err := a.loadRun(ctx, runKey(caller.Namespace, runID))
	if err != nil {
		return err
	}
	if err := mayGoOn(caller, run, binding.Key.ID, branch); err != nil {
		return err
	}
	if left(run, binding.Key.ID) {
		return a.mayLeaveBranch(ctx, caller, run, branch)
	}
	m, err := a.machine(ctx, caller.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return err
	}
	return a.mayLeave(ctx, caller, m, run)
}

// mayGoBack refuses an agent that would resume a run whose session has gone on to
// another that it cannot leave: it would choose between their rules by naming one.
func (f *family) mayGoBack(ctx context.Context, at place, c change) error {
	session := cmp.Or(c.session, at.run.SessionID)
	if !c.resumes || f.caller.Principal.Role != auth.Agent || at.run.Status != workflow.Paused || session == "" {
		return nil
	}
	a, namespace := f.app, at.key.Namespace
	binding, err := a.binding(ctx, namespace, session)
	if err != nil {
		return err
	}
	if same, err := a.sameFamily(ctx, namespace, binding, at.run.ID); same || err != nil {
		return err
	}
	if binding.Key.Shard(a.store.Shards()) == at.key.Shard(a.store.Shards()) {
		f.passed = append(f.passed, store.Check{Key: binding.Key, Version: binding.Version})
	}
	return a.mayLeaveBound(ctx, f.caller, binding)
}

// eachChild visits the runs that a run waits for.
func (a *App) eachChild(ctx context.Context, namespace string, run *workflow.Run, visit func(*workflow.Run, definition.Compiled) error) error {
	for _, id := range run.Children() {
		child, err := a.loadRun(ctx, runKey(namespace, id))
		if err != nil {
			return err
		}
		m, err := a.machine(ctx, namespace, child.Workflow, child.WorkflowVersion)
		if err != nil {
			return err
		}
		if err := visit(child, m); err != nil {
			return err
		}
	}
	return nil
}
