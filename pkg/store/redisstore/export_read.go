package redisstore

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/redis/go-redis/v9"
)

// keys reads all keys that a backup has.
func (x *export) keys(ctx context.Context) error {
	nodes, err := x.masters(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		for cursor := uint64(0); ; {
			var names []string
			names, cursor, err = node.Scan(ctx, cursor, globEscape(x.config.Prefix)+":{*", scanPage).Result()
			if err != nil {
				return err
			}
			if err := x.read(ctx, names); err != nil {
				return err
			}
			if err := x.drain(ctx, mostMarks); err != nil {
				return err
			}
			if cursor == 0 {
				break
			}
		}
	}
	return nil
}

// globEscape returns a text as a pattern that matches only this text.
func globEscape(text string) string {
	return strings.NewReplacer("\\", "\\\\", "[", "\\[", "]", "\\]", "*", "\\*", "?", "\\?").Replace(text)
}

// read reads keys, as far as a backup has them.
func (x *export) read(ctx context.Context, names []string) error {
	byPlace := map[int][]string{}
	for _, name := range names {
		shard, kind, _, ours := x.parse(name)
		if !ours || len(kind) != 1 || !strings.Contains(exported, kind) {
			continue
		}
		if !x.cluster {
			shard = 0
		}
		byPlace[shard] = append(byPlace[shard], name)
	}
	for _, names := range byPlace {
		if err := x.readPlace(ctx, names); err != nil {
			return err
		}
	}
	return nil
}

// readPlace reads keys of one place, histories page by page.
func (x *export) readPlace(ctx context.Context, names []string) error {
	from := make([]any, len(names))
	for i := range from {
		from[i] = 1
	}
	for len(names) > 0 {
		items, err := x.db.EvalShaRO(ctx, exportScript.text().sha, names, from...).Slice()
		if err != nil {
			return err
		}
		if len(items) == 0 || len(items) > len(names) {
			return fmt.Errorf("%d answers for %d keys", len(items), len(names))
		}
		done := len(items)
		for i, item := range items {
			next, err := x.put(item, false)
			if err != nil {
				return err
			}
			if next > 0 { // only the last can have more
				done, from[i] = i, next
			}
		}
		names, from = names[done:], from[done:]
	}
	return nil
}

// drain reads changes again, until at most so much is left, or as much changes as is read.
func (x *export) drain(ctx context.Context, most int64) error {
	states, err := x.ask(ctx, "renew", marksKept, 0)
	for before := int64(math.MaxInt64); err == nil && sum(states) > most && sum(states) < before; {
		before = sum(states)
		states, err = x.drainOnce(ctx)
	}
	return err
}

func (x *export) drainOnce(ctx context.Context) (states []state, err error) {
	states, err = x.ask(ctx, "drain", 0, drainPage)
	if err != nil {
		return nil, err
	}
	for i := range states {
		for _, item := range states[i].items {
			if _, err := x.put(item, true); err != nil {
				return nil, err
			}
		}
	}
	return states, nil
}

func sum(states []state) (left int64) {
	for i := range states {
		left += states[i].left
	}
	return left
}

// timers reads all timers.
func (x *export) timers(ctx context.Context) error {
	for _, prefix := range x.prefixes {
		for cursor := uint64(0); ; {
			fields, next, err := x.db.HScan(ctx, prefix+timerValuesKey, cursor, "", scanPage).Result()
			if err != nil {
				return err
			}
			for i := 0; i+1 < len(fields); i += 2 {
				timer, err := parseTimer(fields[i], fields[i+1])
				if err == nil {
					err = x.w.Put(&backup.Timer{Timer: timer})
				}
				if err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	return nil
}

// outboxes reads the entries of the outboxes since they were read last.
func (x *export) outboxes(ctx context.Context) error {
	for more := true; more; {
		reads := make([]*redis.XMessageSliceCmd, x.shards)
		_, err := x.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for shard, prefix := range x.prefixes {
				reads[shard] = pipe.XRangeN(ctx, prefix+outboxKey, "("+entryID(x.relayed[shard]), "+", outboxPage)
			}
			return nil
		})
		if err != nil {
			return err
		}
		more = false
		for shard, read := range reads {
			messages := read.Val()
			more = more || int64(len(messages)) == outboxPage
			for i := range messages {
				entry, err := parseEntry(shard, &messages[i])
				if err == nil {
					err = x.w.Put(&backup.Event{OutboxEntry: entry})
				}
				if err != nil {
					return err
				}
				x.relayed[shard] = entry.Seq
			}
		}
	}
	return nil
}

// heads reads how many events each shard has had.
func (x *export) heads(ctx context.Context) error {
	reads := make([]*redis.XInfoStreamCmd, x.shards)
	_, err := x.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for shard, prefix := range x.prefixes {
			reads[shard] = pipe.XInfoStream(ctx, prefix+outboxKey)
		}
		return nil
	})
	if err != nil && !strings.Contains(err.Error(), "no such key") {
		return err
	}
	for shard, read := range reads {
		info, err := read.Result()
		if err != nil && strings.Contains(err.Error(), "no such key") {
			continue // there never was any
		}
		if err != nil {
			return err
		}
		_, text, _ := strings.Cut(info.LastGeneratedID, "-")
		seq, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("the last id of the outbox %d is %q", shard, info.LastGeneratedID)
		}
		if err := x.w.Put(&backup.Shard{Shard: shard, Seq: seq}); err != nil {
			return err
		}
	}
	return nil
}
