package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// foresee makes of a decision what recording it would make of it: what has no room is
// denied. It changes nothing.
func (a *App) foresee(ctx context.Context, q *question, s *snapshotOf, std *standard, d *Decision) error {
	for {
		err := a.rehearse(ctx, q, s, std, d)
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
	counters, err := a.store.Counters(ctx, s.entry)
	if err != nil {
		return err
	}
	d.Iterations = counters[ledger.Iterations]
	return nil
}

// rehearse is record without its effects: the store judges the conditions and the counters of
// a decision as it would if they were committed.
func (a *App) rehearse(ctx context.Context, q *question, s *snapshotOf, std *standard, d *Decision) error {
	batch := store.Batch{Checks: []store.Check{{Key: s.key, Version: s.run.Version}}}
	if err := a.countFiles(ctx, s, d, &batch); err != nil {
		return err
	}
	batch.Counters = stateCounters(s, &d.Verdict)
	d.spendLease(q.caller.Namespace, &batch)
	own, spends := len(batch.Counters), d.combined.Spends
	counters := a.counters(q.caller.Namespace, spends)
	if a.store.Spans() {
		batch.Checks = append(batch.Checks, std.checks()...)
		batch.Counters = append(batch.Counters, counters...)
		return spendOf(own, nil, a.offer(ctx, s.entry, batch))
	}
	for _, at := range byShard(counters, a.store.Shards()) {
		group := make([]store.Counter, len(at))
		for i, index := range at {
			group[i] = counters[index]
		}
		if err := a.offer(ctx, group[0].Owner, store.Batch{Counters: group}); err != nil {
			return spendOf(0, at, err)
		}
	}
	if err := a.unmoved(ctx, std.checks()...); err != nil {
		return err
	}
	return a.offer(ctx, s.entry, batch)
}

// spendOf turns the refusal of a spend's counter into that of the spend. The counters of
// spends begin at own; at are the places of the spends, where those are not in order.
func spendOf(own int, at []int, err error) error {
	var limit *store.LimitError
	if !errors.As(err, &limit) || limit.Index < own {
		return err
	}
	index := limit.Index - own
	if at != nil {
		index = at[index]
	}
	return &spendError{index: index, value: limit.Value, reopensAt: limit.ReopensAt}
}

// noRoom is the name of a counter that never has room.
const noRoom = "no room"

// offer asks the store whether it would commit a batch: nil if it would. The batch has a
// counter more, the last, that is always refused, so that nothing is ever committed.
func (a *App) offer(ctx context.Context, owner store.Key, batch store.Batch) error {
	last := len(batch.Counters)
	batch.Counters = append(batch.Counters, store.Counter{Owner: owner, Name: noRoom, Delta: 1})
	_, err := a.store.Commit(ctx, batch)
	var limit *store.LimitError
	switch {
	case errors.As(err, &limit) && limit.Index == last:
		return nil
	case err == nil:
		return fault.New(fault.Internal, "the store has committed a dry run")
	default:
		return err
	}
}
