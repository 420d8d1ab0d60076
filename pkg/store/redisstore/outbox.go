package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// slice is the longest that the server is asked to wait at once: the wait of a cancelled
// caller ends within it.
const slice = time.Second

// position is a shard's outbox and the known facts about it.
type position struct {
	shard int
	after int64
}

// Tail returns outbox entries after those named, and waits for some when there
// are none.
func (s *Store) Tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	return (&tailer{s}).tail(ctx, after, limit, wait)
}

// tailer reads the outboxes of shards.
type tailer struct{ *Store }

func (t *tailer) tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	defer t.end()
	if limit < 1 {
		return nil, fmt.Errorf("redisstore: a limit of %d entries; the least is 1", limit)
	}
	positions, err := t.positions(after)
	if err != nil {
		return nil, err
	}
	if len(positions) == 0 {
		return t.idle(ctx, wait)
	}
	deadline := time.Now().Add(wait)
	for {
		left := max(0, time.Until(deadline))
		entries, over, err := t.tailServer(ctx, positions, limit, min(left, slice))
		if err != nil && ctx.Err() == nil && t.isClosing() {
			return nil, nil
		}
		if err != nil {
			return nil, readError(ctx, "tail", err)
		}
		if len(entries) > 0 || over || left == 0 {
			return entries, nil
		}
	}
}

// positions lists the shards to read. Each call begins with another one, so that
// a small limit starves none.
func (t *tailer) positions(after map[int]int64) ([]position, error) {
	positions := make([]position, 0, len(after))
	for _, shard := range slices.Sorted(maps.Keys(after)) {
		if err := t.checkShard(shard); err != nil {
			return nil, err
		}
		positions = append(positions, position{shard, max(after[shard], 0)})
	}
	if len(positions) == 0 {
		return nil, nil
	}
	first := int(t.turn.Add(1) % uint64(len(positions)))
	return append(positions[first:], positions[:first]...), nil
}

// tailServer lets the server wait. When the caller goes in between, the wait is
// left to end by itself.
func (t *tailer) tailServer(ctx context.Context, positions []position, limit int, wait time.Duration) (entries []store.OutboxEntry, over bool, err error) {
	if wait <= 0 {
		entries, err = t.readOutbox(ctx, positions, limit, 0)
		return entries, false, err
	}
	type outcome struct {
		entries []store.OutboxEntry
		err     error
	}
	done := make(chan outcome, 1)
	t.work.Go(func() {
		entries, err := t.readOutbox(context.WithoutCancel(ctx), positions, limit, wait)
		done <- outcome{entries, err}
	})
	select {
	case o := <-done:
		return o.entries, false, o.err
	case <-t.closing:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// idle waits when there is no shard to wait for.
func (t *tailer) idle(ctx context.Context, wait time.Duration) ([]store.OutboxEntry, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.closing:
	case <-ctx.Done():
		return nil, fmt.Errorf("redisstore: tail: %w", ctx.Err())
	}
	return nil, nil
}

// readOutbox reads entries, and waits for the first when wait is not 0. Each shard gets
// its share of the limit first, and the rest goes to those that have more.
func (t *tailer) readOutbox(ctx context.Context, positions []position, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	var entries []store.OutboxEntry
	for len(positions) > 0 && len(entries) < limit {
		share := max(1, (limit-len(entries))/len(positions))
		streams, err := t.readStreams(ctx, positions, share, wait)
		if err != nil {
			return nil, err
		}
		wait = 0
		var more []position
		for i, messages := range streams {
			messages = messages[:min(len(messages), limit-len(entries))]
			for j := range messages {
				entry, err := parseEntry(positions[i].shard, &messages[j])
				if err != nil {
					return nil, err
				}
				entries = append(entries, entry)
			}
			if len(messages) == share {
				more = append(more, position{positions[i].shard, entries[len(entries)-1].Seq})
			}
		}
		positions = more
	}
	return entries, t.fillIn(ctx, entries)
}

// fillIn reads the payloads that are history entries.
func (t *tailer) fillIn(ctx context.Context, entries []store.OutboxEntry) error {
	wanted := make(map[store.Key][]*store.OutboxEntry)
	for i := range entries {
		if e := &entries[i]; e.Version > 0 {
			wanted[e.Entry] = append(wanted[e.Entry], e)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	var parts [][]*store.OutboxEntry // that lie close together in a history
	var stretches []stretch
	for key, of := range wanted {
		for _, entries := range runs(of) {
			first, last := entries[0].Version, entries[len(entries)-1].Version
			parts = append(parts, entries)
			stretches = append(stretches, stretch{key: key, after: first - 1, limit: int(last - first + 1)})
		}
	}
	histories, err := t.histories(ctx, stretches)
	if err != nil {
		return fmt.Errorf("redisstore: read the history entries of events: %w", err)
	}
	for i, entries := range parts {
		found := make(map[int64]store.HistoryEntry, len(histories[i]))
		for _, entry := range histories[i] {
			found[entry.Version] = entry
		}
		for _, e := range entries {
			e.Payload, e.At = found[e.Version].Data, found[e.Version].At
		}
	}
	return nil
}

// runs parts entries of one record, whose versions ascend, where there are more versions
// between two than it is worth to read.
func runs(entries []*store.OutboxEntry) [][]*store.OutboxEntry {
	const most = 4
	var parts [][]*store.OutboxEntry
	first := 0
	for i := 1; i <= len(entries); i++ {
		if i == len(entries) || entries[i].Version > entries[i-1].Version+most {
			parts = append(parts, entries[first:i])
			first = i
		}
	}
	return parts
}

// readStreams reads at most count entries after each position.
func (t *tailer) readStreams(ctx context.Context, positions []position, count int, wait time.Duration) ([][]redis.XMessage, error) {
	args := &redis.XReadArgs{Count: int64(count), Block: -1}
	db := t.db
	if wait > 0 {
		db, args.Block = t.tails, max(wait, time.Millisecond) // 0 would be forever
	}
	places := make(map[string]int, len(positions))
	for i, p := range positions {
		key := t.prefixes[p.shard] + outboxKey
		args.Streams = append(args.Streams, key)
		places[key] = i
	}
	for _, p := range positions {
		args.Streams = append(args.Streams, entryID(p.after))
	}
	found, err := db.XRead(ctx, args).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	streams := make([][]redis.XMessage, len(positions))
	for i := range found {
		if place, asked := places[found[i].Stream]; asked {
			streams[place] = found[i].Messages
		}
	}
	return streams, nil
}

// entryID returns the id of an outbox's entry in its stream.
func entryID(seq int64) string { return "0-" + strconv.FormatInt(seq, 10) }

func parseEntry(shard int, message *redis.XMessage) (store.OutboxEntry, error) {
	_, text, _ := strings.Cut(message.ID, "-")
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return store.OutboxEntry{}, fmt.Errorf("redisstore: outbox entry %q of shard %d: %w", message.ID, shard, err)
	}
	id, _ := message.Values["i"].(string)
	subject, _ := message.Values["s"].(string)
	payload, _ := message.Values["p"].(string)
	era, _ := message.Values["e"].(string)
	trace, _ := message.Values["t"].(string)
	entry := store.OutboxEntry{Shard: shard, Seq: seq, Era: era, ID: id, Subject: subject, Payload: []byte(payload), Trace: trace}
	if of, ok := message.Values["h"].(string); ok {
		if entry.Entry, err = parseKey(of); err != nil {
			return entry, err
		}
		version, _ := message.Values["n"].(string)
		if entry.Version, err = strconv.ParseInt(version, 10, 64); err != nil {
			return entry, fmt.Errorf("redisstore: outbox entry %q of shard %d: %w", message.ID, shard, err)
		}
	}
	return entry, nil
}

// Trim forgets a shard's outbox entries with Seq <= through. The stream stays
// when it is empty, and with it the last sequence number.
func (s *Store) Trim(ctx context.Context, shard int, through int64) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	if err := s.checkShard(shard); err != nil {
		return err
	}
	if through < 1 {
		return nil
	}
	first := "1-0" // after every sequence number
	if through < math.MaxInt64 {
		first = entryID(through + 1)
	}
	// It may be repeated: the client retries it.
	if err := s.db.XTrimMinID(ctx, s.prefixes[shard]+outboxKey, first).Err(); err != nil {
		return writeError("trim", err)
	}
	return nil
}
