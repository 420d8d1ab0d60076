package main

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
)

// grammar is the parser of a command line, as run makes it.
func grammar(t *testing.T, args []string) *kong.Kong {
	t.Helper()
	var out bytes.Buffer
	parser, err := newParser(t.Context(), args, console.Streams{Out: &out, Err: &out}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// leaves are all commands that do something, by their paths.
func leaves(t *testing.T) map[string]*kong.Node {
	t.Helper()
	all := map[string]*kong.Node{}
	var collect func(node *kong.Node, path string)
	collect = func(node *kong.Node, path string) {
		for _, child := range node.Children {
			if !child.Hidden {
				collect(child, strings.TrimSpace(path+" "+child.Name))
			}
		}
		if len(node.Children) == 0 {
			all[path] = node
		}
	}
	collect(grammar(t, []string{"completion"}).Model.Node, "")
	if len(all) < 70 {
		t.Fatalf("%d commands", len(all))
	}
	return all
}

// TestExamples: help shows examples of every command, of commands that there are, and the
// parser takes them.
func TestExamples(t *testing.T) {
	t.Parallel()
	commands, all := leaves(t), examples()
	for path := range commands {
		if len(all[path]) == 0 {
			t.Errorf("%q has no example", path)
		}
	}
	for path, lines := range all {
		if commands[path] == nil && path != "" {
			t.Errorf("there are examples of %q, which is no command", path)
		}
		for _, line := range lines {
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " < ")
			words := shellwords.Split(line)
			if words[0] != "interlock" || path != "" && !strings.HasPrefix(strings.Join(words[1:], " "), path) {
				t.Errorf("example of %q: %s", path, line)
				continue
			}
			if _, err := grammar(t, words[1:]).Parse(words[1:]); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

// TestFlagsAreVariables: every flag can be given by the environment, each by a name of its
// own where it is not the same for all.
func TestFlagsAreVariables(t *testing.T) {
	t.Parallel()
	helps := map[string]map[string]bool{}
	for path, node := range leaves(t) {
		for _, flag := range node.Flags {
			if flag.Hidden || spoken[flag.Name] || path == "hook" { // which reads its own
				continue
			}
			if len(flag.Envs) == 0 || !strings.HasPrefix(flag.Envs[0], "INTERLOCK_") {
				t.Errorf("%s --%s has the variables %q", path, flag.Name, flag.Envs)
				continue
			}
			if helps[flag.Envs[0]] == nil {
				helps[flag.Envs[0]] = map[string]bool{}
			}
			helps[flag.Envs[0]][flag.Name] = true
		}
	}
	for name, flags := range helps {
		same := []string{"INTERLOCK_SESSION", "INTERLOCK_TOKEN_KEY"} // the session that acts; the key of up, and of token mint
		if len(flags) > 1 && !slices.Contains(same, name) {
			t.Errorf("%s is the variable of several flags: %v", name, flags)
		}
	}
}

// TestFlags holds every flag with its default and its variable against a list: a change
// is seen next to other flags of a similar name.
func TestFlags(t *testing.T) {
	t.Parallel()
	const golden = "testdata/flags.txt"
	commands := leaves(t)
	used := map[string]int{}
	line := func(flag *kong.Flag) string {
		text := "--" + flag.Name
		if flag.Short != 0 {
			text = "-" + string(flag.Short) + " " + text
		}
		if flag.HasDefault && flag.Default != "" {
			text += " = " + flag.Default
		}
		return strings.TrimSpace(text + "  " + strings.Join(flag.Envs, " "))
	}
	for _, node := range commands {
		for _, flag := range node.Flags {
			used[line(flag)]++
		}
	}
	var out strings.Builder
	out.WriteString("Most commands:\n")
	for _, text := range slices.Sorted(maps.Keys(used)) {
		if used[text] > 10 {
			out.WriteString("  " + text + "\n")
		}
	}
	for _, path := range slices.Sorted(maps.Keys(commands)) {
		out.WriteString(path + "\n")
		for _, arg := range commands[path].Positional {
			out.WriteString("  " + arg.Summary() + "\n")
		}
		for _, flag := range commands[path].Flags {
			if text := line(flag); used[text] <= 10 && !flag.Hidden {
				out.WriteString("  " + text + "\n")
			}
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("flags differ from %s; go test -run TestFlags -update writes it anew:\n%s", golden, diff)
	}
}

// TestScriptWalksHelp: help.txtar asks every command for its help.
func TestScriptWalksHelp(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/script/help.txtar")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for path := range leaves(t) {
		if !slices.Contains(lines, "helps "+path) {
			t.Errorf("help.txtar lacks: helps %s", path)
		}
	}
}
