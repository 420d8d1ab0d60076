package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// overGRPC compares the calls with those of the bare server, for each number of callers.
func (b *bencher) overGRPC(ctx context.Context, backend string) error {
	title := "Over gRPC on Redis, appendfsync always. bare = grpc-go without interceptors and one EVALSHA per call (go-redis, a pooled connection per caller), same bytes written but for the log of decisions"
	if backend == "sqlite" {
		title = "Over gRPC on SQLite, synchronous=FULL. bare = grpc-go without interceptors and one sqlitestore.Commit per call (they share fsyncs), same bytes written but for the log of decisions"
		fsyncs, err := b.fsyncs()
		if err != nil {
			return err
		}
		title += fmt.Sprintf("\nraw fsync of 512 bytes appended, one after the other: %.0f/s", fsyncs)
	}
	return b.perCallers(backend, title, func(s *stage, callers int) ([]*load, error) { return b.group(ctx, s, callers) })
}

// group measures everything with one number of callers.
func (b *bencher) group(ctx context.Context, s *stage, callers int) (_ []*load, err error) {
	servers, err := s.serveTo(callers, roleEcho, roleBare, roleInterlock)
	if err != nil {
		return nil, err
	}
	storePID, err := s.storePID(ctx)
	if err != nil {
		return nil, err
	}
	loads, err := b.gate(ctx, callers, [3]connected(servers), storePID)
	if err != nil {
		return nil, err
	}
	if s.redis != nil {
		raw, err := newEvalsha(ctx, s.redis.Addr(), callers, b.sample)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, raw.client.Close()) }()
		loads = append([]*load{{name: "raw EVALSHA, no gRPC", callers: callers, calls: 1, store: storePID, open: func(caller int) (op, error) {
			return func() error { return raw.check(ctx, "raw"+strconv.Itoa(caller)) }, nil
		}}}, loads...)
	}
	return loads, measure(ctx, loads, b.rounds, b.round)
}

// gate is the loads of one number of callers, on the echo, the bare server and
// the services.
func (b *bencher) gate(ctx context.Context, callers int, servers [3]connected, store int) ([]*load, error) {
	echo, bare, interlock := servers[0], servers[1], servers[2]
	// Checks and transitions have runs of their own: a transition makes the
	// enforcer load its run anew.
	runs, err := interlock.runs(ctx, 2*callers)
	if err != nil {
		return nil, err
	}
	checked, moved := runs[:callers], runs[callers:]
	p99 := goal{p99: true, bound: 1.5}
	at64 := func(goals ...goal) []goal {
		if callers == 64 {
			return goals
		}
		return nil
	}
	transition := at64(goal{bound: 1}, p99)
	if callers == 256 {
		transition = []goal{{bound: 1.3}}
	}
	loads := []*load{
		{name: "echo", server: echo.pid, open: checks(ctx, echo.pool, own(checked))},
		{name: "bare check", server: bare.pid, open: checks(ctx, bare.pool, own(checked))},
		{name: "check", server: interlock.pid, open: checks(ctx, interlock.pool, own(checked)), base: "bare check", goals: at64(goal{bound: 0.9}, p99)},
		{name: "check of a Bash line", server: interlock.pid, open: checksOf(ctx, interlock.pool, own(checked), bashRequest), base: "check", goals: at64(goal{bound: 0.9})},
		{name: "check, streamed", server: interlock.pid, open: streams(ctx, interlock.pool, checked, 1), base: "check", goals: at64(goal{bound: 2.5})},
		{name: "check, 16 a message", server: interlock.pid, calls: batchSize, open: streams(ctx, interlock.pool, checked, batchSize), base: "check", goals: at64(goal{bound: 6})},
		{name: "bare transition", server: bare.pid, open: transitions(ctx, bare.pool, moved)},
		{name: "transition", server: interlock.pid, open: transitions(ctx, interlock.pool, moved), base: "bare transition", goals: transition},
	}
	if callers == 64 {
		hot := func(int, int) string { return checked[0] }
		loads = append(loads, &load{name: "check, all of one run", server: interlock.pid, open: checks(ctx, interlock.pool, hot), base: "bare check"})
	}
	for _, l := range loads {
		l.callers, l.calls, l.store = callers, max(1, l.calls), store
	}
	return loads, nil
}

// fsyncs is how often a second the disk takes a write.
func (b *bencher) fsyncs() (perSecond float64, err error) {
	f, err := os.Create(filepath.Join(b.dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 512)
	begin, n := time.Now(), 0
	for ; time.Since(begin) < b.round; n++ {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}
