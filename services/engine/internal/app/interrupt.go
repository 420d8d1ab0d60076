package app

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Interrupted is the outcome of a changed file.
type Interrupted struct {
	View *View
	// Fired is false without a change.
	Fired bool
	// Interrupt that fired, and the state that it left.
	Interrupt, From string
}

// Interrupt diverts a run to the handler of the first interrupt that a changed
// file matches (S4.1). Only a call that was allowed can do so, and only once:
// the enforcer's record of it is the proof. Files are those that the call's input
// named and those that were reported; of a command in a jail those that the jail has seen.
func (mv *Moves) Interrupt(ctx context.Context, caller ports.Caller, runID, callID string, reported []string) (*Interrupted, error) {
	asked, err := mv.reads.readableRun(ctx, caller, runID)
	if err != nil {
		return nil, err
	}
	data, err := idempotency.Answer(ctx, mv.ports.Store, runKey(caller.Namespace, asked.Root()), ledger.CallName(callID))
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
	run, err := mv.runs.cached(ctx, runKey(caller.Namespace, call.RunID))
	if err != nil {
		return nil, err
	}
	m, err := mv.registry.Machine(ctx, caller.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	changed, unknown := slices.Concat(call.Verdict.Paths, reported), false
	if !toolcall.Edits(m.Machine, call.Verdict.Tool) {
		changed, unknown, err = mv.written(ctx, runKey(caller.Namespace, asked.Root()), callID, call)
		if changed == nil && !unknown {
			return nil, cmp.Or(err, notAllowed(runID, callID))
		}
	}
	root := pathglob.RootOf(run.Workspace)
	files := eachOnce(root, changed)
	name, matches := m.Watches(root, files)
	if !matches && unknown {
		name, matches = m.FirstInterrupt()
	}
	if !matches {
		view, err := mv.reads.Get(ctx, caller, ports.Target{RunID: runID, Branch: call.Branch}, true)
		return &Interrupted{View: view}, err
	}
	outcome, err := mv.changes.change(ctx, caller, request{
		// The call that was allowed admits it.
		op:      authority.Interrupt,
		target:  ports.Target{RunID: call.RunID, Branch: call.Branch},
		command: workflow.Divert{Interrupt: name, Files: files, Actor: caller.Principal.Name},
		key:     idempotency.Key{Name: ledger.InterruptName(callID), Digest: ports.Digest("interrupt", name)},
	})
	if err != nil {
		return nil, err
	}
	return &Interrupted{View: outcome.View, Fired: outcome.Changed, Interrupt: name, From: outcome.From}, nil
}

// written returns the files that a jail has seen a call write, nil for none, and whether there may be others.
func (mv *Moves) written(ctx context.Context, root store.Key, callID string, call *ledger.DecidedCall) (files []string, unknown bool, err error) {
	data, err := idempotency.Answer(ctx, mv.ports.Store, root, ledger.WitnessName(callID))
	if data == nil || err != nil {
		return nil, false, err
	}
	var w jail.Witness
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, false, fault.From(err)
	}
	return w.Written, call.FilesUnknown(&w), nil
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
