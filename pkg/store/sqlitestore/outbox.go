package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// trimStep is how many entries one write trims: a long outbox must not hold up
// the commits behind it.
const trimStep = 2000

// Tail returns outbox entries, or waits for some, see store.Store. The limit is
// shared fairly among the shards that have entries.
func (s *Store) Tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	for shard := range after {
		if err := s.checkShard(shard); err != nil {
			return nil, err
		}
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for {
		if err := s.usable(ctx); err != nil {
			return nil, err
		}
		moving := s.heads.moving()
		entries, err := s.tailNow(ctx, after, max(1, limit))
		if err != nil || len(entries) > 0 || wait <= 0 {
			return entries, err
		}
		select {
		case <-moving:
		case <-deadline.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.stopped:
			return nil, errClosed
		}
	}
}

// tailNow returns the present entries.
func (s *Store) tailNow(ctx context.Context, after map[int]int64, limit int) ([]store.OutboxEntry, error) {
	var shards []int
	for _, shard := range slices.Sorted(maps.Keys(after)) {
		if s.heads.seqs[shard].Load() > after[shard] {
			shards = append(shards, shard)
		}
	}
	if len(shards) == 0 {
		return nil, nil
	}
	// When there is less room than shards, each is the first in its turn.
	first := int(s.reads.turn.Add(1)) % len(shards)
	var entries []store.OutboxEntry
	for i := range shards {
		room := limit - len(entries)
		if room == 0 {
			break
		}
		left := len(shards) - i
		share := (room + left - 1) / left
		shard := shards[(first+i)%len(shards)]
		var err error
		if entries, err = s.entries(ctx, entries, shard, after[shard], share); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// entries appends a shard's entries after a sequence number.
func (s *Store) entries(ctx context.Context, entries []store.OutboxEntry, shard int, after int64, limit int) ([]store.OutboxEntry, error) {
	const doing = "reading the outbox"
	rows, err := s.reads.entries.QueryContext(ctx, rowid(shard, max(0, after)), rowid(shard, s.heads.seqs[shard].Load()), limit)
	if err != nil {
		return nil, s.readError(ctx, doing, err)
	}
	defer rows.Close() // rows.Err reports failures
	for rows.Next() {
		var row int64
		entry := store.OutboxEntry{Shard: shard}
		var of, trace sql.NullString
		var version, at sql.NullInt64
		if err := rows.Scan(&row, &entry.Era, &entry.ID, &entry.Subject, &entry.Payload, &of, &version, &at, &trace); err != nil {
			return nil, s.readError(ctx, doing, err)
		}
		if of.Valid {
			entry.Entry, entry.Version = decodeKey(of.String), version.Int64
		}
		if at.Valid {
			entry.At = fromMicros(at.Int64)
		}
		entry.Seq, entry.Trace = seqOf(row), trace.String
		entries = append(entries, entry)
	}
	if err := rows.Err(); err != nil {
		return nil, s.readError(ctx, doing, err)
	}
	return entries, nil
}

// Trim forgets outbox entries, see store.Store.
func (s *Store) Trim(ctx context.Context, shard int, through int64) error {
	if err := s.checkShard(shard); err != nil {
		return err
	}
	last := rowid(shard, min(max(0, through), s.heads.seqs[shard].Load()))
	for more := true; more; {
		err := s.write(ctx, func(w *writer) error {
			var first int64
			found, err := w.firstEntry.first(func(row []driver.Value) { first = row[0].(int64) }, rowid(shard, 0), last)
			if err != nil || !found {
				more = false
				return fail("trimming the outbox", err)
			}
			until := min(last, first+trimStep-1)
			more = until < last
			return fail("trimming the outbox", w.deleteEntries.run(first, until))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkShard returns the problem with a shard's number.
func (s *Store) checkShard(shard int) error {
	if shard < 0 || shard >= s.Shards() {
		return fmt.Errorf("sqlitestore: no shard %d: there are 0 to %d", shard, s.Shards()-1)
	}
	return nil
}
