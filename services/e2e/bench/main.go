// Command bench compares Interlock with the least that could do the same, in
// one run: every server is a process of its own, the clients are this one, and
// the rounds of a comparison alternate, so that a drift of the machine cancels
// out. It prints medians and ratios and judges them against the goals; it never
// fails for being slow. No other program may rely on its numbers.
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
	callers numbers
	procs   int // GOMAXPROCS of each process
	only    string
	profile string // a folder
	rules   string // the program of tools/rulesbench, empty for none
	program string // interlock
	// interlock is the program whose growth is measured instead, empty for not.
	interlock         string
	console           bool          // measure the calls of the console instead, with interlock
	paint             string        // and its pages, by this script; empty for none
	decisions         int           // that it looks at
	scale             bool          // measure the parts of a large installation instead
	armed             int           // timers to arm
	soak              time.Duration // work so long instead, with interlock, and print the memory
	sizes, redisSizes numbers       // of stored runs
	// markdown is a document that the tables are written to.
	markdown string
}

func parse() (settings, error) {
	// As many processors as the services use of their own accord.
	s := settings{
		rounds: 7, round: 250 * time.Millisecond, procs: runtime.NumCPU(), callers: numbers{1, 64, 256},
		decisions: 1_000_000, sizes: numbers{10_000, 100_000, 1_000_000}, redisSizes: numbers{10_000, 100_000},
	}
	if os.Getenv("BENCH_QUICK") != "" {
		s.rounds, s.round, s.callers = 3, 200*time.Millisecond, numbers{1, 64}
	}
	flag.IntVar(&s.rounds, "rounds", s.rounds, "rounds, whose least, median and most are shown")
	flag.DurationVar(&s.round, "round", s.round, "length of one measurement")
	flag.IntVar(&s.procs, "procs", s.procs, "GOMAXPROCS of the clients and of each server")
	flag.Var(&s.callers, "callers", "numbers of callers")
	flag.StringVar(&s.only, "only", "", "one section: process, rules, redis, sqlite, rest, events or mcp; "+
		"of growth runs-sqlite, runs-redis, versions, documents or rules; of the console and of timers sqlite or redis; of scale units, shards, trees or nats")
	flag.StringVar(&s.rules, "rules", "", "program of tools/rulesbench, which measures other policy engines")
	flag.StringVar(&s.program, "interlock", "", "the `program` interlock, whose gate is measured")
	flag.StringVar(&s.markdown, "markdown", "", "write the tables to this document too, in place of those that it has")
	flag.StringVar(&s.profile, "profile", "", "write profiles of the servers to this folder instead")
	flag.StringVar(&s.interlock, "growth", "", "measure growth instead, of this `program`, which is interlock")
	flag.BoolVar(&s.scale, "scale", false, "measure shards, trees and replicas of NATS instead")
	flag.BoolVar(&s.console, "console", false, "with -growth: measure the calls that the console makes instead")
	flag.StringVar(&s.paint, "paint", "", "console: measure its pages in Chromium too, by this `script`, console/e2e/paint.mjs")
	flag.IntVar(&s.decisions, "decisions", s.decisions, "console: how many decisions there are")
	flag.DurationVar(&s.soak, "soak", 0, "with -growth: work for so long instead, and tell what the program holds")
	flag.IntVar(&s.armed, "timers", 0, "with -growth: arm so many timers instead, and tell what they cost and how late clocks are")
	flag.Var(&s.sizes, "sizes", "growth: numbers of stored runs on SQLite, each larger than the one before")
	flag.Var(&s.redisSizes, "redis-sizes", "growth: numbers of stored runs on Redis")
	flag.Parse()
	if s.only != "" && s.markdown != "" {
		return s, errors.New("-markdown replaces all tables of a document: leave -only out")
	}
	least := 2 * favourites
	for _, sizes := range []numbers{s.sizes, s.redisSizes} {
		for _, n := range sizes {
			if n < least {
				return s, fmt.Errorf("%d stored runs are too few: at least %d", n, least)
			}
		}
	}
	return s, nil
}

// numbers is a flag with numbers, separated by commas.
type numbers []int

// String is the flag's value.
func (n *numbers) String() string {
	var texts []string
	for _, number := range *n {
		texts = append(texts, strconv.Itoa(number))
	}
	return strings.Join(texts, ",")
}

// Set takes the flag's value; an empty one has no numbers.
func (n *numbers) Set(value string) error {
	*n = nil
	if value == "" {
		return nil
	}
	for text := range strings.SplitSeq(value, ",") {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 {
			return fmt.Errorf("%q is not a number from 1 on", text)
		}
		*n = append(*n, number)
	}
	return nil
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
	load := loadAverage()
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
	b := &bencher{settings: s, load: load, report: report{out: os.Stdout}, dir: dir, sample: sample}
	if s.profile != "" {
		return b.profiles(ctx)
	}
	fmt.Printf("Interlock benchmarks: %s\n", b.conditions())
	if s.interlock == "" && !s.scale && !hasEtcd() {
		fmt.Println(noEtcd + ".")
	}
	begin := time.Now()
	for _, section := range b.sections() {
		if s.only != "" && s.only != section.name {
			continue
		}
		if err := section.run(ctx); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", section.name, err), ctx.Err())
		}
	}
	fmt.Printf("\n%d of %d goals met, in %v.\n", b.met, b.goals, time.Since(begin).Round(time.Second))
	if s.markdown == "" {
		return nil
	}
	name := "results"
	switch {
	case s.soak > 0:
		name = "soak"
	case s.armed > 0:
		name = "timers"
	case s.console:
		name = "console"
	case s.interlock != "":
		name = "growth"
	case s.scale:
		name = "scale"
	}
	return b.write(s.markdown, name, time.Now())
}

// section is a part of the benchmarks that can be run alone.
type section struct {
	name string
	run  func(context.Context) error
}

func (b *bencher) sections() []section {
	if b.soak > 0 {
		return b.soakSections()
	}
	if b.console {
		return []section{
			{"sqlite", func(ctx context.Context) error { return b.forConsole(ctx, "sqlite", b.decisions) }},
			{"redis", func(ctx context.Context) error { return b.forConsole(ctx, "redis", b.decisions) }},
		}
	}
	if b.armed > 0 {
		return []section{
			{"sqlite", func(ctx context.Context) error { return b.moreTimers(ctx, "sqlite", b.armed) }},
			{"redis", func(ctx context.Context) error { return b.moreTimers(ctx, "redis", b.armed) }},
		}
	}
	if b.interlock != "" {
		return b.growthSections()
	}
	if b.scale {
		return b.scaleSections()
	}
	return []section{
		{"process", b.inProcess},
		{"rules", b.engines},
		{"redis", func(ctx context.Context) error { return b.overGRPC(ctx, "redis") }},
		{"sqlite", func(ctx context.Context) error { return b.overGRPC(ctx, "sqlite") }},
		{"rest", b.atRest},
		{"events", b.events},
		{"mcp", b.gateOverMCP},
	}
}

// bencher is one run of the benchmarks.
type bencher struct {
	settings
	report
	dir    string
	sample *sample
	load   string // of the machine, before
}

// conditions returns those of the measurement.
func (b *bencher) conditions() string {
	return fmt.Sprintf("%d processors, GOMAXPROCS=%d in each process, %d alternating rounds of %v; "+
		"before it began, the machine's load average was %s",
		runtime.NumCPU(), b.procs, b.rounds, b.round, b.load)
}

// write puts the tables into a document, in place of the part that has this name.
func (b *bencher) write(file, name string, now time.Time) error {
	document, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var part strings.Builder
	note := fmt.Sprintf("Measured on %s: %s.", now.UTC().Format(time.DateOnly), b.conditions())
	if b.interlock == "" && !b.scale && !hasEtcd() {
		note += " " + noEtcd + "."
	}
	part.WriteString(wrapped(note) + "\n")
	for i := range b.sheets {
		part.WriteString(b.sheets[i].markdown())
	}
	return os.WriteFile(file, []byte(replaced(string(document), name, part.String())), 0o644)
}

// loadAverage is how many processes wanted to run in the last minute.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
