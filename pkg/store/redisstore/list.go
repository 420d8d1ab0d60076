package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// maxPage is the largest page.
const maxPage = 1000

// List returns the records of one kind by id, a page at a time. It merges the
// indexes of all shards, in steps: ids first, and then the records of those ids
// that come next. A record that changes in between is judged as it is read, so none
// is in a page that does not have the labels.
func (s *Store) List(ctx context.Context, query store.Query) (store.Page, error) {
	if err := s.begin(ctx); err != nil {
		return store.Page{}, err
	}
	defer s.end()
	if query.Limit < 1 || query.Limit > maxPage {
		return store.Page{}, fmt.Errorf("redisstore: a page of %d records; it may have 1 to %d", query.Limit, maxPage)
	}
	l := &listing{s: s, query: &query, sources: make([]source, s.shards)}
	l.indexes(s)
	if err := l.chooseIndex(ctx); err != nil {
		return store.Page{}, readError(ctx, "list", err)
	}
	// One more than the page shows whether there is a next one.
	want := query.Limit + 1
	var records []store.Record
	for len(records) < want {
		ids, err := l.next(ctx, want-len(records))
		if err != nil {
			return store.Page{}, readError(ctx, "list", err)
		}
		if len(ids) == 0 {
			break
		}
		found, err := l.records(ctx, ids)
		if err != nil {
			return store.Page{}, readError(ctx, "list", err)
		}
		records = append(records, found...)
	}
	page := store.Page{Records: records}
	if len(records) == want {
		page.Records = records[:query.Limit]
		page.Next = page.Records[query.Limit-1].Key.ID
	}
	return page, nil
}

// listing is one List under way.
type listing struct {
	s       *Store
	query   *store.Query
	sources []source // one for each shard
	others  int      // how many further labels there are to check
}

// source is the ids of one shard.
type source struct {
	// index is read for ids, and an id has to be in all of others.
	index  string
	others []string
	ids    []string // read and not yet used
	after  string   // read up to here
	done   bool     // there are no more
}

// indexes names the indexes of every shard.
func (l *listing) indexes(s *Store) {
	labels := slices.Sorted(maps.Keys(l.query.Labels))
	for shard := range l.sources {
		base := append([]byte(s.prefixes[shard]), indexKeys...)
		base = appendEscaped(base, l.query.Namespace)
		base = append(base, '/')
		base = appendEscaped(base, l.query.Kind)
		from := &l.sources[shard]
		from.after = l.query.After
		if len(labels) == 0 {
			from.index = string(base)
			continue
		}
		base = append(base, '/')
		for _, name := range labels {
			from.others = append(from.others, string(appendLabel(slices.Clip(base), name, l.query.Labels[name])))
		}
		from.index, from.others = from.others[0], from.others[1:]
	}
	l.others = max(0, len(labels)-1)
}

// chooseIndex makes the label that fewest records have the one that is read.
func (l *listing) chooseIndex(ctx context.Context) error {
	if l.others == 0 {
		return nil
	}
	counts := make([][]*redis.IntCmd, 0, len(l.sources))
	_, err := l.s.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range l.sources {
			from := &l.sources[i]
			row := []*redis.IntCmd{pipe.ZCard(ctx, from.index)}
			for _, other := range from.others {
				row = append(row, pipe.ZCard(ctx, other))
			}
			counts = append(counts, row)
		}
		return nil
	})
	if err != nil {
		return err
	}
	sums := make([]int64, l.others+1)
	for _, row := range counts {
		for i, count := range row {
			sums[i] += count.Val()
		}
	}
	fewest := slices.Index(sums, slices.Min(sums))
	if fewest == 0 {
		return nil
	}
	for i := range l.sources {
		from := &l.sources[i]
		from.index, from.others[fewest-1] = from.others[fewest-1], from.index
	}
	return nil
}

// next returns the next ids of all shards, at most n. None means that there are
// no more.
func (l *listing) next(ctx context.Context, n int) ([]string, error) {
	var ids []string
	for len(ids) < n {
		if err := l.fill(ctx, n-len(ids)); err != nil {
			return nil, err
		}
		first := -1
		for i := range l.sources {
			from := &l.sources[i]
			if len(from.ids) == 0 {
				if !from.done {
					first = -1 // its records may come first
					break
				}
				continue
			}
			if first < 0 || l.before(from.ids[0], l.sources[first].ids[0]) {
				first = i
			}
		}
		if first < 0 {
			if l.exhausted() {
				break
			}
			continue
		}
		from := &l.sources[first]
		ids, from.ids = append(ids, from.ids[0]), from.ids[1:]
	}
	return ids, nil
}

// before reports whether an id comes before another in the order of the list.
func (l *listing) before(id, other string) bool {
	if l.query.Descending {
		return id > other
	}
	return id < other
}

func (l *listing) exhausted() bool {
	for i := range l.sources {
		if len(l.sources[i].ids) > 0 || !l.sources[i].done {
			return false
		}
	}
	return true
}

// fill reads more ids of the shards that have none left, in one round trip. It
// reads about twice a shard's share of n, for ids are spread evenly.
func (l *listing) fill(ctx context.Context, n int) error {
	var empty []*source
	for i := range l.sources {
		if from := &l.sources[i]; len(from.ids) == 0 && !from.done {
			empty = append(empty, from)
		}
	}
	if len(empty) == 0 {
		return nil
	}
	count := int64(2*n/len(l.sources) + 8)
	if l.others > 0 {
		count = 256
	}
	read := make([]*redis.StringSliceCmd, 0, len(empty))
	_, err := l.s.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, from := range empty {
			read = append(read, l.read(ctx, pipe, from, count))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, from := range empty {
		from.ids = read[i].Val()
		if int64(len(from.ids)) < count {
			from.done = true
		}
		if len(from.ids) > 0 {
			from.after = from.ids[len(from.ids)-1]
		}
	}
	if l.others > 0 {
		return l.filter(ctx, empty)
	}
	return nil
}

// read reads the next ids of a shard.
func (l *listing) read(ctx context.Context, pipe redis.Pipeliner, from *source, count int64) *redis.StringSliceCmd {
	span := &redis.ZRangeBy{Min: "-", Max: "+", Count: count}
	if l.query.Descending {
		if from.after != "" {
			span.Max = "(" + from.after
		}
		return pipe.ZRevRangeByLex(ctx, from.index, span)
	}
	if from.after != "" {
		span.Min = "(" + from.after
	}
	return pipe.ZRangeByLex(ctx, from.index, span)
}

// filter drops the ids that lack one of the other labels.
func (l *listing) filter(ctx context.Context, read []*source) error {
	scores := make([][]*redis.Cmd, len(read))
	_, err := l.s.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, from := range read {
			if len(from.ids) == 0 {
				continue
			}
			for _, other := range from.others {
				args := make([]any, 0, 2+len(from.ids))
				args = append(args, "zmscore", other)
				for _, id := range from.ids {
					args = append(args, id)
				}
				scores[i] = append(scores[i], pipe.Do(ctx, args...))
			}
		}
		if pipe.Len() == 0 {
			pipe.Ping(ctx)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, from := range read {
		kept := from.ids[:0]
		for j, id := range from.ids {
			if inAll(scores[i], j) {
				kept = append(kept, id)
			}
		}
		from.ids = kept
	}
	return nil
}

// inAll reports whether the id at this place has a score in each answer.
func inAll(answers []*redis.Cmd, place int) bool {
	for _, answer := range answers {
		scores, _ := answer.Val().([]any)
		if place >= len(scores) || scores[place] == nil {
			return false
		}
	}
	return true
}

// records reads the records with these ids that have the labels.
func (l *listing) records(ctx context.Context, ids []string) ([]store.Record, error) {
	read := make([]*redis.SliceCmd, 0, len(ids))
	_, err := l.s.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, id := range ids {
			key := store.Key{Namespace: l.query.Namespace, Kind: l.query.Kind, ID: id}
			read = append(read, pipe.HMGet(ctx, l.s.key(recordKeys, key), recordFields...))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	records := make([]store.Record, 0, len(ids))
	for i, id := range ids {
		key := store.Key{Namespace: l.query.Namespace, Kind: l.query.Kind, ID: id}
		record, found, err := parseRecord(key, read[i].Val())
		if err != nil {
			return nil, err
		}
		if found && l.matches(record.Labels) {
			records = append(records, record)
		}
	}
	return records, l.s.date(ctx, records)
}

func (l *listing) matches(labels map[string]string) bool {
	for name, want := range l.query.Labels {
		if have, found := labels[name]; !found || have != want {
			return false
		}
	}
	return true
}
