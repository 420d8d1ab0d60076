package importer

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// command translates a rule on command lines. Claude Code compares the text of each command: one
// that is exact, its first words (`git push:*`, `git push *`), or a pattern with *.
func (c *claude) command(list string, n Note, pattern string, whole bool) {
	switch {
	case whole:
		c.tool(list, n, claudeShell)
	case list == allow:
		c.allowCommand(n, pattern)
	default:
		c.restrictCommand(list, n, pattern)
	}
}

// restrictCommand translates a rule of deny or ask. Words that bash reads as they are written are
// compared command by command, any other text with the whole line.
func (c *claude) restrictCommand(list string, n Note, pattern string) {
	stem, further := commandStem(pattern)
	var when []document.Value
	switch {
	case plainWords(strings.ReplaceAll(stem, "*", "")):
		if further {
			when = append(when, like("command", stem+" *"))
		}
		when = append(when, like("command", stem))
	case strings.Trim(stem, "* ") == "":
		n.Why = "the pattern is any text"
		c.refuse(n, claudeShell)
		return
	default:
		when = append(when, like("/command", "*"+strings.Trim(stem, " ")+"*"))
		c.widen(Note{Line: n.Line, Text: n.Text, Why: "a pattern with quotes or operators is looked for anywhere in the line"})
	}
	c.restrict(list, n, claudeShell, clause{when: anyOf(when...)})
	c.widen(Note{Line: n.Line, Text: n.Text, Why: "a command line with unknown commands, such as one with a variable for a program, is denied"})
}

// commandStem returns a pattern without the ending that stands for further words.
func commandStem(pattern string) (stem string, further bool) {
	if stem, ok := strings.CutSuffix(pattern, ":*"); ok {
		return stem, true
	}
	return strings.CutSuffix(pattern, " *")
}

// allowCommand collects an allowed command. A pattern that is not the first words of a command is
// left out: the call is asked for.
func (c *claude) allowCommand(n Note, pattern string) {
	stem, further := commandStem(pattern)
	stem, open := strings.CutSuffix(stem, "*")
	switch {
	case strings.TrimSpace(stem) == "" || strings.HasPrefix(stem, "@"):
		n.Why = "it names no command"
		c.skip(n)
	case !further && !open && !strings.Contains(pattern, "*"):
		c.lines = append(c.lines, pattern)
	case strings.Contains(stem, "*"):
		n.Why = "a * before the end may be any further words; only the first words of a command are translated"
		c.skip(n)
	case !plainWords(stem):
		n.Why = "only words without quotes, variables and operators are translated"
		c.skip(n)
	default:
		c.prefixes = append(c.prefixes, strings.Join(strings.Fields(stem), " "))
	}
}

// permitCommands collects when a command line is allowed: it is one of the lines as they are
// written, or each of its commands begins as one of the entries and nothing is redirected, which
// Claude Code judges by itself.
func (c *claude) permitCommands() {
	if len(c.lines) > 0 {
		c.allowWhen(Note{Text: "allow Bash(...), whole lines"}, claudeShell, one("/command", texts(c.lines)))
	}
	if len(c.prefixes) > 0 {
		when := allOf(one("command", texts(c.prefixes)), not(like("/command", "*>*")))
		c.allowWhen(Note{Text: "allow Bash(...), first words"}, claudeShell, when)
	}
}

func like(key, pattern string) document.Value { return one(key, one("like", text(pattern))) }

// plainWords reports words that bash takes as they are written.
func plainWords(s string) bool {
	return strings.TrimSpace(s) != "" && !strings.ContainsFunc(s, func(r rune) bool {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" -_./:,@%+", r)
		return !plain
	})
}
