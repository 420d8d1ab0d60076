package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// View is a run together with what its state allows.
type View struct {
	Run *workflow.Run
	// At is the run as it stands in the branch that it was asked about, or in the
	// one that unbound callers work in.
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
	// has ended. Only Get by a run's id tells it; see supersededBy.
	SupersededBy string
}

func newView(at place, m definition.Compiled) *View {
	return &View{Run: at.run, At: at.lane(), Machine: m.Machine, Process: m.Process, AskedID: at.run.ID}
}

// State is the state in force.
func (v *View) State() *workflow.StateView { return v.Machine.State(v.At.State) }

// Target names a run by its id or by the session that drives it, and the branch
// of its fork that is meant: by default the session's own, or the one that
// unbound callers work in.
type Target struct {
	RunID, SessionID, Branch string
	// own is the session whose own branch this must still be, see place.session.
	own string
}

func runKey(namespace, id string) store.Key { return ledger.Run(namespace, id) }

func bindingKey(namespace, session string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindBinding, ID: session}
}

// Get answers a run as it is now; with active the one whose rules are in force
// instead, the innermost that it has invoked. Asked by session it is always that.
func (a *App) Get(ctx context.Context, caller Caller, target Target, active bool) (*View, error) {
	target, err := a.confineGet(ctx, caller, target)
	if err != nil {
		return nil, err
	}
	namespace := caller.Namespace
	for range retry.Attempts {
		at, err := a.resolve(ctx, namespace, target)
		if err != nil {
			return nil, err
		}
		asked := at
		if at.run, err = a.loadRun(ctx, at.key); err != nil {
			return nil, err
		}
		if target.RunID == "" && at.run.Status != workflow.Running {
			// The session may have loaded another run, and paused this one, in
			// between: what is open in this one is not open to the session.
			if now, err := a.resolve(ctx, namespace, target); err != nil || now != asked {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		if active || target.RunID == "" {
			if at, err = a.innermost(ctx, at); err != nil {
				return nil, err
			}
		}
		view, err := a.view(ctx, at)
		if err != nil {
			return nil, err
		}
		view.AskedID = asked.key.ID
		if target.RunID != "" {
			if view.SupersededBy, err = a.supersededBy(ctx, namespace, view.Run); err != nil {
				return nil, err
			}
		}
		return view, nil
	}
	return nil, contended("session " + target.SessionID)
}

// innermost follows the runs that were invoked. When one has ended since its
// parent was read, the parent has gone on, and is read again.
func (a *App) innermost(ctx context.Context, at place) (place, error) {
	outer := at
	for range retry.Attempts {
		child := at.lane().Child
		if child == nil {
			if at.run.Status.Ended() && at.key != outer.key {
				at = outer
				var err error
				if at.run, err = a.loadRun(ctx, at.key); err != nil {
					return at, err
				}
				continue
			}
			return at, nil
		}
		at = place{key: runKey(at.key.Namespace, child.RunID)}
		var err error
		if at.run, err = a.loadRun(ctx, at.key); err != nil {
			return at, err
		}
	}
	return at, contended("run " + outer.key.ID)
}

// resolve finds the run that is meant. The binding of a session is read each
// time: it may move to another run at any moment (S6.6).
func (a *App) resolve(ctx context.Context, namespace string, target Target) (place, error) {
	if target.RunID != "" {
		return place{key: runKey(namespace, target.RunID), branch: target.Branch, session: target.own}, nil
	}
	if target.SessionID == "" {
		return place{}, fault.New(fault.InvalidRequest, "name a run by run_id or by session_id")
	}
	record, err := a.store.Get(ctx, bindingKey(namespace, target.SessionID))
	if errors.Is(err, store.ErrNotFound) {
		return place{}, fault.New(fault.NotFound, "session %q drives no run; load a workflow first", target.SessionID)
	}
	if err != nil {
		return place{}, fault.From(err)
	}
	runID, branch := boundTo(record)
	at := place{key: runKey(namespace, runID), branch: branch}
	if branch != "" {
		at.session = target.SessionID
	} else {
		at.branch = target.Branch // a session may name a branch of its own run
	}
	return at, nil
}

// loadRun reads a run from the store and refreshes the cache.
func (a *App) loadRun(ctx context.Context, key store.Key) (*workflow.Run, error) {
	record, err := a.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New(fault.NotFound, "no run %q", key.ID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	run, err := decodeRun(record.Data, record.Version)
	if err != nil {
		return nil, fault.From(err)
	}
	a.remember(key, run)
	return run, nil
}

// cachedRun answers a snapshot that may be old: the commit must check its version.
func (a *App) cachedRun(ctx context.Context, key store.Key) (*workflow.Run, error) {
	if run, ok := a.runs.Get(key); ok {
		return run, nil
	}
	return a.loadRun(ctx, key)
}

func (a *App) remember(key store.Key, run *workflow.Run) {
	a.runs.Put(key, run, func(old *workflow.Run) bool { return old.Version > run.Version })
}

func (a *App) view(ctx context.Context, at place) (*View, error) {
	m, err := a.machine(ctx, at.key.Namespace, at.run.Workflow, at.run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	view := newView(at, m)
	counters, err := a.store.Counters(ctx, ledger.Entry(at.key, view.At.Entry))
	if err != nil {
		return nil, fault.From(err)
	}
	view.Iterations, view.ContextBytes = counters[ledger.Iterations], counters[ledger.ContextBytes]
	if view.State().MaxFilesPerState > 0 {
		view.FilesChanged, err = a.filesChanged(ctx, at.key, &view.At)
	}
	return view, err
}

func (a *App) filesChanged(ctx context.Context, key store.Key, at *workflow.View) (int64, error) {
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

// parseObject reads a caller's JSON object; nothing at all is a missing value.
func parseObject(field string, src []byte) (document.Value, error) {
	if len(src) == 0 {
		return document.Value{}, nil
	}
	value, problem := document.Parse(src, document.Limits{})
	if problem != nil {
		return document.Value{}, invalidField(fault.InvalidJSON, field, *problem)
	}
	if value.Kind() != document.Object {
		return document.Value{}, invalidField(fault.InvalidRequest, field, document.Problem{
			Code: "TYPE", Message: "must be a JSON object",
		})
	}
	return value, nil
}

func invalidField(reason fault.Reason, field string, p document.Problem) error {
	e := fault.New(reason, "%s: %s", field, p.Message)
	e.Violations = []fault.Violation{{Pointer: "/" + field + p.Pointer, Code: p.Code, Message: p.Message}}
	return e
}
