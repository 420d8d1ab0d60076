package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/up"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

// defaults are the flags of servers with their defaults.
func defaults(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, grammar := range []any{&up.Command{}, &daemon.StoreFlags{}} {
		parser, err := kong.New(grammar)
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range parser.Model.Flags {
			all[flag.Name] = flag.Default
		}
	}
	return all
}

var (
	settingFlag = regexp.MustCompile("`--([a-z-]+)`")
	boundOf     = regexp.MustCompile(`([0-9][0-9,]*) ?(KiB|MiB|GiB|TiB|s|m|h|days?|hours?|seconds?)?\b`)
)

// TestDocumentedLimits: every setting in the table of limits is a flag, and the bound of its
// row is its default.
func TestDocumentedLimits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Limits\n")
	section, _, _ = strings.Cut(section, "\n## ")
	flags, tried := defaults(t), 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		bound := strings.TrimSpace(cells[2])
		for _, match := range settingFlag.FindAllStringSubmatch(cells[3], -1) {
			tried++
			value, ok := flags[match[1]]
			if !ok {
				t.Errorf("there is no flag --%s", match[1])
			} else if want, err := inUnits(bound); err != nil || !sameAs(value, want) {
				t.Errorf("--%s is %q by default, and documented as %q (%v)", match[1], value, bound, err)
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d settings are in the table", tried)
	}
}

// inUnits is the first number of a bound, in bytes, nanoseconds or pieces.
func inUnits(bound string) (int64, error) {
	if strings.HasPrefix(bound, "None") {
		return 0, nil
	}
	match := boundOf.FindStringSubmatch(bound)
	if match == nil {
		return 0, fmt.Errorf("no number in %q", bound)
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(match[1], ",", ""), 10, 64)
	units := map[string]int64{
		"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "s": int64(time.Second), "second": int64(time.Second),
		"m": int64(time.Minute), "h": int64(time.Hour), "hour": int64(time.Hour), "day": 24 * int64(time.Hour),
	}
	unit, ok := units[match[2]]
	if !ok {
		unit = units[strings.TrimSuffix(match[2], "s")]
	}
	return n * unit, err
}

// sameAs compares the default of a flag, a number or a duration.
func sameAs(value string, want int64) bool {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n == want
	}
	d, err := time.ParseDuration(value)
	return err == nil && int64(d) == want
}
