package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// Due returns timers that are due, see store.Store. Most of the time there are none, and
// one query for each kind shows that.
func (s *Store) Due(ctx context.Context, now time.Time, limit int, kinds ...string) ([]store.Timer, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	var timers []store.Timer
	for _, kind := range kinds {
		none, changes := s.writer.quiet.at(kind, micros(now))
		if none {
			continue
		}
		shards, err := s.dueShards(ctx, kind, now)
		if err != nil {
			return nil, err
		}
		if len(shards) == 0 {
			earliest, err := s.earliest(ctx, kind)
			if err != nil {
				return nil, err
			}
			s.writer.quiet.learn(kind, earliest, changes)
		}
		for _, shard := range shards {
			if timers, err = s.appendDue(ctx, timers, kind, shard, now, limit); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(timers, func(a, b store.Timer) int { return a.Due.Compare(b.Due) })
	return timers, nil
}

// Timers returns timers by their names, see store.Store.
func (s *Store) Timers(ctx context.Context, names ...store.TimerID) ([]store.Timer, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	var timers []store.Timer
	for _, name := range names {
		timer := store.Timer{TimerID: name}
		var due int64
		switch err := s.reads.timer.QueryRowContext(ctx, encodeKey(name.Key), name.Name).Scan(&due, &timer.Data); {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case err != nil:
			return nil, s.readError(ctx, readingTimers, err)
		}
		timer.Due = fromMicros(due)
		timers = append(timers, timer)
	}
	return timers, nil
}

// Backlog counts the waiting entries and timers, see store.Store.
func (s *Store) Backlog(ctx context.Context, kinds ...string) (store.Backlog, error) {
	if err := s.usable(ctx); err != nil {
		return store.Backlog{}, err
	}
	b := store.Backlog{Last: make([]int64, s.Shards()), Timers: make(map[string]int64, len(kinds))}
	for shard := range b.Last {
		b.Last[shard] = s.heads.seqs[shard].Load()
	}
	for _, kind := range kinds {
		var n int64
		if err := s.reads.timers.QueryRowContext(ctx, kind).Scan(&n); err != nil {
			return store.Backlog{}, s.readError(ctx, "counting timers", err)
		}
		b.Timers[kind] = n
	}
	return b, nil
}

const readingTimers = "reading timers"

// dueShards returns the shards that have timers of a kind which are due.
func (s *Store) dueShards(ctx context.Context, kind string, now time.Time) ([]int, error) {
	rows, err := s.reads.dueShards.QueryContext(ctx, kind, micros(now))
	if err != nil {
		return nil, s.readError(ctx, readingTimers, err)
	}
	defer rows.Close() // rows.Err reports failures
	var shards []int
	for rows.Next() {
		var shard int
		if err := rows.Scan(&shard); err != nil {
			return nil, s.readError(ctx, readingTimers, err)
		}
		shards = append(shards, shard)
	}
	if err := rows.Err(); err != nil {
		return nil, s.readError(ctx, readingTimers, err)
	}
	return shards, nil
}

// earliest returns the time of the first timer of a kind, in microseconds; never if there is none.
func (s *Store) earliest(ctx context.Context, kind string) (int64, error) {
	var due sql.NullInt64
	if err := s.reads.earliest.QueryRowContext(ctx, kind).Scan(&due); err != nil {
		return 0, s.readError(ctx, readingTimers, err)
	}
	if !due.Valid {
		return never, nil
	}
	return due.Int64, nil
}

// appendDue appends the timers of one kind and shard.
func (s *Store) appendDue(ctx context.Context, timers []store.Timer, kind string, shard int, now time.Time, limit int) ([]store.Timer, error) {
	rows, err := s.reads.due.QueryContext(ctx, kind, shard, micros(now), max(0, limit))
	if err != nil {
		return nil, s.readError(ctx, readingTimers, err)
	}
	defer rows.Close() // rows.Err reports failures
	for rows.Next() {
		var timer store.Timer
		var key string
		var due int64
		if err := rows.Scan(&key, &timer.Name, &due, &timer.Data); err != nil {
			return nil, s.readError(ctx, readingTimers, err)
		}
		timer.Key, timer.Due = decodeKey(key), fromMicros(due)
		timers = append(timers, timer)
	}
	if err := rows.Err(); err != nil {
		return nil, s.readError(ctx, readingTimers, err)
	}
	return timers, nil
}
