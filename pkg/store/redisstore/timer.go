package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// appendTimer writes what is stored of a timer beside its name: the due time as
// seconds and nanoseconds, and the data.
func appendTimer(to []byte, t *store.Timer) []byte {
	to = strconv.AppendInt(to, t.Due.Unix(), 10)
	to = append(to, ' ')
	to = strconv.AppendInt(to, int64(t.Due.Nanosecond()), 10)
	to = append(to, ' ')
	return append(to, t.Data...)
}

func parseTimer(member, stored string) (store.Timer, error) {
	id, err := parseMember(member)
	if err != nil {
		return store.Timer{}, err
	}
	parts := strings.SplitN(stored, " ", 3)
	if len(parts) != 3 {
		return store.Timer{}, fmt.Errorf("redisstore: stored timer %q has no due time", member)
	}
	seconds, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return store.Timer{}, fmt.Errorf("redisstore: stored timer %q: %w", member, err)
	}
	nanos, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return store.Timer{}, fmt.Errorf("redisstore: stored timer %q: %w", member, err)
	}
	return store.Timer{TimerID: id, Due: time.Unix(seconds, nanos).UTC(), Data: []byte(parts[2])}, nil
}

// Due answers timers of a shard that are due at now, oldest first.
func (s *Store) Due(ctx context.Context, shard int, now time.Time, limit int) ([]store.Timer, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	if err := s.checkShard(shard); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("redisstore: at most %d timers were asked for; the least is 1", limit)
	}
	prefix := s.prefixes[shard]
	reply, err := dueScript.read(ctx, s.db, []string{prefix + timerKey, prefix + timerValuesKey}, score(now), limit)
	if err != nil {
		return nil, readError(ctx, "read timers", err)
	}
	stored, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("redisstore: read timers: unexpected answer %T", reply)
	}
	timers := make([]store.Timer, 0, len(stored)/2)
	for pair := range slices.Chunk(stored, 2) {
		member, _ := pair[0].(string)
		value, ok := pair[len(pair)-1].(string)
		if len(pair) != 2 || !ok {
			return nil, fmt.Errorf("redisstore: timer %q has no content", member)
		}
		timer, err := parseTimer(member, value)
		if err != nil {
			return nil, err
		}
		// The order in Redis is by microseconds, a due time may be finer.
		if !timer.Due.After(now) {
			timers = append(timers, timer)
		}
	}
	slices.SortStableFunc(timers, func(a, b store.Timer) int { return a.Due.Compare(b.Due) })
	return timers, nil
}
