package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

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
	all, last := leaves(t), map[string]string{} // one of each group
	for path := range all {
		if group, _, below := strings.Cut(path, " "); below {
			last[group] = max(last[group], path)
		}
	}
	for _, path := range last {
		want, node := all[path], grammar(t, strings.Fields(path)).Model.Node
		for _, name := range strings.Fields(path) {
			node = node.Children[slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == name })]
		}
		if got, want := described(node), described(want); got != want {
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

// described returns how a command is called: its arguments and flags, with their texts and defaults.
func described(node *kong.Node) string {
	var text strings.Builder
	fmt.Fprintln(&text, node.Summary(), node.Help)
	for _, group := range node.AllFlags(false) {
		for _, flag := range group {
			fmt.Fprintln(&text, flag, flag.Help, flag.Default, flag.Enum, flag.Envs, flag.Required, flag.Group)
		}
	}
	return text.String()
}
