package redisstore

import (
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// Waiting is how many commits wait for their turn, over all lanes.
func (s *Store) Waiting() int { return s.sum(func(l *lane) int { return len(l.queue) }) }

// Flying is how many flights are under way, over all lanes.
func (s *Store) Flying() int { return s.sum(func(l *lane) int { return l.flying }) }

func (s *Store) sum(of func(*lane) int) int {
	sum, seen := 0, map[*lane]bool{}
	for _, l := range s.lanes {
		if !seen[l] {
			seen[l] = true
			l.mu.Lock()
			sum += of(l)
			l.mu.Unlock()
		}
	}
	return sum
}

// Together commits batches on one flight, in their order. They must be of any shards
// on a server that spans them.
func (s *Store) Together(batches []store.Batch) ([]store.Result, []error) {
	results, errs := make([]store.Result, len(batches)), make([]error, len(batches))
	var calls []*call
	var sent []int
	for i := range batches {
		shard, spanning, err := batches[i].Shard(s.shards, s.Spans())
		var c call
		if err == nil {
			c.keys, c.args, err = s.encode(&batches[i], shard, spanning)
		}
		if errs[i] = err; err == nil && len(c.keys) > 0 {
			c.shard, c.era = shard, s.place(shard).now().id
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
