package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// dryRun turns a decision into the one that a commit would give: a call over a limit is denied. It
// changes nothing.
func (a *App) dryRun(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision) error {
	for {
		err := a.probe(ctx, q, s, std, d)
		if err == nil {
			break
		}
		if d.leaseFull(err) {
			return &store.ConflictError{Key: ledger.LeaseOf(q.caller.Namespace, d.LeaseID)}
		}
		if !exceeded(d, err) && !overLimit(s, d, err) {
			return err
		}
	}
	counters, err := a.store.Counters(ctx, s.Entry)
	if err != nil {
		return err
	}
	d.Iterations = counters[ledger.Iterations]
	return nil
}

// probe asks the store whether it would commit the plan of a decision.
func (a *App) probe(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision) error {
	batch, err := a.plan(ctx, q, s, d)
	if err != nil {
		return err
	}
	own, counters := len(batch.Counters), a.quota.Counters(q.caller.Namespace, d.combined.Spends)
	if a.store.Spans() {
		batch.Checks = append(batch.Checks, std.Preconditions()...)
		batch.Counters = append(batch.Counters, counters...)
		return spendOf(own, nil, a.store.Probe(ctx, batch))
	}
	for _, at := range quota.ByShard(counters, a.store.Shards()) {
		group := make([]store.Counter, len(at))
		for i, index := range at {
			group[i] = counters[index]
		}
		if err := a.store.Probe(ctx, store.Batch{Counters: group}); err != nil {
			return spendOf(0, at, err)
		}
	}
	if err := a.unmoved(ctx, std.Preconditions()...); err != nil {
		return err
	}
	return a.store.Probe(ctx, batch)
}

// spendOf maps the refusal of a counter to the spend that it counts. The counters of spends begin at own;
// at has the places of the spends, or is nil if they are in order.
func spendOf(own int, at []int, err error) error {
	var limit *store.LimitError
	if !errors.As(err, &limit) || limit.Index < own {
		return err
	}
	index := limit.Index - own
	if at != nil {
		index = at[index]
	}
	return &quota.FullError{Index: index, Value: limit.Value, ReopensAt: limit.ReopensAt}
}
