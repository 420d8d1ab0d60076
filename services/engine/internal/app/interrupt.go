package app

import (
	"context"
	"slices"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/once"
)

// Interrupted is what came of a changed file.
type Interrupted struct {
	View *View
	// Fired is false when nothing has changed.
	Fired bool
	// Interrupt that fired, and the state that it left.
	Interrupt, From string
}

// Interrupt diverts a run to the handler of the first interrupt that a changed
// file matches (S4.1). Only a call that was allowed can do so, and only once:
// the enforcer's record of it is the proof. Files are those that the call's input
// named and those that were reported.
func (a *App) Interrupt(ctx context.Context, caller Caller, runID, callID string, reported []string) (*Interrupted, error) {
	asked, err := a.readableRun(ctx, caller, runID)
	if err != nil {
		return nil, err
	}
	data, err := once.Answer(ctx, a.store, runKey(caller.Namespace, asked.Root()), ledger.CallName(callID))
	switch {
	case err != nil:
		return nil, err
	case data == nil:
		return nil, notAllowed(runID, callID)
	}
	call, err := ledger.DecodeCall(asked.Root(), data)
	if err != nil {
		return nil, fault.From(err)
	}
	if call.Verdict.Decision != toolcall.Allow {
		return nil, notAllowed(runID, callID)
	}
	run, err := a.cachedRun(ctx, runKey(caller.Namespace, call.RunID))
	if err != nil {
		return nil, err
	}
	m, err := a.machine(ctx, caller.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	if !toolcall.Edits(m.Machine, call.Verdict.Tool) {
		return nil, notAllowed(runID, callID)
	}
	root := pathglob.RootOf(run.Workspace)
	files := eachOnce(root, slices.Concat(call.Verdict.Paths, reported))
	name, matches := m.Watches(root, files)
	if !matches {
		view, err := a.Get(ctx, caller, Target{RunID: runID, Branch: call.Branch}, true)
		return &Interrupted{View: view}, err
	}
	outcome, err := a.change(ctx, caller, request{
		// The call that was allowed is what admits it.
		op:      authority.Interrupt,
		target:  Target{RunID: call.RunID, Branch: call.Branch},
		command: workflow.Divert{Interrupt: name, Files: files, Actor: caller.Principal.Name},
		key:     once.Key{Name: ledger.InterruptName(callID), Digest: digest("interrupt", name)},
	})
	if err != nil {
		return nil, err
	}
	return &Interrupted{View: outcome.View, Fired: outcome.Changed, Interrupt: name, From: outcome.From}, nil
}

// eachOnce leaves out further names of a file, by the name that it has in the workspace. One that
// can be no file's stays.
func eachOnce(root pathglob.Root, files []string) (once []string) {
	seen := map[string]bool{}
	for _, file := range files {
		name, _ := root.Clean(file)
		if name == "" {
			name = file
		}
		if !seen[name] {
			seen[name] = true
			once = append(once, file)
		}
	}
	return once
}

func notAllowed(runID, callID string) error {
	return fault.New(fault.FailedPrecondition, "no call %q that changes files was allowed in run %s, so it fires no interrupt", callID, runID)
}
