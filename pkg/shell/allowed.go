package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// List is a compiled list of allowed commands (R2). Immutable, and safe for
// concurrent use. A nil List allows none.
type List struct {
	plain map[string][]entry // by their first word
	globs []glob
	// confined are the entries that are objects.
	confined []*Confinement
	inert    bool
}

// entry is one plain command of a list.
type entry struct {
	words []string
	text  string // as the list has it
}

// glob is an entry with * ? or [a-z], matched against the words of a command
// joined by one space.
type glob struct {
	pattern string
	named   int // the words that it begins with literally
	text    string
}

// Inert is the entry that stands for commands which have no effect by themselves.
const Inert = "@inert"

// NewList compiles the entries of allowed_commands. An entry that is not one plain
// command has no matches.
func NewList(entries []string) *List {
	l := &List{plain: make(map[string][]entry)}
	for _, text := range entries {
		switch words := strings.Fields(text); {
		case text == Inert:
			l.inert = true
		case IsConfinement(text):
			if c := ReadConfinement(text); c != nil {
				l.confined = append(l.confined, c)
			}
		case len(words) == 0:
		case slices.ContainsFunc(words, isGlob):
			named := slices.IndexFunc(words, isGlob)
			l.globs = append(l.globs, glob{strings.Join(words, " "), named, text})
		default:
			if plain := entryWords(text); plain != nil {
				l.plain[plain[0]] = append(l.plain[plain[0]], entry{plain, text})
			}
		}
	}
	return l
}

// entryWords returns the words of an entry after quote removal, or nil when it is not one
// simple command of static words.
func entryWords(entry string) []string {
	p := newPlanner()
	defer p.release()
	file, err := p.flowPart().readScript(entry, bash)
	if err != nil || len(file.Stmts) != 1 {
		return nil
	}
	s := file.Stmts[0]
	p.text = entry
	if len(s.Redirs) > 0 || s.Negated || s.Background {
		return nil
	}
	switch s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.DeclClause, *syntax.LetClause:
		p.flowPart().stmt(s)
	}
	if len(p.plan.Commands) == 0 || substitutes(s) || !allStatic(p.plan.Commands[0].Words) {
		return nil
	}
	var words []string
	for _, w := range p.plan.Commands[0].Words {
		words = append(words, w.Text)
	}
	return words
}

// substitutes reports that a statement has commands inside its words.
func substitutes(s *syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			found = true
		}
		return !found
	})
	return found
}

func allStatic(words []Word) bool {
	return !slices.ContainsFunc(words, func(w Word) bool { return !w.Static })
}

// isGlob reports a word of an entry with * or ? or a class. [ alone is a command.
func isGlob(word string) bool {
	open := strings.IndexByte(word, '[')
	return strings.ContainsAny(word, "*?") || open >= 0 && strings.IndexByte(word[open:], ']') > 1
}

// Match finds the entry that allows a command, and says how many of the command's words
// it names: those are the author's choice, with all their effects.
func (l *List) Match(c Command) (named int, ok bool) {
	_, named, ok = l.Entry(c)
	return named, ok
}

// Entry does the work of Match, and returns the entry, as the list has it.
func (l *List) Entry(c Command) (text string, named int, ok bool) {
	if l == nil || len(c.Words) == 0 {
		return "", 0, false
	}
	if text, named, ok = l.matchWords(c.Words); ok || !l.inert {
		return text, named, ok
	}
	skipped := inertAssignments(c)
	if skipped == len(c.Words) || !c.Words[skipped].Static {
		return "", 0, false
	}
	if skipped > 0 && c.Assigns == skipped {
		if text, named, ok = l.matchWords(c.Words[skipped:]); ok {
			return text, skipped + named, true
		}
	}
	if c.Assigns != skipped || !isInert(c.Words[skipped:]) {
		return "", 0, false
	}
	return Inert, 0, true
}

// Alone reports an entry, as the list has it, whose command is the only one of its line.
func (l *List) Alone(entry string) bool {
	return l != nil && slices.ContainsFunc(l.confined, func(c *Confinement) bool { return c.Alone && c.text == entry })
}

func (l *List) matchWords(words []Word) (text string, named int, ok bool) {
	for _, entry := range l.plain[words[0].Text] {
		if len(entry.words) > named && covers(entry.words, words) && !exceeds(words, len(entry.words)) {
			text, named, ok = entry.text, len(entry.words), true
		}
	}
	for _, c := range l.confined {
		if n, is := c.match(words); is && (n > named || !ok) {
			text, named, ok = c.text, n, true
		}
	}
	if ok || len(l.globs) == 0 || !allStatic(words) {
		return text, named, ok
	}
	line, _ := joined(words)
	for _, g := range l.globs {
		if (g.named > named || !ok) && matchGlob(g.pattern, line) && !retargets(words, g.named) && !takesBack(words, g.named) {
			text, named, ok = g.text, g.named, true
		}
	}
	return text, named, ok
}

// exceeds reports that a command has a further target, or another target by an option, behind the
// words that an entry names, or takes back a harmless option of them: the entry ends there.
func exceeds(words []Word, named int) bool {
	return moreTargets(words, named) || retargets(words, named) || takesBack(words, named)
}

// covers reports that the entry's words are the first words of a command.
func covers(entry []string, words []Word) bool {
	if len(entry) > len(words) {
		return false
	}
	for i, text := range entry {
		if !words[i].Static || words[i].Text != text {
			return false
		}
	}
	return true
}

// matchGlob matches all of a line. * stands for any text, ? for one character,
// [a-z] and [!a-z] for one of a class.
func matchGlob(pattern, line string) bool {
	star, from := -1, 0
	i := 0
	for at := 0; at < len(line); {
		if i < len(pattern) && pattern[i] == '*' {
			star, from = i, at
			i++
			continue
		}
		if used, width := matchOne(pattern[i:], line[at:]); used > 0 {
			i += used
			at += width
			continue
		}
		if star < 0 {
			return false
		}
		from++
		i, at = star+1, from
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// matchOne matches one character of a line, and says how much of both it took.
func matchOne(pattern, line string) (used, width int) {
	if pattern == "" {
		return 0, 0
	}
	width = 1
	for width < len(line) && line[width]&0xc0 == 0x80 {
		width++
	}
	switch pattern[0] {
	case '?':
		return 1, width
	case '[':
		if end := strings.IndexByte(pattern, ']'); end > 1 {
			if inClass(pattern[1:end], line[:width]) {
				return end + 1, width
			}
			return 0, 0
		}
	}
	if pattern[0] == line[0] {
		return 1, 1
	}
	return 0, 0
}

func inClass(class, char string) bool {
	negated := class[0] == '!' || class[0] == '^'
	if negated {
		class = class[1:]
	}
	found := false
	for i := 0; i < len(class); i++ {
		if i+2 < len(class) && class[i+1] == '-' {
			found = found || len(char) == 1 && class[i] <= char[0] && char[0] <= class[i+2]
			i += 2
		} else {
			found = found || class[i:i+1] == char
		}
	}
	return found != negated
}
