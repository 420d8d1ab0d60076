package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// readAhead is how many records are read from the store at once.
const readAhead = 64

func runKey(namespace, id string) store.Key { return ledger.Run(namespace, id) }

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
	a.cacheRun(key, run)
	return run, nil
}

// cachedRun returns a snapshot that may be old: the commit must check its version.
func (a *App) cachedRun(ctx context.Context, key store.Key) (*workflow.Run, error) {
	if run, ok := a.runs.Get(key); ok {
		return run, nil
	}
	return a.loadRun(ctx, key)
}

// The memory of a run: in any case, and for each byte of its data as JSON.
const (
	runBytes   = 4 << 10
	treeWeight = 8
)

func (a *App) cacheRun(key store.Key, run *workflow.Run) {
	a.runs.PutSized(key, run, runBytes+treeWeight*run.Bytes(), func(old *workflow.Run) bool { return old.Version > run.Version })
}

// refresh remembers new snapshots and wakes the watchers of these runs.
func (a *App) refresh(namespace string, runs ...*workflow.Run) {
	for _, run := range runs {
		key := runKey(namespace, run.ID)
		a.cacheRun(key, run)
		a.changes.Wake(key)
	}
}

func bindingKey(namespace, session string) store.Key {
	return ledger.BindingOf(namespace, session)
}

// binding returns the record that binds a session to its run; at version Absent
// when the session drives none. It is read each time: it may move to another run at any
// moment (S6.6).
func (a *App) binding(ctx context.Context, namespace, session string) (store.Record, error) {
	key := bindingKey(namespace, session)
	record, err := a.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return store.Record{Key: key, Version: store.Absent}, nil
	}
	if err != nil {
		return store.Record{}, fault.From(err)
	}
	return record, nil
}

// boundTo returns the contents of a session's binding.
func boundTo(record store.Record) authority.Binding {
	b := ledger.ReadBinding(record.Data)
	return authority.Binding{Session: record.Key.ID, RunID: b.RunID, Branch: b.Branch, Ended: b.Ended}
}

// bindingData returns the input of boundTo.
func bindingData(b authority.Binding) []byte {
	return ledger.Binding{RunID: b.RunID, Branch: b.Branch, Ended: b.Ended}.Data()
}

// eachRun visits the runs that a query selects.
func (a *App) eachRun(ctx context.Context, query store.Query, visit func(*workflow.Run) error) error {
	query.Kind, query.Limit = KindRun, 1000
	for {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return fault.From(err)
		}
		for _, record := range page.Records {
			run, err := decodeRun(record.Data, record.Version)
			if err != nil {
				return fault.From(err)
			}
			if err := visit(run); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		query.After = page.Next
	}
}
