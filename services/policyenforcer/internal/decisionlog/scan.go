package decisionlog

import (
	"context"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Scan yields the selected records after a place, oldest first, until yield returns false or most records
// were read. It returns the place of the last record that it has read, or nil at the end.
func (l *Log) Scan(ctx context.Context, namespace string, q Query, from Place, most int, yield func(*ledger.Decision) bool) (*Place, error) {
	if q.RunID != "" {
		partition, err := l.partitionOf(ctx, namespace, q.RunID)
		if err != nil {
			return nil, err
		}
		if from.partition != partition {
			from = Place{partition: partition}
		}
		end, _, err := l.scanPartition(ctx, namespace, q, from, most, yield)
		return end, err
	}
	for {
		if from.partition != "" {
			end, looked, err := l.scanPartition(ctx, namespace, q, from, most, yield)
			if end != nil || err != nil {
				return end, err
			}
			most -= looked
		}
		next, err := l.nextPartition(ctx, store.Query{Namespace: namespace, After: from.partition}, q.Since)
		if next == "" || err != nil {
			return nil, err
		}
		from = Place{partition: next}
	}
}

// scanPartition does the work of Scan in one partition.
func (l *Log) scanPartition(ctx context.Context, namespace string, q Query, from Place, most int, yield func(*ledger.Decision) bool) (end *Place, looked int, err error) {
	for {
		size := min(sealPage, most-looked)
		if size <= 0 {
			return &from, looked, nil
		}
		entries, err := l.store.History(ctx, PartitionKey(namespace, from.partition), from.sequence, size)
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
