package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/ledger"

	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Runs loads runs and bindings, and caches runs.
type Runs struct {
	ports *ports.Ports
	cache *snapshot.Cache[store.Key, *workflow.Run]
}

// runCacheBytes bounds the memory of the cache, in which the smallest runs count as 4 KiB each.
const runCacheBytes = 64 << 20

func newRuns(p *ports.Ports) *Runs {
	rs := &Runs{ports: p, cache: snapshot.New[store.Key, *workflow.Run](runCacheBytes)}
	p.Store.Gate().OnTurn(rs.cache.Clear)
	return rs
}

// readAhead is how many records are read from the store at once.
const readAhead = 64

func runKey(namespace, id string) store.Key { return ledger.Run(namespace, id) }

// load reads a run from the store and refreshes the cache.
func (rs *Runs) load(ctx context.Context, key store.Key) (*workflow.Run, error) {
	record, err := rs.ports.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New(fault.NotFound, "no run %q", key.ID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	run, err := runcodec.DecodeRun(record.Data, record.Version)
	if err != nil {
		return nil, fault.From(err)
	}
	rs.keep(key, run)
	return run, nil
}

// Find returns a run; nil if there is none.
func (rs *Runs) Find(ctx context.Context, key store.Key) (*workflow.Run, error) {
	run, err := rs.load(ctx, key)
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, nil
	}
	return run, err
}

// cached returns a snapshot that may be old: the commit must check its version.
func (rs *Runs) cached(ctx context.Context, key store.Key) (*workflow.Run, error) {
	if run, ok := rs.cache.Get(key); ok {
		return run, nil
	}
	return rs.load(ctx, key)
}

// The memory of a run: in any case, and for each byte of its data as JSON.
const (
	runBytes   = 4 << 10
	treeWeight = 8
)

func (rs *Runs) keep(key store.Key, run *workflow.Run) {
	rs.cache.PutSized(key, run, runBytes+treeWeight*run.Bytes(), func(old *workflow.Run) bool { return old.Version > run.Version })
}

// refresh remembers new snapshots and wakes the watchers of these runs.
func (rs *Runs) refresh(namespace string, runs ...*workflow.Run) {
	for _, run := range runs {
		key := runKey(namespace, run.ID)
		rs.keep(key, run)
		rs.ports.Changed.Wake(key)
	}
}

func bindingKey(namespace, session string) store.Key {
	return ledger.BindingOf(namespace, session)
}

// binding returns the record that binds a session to its run; at version Absent
// when the session drives none. It is read each time: it may move to another run at any
// moment (S6.6).
func (rs *Runs) binding(ctx context.Context, namespace, session string) (store.Record, error) {
	key := bindingKey(namespace, session)
	record, err := rs.ports.Store.Get(ctx, key)
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

// each visits the runs that a query selects.
func (rs *Runs) each(ctx context.Context, query store.Query, visit func(*workflow.Run) error) error {
	query.Kind, query.Limit = ports.KindRun, 1000
	for {
		page, err := rs.ports.Store.List(ctx, query)
		if err != nil {
			return fault.From(err)
		}
		for _, record := range page.Records {
			run, err := runcodec.DecodeRun(record.Data, record.Version)
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
