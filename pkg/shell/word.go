package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// start is the possible beginning of a word that begins with an unknown part.
type start uint8

const (
	startsKnown        start = iota // with Text
	startsSafe                      // with something that is not an option: a path, a number
	startsWithVariable              // with the value of the variable Word.first
	startsUnknown
)

// use is where a word stands, which decides on bash's expansions in it.
type use uint8

const (
	argument use = iota // everything, split into words
	value               // of an assignment: no globs, braces or splitting
	document            // the body of a here-document: as in double quotes
)

// word resolves a word as far as its text shows, and walks its programs and reads.
func (p wordReader) word(w *syntax.Word, u use) Word {
	if w == nil {
		return Word{Static: true}
	}
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && u != document && !strings.ContainsAny(lit.Value, "\\*?[{~$`(\"'") {
			return Word{Text: lit.Value, Static: true}
		}
	}
	b := wordBuilder{planner: p.planner, use: u, word: Word{Static: true}}
	b.parts(w.Parts, u == document)
	return b.finish()
}

// wordBuilder resolves one word.
type wordBuilder struct {
	*planner
	use    use
	word   Word
	text   []byte
	parted bool // something was added, be it empty
	brace  braces
	class  bool // a [ was opened that closes in another part
	looked bool // closes is known
	closes bool // a part of the word may close a [
}

func (b *wordBuilder) parts(parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if quoted {
				b.quoted(part.Value)
			} else {
				b.literal(part.Value, parts)
			}
		case *syntax.SglQuoted:
			b.single(part)
		case *syntax.DblQuoted:
			if part.Dollar { // translated by the locale
				b.unknown(hole{start: startsUnknown, opaque: true})
			}
			b.parted = true
			b.parts(part.Parts, true)
		case *syntax.ParamExp:
			b.unknown(b.wordPart().parameter(part, quoted || b.use == document))
		case *syntax.CmdSubst:
			b.unknown(b.wordPart().substitution(part, quoted))
		case *syntax.ArithmExp:
			b.wordPart().arithmetic(part.X)
			b.unknown(hole{start: startsSafe, integer: true})
		case *syntax.ProcSubst:
			b.flowPart().stmts(part.Stmts)
			b.word.stream = len(parts) == 1
			b.unknown(hole{start: startsSafe})
		case *syntax.ExtGlob:
			if strings.ContainsAny(part.Pattern.Value, "$`\"'\\<>") {
				b.hide("has an expansion inside an extended glob", part.Pattern.Value)
			}
			b.unknown(hole{start: startsUnknown, many: b.use == argument})
		default:
			b.hide("has syntax that cannot be judged", "")
		}
	}
}

// hole is something unknown in a word.
type hole struct {
	start   start
	first   string // for startsWithVariable
	many    bool   // it may be split into words, or be none
	integer bool
	opaque  bool
	loose   string // a variable that is split into words
	dep     string // a variable whose value it is
	child   bool   // it is $!
	home    bool   // it is the folder of a user
	trimmed bool   // the end of the variable's value is taken off
	glob    bool   // it is a pattern of names
}

func (b *wordBuilder) unknown(h hole) {
	b.note(h)
	if len(b.text) == 0 && b.word.start == startsKnown {
		b.word.start, b.word.first = h.start, h.first
	}
	b.text = append(b.text, Unknown)
}

func (b *wordBuilder) note(h hole) {
	w := &b.word
	w.integer = h.integer && !b.parted
	w.child = h.child && !b.parted
	b.parted = true
	w.Static = false
	w.opaque = w.opaque || h.opaque
	w.trimmed = w.trimmed || h.trimmed
	w.home = w.home || h.home
	w.many = w.many || h.many && b.use == argument
	w.globs, w.others = w.globs || h.glob, w.others || !h.glob
	if h.loose != "" && b.use == argument {
		w.loose = append(w.loose, h.loose)
	}
	if h.integer {
		w.numbers++
	}
	if h.dep != "" {
		w.deps = append(w.deps, h.dep)
	}
}

func (b *wordBuilder) add(s ...byte) {
	b.parted = true
	b.word.integer, b.word.child = false, false
	b.text = append(b.text, s...)
}

// quoted adds text in double quotes or a here-document.
func (b *wordBuilder) quoted(s string) {
	b.suspect(s, true)
	b.parted, b.word.integer, b.word.child = true, false, false
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if s[i+1] == '\n' { // after an escape, the parser leaves it here
				i++
				continue
			}
			if c := s[i+1]; c == '\\' || c == '$' || c == '`' || c == '"' && b.use != document {
				i++
			}
		}
		b.text = append(b.text, s[i])
	}
}

func (b *wordBuilder) single(q *syntax.SglQuoted) {
	if !q.Dollar {
		b.add([]byte(q.Value)...)
		return
	}
	decoded, ok := ansi(nil, q.Value)
	b.add(decoded...)
	if !ok {
		b.unknown(hole{start: startsUnknown, opaque: true})
	}
}

// literal adds unquoted text: escapes, and what bash expands in it.
func (b *wordBuilder) literal(s string, parts []syntax.WordPart) {
	b.suspect(s, false)
	last := strings.LastIndexByte(s, ']')
	escaped := -1
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			if escaped = i; s[i] != '\n' { // after an escape, the parser leaves a continued line here
				b.add(s[i])
			}
		case c == '~' && (!b.parted || i > 0 && i-1 != escaped && b.homes(s[i-1], parts)):
			b.unknown(hole{start: startsSafe, home: true})
		case b.use != argument:
			b.add(c)
		case c == '*' || c == '?': // the name of a file may look like an option
			b.unknown(hole{start: startsUnknown, many: true, glob: true})
		case c == '[' && (last > i+1 || b.opens(parts)):
			b.unknown(hole{start: startsUnknown, many: true, glob: last > i+1 && !strings.Contains(s[i:last], "/")})
			if last <= i+1 { // it closes in another part: all that follows is unknown
				b.class = true
				return
			}
			i = last
		default:
			b.brace.read(c, b.text)
			b.add(c)
		}
	}
}

// homes reports that bash may expand a tilde after an unquoted character: it does so
// after = and : in a value, and in any word that it reads as NAME=, NAME+= or NAME[...]=.
func (b *wordBuilder) homes(after byte, parts []syntax.WordPart) bool {
	if after != '=' && after != ':' {
		return false
	}
	if b.use == value {
		return true
	}
	var text string
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			break
		}
		text += lit.Value
	}
	name := 0
	for name < len(text) && wordByte(text[name]) {
		name++
	}
	rest := text[name:]
	return name > 0 && (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "+=") || strings.HasPrefix(rest, "["))
}

// suspect finds text that the parser took for literal and bash may expand:
// ${x:-<(cmd)} is such.
func (b *wordBuilder) suspect(s string, quoted bool) {
	if !strings.ContainsAny(s, "$`(\"'") {
		return
	}
	for i := 0; i < len(s); i++ {
		next := byte(0)
		if i+1 < len(s) {
			next = s[i+1]
		}
		expands := false
		switch s[i] {
		case '\\':
			i++
		case '`':
			expands = true
		case '$':
			expands = wordByte(next) || next != 0 && strings.IndexByte("({[@*#?-!$", next) >= 0 || !quoted && (next == '\'' || next == '"')
		case '<', '>':
			expands = !quoted && next == '('
		case '\'', '"':
			expands = !quoted
		}
		if expands {
			b.hide("has text that bash may expand or not", s)
			return
		}
	}
}

// opens reports that a [ may begin a pattern that another part of the word closes.
func (b *wordBuilder) opens(parts []syntax.WordPart) bool {
	if b.class || len(parts) == 1 {
		return false
	}
	if !b.looked {
		b.looked = true
		b.closes = slices.ContainsFunc(parts, func(part syntax.WordPart) bool {
			lit, ok := part.(*syntax.Lit)
			return !ok || strings.Contains(lit.Value, "]")
		})
	}
	return b.closes
}

// braces follows the unquoted { , .. and } of a word.
type braces struct {
	opened, parted bool
	from, to       int // in the text; to is after the last } that closes a list
}

func (b *braces) read(c byte, text []byte) {
	switch {
	case c == '{' && !b.opened:
		b.opened, b.from = true, len(text)
	case !b.opened:
	case c == ',', c == '.' && len(text) > 0 && text[len(text)-1] == '.':
		b.parted = true
	case c == '}' && b.parted:
		b.to = len(text) + 1
	}
}

// expand makes {a,b} and {1..3} unknown.
func (b *wordBuilder) expand() {
	if b.brace.to == 0 {
		return
	}
	inside := string(b.text[b.brace.from:b.brace.to])
	after := b.text[b.brace.to:]
	whole := b.brace.from == 0 && len(after) == 0
	b.note(hole{many: true, opaque: strings.ContainsAny(inside, " \t\n")})
	b.word.integer = whole && isRange(inside)
	if b.brace.from == 0 {
		b.word.start = startsSafe
		if mayBeginOption(inside) {
			b.word.start = startsUnknown
		}
	}
	b.text = append(append(b.text[:b.brace.from:b.brace.from], Unknown), after...)
}

// mayBeginOption reports that an item of a brace expansion could begin with -, or
// be empty.
func mayBeginOption(list string) bool {
	return strings.ContainsAny(list, "-\x00") || strings.Contains(list, "{,") || strings.Contains(list, ",,") || strings.Contains(list, ",}")
}

// isRange reports {1..3} and {1..9..2}.
func isRange(list string) bool {
	items := strings.Split(strings.Trim(list, "{}"), "..")
	return len(items) > 1 && !slices.ContainsFunc(items, func(s string) bool { return !isInteger(s) })
}

func (b *wordBuilder) finish() Word {
	b.expand()
	w := &b.word
	w.Text = string(b.text)
	if b.class {
		w.Text = w.Text[:strings.IndexByte(w.Text, Unknown)+1]
	}
	if w.start > startsSafe && len(w.Text) > 1 && (w.Text[1] == '-' || w.Text[1] == Unknown) {
		w.start = startsUnknown // what it begins with may be empty
	}
	return *w
}
