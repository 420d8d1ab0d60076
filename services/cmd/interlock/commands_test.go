package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

// TestGrammarOfOneWord: a command reads the same whether the parser knows that command
// alone or all of them.
func TestGrammarOfOneWord(t *testing.T) {
	t.Parallel()
	help := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		code := run(t.Context(), args, console.Streams{In: io.NopCloser(strings.NewReader("")), Out: &out, Err: &out})
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s", args, code, &out)
		}
		return out.String()
	}
	for _, c := range commands {
		alone, among := []string{c.name, "--help"}, []string{"--help", c.name}
		if n := len(named(among)); n != len(commands) {
			t.Fatalf("%q takes %d commands", among, n)
		}
		if got, want := help(alone...), help(among...); got != want || !strings.Contains(got, "interlock "+c.name) {
			t.Errorf("alone:\n%s\namong all:\n%s", got, want)
		}
	}
	if n := len(named([]string{"run", "list"})); n != 1 {
		t.Errorf("a command takes %d commands", n)
	}
	last := map[string]string{} // of each group
	for path := range leaves(t) {
		if group, name, below := strings.Cut(path, " "); below {
			last[group] = max(last[group], name)
		}
	}
	for group, name := range last {
		path := append([]string{group}, strings.Fields(name)...)
		if got, want := help(append(path, "--help")...), help(append([]string{"--help"}, path...)...); got != want {
			t.Errorf("alone:\n%s\namong all:\n%s", got, want)
		}
	}
	for line, want := range map[string]int{"run list": 1, "run force-state": 1, "run": 10, "run lists": 10, "run --help list": 10} {
		if got := len(grammar(t, strings.Fields(line)).Model.Children[0].Children); got != want {
			t.Errorf("%s: %d commands below it, want %d", line, got, want)
		}
	}
	if n := len(named([]string{"completion", "bash"})); n != len(commands) {
		t.Errorf("completion knows %d commands", n)
	}
}
