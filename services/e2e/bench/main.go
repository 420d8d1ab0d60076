// Command bench compares Interlock with the least that could do the same, in
// one run: every server is a process of its own, the clients are this one, and
// the rounds of what is compared alternate, so that a drift of the machine cancels
// out. It prints medians and ratios and judges them against the goals; it never
// fails for being slow. Nothing else may rely on its numbers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settings of a run.
type settings struct {
	rounds  int
	round   time.Duration // of one measurement
	callers []int
	stored  []int // runs in the store
	procs   int   // GOMAXPROCS of each process
	only    string
	profile string // a folder
}

func parse() (settings, error) {
	// As many processors as the services use of their own accord.
	s := settings{rounds: 5, round: 600 * time.Millisecond, stored: []int{1, 10_000, 1_000_000}, procs: runtime.NumCPU()}
	callers := "1,16,64,256"
	if os.Getenv("BENCH_QUICK") != "" {
		s.rounds, s.round, s.stored, callers = 3, 300*time.Millisecond, []int{1, 10_000}, "1,64"
	}
	flag.IntVar(&s.rounds, "rounds", s.rounds, "rounds, of which the median is shown")
	flag.DurationVar(&s.round, "round", s.round, "length of one measurement")
	flag.IntVar(&s.procs, "procs", s.procs, "GOMAXPROCS of the clients and of each server")
	flag.StringVar(&callers, "callers", callers, "numbers of callers")
	flag.StringVar(&s.only, "only", "", "one section: process, redis, sqlite, policies-redis, policies-sqlite, states-redis, states-sqlite, events or stored")
	flag.StringVar(&s.profile, "profile", "", "write profiles of the servers to this folder instead")
	flag.Parse()
	for text := range strings.SplitSeq(callers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return s, fmt.Errorf("-callers: %q is not a number of callers", text)
		}
		s.callers = append(s.callers, n)
	}
	return s, nil
}

func main() {
	var err error
	if os.Getenv(childVariable) != "" {
		err = serveChild()
	} else {
		// The kernel ends redis-server with the thread that started it.
		runtime.LockOSThread()
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		err = bench(ctx)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context) error {
	s, err := parse()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "interlock-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	runtime.GOMAXPROCS(s.procs)
	debug.SetGCPercent(400)
	sample, err := record(ctx, dir)
	if err != nil {
		return fmt.Errorf("record what the services commit: %w", err)
	}
	b := &bencher{settings: s, dir: dir, sample: sample}
	if s.profile != "" {
		return b.profiles(ctx)
	}
	fmt.Printf("Interlock benchmarks: %d processors, GOMAXPROCS=%d in each process, medians of %d alternating rounds of %v\n",
		runtime.NumCPU(), s.procs, s.rounds, s.round)
	begin := time.Now()
	for _, section := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"process", b.inProcess},
		{"redis", func(ctx context.Context) error { return b.overGRPC(ctx, "redis") }},
		{"sqlite", func(ctx context.Context) error { return b.overGRPC(ctx, "sqlite") }},
		{"policies-redis", func(ctx context.Context) error { return b.policies(ctx, "redis") }},
		{"policies-sqlite", func(ctx context.Context) error { return b.policies(ctx, "sqlite") }},
		{"states-redis", func(ctx context.Context) error { return b.states(ctx, "redis") }},
		{"states-sqlite", func(ctx context.Context) error { return b.states(ctx, "sqlite") }},
		{"events", b.events},
		{"stored", b.storedRuns},
	} {
		if s.only != "" && s.only != section.name {
			continue
		}
		if err := section.run(ctx); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", section.name, err), ctx.Err())
		}
	}
	fmt.Printf("\n%d of %d goals met, in %v.\n", b.met, b.goals, time.Since(begin).Round(time.Second))
	return nil
}

// bencher is one run of the benchmarks.
type bencher struct {
	settings
	dir    string
	sample *sample
	// goals were judged, and met.
	goals, met int
}
