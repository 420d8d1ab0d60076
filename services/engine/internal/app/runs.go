package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/contend"
)

// View is a run together with what its state allows.
type View struct {
	Run     *workflow.Run
	Machine *workflow.Machine
	// Iterations counts the allowed tool calls in this entry of the state.
	Iterations int64
}

// Target names a run by its id or by the session that drives it.
type Target struct{ RunID, SessionID string }

func runKey(namespace, id string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindRun, ID: id}
}

func bindingKey(namespace, session string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindBinding, ID: session}
}

// Get answers a run as it is now.
func (a *App) Get(ctx context.Context, namespace string, target Target) (*View, error) {
	for range contend.Attempts {
		key, err := a.resolve(ctx, namespace, target)
		if err != nil {
			return nil, err
		}
		run, err := a.loadRun(ctx, key)
		if err != nil {
			return nil, err
		}
		if target.RunID == "" && run.Status != workflow.Running {
			// The session may have loaded another run, and paused this one, in
			// between: what is open in this one is not open to the session.
			if now, err := a.resolve(ctx, namespace, target); err != nil || now != key {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		return a.view(ctx, key, run)
	}
	return nil, contended("session " + target.SessionID)
}

// resolve finds the run that is meant. The binding of a session is read each
// time: it may move to another run at any moment (S6.6).
func (a *App) resolve(ctx context.Context, namespace string, target Target) (store.Key, error) {
	if target.RunID != "" {
		return runKey(namespace, target.RunID), nil
	}
	if target.SessionID == "" {
		return store.Key{}, fault.New(fault.InvalidRequest, "name a run by run_id or by session_id")
	}
	record, err := a.store.Get(ctx, bindingKey(namespace, target.SessionID))
	if errors.Is(err, store.ErrNotFound) {
		return store.Key{}, fault.New(fault.NotFound, "session %q drives no run; load a workflow first", target.SessionID)
	}
	if err != nil {
		return store.Key{}, fault.From(err)
	}
	return runKey(namespace, string(record.Data)), nil
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

func (a *App) view(ctx context.Context, key store.Key, run *workflow.Run) (*View, error) {
	m, err := a.machine(ctx, key.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	counters, err := a.store.Counters(ctx, key)
	if err != nil {
		return nil, fault.From(err)
	}
	return &View{Run: run, Machine: m, Iterations: counters[toolcall.IterationsCounter]}, nil
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
