package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Pattern is one entry of a list of allowed commands, to be compared with another:
// whether any command at all could match both.
type Pattern struct {
	inert bool
	words []string // of a plain entry: the first words of a command
	glob  string   // of any other: all words, joined by one space
	// confined is an entry that is an object; words and glob are empty then.
	confined *Confinement
}

// NewPattern reads an entry as NewList does.
func NewPattern(entry string) Pattern {
	switch words := strings.Fields(entry); {
	case entry == Inert:
		return Pattern{inert: true}
	case IsConfinement(entry):
		if c := ReadConfinement(entry); c != nil && !c.Confined && !c.Exact {
			return Pattern{words: c.Words}
		}
		return Pattern{confined: ReadConfinement(entry)}
	case len(words) == 0:
		return Pattern{}
	case slices.ContainsFunc(words, isGlob):
		return Pattern{glob: strings.Join(words, " ")}
	default:
		return Pattern{words: entryWords(entry)}
	}
}

// Empty reports an entry that no command matches.
func (p Pattern) Empty() bool {
	return !p.inert && len(p.words) == 0 && p.glob == "" && p.confined == nil
}

// named returns how many words the pattern begins with.
func (p Pattern) named() int {
	if p.glob == "" {
		return len(p.words)
	}
	return slices.IndexFunc(strings.Fields(p.glob), isGlob)
}

// Lines returns command lines of one simple command that match the pattern: the shortest
// first. There are none only of an empty pattern.
func (p Pattern) Lines() []string {
	if p.confined != nil {
		return p.confined.Examples()
	}
	return p.Meet(Pattern{glob: "*"})
}

// Meet returns lines of one simple command that match both patterns, assignments in front
// of it aside. No line means that no command matches both, with any words: that is
// certain. A line that is returned may still be one that cannot be written as a command.
func (p Pattern) Meet(other Pattern) []string {
	if p.never(other) || other.never(p) {
		return nil
	}
	var lines []string
	for _, a := range p.languages() {
		for _, b := range other.languages() {
			text, ok := meet(a, b)
			if !ok {
				continue
			}
			for _, more := range []string{text + "x", text} {
				if line, ok := lineOf(more); ok && accepts(a, more) && accepts(b, more) && !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	}
	lines = append(lines, p.examplesIn(other)...)
	slices.SortStableFunc(lines, func(a, b string) int { return len(a) - len(b) })
	return lines
}

// examplesIn returns the examples of an entry that is an object, which another pattern matches, and
// one that begins as that pattern does.
func (p Pattern) examplesIn(other Pattern) []string {
	if p.confined == nil {
		return nil
	}
	all := p.confined.Examples()
	if len(other.words) > 0 {
		if line, ok := p.confined.With(other.words); ok {
			all = append(all, line)
		}
	}
	return slices.DeleteFunc(all, func(line string) bool {
		return !slices.ContainsFunc(other.languages(), func(l []token) bool { return accepts(l, line) })
	})
}

// never reports that no command of an entry which is an object begins with the words of another
// pattern.
func (p Pattern) never(other Pattern) bool {
	if p.confined == nil || len(other.words) == 0 {
		return false
	}
	_, ok := p.confined.With(other.words)
	return !ok
}

// Matching returns the lines of Meet that the entry allows in a list: an entry ends where another
// target begins, which the patterns do not show.
func (p Pattern) Matching(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		words := []Word{}
		if plan, err := Parse(line); err == nil && len(plan.Commands) > 0 {
			words = plan.Commands[0].Words
		}
		if p.confined != nil {
			_, ok := p.confined.match(words)
			return len(words) == 0 || !ok
		}
		return len(p.words) > 0 && len(words) > len(p.words) && exceeds(words, len(p.words))
	})
}

// languages returns the forms that the words of a command, joined by one space, must
// have.
func (p Pattern) languages() [][]token {
	switch {
	case p.inert:
		var all [][]token
		for _, name := range slices.Concat(inertCommands, inertWrappers) {
			all = append(all, Pattern{words: []string{name}}.languages()...)
		}
		return all
	case p.confined != nil:
		return beginning(p.confined.Words[:1])
	case len(p.words) > 0:
		all := beginning(p.words)
		if rest := withoutAssignments(p.words); len(rest) < len(p.words) {
			all = append(all, beginning(rest)...)
		}
		return all
	case p.glob != "":
		own := tokens(p.glob)
		first, rest, more := strings.Cut(p.glob, " ")
		if _, assigns := meet(tokens(first), tokens("?*=*")); more && assigns {
			return [][]token{own, tokens("*" + rest)}
		}
		return [][]token{own}
	default:
		return nil
	}
}

// beginning returns the texts that begin with some words, each of them whole.
func beginning(words []string) [][]token {
	if len(words) == 0 {
		return [][]token{{{kind: star}}}
	}
	text := literals(strings.Join(words, " "))
	return [][]token{text, append(slices.Clip(text), token{char: ' '}, token{kind: star})}
}

func withoutAssignments(words []string) []string {
	for len(words) > 0 {
		name, _, assigns := strings.Cut(words[0], "=")
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "+"), "[")
		if !assigns || !syntax.ValidName(name) {
			break
		}
		words = words[1:]
	}
	return words
}

// token is one part of a pattern.
type token struct {
	kind  tokenKind
	char  rune
	class string
}

type tokenKind uint8

const (
	literalChar tokenKind = iota
	anyChar
	oneOf
	star
)

func literals(text string) (all []token) {
	for _, c := range text {
		all = append(all, token{char: c})
	}
	return all
}

// tokens reads a pattern as matchGlob does.
func tokens(pattern string) (all []token) {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			all = append(all, token{kind: star})
			pattern = pattern[1:]
			continue
		case '?':
			all = append(all, token{kind: anyChar})
			pattern = pattern[1:]
			continue
		case '[':
			if end := strings.IndexByte(pattern, ']'); end > 1 {
				all = append(all, token{kind: oneOf, class: pattern[1:end]})
				pattern = pattern[end+1:]
				continue
			}
		}
		for _, c := range pattern {
			all = append(all, token{char: c})
			pattern = pattern[len(string(c)):]
			break
		}
	}
	return all
}

func (t token) takes(c rune) bool {
	switch t.kind {
	case literalChar:
		return t.char == c
	case oneOf:
		return inClass(t.class, string(c))
	default:
		return true
	}
}

// meet finds the shortest text that two languages have in common: a search through both
// at once, over every character that either distinguishes and one that neither does.
func meet(a, b []token) (string, bool) {
	type place struct{ a, b int }
	type found struct {
		from place
		char rune
		some bool
	}
	all := alphabet(a, b)
	start := place{}
	came := map[place]found{start: {}}
	queue := []place{start}
	visit := func(to, from place, char rune, some bool) {
		if _, seen := came[to]; !seen {
			came[to] = found{from, char, some}
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at.a == len(a) && at.b == len(b) {
			var text []rune
			for at != start {
				step := came[at]
				if step.some {
					text = append(text, step.char)
				}
				at = step.from
			}
			slices.Reverse(text)
			return string(text), true
		}
		if at.a < len(a) && a[at.a].kind == star {
			visit(place{at.a + 1, at.b}, at, 0, false)
		}
		if at.b < len(b) && b[at.b].kind == star {
			visit(place{at.a, at.b + 1}, at, 0, false)
		}
		if at.a == len(a) || at.b == len(b) {
			continue
		}
		for _, c := range all {
			if !a[at.a].takes(c) || !b[at.b].takes(c) {
				continue
			}
			to := at
			if a[at.a].kind != star {
				to.a++
			}
			if b[at.b].kind != star {
				to.b++
			}
			if to != at {
				visit(to, at, c, true)
			}
		}
	}
	return "", false
}

// ascii are its characters, those that people read best first.
var ascii = func() []rune {
	list := []rune("xabcdefghijklmnopqrstuvwyz0123456789-_./")
	for c := rune(1); c < 128; c++ {
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}()

// alphabet has the characters of ASCII, those that patterns name, and one more.
func alphabet(languages ...[]token) []rune {
	list := slices.Clone(ascii)
	seen := map[rune]bool{}
	for _, tokens := range languages {
		for _, t := range tokens {
			if t.kind == literalChar && t.char >= 128 && !seen[t.char] {
				seen[t.char] = true
				list = append(list, t.char)
			}
		}
	}
	return append(list, '\u2603')
}

// TooLong reports that two patterns are too long to be compared in a moment.
func (p Pattern) TooLong(other Pattern) bool {
	const most = 32 << 20 // characters that are looked at
	for _, a := range p.languages() {
		for _, b := range other.languages() {
			if len(a) > 1<<16 || len(b) > 1<<16 || len(a)*len(b) > most/len(alphabet(a, b)) {
				return true
			}
		}
	}
	return false
}

// accepts reports that a text is of a language.
func accepts(language []token, text string) bool {
	chars := []rune(text)
	open, from, i := -1, 0, 0 // the last star, and the rest, on the text that it stands for
	for at := 0; at < len(chars); {
		switch {
		case i < len(language) && language[i].kind == star:
			open, from = i, at
			i++
		case i < len(language) && language[i].takes(chars[at]):
			i++
			at++
		case open >= 0:
			from++
			i, at = open+1, from
		default:
			return false
		}
	}
	for i < len(language) && language[i].kind == star {
		i++
	}
	return i == len(language)
}

// lineOf returns a command line whose words, joined by one space, are the text.
func lineOf(text string) (string, bool) {
	var words []string
	for _, word := range strings.Split(text, " ") {
		quoted, err := syntax.Quote(word, syntax.LangBash)
		if err != nil {
			return "", false
		}
		words = append(words, quoted)
	}
	return strings.Join(words, " "), true
}
