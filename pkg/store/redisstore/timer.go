package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// appendTimer writes the stored part of a timer next to its name: the due time as seconds
// and nanoseconds, and the data.
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

// Due returns timers that are due: first their names, and then the stored parts of those,
// which are none most of the time.
func (s *Store) Due(ctx context.Context, now time.Time, limit int, kinds ...string) ([]store.Timer, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	if limit < 1 {
		return nil, fmt.Errorf("redisstore: at most %d timers were asked for; the least is 1", limit)
	}
	if len(kinds) == 0 {
		return nil, nil
	}
	pages, unread := s.duePages(ctx, now, limit, kinds)
	timers, err := s.readTimers(ctx, now, pages)
	slices.SortStableFunc(timers, func(a, b store.Timer) int { return a.Due.Compare(b.Due) })
	return timers, cmp.Or(err, unread)
}

// duePage are the names of timers of one shard and kind that are due.
type duePage struct {
	shard   int
	members []string
}

// duePages returns the pages that are not empty, and why some could not be read.
func (s *Store) duePages(ctx context.Context, now time.Time, limit int, kinds []string) ([]duePage, error) {
	most := strconv.FormatInt(score(now), 10)
	read := make([]*redis.StringSliceCmd, 0, len(s.prefixes)*len(kinds))
	pipe := s.db.Pipeline()
	for _, prefix := range s.prefixes {
		for _, kind := range kinds {
			key := string(appendEscaped([]byte(prefix+timerKeys), kind))
			read = append(read, pipe.ZRangeByScore(ctx, key, &redis.ZRangeBy{Min: "-inf", Max: most, Count: int64(limit)}))
		}
	}
	_, err := pipe.Exec(ctx)
	var pages []duePage
	for i, cmd := range read {
		if members, err := cmd.Result(); err == nil && len(members) > 0 {
			pages = append(pages, duePage{i / len(kinds), members})
		}
	}
	if err != nil {
		err = readError(ctx, "read timers", err)
	}
	return pages, err
}

// readTimers reads timers by their names. One that was cleared or set again in between
// is not due.
func (s *Store) readTimers(ctx context.Context, now time.Time, pages []duePage) ([]store.Timer, error) {
	if len(pages) == 0 {
		return nil, nil
	}
	read := make([]*redis.SliceCmd, 0, len(pages))
	pipe := s.db.Pipeline()
	for _, page := range pages {
		read = append(read, pipe.HMGet(ctx, s.prefixes[page.shard]+timerValuesKey, page.members...))
	}
	_, err := pipe.Exec(ctx)
	if err != nil {
		err = readError(ctx, "read timers", err)
	}
	var timers []store.Timer
	for i, cmd := range read {
		for j, value := range cmd.Val() {
			stored, found := value.(string)
			if !found {
				continue
			}
			timer, damaged := parseTimer(pages[i].members[j], stored)
			if damaged != nil {
				err = damaged
				continue
			}
			// The order in Redis is by microseconds, a due time may be finer.
			if !timer.Due.After(now) {
				timers = append(timers, timer)
			}
		}
	}
	return timers, err
}
