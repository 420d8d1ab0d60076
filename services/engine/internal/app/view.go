package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// View is a run together with what its state allows.
type View struct {
	Run *workflow.Run
	// At is the run as the branch sees it that it was asked about, or the one that
	// unbound callers work in.
	At      workflow.View
	Machine *workflow.Machine
	// Process is what the run is of when that is no workflow, else nil (S8).
	Process *process.Process
	// Iterations counts the allowed tool calls in this entry of the state, and
	// ContextBytes the bytes of their results.
	Iterations, ContextBytes int64
	// FilesChanged counts the distinct files changed in this entry, where the
	// state limits them.
	FilesChanged int64
	// AskedID is the run that was asked for: this one, or one that has invoked it.
	AskedID string
	// SupersededBy is the run that is driven instead of this one, which is paused or
	// has ended. Only Get by a run's id tells it; see authority.SupersededBy.
	SupersededBy string
}

func newView(at workflow.View, m definition.Compiled) *View {
	return &View{Run: at.Run, At: at, Machine: m.Machine, Process: m.Process, AskedID: at.ID}
}

// State is the state in force.
func (v *View) State() *workflow.StateView { return v.Machine.State(v.At.State) }

// view adds to a run what its state allows and what was counted in it.
func (a *App) view(ctx context.Context, namespace string, at workflow.View) (*View, error) {
	m, err := a.machine(ctx, namespace, at.Workflow, at.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	view, key := newView(at, m), runKey(namespace, at.ID)
	counters, err := a.store.Counters(ctx, ledger.Entry(key, at.Entry))
	if err != nil {
		return nil, fault.From(err)
	}
	view.Iterations, view.ContextBytes = counters[ledger.Iterations], counters[ledger.ContextBytes]
	if view.State().MaxFilesPerState > 0 {
		view.FilesChanged, err = a.filesChanged(ctx, key, at)
	}
	return view, err
}

func (a *App) filesChanged(ctx context.Context, key store.Key, at workflow.View) (int64, error) {
	record, err := a.store.Get(ctx, ledger.FilesOf(key))
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fault.From(err)
	}
	files, err := ledger.DecodeFiles(record.Data)
	if err != nil {
		return 0, fault.From(err)
	}
	return int64(len(files.Of(at.Branch, at.Entry))), nil
}
