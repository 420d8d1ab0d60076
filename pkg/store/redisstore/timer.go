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
	timers, err := s.readTimers(ctx, pages)
	// The order in Redis is by microseconds, a due time may be finer.
	timers = slices.DeleteFunc(timers, func(t store.Timer) bool { return t.Due.After(now) })
	slices.SortStableFunc(timers, func(a, b store.Timer) int { return a.Due.Compare(b.Due) })
	return timers, cmp.Or(err, unread)
}

// Timers returns timers by their names.
func (s *Store) Timers(ctx context.Context, names ...store.TimerID) ([]store.Timer, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	pages := make([]timerPage, len(names))
	for i, name := range names {
		pages[i] = timerPage{name.Key.Shard(len(s.prefixes)), []string{string(appendMember(nil, name))}}
	}
	return s.readTimers(ctx, pages)
}

// timerPage are names of timers of one shard.
type timerPage struct {
	shard   int
	members []string
}

// duePages returns the pages that are not empty, and why some could not be read.
func (s *Store) duePages(ctx context.Context, now time.Time, limit int, kinds []string) ([]timerPage, error) {
	most := strconv.FormatInt(score(now), 10)
	sets, err := s.dueSets(ctx, most, kinds)
	if err != nil || len(sets) == 0 {
		return nil, err
	}
	read := make([]*redis.StringSliceCmd, len(sets))
	pipe := s.db.Pipeline()
	for i := range sets {
		read[i] = pipe.ZRangeByScore(ctx, sets[i].key, &redis.ZRangeBy{Min: "-inf", Max: most, Count: int64(limit)})
	}
	_, err = pipe.Exec(ctx)
	var pages []timerPage
	for i, cmd := range read {
		if members, err := cmd.Result(); err == nil && len(members) > 0 {
			pages = append(pages, timerPage{sets[i].shard, members})
		}
	}
	if err != nil {
		err = readError(ctx, "read timers", err)
	}
	return pages, err
}

// timerSet has the names of the timers of a shard and a kind, by their due times.
type timerSet struct {
	shard int
	key   string
}

// dueSets returns the sets that may have timers which are due. One call answers that, and most of the time there
// are none.
func (s *Store) dueSets(ctx context.Context, most string, kinds []string) ([]timerSet, error) {
	sets := make([]timerSet, 0, len(s.prefixes)*len(kinds))
	for shard, prefix := range s.prefixes {
		for _, kind := range kinds {
			sets = append(sets, timerSet{shard, string(appendEscaped([]byte(prefix+timerKeys), kind))})
		}
	}
	keys := make([]string, len(sets))
	for i := range sets {
		keys[i] = sets[i].key
	}
	reply, err := dueScript.read(ctx, s.db, keys, most)
	if err != nil {
		return nil, readError(ctx, "read timers", err)
	}
	found, _ := reply.([]any)
	due := make([]timerSet, 0, len(found))
	for i := range found {
		if n := number(found, i); n >= 1 && int(n) <= len(sets) {
			due = append(due, sets[n-1])
		}
	}
	return due, nil
}

// readTimers reads the timers of these names that are set.
func (s *Store) readTimers(ctx context.Context, pages []timerPage) ([]store.Timer, error) {
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
			timers = append(timers, timer)
		}
	}
	return timers, err
}
