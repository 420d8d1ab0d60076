package shell_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/shell"
)

// TestListMatch: R2. Which entry allows a command, and how many of its words it
// names.
func TestListMatch(t *testing.T) {
	t.Parallel()
	const no = -1
	for _, c := range []struct {
		entries, line string
		named         int
	}{
		{"npm test", "npm test", 2},
		{"npm test", "npm test -- -w", 2},
		{"npm test", "npm tests", no},
		{"npm test", "npm", no},
		{"npm test", "'npm' \"test\"", 2},
		{"npm test", "npm 'test x'", no},
		{"npm test", "'npm test'", no},
		{"npm test", "npm $x", no},
		{"npm", "npm $x", 1},
		{"npm|npm test", "npm test", 2},
		{"npm test|npm", "npm test", 2},
		{"", "npm", no},
		{"'a b' c", "a\\ b c d", 2},
		{"a=1 b", "a=1 b c", 2},
		{"b", "a=1 b", no},
		{"node --test*", "node --test-only x", 1},
		{"node --test*", "node --test $x", no},
		{"*", "rm -rf x", 0},
		{"rm *", "rm x", 1},
		{"rm *", "rm", no},
		{"rm*", "rm", 0},
		{"a?c", "abc", 0},
		{"a?c", "aéc", 0},
		{"a?c", "ac", no},
		{"a[bc]d", "acd", 0},
		{"a[!bc]d", "acd", no},
		{"a[a-c]d", "abd", 0},
		{"*test*", "x test y", 0},
		{"[", "[ -f x ]", 1},
		{"a; b", "a", no},
		{"a | b", "a", no},
		{"a > b", "a", no},
		{"$(a)", "a", no},
		{"(a)", "a", no},
		{"@inert", "cd x", 0},
		{"@inert", "ls", no},
		{"@inert|ls", "CI=1 ls -l", 2},
		{"@inert|ls", "PATH=1 ls", no},
		{"@inertx", "cd x", no},
		{"cd", "cd x", 1},
	} {
		list := shell.NewList(strings.Split(c.entries, "|"))
		if c.entries == "a | b" {
			list = shell.NewList([]string{c.entries})
		}
		plan, err := shell.Parse(c.line)
		if err != nil {
			t.Fatal(err)
		}
		named, ok := list.Match(plan.Commands[0])
		if ok != (c.named != no) || ok && named != c.named {
			t.Errorf("%q for %q: %d %t, want %d", c.entries, c.line, named, ok, c.named)
		}
	}
	if _, ok := (*shell.List)(nil).Match(shell.Command{Words: []shell.Word{{Text: "a", Static: true}}}); ok {
		t.Error("no list allows a command")
	}
	if _, ok := shell.NewList([]string{"*", "@inert"}).Match(shell.Command{}); ok {
		t.Error("a command without words is allowed")
	}
}

// TestListGlobs: a glob matches what its regular expression matches.
func TestListGlobs(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		pattern := "a" + rapid.StringMatching(`[ab*?é]{0,6}`).Draw(t, "pattern") + "*"
		line := "a" + rapid.StringMatching(`[abé]{0,8}`).Draw(t, "line")
		expression := regexp.QuoteMeta(pattern)
		expression = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(expression)
		want := regexp.MustCompile("^" + expression + "$").MatchString(line)
		command := shell.Command{Words: []shell.Word{{Text: line, Static: true}}}
		if _, got := shell.NewList([]string{pattern}).Match(command); got != want {
			t.Fatalf("%q matches %q: %t, want %t", pattern, line, got, want)
		}
	})
}
