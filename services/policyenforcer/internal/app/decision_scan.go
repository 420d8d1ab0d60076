package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// scan yields the records that a query selects, oldest first, after a place, until yield
// returns false or that many were looked at. It returns the place of the last one that it
// has looked at, and nil when there are no more.
func (a *App) scan(ctx context.Context, namespace string, q DecisionQuery, from place, most int, yield func(*ledger.Decision) bool) (*place, error) {
	if q.RunID != "" {
		partition, err := a.partitionOf(ctx, namespace, q.RunID)
		if err != nil {
			return nil, err
		}
		if from.partition != partition {
			from = place{partition: partition}
		}
		end, _, err := a.scanPartition(ctx, namespace, q, from, most, yield)
		return end, err
	}
	for {
		if from.partition != "" {
			end, looked, err := a.scanPartition(ctx, namespace, q, from, most, yield)
			if end != nil || err != nil {
				return end, err
			}
			most -= looked
		}
		next, err := a.nextPartition(ctx, store.Query{Namespace: namespace, After: from.partition}, q.Since)
		if next == "" || err != nil {
			return nil, err
		}
		from = place{partition: next}
	}
}

// scanPartition is scan in the partition of a place; end is nil when there are no
// more in it.
func (a *App) scanPartition(ctx context.Context, namespace string, q DecisionQuery, from place, most int, yield func(*ledger.Decision) bool) (end *place, looked int, err error) {
	for {
		size := min(sealPage, most-looked)
		if size <= 0 {
			return &from, looked, nil
		}
		entries, err := a.store.History(ctx, decisionsKey(namespace, from.partition), from.sequence, size)
		if err != nil {
			return nil, looked, err
		}
		for _, entry := range entries {
			from.sequence = entry.Version
			looked++
			r, err := ledger.DecodeDecision(from.partition, entry)
			if err != nil {
				// Anyone who reads the log must see that there is one.
				r.Message = "this record cannot be read; verify the log"
			}
			if (err != nil || q.matches(r)) && !yield(r) {
				return &from, looked, nil
			}
		}
		if len(entries) < size {
			return nil, looked, nil
		}
	}
}
