package check

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
func (c *Service) dryRun(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision) error {
	for {
		err := c.probe(ctx, q, s, std, d)
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
	counters, err := c.Store.Counters(ctx, s.Entry)
	if err != nil {
		return err
	}
	d.Iterations = counters[ledger.Iterations]
	return nil
}

// probe asks the store whether it would commit the plan of a decision.
func (c *Service) probe(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, d *Decision) error {
	batch, err := c.plan(ctx, q, s, d)
	if err != nil {
		return err
	}
	own, counters := len(batch.Counters), c.Quota.Counters(q.caller.Namespace, d.combined.Spends)
	if c.Store.Spans() {
		batch.Checks = append(batch.Checks, std.Preconditions()...)
		batch.Counters = append(batch.Counters, counters...)
		return spendOf(own, nil, c.Store.Probe(ctx, batch))
	}
	for _, at := range quota.ByShard(counters, c.Store.Shards()) {
		group := make([]store.Counter, len(at))
		for i, index := range at {
			group[i] = counters[index]
		}
		if err := c.Store.Probe(ctx, store.Batch{Counters: group}); err != nil {
			return spendOf(0, at, err)
		}
	}
	if err := runs.CheckUnchanged(ctx, c.Store, std.Preconditions()...); err != nil {
		return err
	}
	return c.Store.Probe(ctx, batch)
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
