package redisstore

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store/backup"
)

// keys reads all keys that a backup has.
func (x *export) keys(ctx context.Context) error {
	for cursor := uint64(0); ; {
		names, next, err := x.db.Scan(ctx, cursor, globEscape(x.config.Prefix)+":{*", scanPage).Result()
		if err != nil {
			return err
		}
		if err := x.read(ctx, names); err != nil {
			return err
		}
		if err := x.drain(ctx, mostMarks); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// globEscape returns a text as a pattern that matches only this text.
func globEscape(text string) string {
	return strings.NewReplacer("\\", "\\\\", "[", "\\[", "]", "\\]", "*", "\\*", "?", "\\?").Replace(text)
}

// read reads keys, as far as a backup has them, histories page by page.
func (x *export) read(ctx context.Context, names []string) error {
	names = slices.DeleteFunc(names, func(name string) bool {
		kind, _, ours := x.parse(name)
		return !ours || len(kind) != 1 || !strings.Contains(exported, kind)
	})
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
	now, err := x.ask(ctx, "renew", marksKept, 0)
	for before := int64(math.MaxInt64); err == nil && now.left > most && now.left < before; {
		before = now.left
		now, err = x.drainOnce(ctx)
	}
	return err
}

func (x *export) drainOnce(ctx context.Context) (state, error) {
	drained, err := x.ask(ctx, "drain", 0, drainPage)
	if err != nil {
		return state{}, err
	}
	for _, item := range drained.items {
		if _, err := x.put(item, true); err != nil {
			return state{}, err
		}
	}
	return drained, nil
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
