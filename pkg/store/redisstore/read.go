package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// Get returns one record, or store.ErrNotFound.
func (s *Store) Get(ctx context.Context, key store.Key) (store.Record, error) {
	if err := s.begin(ctx); err != nil {
		return store.Record{}, err
	}
	defer s.end()
	if err := check(key); err != nil {
		return store.Record{}, err
	}
	fields, err := s.db.HMGet(ctx, s.key(recordKeys, key), recordFields...).Result()
	if err != nil {
		return store.Record{}, readError(ctx, "get", err)
	}
	record, found, err := parseRecord(key, fields)
	switch {
	case err != nil:
		return record, err
	case !found:
		return record, fmt.Errorf("%w: %s", store.ErrNotFound, key)
	}
	records := []store.Record{record}
	err = s.date(ctx, records)
	return records[0], err
}

// date gives the records that have only been appended to the time of their last entry.
func (s *Store) date(ctx context.Context, records []store.Record) error {
	last := make(map[int]*redis.StringCmd)
	_, err := s.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range records {
			if records[i].UpdatedAt.IsZero() {
				last[i] = pipe.LIndex(ctx, s.key(historyKeys, records[i].Key), -1)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return readError(ctx, "read the last entry", err)
	}
	for i, read := range last {
		if found := read.Val(); found != "" {
			entry, err := parseHistory(found)
			if err != nil {
				return fmt.Errorf("redisstore: history of %s: %w", records[i].Key, err)
			}
			records[i].UpdatedAt = entry.At
		}
	}
	return nil
}

var recordFields = []string{"v", "d", "t", "l"}

// parseRecord reads the recordFields of a record; found is false when there is
// none. One that was never put has no time, see date.
func parseRecord(key store.Key, fields []any) (record store.Record, found bool, err error) {
	if len(fields) != len(recordFields) || fields[0] == nil {
		return store.Record{}, false, nil
	}
	version, _ := fields[0].(string)
	data, _ := fields[1].(string)
	updated, _ := fields[2].(string)
	labels, _ := fields[3].(string)
	record = store.Record{Key: key, Data: []byte(data)}
	if record.Version, err = strconv.ParseInt(version, 10, 64); err != nil {
		return store.Record{}, false, fmt.Errorf("redisstore: version of %s: %w", key, err)
	}
	if updated != "" {
		record.UpdatedAt, err = parseTime(updated)
	}
	if err != nil {
		return store.Record{}, false, fmt.Errorf("redisstore: time of %s: %w", key, err)
	}
	record.Labels, err = parseLabels(labels)
	return record, err == nil, err
}

// parseTime reads microseconds.
func parseTime(text string) (time.Time, error) {
	at, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMicro(at).UTC(), err
}

// History returns the history entries of a record whose version is greater than
// after, by ascending version.
func (s *Store) History(ctx context.Context, key store.Key, after int64, limit int) ([]store.HistoryEntry, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	if err := check(key); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("redisstore: a limit of %d entries; the least is 1", limit)
	}
	if after == math.MaxInt64 {
		return nil, nil
	}
	stretches, err := s.histories(ctx, []stretch{{key: key, after: max(after, 0), limit: limit}})
	if err != nil {
		return nil, readError(ctx, "history", err)
	}
	return stretches[0], nil
}

// stretch is a part of a history.
type stretch struct {
	key   store.Key
	after int64
	limit int
}

// histories reads parts of histories.
func (s *Store) histories(ctx context.Context, of []stretch) ([][]store.HistoryEntry, error) {
	keys, args := make([]string, len(of)), make([]any, 0, 2*len(of))
	for i := range of {
		keys[i] = s.key(historyKeys, of[i].key)
		args = append(args, of[i].after, of[i].limit)
	}
	reply, err := historyScript.read(ctx, s.db, keys, args...)
	if err != nil {
		return nil, err
	}
	lists, _ := reply.([]any)
	if len(lists) != len(of) {
		return nil, fmt.Errorf("%d answers for %d histories", len(lists), len(of))
	}
	found := make([][]store.HistoryEntry, len(of))
	for i, list := range lists {
		texts, _ := list.([]any)
		found[i] = make([]store.HistoryEntry, len(texts))
		for j := range texts {
			text, _ := texts[j].(string)
			if found[i][j], err = parseHistory(text); err != nil {
				return nil, fmt.Errorf("history of %s: %w", of[i].key, err)
			}
		}
	}
	return found, nil
}

// parseHistory reads an entry, see place.lua.
func parseHistory(text string) (entry store.HistoryEntry, err error) {
	head, data, _ := strings.Cut(text, " ")
	version, at, _ := strings.Cut(head, "-")
	if entry.Version, err = strconv.ParseInt(version, 10, 64); err != nil {
		return entry, fmt.Errorf("entry %.40q: %w", text, err)
	}
	entry.Data = []byte(data)
	entry.At, err = parseTime(at)
	return entry, err
}

// Counters returns the plain counters that owner has.
func (s *Store) Counters(ctx context.Context, owner store.Key) (map[string]int64, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	if err := check(owner); err != nil {
		return nil, err
	}
	fields, err := s.db.HGetAll(ctx, s.key(counterKeys, owner)).Result()
	if err != nil {
		return nil, readError(ctx, "counters", err)
	}
	values := make(map[string]int64, len(fields))
	for field, value := range fields {
		name, plain := strings.CutPrefix(field, "p")
		if !plain {
			continue
		}
		if values[name], err = strconv.ParseInt(value, 10, 64); err != nil {
			return nil, fmt.Errorf("redisstore: counter %s of %s: %w", name, owner, err)
		}
	}
	return values, nil
}

// Answer returns the bytes stored with an idempotency key, or store.ErrNotFound.
func (s *Store) Answer(ctx context.Context, owner store.Key, name string) ([]byte, error) {
	answer, err := s.answer(ctx, owner, name)
	if err != nil {
		return nil, err
	}
	return []byte(answer), nil
}

// AnswerVersion returns the version of the entry that an idempotency key names.
func (s *Store) AnswerVersion(ctx context.Context, owner store.Key, name string) (int64, error) {
	answer, err := s.answer(ctx, owner, name, "version")
	if err != nil {
		return 0, err
	}
	version, err := strconv.ParseInt(answer, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("redisstore: answer: %w", err)
	}
	return version, nil
}

// answer runs answer.lua.
func (s *Store) answer(ctx context.Context, owner store.Key, name string, what ...any) (string, error) {
	if err := s.begin(ctx); err != nil {
		return "", err
	}
	defer s.end()
	if err := check(owner); err != nil {
		return "", err
	}
	key := string(appendEscaped([]byte(s.key(idempotencyKeys, owner)+"/"), name))
	reply, err := answerScript.read(ctx, s.db, []string{key}, append([]any{s.now()}, what...)...)
	if errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("%w: idempotency key %s of %s", store.ErrNotFound, name, owner)
	}
	if err != nil {
		return "", readError(ctx, "answer", err)
	}
	answer, ok := reply.(string)
	if !ok {
		return "", fmt.Errorf("redisstore: answer: unexpected answer %T", reply)
	}
	// It acknowledges the write that has stored it, which may not have been confirmed yet.
	if err := s.confirm(ctx); err != nil {
		return "", fmt.Errorf("redisstore: answer: %w", err)
	}
	return answer, nil
}
