package shell_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/shell"
)

// TestMeet: whether any command can match two entries.
func TestMeet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"kubectl", "kubectl apply", true},
		{"kubectl apply", "kubectl get", false},
		{"kubectl apply *", "kubectl apply -f", true},
		{"kubectl apply *", "kubectl apply", true},
		{"kubectl *ly *", "kubectl apply -f", true},
		{"kubectl d*", "kubectl apply", false},
		{"npm run ?est", "npm run [a-z]es*", true},
		{"npm run [!t]est", "npm run test", false},
		{"*", "ls", true},
		{"@inert", "echo *", true},
		{"@inert", "kubectl", false},
		{"@inert", "git *", false},
		{"CI=1 go test", "go test", true},
		{"FOO=1", "go test", true}, // "FOO=1 go test" begins with it
		{"* apply", "CI=1 kubectl apply", true},
		{"go test 'a b'", "go test a*", true},
		{"ls | wc", "ls", false},
		{"", "ls", false},
	} {
		lines := shell.NewPattern(c.a).Meet(shell.NewPattern(c.b))
		back := shell.NewPattern(c.b).Meet(shell.NewPattern(c.a))
		if len(lines) > 0 != c.want || len(back) > 0 != c.want {
			t.Errorf("%q and %q: %q, and %q", c.a, c.b, lines, back)
		}
	}
}

// TestMeetIsComplete: where a drawn command matches two drawn entries by the rules of
// lists, the entries meet; and where they meet in a line, it mostly is one that does.
func TestMeetIsComplete(t *testing.T) {
	t.Parallel()
	r := randtest.New(t, 2)
	word := func(options ...string) string { return options[r.IntN(len(options))] }
	entry := func() string {
		words := []string{word("a", "ab", "b", "?", "?b", "[ab]", "[!a]b")} // a * could be an assignment
		for range r.IntN(3) {
			words = append(words, word("a", "ab", "b", "*", "a*", "?b", "[a-b]", "-x"))
		}
		return strings.Join(words, " ")
	}
	both, met := 0, 0
	for range randtest.Size(20_000, 400_000) {
		a, b := entry(), entry()
		words := []string{word("a", "ab", "b", "abb", "c")}
		for range r.IntN(4) {
			words = append(words, word("a", "ab", "b", "bb", "-x", "c"))
		}
		plan, err := shell.Parse(strings.Join(words, " "))
		if err != nil {
			t.Fatal(err)
		}
		_, first := shell.NewList([]string{a}).Match(plan.Commands[0])
		_, second := shell.NewList([]string{b}).Match(plan.Commands[0])
		lines := shell.NewPattern(a).Meet(shell.NewPattern(b))
		if first && second {
			both++
			if len(lines) == 0 {
				t.Fatalf("%q matches %q and %q, which do not meet", words, a, b)
			}
		}
		if len(lines) == 0 {
			continue
		}
		met++
		if !slices.ContainsFunc(lines, func(line string) bool {
			plan, err := shell.Parse(line)
			if err != nil || len(plan.Commands) != 1 {
				return false
			}
			_, first := shell.NewList([]string{a}).Match(plan.Commands[0])
			_, second := shell.NewList([]string{b}).Match(plan.Commands[0])
			return first && second
		}) {
			t.Fatalf("%q and %q meet in %q, of which none matches both", a, b, lines)
		}
	}
	if both < 100 || met < 400 {
		t.Errorf("%d commands matched both, %d entries met", both, met)
	}
}
