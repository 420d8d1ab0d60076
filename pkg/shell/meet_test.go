package shell

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// Where two patterns have no line in common, no command matches both.
func TestMeetWithAssignments(t *testing.T) {
	t.Parallel()
	r := randtest.New(t, 5)
	parts := []string{"a", "b", "ab", "*", "?", "[ab]", "[!a]", "a*", "*b", "A=1", "x=*", "?b*", "é", "'a b'", "a\\ b", "/a", "*a*b*", "[a-c]b", "@inert", "cd", "timeout", "--", "-o"}
	words := []string{"a", "a", "b", "b", "ab", "é", "'a b'", "A=1", "x=a", "cd"}
	text := func(from []string, n int) string {
		var all []string
		for range 1 + r.IntN(n) {
			all = append(all, from[r.IntN(len(from))])
		}
		return strings.Join(all, " ")
	}
	both := 0
	for range randtest.Size(40_000, 2_000_000) {
		a, b, line := text(parts, 2), text(parts, 2), text(words, 3)
		plan, err := Parse(line)
		if err != nil {
			continue
		}
		left, right := NewList([]string{a}), NewList([]string{b})
		for _, c := range plan.Commands {
			_, first := left.Match(c)
			_, second := right.Match(c)
			if !first || !second {
				continue
			}
			both++
			if len(NewPattern(a).Meet(NewPattern(b))) == 0 {
				t.Fatalf("%q matches %q and %q, which have nothing in common", line, a, b)
			}
		}
	}
	if both < 200 {
		t.Errorf("%d commands match two patterns", both)
	}
}
