package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/interlock-run/interlock/pkg/store"
)

// reads are the statements for reading.
type reads struct {
	get, history, counters, lease, answer, answerVersion, entries, dueShards, earliest, due, timer, timers *sql.Stmt
	// turn counts the tails, see Store.tail.
	turn atomic.Uint32
}

// prepareReads prepares the statements for reading; they are closed with the
// database.
func prepareReads(ctx context.Context, db *sql.DB) (*reads, error) {
	r := &reads{}
	for _, p := range []struct {
		statement **sql.Stmt
		text      string
	}{
		{&r.get, "SELECT version, labels, updated, data FROM records WHERE key = ?"},
		{&r.history, "SELECT version, at, data FROM history WHERE key = ? AND version > ? ORDER BY version LIMIT ?"},
		{&r.counters, "SELECT name, value FROM counters WHERE owner = ?"},
		{&r.lease, "SELECT holder, token, expires FROM leases WHERE key = ? AND expires > ?"},
		{&r.answer, "SELECT coalesce(h.data, a.answer) FROM answers a LEFT JOIN history h ON h.key = a.entry_key AND h.version = a.entry_version " +
			"WHERE a.key = ? AND a.expires > ?"},
		{&r.answerVersion, "SELECT coalesce(entry_version, 0) FROM answers WHERE key = ? AND expires > ?"},
		{&r.entries, "SELECT o.entry, o.era, o.id, o.subject, coalesce(h.data, o.payload), o.entry_key, o.entry_version, h.at, o.trace FROM outbox o " +
			"LEFT JOIN history h ON h.key = o.entry_key AND h.version = o.entry_version WHERE o.entry > ? AND o.entry <= ? ORDER BY o.entry LIMIT ?"},
		{&r.dueShards, "SELECT shard FROM shards WHERE EXISTS (SELECT 1 FROM timers WHERE kind = ? AND shard = shards.shard AND due <= ?)"},
		{&r.earliest, "SELECT min((SELECT min(due) FROM timers WHERE kind = ? AND shard = shards.shard)) FROM shards"},
		{&r.due, "SELECT key, name, due, data FROM timers WHERE kind = ? AND shard = ? AND due <= ? ORDER BY due LIMIT ?"},
		{&r.timer, "SELECT due, data FROM timers WHERE key = ? AND name = ?"},
		{&r.timers, "SELECT count(*) FROM timers WHERE kind = ?"},
	} {
		var err error
		if *p.statement, err = db.PrepareContext(ctx, p.text); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// rowError translates the error of a query for one row.
func (s *Store) rowError(ctx context.Context, doing string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return s.readError(ctx, doing, err)
}

// Get returns one record, see store.Store.
func (s *Store) Get(ctx context.Context, key store.Key) (store.Record, error) {
	if err := s.usable(ctx); err != nil {
		return store.Record{}, err
	}
	if err := validate(key); err != nil {
		return store.Record{}, err
	}
	record, err := scanRecord(s.reads.get.QueryRowContext(ctx, encodeKey(key)))
	if err != nil {
		return store.Record{}, s.rowError(ctx, "reading a record", err)
	}
	record.Key = key
	return record, nil
}

// scanRecord reads a record from a row of version, labels, updated, data and the further
// columns.
func scanRecord(row interface{ Scan(...any) error }, more ...any) (store.Record, error) {
	var record store.Record
	var labels []byte
	var updated int64
	if err := row.Scan(append([]any{&record.Version, &labels, &updated, &record.Data}, more...)...); err != nil {
		return store.Record{}, err
	}
	record.UpdatedAt = fromMicros(updated)
	var err error
	record.Labels, err = decodeLabels(string(labels))
	return record, err
}

// History returns a record's history entries, see store.Store.
func (s *Store) History(ctx context.Context, key store.Key, after int64, limit int) ([]store.HistoryEntry, error) {
	const doing = "reading history"
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	rows, err := s.reads.history.QueryContext(ctx, encodeKey(key), after, max(0, limit))
	if err != nil {
		return nil, s.readError(ctx, doing, err)
	}
	defer rows.Close() // rows.Err reports failures
	var entries []store.HistoryEntry
	for rows.Next() {
		var entry store.HistoryEntry
		var at int64
		if err := rows.Scan(&entry.Version, &at, &entry.Data); err != nil {
			return nil, s.readError(ctx, doing, err)
		}
		entry.At = fromMicros(at)
		entries = append(entries, entry)
	}
	if err := rows.Err(); err != nil {
		return nil, s.readError(ctx, doing, err)
	}
	return entries, nil
}

// Counters returns the plain counters of an owner, see store.Store.
func (s *Store) Counters(ctx context.Context, owner store.Key) (map[string]int64, error) {
	const doing = "reading counters"
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	rows, err := s.reads.counters.QueryContext(ctx, encodeKey(owner))
	if err != nil {
		return nil, s.readError(ctx, doing, err)
	}
	defer rows.Close() // rows.Err reports failures
	values := map[string]int64{}
	for rows.Next() {
		var name string
		var value int64
		if err := rows.Scan(&name, &value); err != nil {
			return nil, s.readError(ctx, doing, err)
		}
		values[name] = value
	}
	if err := rows.Err(); err != nil {
		return nil, s.readError(ctx, doing, err)
	}
	return values, nil
}
