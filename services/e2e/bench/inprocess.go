package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
)

// bounds of the pure core: nanoseconds, and whether it may allocate.
var bounds = []struct {
	name        *regexp.Regexp
	nanoseconds float64
	allocates   bool
}{
	{regexp.MustCompile(`^DecideExact/(alone|find_and_decide)`), 100, false},
	{regexp.MustCompile(`^Decide(Glob|Denied)/(alone|find_and_decide)`), 250, false},
	{regexp.MustCompile(`^StepGuarded$`), 1000, true},
	{regexp.MustCompile(`^(Parse$|DecideCommand/)`), 15_000, true},
	{regexp.MustCompile(`^ParseHostile/`), 50_000_000, true},
	{regexp.MustCompile(`^Validate200States$`), 5_000_000, true},
	{regexp.MustCompile(`^Validate1KB/patch_and_change`), 25_000, true},
	{regexp.MustCompile(`^Validate100KB/patch_and_change`), 60_000, true},
	{regexp.MustCompile(`^ThousandSteps$`), 1_000_000_000, true},
}

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op.*?\s([\d.]+) allocs/op`)

// inProcess runs the Go benchmarks of the pure core.
func (b *bencher) inProcess(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "Decide|Step|Message|Parse|Validate200States|Validate1", "-benchmem", // fixed words
		"-benchtime", "100ms", "-count", strconv.Itoa(b.rounds), "./pkg/toolcall", "./pkg/workflow", "./pkg/shell", "./pkg/scenario", "./pkg/document")
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(b.procs))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test: %w: %s", err, out)
	}
	var names []string
	took, allocs := map[string][]float64{}, map[string]string{}
	for _, found := range benchmarkLine.FindAllStringSubmatch(string(out), -1) {
		ns, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			return err
		}
		name := found[1]
		if took[name] == nil {
			names = append(names, name)
		}
		took[name], allocs[name] = append(took[name], ns), found[3]
	}
	fmt.Printf("\nIn process: one decision (find: among 100,000 live runs, 1,000 of them busy, or each call another one) and one step\n")
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "benchmark\tns/op\tallocs/op\tgoal\t")
	for _, name := range names {
		ns := median(took[name])
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%s\t\n", strings.ReplaceAll(name, "_", " "), ns, allocs[name], b.bound(name, ns, allocs[name]))
	}
	return w.Flush()
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
