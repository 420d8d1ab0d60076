package redisstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

func init() { // so that a small store takes many pages
	scanPage, outboxPage, drainPage, mostMarks = 64, 16, 64, 8
}

// Waiting is how many commits wait for their turn.
func (s *Store) Waiting() int {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	return len(s.lane.queue)
}

// Flying is how many flights are under way.
func (s *Store) Flying() int {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	return s.lane.flying
}

// Together commits batches on one flight, in their order.
func (s *Store) Together(batches []store.Batch) ([]store.Result, []error) {
	results, errs := make([]store.Result, len(batches)), make([]error, len(batches))
	var calls []*call
	var sent []int
	for i := range batches {
		shard, spanning, err := batches[i].Shard(s.shards)
		var c call
		if err == nil {
			c.keys, c.args, err = s.encode(&batches[i], shard, spanning)
		}
		if errs[i] = err; err == nil && len(c.keys) > 0 {
			c.era = s.place.now().id
			calls, sent = append(calls, &c), append(sent, i)
		}
	}
	if len(calls) > 0 {
		s.send(calls)
	}
	for n, i := range sent {
		c := calls[n]
		if errs[i] = c.err; c.err != nil {
			continue
		}
		results[i], errs[i] = decode(&batches[i], c.reply)
		if errs[i] == nil && !results[i].Replayed && batches[i].Windowed() {
			results[i].Admitted = time.UnixMicro(c.now).UTC()
		}
	}
	return results, errs
}

// As is a configuration of another program.
func (c Config) As(p storetest.Program) Config {
	c.Program, c.formats = p.Version, p.Formats
	for format := 2; format <= p.Formats.Newest; format++ {
		run := func(ctx context.Context, db *redis.Client, prefixes []string) error {
			for shard, prefix := range prefixes {
				if format == p.Fail && shard > len(prefixes)/2 {
					return errors.New("killed")
				}
				if err := change(ctx, db, prefix, p, format); err != nil {
					return err
				}
			}
			return nil
		}
		c.steps = append(c.steps, step{"a test", run})
	}
	return c
}

// change gives the records of runs of a shard their new form.
func change(ctx context.Context, db *redis.Client, prefix string, p storetest.Program, format int) error {
	ids, err := db.ZRange(ctx, prefix+indexKeys+"test/run", 0, -1).Result()
	for _, id := range ids {
		key := prefix + recordKeys + "test/run/" + id
		data, failed := db.HGet(ctx, key, "d").Result()
		err = errors.Join(err, failed)
		if next := p.Step(data, format); !strings.HasSuffix(data, p.Step("", format)) {
			err = errors.Join(err, db.HSet(ctx, key, "d", next).Err())
		}
	}
	return err
}
