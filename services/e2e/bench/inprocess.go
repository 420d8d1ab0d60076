package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pure has the measurements of the core within one process: the Go benchmarks of these
// packages whose names match, and their comparisons, by name.
var pure = struct {
	packages []string
	names    string
}{
	[]string{"toolcall", "workflow", "document"},
	"^Benchmark(DecideExact|DecideGlob|DecideDenied|StepGuarded|StepPlain|Validate1KB|Validate100KB)$",
}

// bounds of the pure core: nanoseconds, and whether it may allocate.
var bounds = []struct {
	name        *regexp.Regexp
	nanoseconds float64
	allocates   bool
}{
	{regexp.MustCompile(`^DecideExact/(alone|find_and_decide)`), 100, false},
	{regexp.MustCompile(`^Decide(Glob|Denied)/(alone|find_and_decide)`), 250, false},
	{regexp.MustCompile(`^StepGuarded$`), 1000, true},
	{regexp.MustCompile(`^Validate1KB/patch_and_change`), 25_000, true},
	{regexp.MustCompile(`^Validate100KB/patch_and_change`), 60_000, true},
}

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op.*?\s([\d.]+) allocs/op`)

// timed is a Go benchmark: its nanoseconds by rounds, and its allocations.
type timed struct {
	name   string
	ns     []float64
	allocs string
}

// base returns the name of the benchmark that one is compared with, empty for none: the part of
// it that is not the core's, or another way to the same result.
func base(name string) string {
	switch {
	case strings.Contains(name, "/find_and_decide/"):
		return strings.Replace(name, "/find_and_decide/", "/find/", 1)
	case strings.HasSuffix(name, "/patch_and_change"):
		return strings.Replace(name, "/patch_and_change", "/library", 1)
	case name == "StepGuarded":
		return "StepPlain"
	case name == "DecideGlob/alone", name == "DecideDenied/alone":
		return "DecideExact/alone"
	}
	return ""
}

// inProcess runs the Go benchmarks of the pure core.
func (b *bencher) inProcess(ctx context.Context) error {
	var results []*timed
	for _, name := range pure.packages {
		binary := filepath.Join(b.dir, name+".test")
		build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./pkg/"+name) // fixed words
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go test: %w: %s", err, out)
		}
	}
	for range b.rounds {
		for _, name := range pure.packages {
			cmd := exec.CommandContext(ctx, filepath.Join(b.dir, name+".test"), "-test.run", "^$", "-test.bench", pure.names,
				"-test.benchmem", "-test.benchtime", "20ms")
			cmd.Dir = b.dir
			cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(b.procs))
			out, err := cmd.CombinedOutput()
			if err == nil {
				results, err = collect(results, string(out))
			}
			if err != nil {
				return fmt.Errorf("benchmarks of %s: %w: %s", name, err, out)
			}
		}
	}
	s := &sheet{
		title: "In process",
		notes: "One decision, one step, and one patch that is validated. Exact is a tool that the state lists, Glob one of " +
			"a pattern that it lists, Denied another one. Find is the run's look-up among 100,000 live " +
			"runs: busy, of 1,000 of them; cold, of another one with each call. Library is evanphx/json-patch and " +
			"santhosh-tekuri/jsonschema.",
		header: []string{
			"measured", "ns min / median / max", "allocations", "compared with", "ns min / median / max",
			"ratio min / median / max", goalsColumn,
		},
	}
	for _, r := range results {
		against := named(results, base(r.name))
		if against == nil {
			continue
		}
		ns := spreadOf(r.ns)
		s.add(words(r.name), ns.String(), r.allocs, words(against.name), spreadOf(against.ns).String(),
			spreadOf(ratios(r.ns, against.ns)).String(), b.bound(r.name, ns.median, r.allocs))
	}
	b.print(s)
	return nil
}

// words returns the name of a benchmark as it was written.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// collect adds Go's output of benchmarks.
func collect(results []*timed, printed string) ([]*timed, error) {
	for _, found := range benchmarkLine.FindAllStringSubmatch(printed, -1) {
		ns, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			return nil, err
		}
		r := named(results, found[1])
		if r == nil {
			r = &timed{name: found[1]}
			results = append(results, r)
		}
		r.ns, r.allocs = append(r.ns, ns), found[3]
	}
	return results, nil
}

func named(results []*timed, name string) *timed {
	i := slices.IndexFunc(results, func(r *timed) bool { return r.name == name })
	if i < 0 {
		return nil
	}
	return results[i]
}

func (b *bencher) bound(name string, ns float64, allocs string) string {
	for _, g := range bounds {
		switch {
		case !g.name.MatchString(name):
		case g.allocates:
			return b.judge(ns <= g.nanoseconds, "<= %g ns", g.nanoseconds)
		default:
			return b.judge(ns <= g.nanoseconds && allocs == "0", "<= %g ns, 0 allocs", g.nanoseconds)
		}
	}
	return ""
}
