package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// Backlog counts the waiting entries and timers, see store.Store.
func (s *Store) Backlog(ctx context.Context, kinds ...string) (store.Backlog, error) {
	if err := s.begin(ctx); err != nil {
		return store.Backlog{}, err
	}
	defer s.end()
	newest := make([]*redis.XMessageSliceCmd, len(s.prefixes))
	sizes := make([]*redis.IntCmd, 0, len(s.prefixes)*len(kinds))
	pipe := s.db.Pipeline()
	for shard, prefix := range s.prefixes {
		newest[shard] = pipe.XRevRangeN(ctx, prefix+outboxKey, "+", "-", 1)
		for _, kind := range kinds {
			sizes = append(sizes, pipe.ZCard(ctx, string(appendEscaped([]byte(prefix+timerKeys), kind))))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return store.Backlog{}, readError(ctx, "look at what waits", err)
	}
	b := store.Backlog{Last: make([]int64, len(newest)), Timers: make(map[string]int64, len(kinds))}
	for shard, cmd := range newest {
		for _, message := range cmd.Val() {
			entry, err := parseEntry(shard, &message)
			if err != nil {
				return store.Backlog{}, err
			}
			b.Last[shard] = entry.Seq
		}
	}
	for i, cmd := range sizes {
		b.Timers[kinds[i%len(kinds)]] += cmd.Val()
	}
	return b, nil
}
