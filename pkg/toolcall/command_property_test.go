package toolcall_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// commandStates are states in which each of the rules applies.
var commandStates = map[string]string{
	"R2": `{"allowed_commands": ["ls", "cat", "npm test", "env", "find", "sh", "xargs"]}`,
	"R3": `{"allowed_tools": ["Read", "Bash"]}`,
	"R4": `{"blocked_env": ["DB_URL", "API_KEY"]}`,
}

// independent reports lines that say nothing to those after them: no variables, no
// options of the shell, and nothing open at the end.
func independent(line string) bool {
	return !strings.ContainsAny(line, "$=#&\n\\") && !strings.Contains(line, "<<") && strings.TrimSpace(line) != "" &&
		!strings.Contains(line, "((") && !strings.Contains(line, "read") && !strings.Contains(line, "let") && !strings.Contains(line, ">") && !strings.Contains(line, ".sh")
}

// TestJoinedLines: whether X is allowed after an allowed line is whether X is
// allowed, however they are joined.
func TestJoinedLines(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, c := range commandCases(t) {
		if independent(c.line) {
			lines = append(lines, c.line)
		}
	}
	for name, state := range commandStates {
		m, run := inState(t, state, `{}`)
		allows := func(line string) bool { return decide(m, run, "Bash", bash(line)).Decision == toolcall.Allow }
		var allowed, parsed []string
		for _, line := range lines {
			if allows(line) {
				allowed = append(allowed, line)
			}
			if _, err := shell.Parse(line); err == nil {
				parsed = append(parsed, line)
			}
		}
		if len(allowed) < 5 {
			t.Fatalf("%s allows %d lines alone", name, len(allowed))
		}
		randtest.Check(t, func(t *rapid.T) {
			first, x := rapid.SampledFrom(allowed).Draw(t, "first"), rapid.SampledFrom(parsed).Draw(t, "x")
			form := rapid.SampledFrom([]string{"%s; %s", "%s\n%s", "%s & %s", "{ %s; %s; }", "( %s; %s )", "if %s; then %s; fi", "while %s; do %s; done", "cat <( %s; %s )", "f() { %s; }; %s"}).Draw(t, "form")
			joined := fmt.Sprintf(form, first, x)
			if strings.Contains(form, "cat") && !allows("cat x") || strings.Contains(form, "f()") && name == "R2" {
				return
			}
			if got, want := allows(joined), allows(x); got != want {
				t.Fatalf("%s: %q alone: %t; in %q: %t", name, x, want, joined, got)
			}
		})
	}
}

// TestQuotedWords: how words are quoted changes nothing.
func TestQuotedWords(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, c := range commandCases(t) {
		if strings.Trim(c.line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_./:@,+%") == "" && strings.TrimSpace(c.line) != "" && !keyword(c.line) {
			lines = append(lines, c.line)
		}
	}
	for name, state := range commandStates {
		m, run := inState(t, state, `{}`)
		randtest.Check(t, func(t *rapid.T) {
			line := rapid.SampledFrom(lines).Draw(t, "line")
			words := strings.Fields(line)
			for i, word := range words {
				words[i] = requoted(t, word)
			}
			again := strings.Join(words, rapid.SampledFrom([]string{" ", "  ", "\t", " \\\n "}).Draw(t, "blank"))
			plain, quoted := decide(m, run, "Bash", bash(line)), decide(m, run, "Bash", bash(again))
			if plain.Decision != quoted.Decision || plain.Code != quoted.Code {
				t.Fatalf("%s: %q is %s %s, and %q is %s %s", name, line, plain.Decision, plain.Code, again, quoted.Decision, quoted.Code)
			}
		})
	}
}

// keyword reports lines that begin with a word that means something only without
// quotes.
func keyword(line string) bool {
	switch strings.Fields(line)[0] {
	case "time", "coproc", "if", "for", "while", "until", "case", "select", "function", "then", "do", "fi", "done", "let":
		return true
	}
	return false
}

func requoted(t *rapid.T, word string) string {
	at := rapid.IntRange(0, len(word)).Draw(t, "at")
	switch rapid.IntRange(0, 6).Draw(t, "quotes") {
	case 0:
		return "'" + word + "'"
	case 1:
		return `"` + word + `"`
	case 2:
		return word[:at] + `""` + word[at:]
	case 3:
		return word[:at] + "'" + word[at:] + "'"
	case 4:
		var b strings.Builder
		for i := range len(word) {
			fmt.Fprintf(&b, `\x%02x`, word[i])
		}
		return "$'" + b.String() + "'"
	case 5:
		return "\\" + word
	default:
		return word
	}
}

// FuzzCommand: every line gets an answer in every state, and what the parser can
// not read is never allowed.
func FuzzCommand(f *testing.F) {
	for i, c := range commandCases(f) {
		if i%20 == 0 {
			f.Add(c.line)
		}
	}
	states := []string{
		commandStates["R2"], commandStates["R3"], commandStates["R4"],
		`{"allowed_tools": ["Bash"], "allowed_commands": ["@inert", "*test*", "git log", "rm build"], "blocked_env": ["DB_URL"]}`,
	}
	f.Fuzz(func(t *testing.T, line string) {
		plan, err := shell.Parse(line)
		for _, state := range states {
			m, run := inState(t, state, `{}`)
			v := decide(m, run, "Bash", bash(line))
			switch {
			case v.Decision == toolcall.Deny && v.Message(m, run) == "":
				t.Fatalf("%q is denied without a sentence", line)
			case v.Decision == toolcall.Allow && err != nil:
				t.Fatalf("%q does not parse (%v) and is allowed", line, err)
			case v.Decision == toolcall.Allow && strings.Contains(state, "allowed_commands") && plan.Empty:
				t.Fatalf("%q is empty and allowed", line)
			}
		}
	})
}
