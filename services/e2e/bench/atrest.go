package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// restRounds is how many stores are filled and weighed, of each kind.
const restRounds = 3

// weighed is the size of a decision in the store when its event was relayed.
type weighed struct{ redisMemory, redisFile, sqliteFile []float64 }

// atRest measures the bytes that a decision takes in the store.
func (b *bencher) atRest(ctx context.Context) error {
	var got weighed
	for range min(b.rounds, restRounds) {
		if err := b.onStage("redis", func(s *stage) error { return b.weighRedis(ctx, s, &got) }); err != nil {
			return err
		}
		if err := b.onStage("sqlite", func(s *stage) error { return b.weighSQLite(ctx, s, &got) }); err != nil {
			return err
		}
	}
	entry := float64(len(b.sample.Check.Appends[0].Entry))
	s := &sheet{
		title: "Bytes of a decision at rest",
		notes: fmt.Sprintf("What the store grows by for each decision: its entry in the log, its event in the outbox, and "+
			"the answer to repeats of the call, which is kept for a day. The entry alone has %.0f bytes.", entry),
		header: []string{"where", "bytes min / median / max", "ratio to the entry min / median / max"},
	}
	for _, row := range []struct {
		where string
		bytes []float64
	}{
		{"Redis, memory", got.redisMemory},
		{"Redis, append-only file after a rewrite", got.redisFile},
		{"SQLite, file", got.sqliteFile},
	} {
		relative := make([]float64, len(row.bytes))
		for i, n := range row.bytes {
			relative[i] = n / entry
		}
		s.add(row.where, spreadOf(row.bytes).String(), spreadOf(relative).String())
	}
	b.print(s)
	return nil
}

// decide makes decisions and counts them.
func (b *bencher) decide(ctx context.Context, p pool, runs []string) (int, error) {
	l := &load{name: plainCheck, callers: 64, calls: batchSize, open: streams(ctx, p, runs, batchSize)}
	err := measure(ctx, []*load{l}, 1, 2*b.round)
	return l.made, err
}

func (b *bencher) weighRedis(ctx context.Context, s *stage, got *weighed) (err error) {
	servers, err := s.serveTo(64, roleInterlock)
	if err != nil {
		return err
	}
	runs, err := servers[0].runs(ctx, 64)
	if err != nil {
		return err
	}
	if _, err := b.decide(ctx, servers[0].pool, runs); err != nil { // the records that each run has once
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: s.redis.Addr(), Protocol: 2, DisableIdentity: true})
	defer func() { err = errors.Join(err, client.Close()) }()
	memory, file, err := weigh(ctx, client)
	if err != nil {
		return err
	}
	n, err := b.decide(ctx, servers[0].pool, runs)
	if err != nil {
		return err
	}
	memoryAfter, fileAfter, err := weigh(ctx, client)
	got.redisMemory = append(got.redisMemory, (memoryAfter-memory)/float64(n))
	got.redisFile = append(got.redisFile, (fileAfter-file)/float64(n))
	return err
}

// weigh rewrites Redis's file and returns the bytes of its data in memory and of the file.
func weigh(ctx context.Context, client *redis.Client) (memory, file float64, err error) {
	if err := client.BgRewriteAOF(ctx).Err(); err != nil {
		return 0, 0, err
	}
	for {
		info, err := client.InfoMap(ctx, "memory", "persistence").Result()
		if err != nil {
			return 0, 0, err
		}
		state := info["Persistence"]
		if state["aof_rewrite_in_progress"] == "0" && state["aof_rewrite_scheduled"] == "0" {
			memory, err = strconv.ParseFloat(info["Memory"]["used_memory_dataset"], 64)
			if err != nil {
				return 0, 0, err
			}
			file, err = strconv.ParseFloat(state["aof_current_size"], 64)
			return memory, file, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
}

func (b *bencher) weighSQLite(ctx context.Context, s *stage, got *weighed) error {
	servers, err := s.serveTo(64, roleInterlock)
	if err != nil {
		return err
	}
	runs, err := servers[0].runs(ctx, 64)
	if err != nil {
		return err
	}
	if err := s.hangUp(); err != nil {
		return err
	}
	before, err := sizeOf(s.dir, "interlock.db")
	if err != nil {
		return err
	}
	if servers, err = s.serveTo(64, roleInterlock); err != nil {
		return err
	}
	n, err := b.decide(ctx, servers[0].pool, runs)
	if err != nil {
		return err
	}
	if err := s.hangUp(); err != nil { // its log is written into the file
		return err
	}
	after, err := sizeOf(s.dir, "interlock.db")
	got.sqliteFile = append(got.sqliteFile, float64(after-before)/float64(n))
	return err
}

// sizeOf returns the bytes of the files in a folder, and below, whose names begin so.
func sizeOf(dir, prefix string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(entry.Name(), prefix) {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) { // it went since
			return nil
		}
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
