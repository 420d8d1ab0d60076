package sqlscan

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// kind is that of a token.
type kind uint8

const (
	word   kind = iota + 1 // an unquoted name or keyword
	quoted                 // a name in quotes; in some dialects a text
	text                   // a text in quotes
	number
	param // a variable or a place for one
	symbol
)

// token is a part of a text between blanks and comments.
type token struct {
	kind     kind
	from, to int
	// name is a word in lower case, a quoted name without its quotes, or a symbol.
	name string
}

func (t token) is(symbols string) bool        { return t.kind == symbol && t.name == symbols }
func (t token) isWord(name string) bool       { return t.kind == word && t.name == name }
func (t token) isName() bool                  { return t.kind == word || t.kind == quoted }
func (t token) in(words map[string]bool) bool { return t.kind == word && words[t.name] }

// lexer cuts a text.
type lexer struct {
	reading
	text    string
	at      int
	open    int // executable comments that are not closed
	client  bool
	tokens  []token
	problem string
}

// lex returns the tokens of a text, and why it cannot be cut further.
func lex(text string, r reading, client bool) (tokens []token, problem string) {
	l := &lexer{reading: r, text: text, client: client, tokens: make([]token, 0, len(text)/4+1)}
	for l.problem == "" && l.at < len(text) {
		l.next()
	}
	if l.problem == "" && l.open > 0 {
		l.problem = unclosedComment
	}
	return l.tokens, l.problem
}

const (
	unclosedComment = "a comment is not closed"
	unclosedQuote   = "a quote is not closed"
)

// add ends a token that began at a place.
func (l *lexer) add(k kind, from int, name string) {
	l.tokens = append(l.tokens, token{kind: k, from: from, to: l.at, name: name})
}

// sees reports that a text comes next.
func (l *lexer) sees(s string) bool { return strings.HasPrefix(l.text[l.at:], s) }

// peek returns the byte at a distance, or 0 behind the end.
func (l *lexer) peek(distance int) byte {
	if l.at+distance >= len(l.text) {
		return 0
	}
	return l.text[l.at+distance]
}

// next reads a blank, a comment or a token.
func (l *lexer) next() {
	c := l.text[l.at]
	switch {
	case isBlank(c):
		l.at++
	case l.comment():
	case c == '\'':
		l.quote(l.at, text, l.backslash, false)
	case c == '"':
		l.quote(l.at, quoted, l.inDouble, false)
	case c == '`' && l.backtick:
		l.quote(l.at, quoted, false, false)
	case c == '[' && l.bracket:
		l.brackets()
	case c == '$':
		l.dollars()
	case isDigit(c):
		l.number()
	case c == '@' || c == ':' || c == '?':
		l.param()
	case startsName(c) || l.numberSign && c == '#':
		l.word()
	default:
		l.symbol()
	}
}

// comment reads a comment and reports whether there was one.
func (l *lexer) comment() bool {
	switch {
	case l.sees("--") && (!l.dashBlank || l.peek(2) <= ' '), l.hash && l.sees("#"), l.slashes && l.sees("//"):
		l.lineComment()
	case l.sees("*/") && l.open > 0:
		l.open--
		l.at += 2
	case !l.sees("/*"):
		return false
	case l.executable == isRun && (l.sees("/*!") || l.sees("/*M!")):
		l.open++
		l.at += strings.IndexByte(l.text[l.at:], '!') + 1
		digits := 0
		for digits < 6 && isDigit(l.peek(digits)) {
			digits++
		}
		if digits >= 5 {
			l.at += digits
		}
	default:
		l.blockComment()
	}
	return true
}

func (l *lexer) lineComment() {
	rest := l.text[l.at:]
	if end := strings.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	if strings.ContainsRune(strings.TrimSuffix(rest, "\r"), '\r') || strings.ContainsAny(rest, "\u0085\u2028\u2029\v\f") {
		l.problem = "a comment has a character that ends it for some servers"
	}
	l.at += len(rest)
}

func (l *lexer) blockComment() {
	depth := 0
	for l.at < len(l.text) {
		switch {
		case l.sees("/*") && (depth == 0 || l.nested || l.executable == isSkipped && depth == 1):
			depth++
			l.at += 2
		case l.sees("*/"):
			l.at += 2
			if depth--; depth == 0 {
				return
			}
		default:
			l.at++
		}
	}
	l.problem = unclosedComment
}

// quote reads a text or name in quotes that begins here; the token begins at from.
func (l *lexer) quote(from int, k kind, escapes, continues bool) {
	begin := l.at
	q := l.text[begin]
	if l.strict && l.peek(1) == q && l.peek(2) == q {
		l.problem = "three quotes begin a text in some dialects"
		return
	}
	for l.at++; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; {
		case c == '\\' && escapes:
			l.at++
		case c != q:
		case l.peek(1) == q:
			l.at++
		default:
			l.at++
			if continues && l.continued() {
				continue
			}
			name := ""
			if k == quoted {
				name = strings.ReplaceAll(l.text[begin+1:l.at-1], string(q)+string(q), string(q))
			}
			l.add(k, from, name)
			return
		}
	}
	l.at = len(l.text)
	l.problem = unclosedQuote
}

// continued goes to the quote of a further part of an E'...', which begins on another line.
func (l *lexer) continued() bool {
	line := false
	for i := l.at; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case isBlank(c):
			line = line || c == '\n' || c == '\r'
		case strings.HasPrefix(l.text[i:], "--"):
			end := strings.IndexByte(l.text[i:], '\n')
			if end < 0 {
				return false
			}
			i, line = i+end, true
		case c == '\'' && line:
			l.at = i
			return true
		default:
			return false
		}
	}
	return false
}

func (l *lexer) brackets() {
	from := l.at
	for l.at++; l.at < len(l.text); l.at++ {
		if l.text[l.at] != ']' {
			continue
		}
		if l.numberSign && l.peek(1) == ']' {
			l.at++
			continue
		}
		l.at++
		l.add(quoted, from, strings.ReplaceAll(l.text[from+1:l.at-1], "]]", "]"))
		return
	}
	l.problem = unclosedQuote
}

// dollars reads $1, $name and $tag$...$tag$.
func (l *lexer) dollars() {
	from := l.at
	l.at++
	for l.at < len(l.text) && l.text[l.at] != '$' && l.inName(l.text[l.at]) {
		l.at++
	}
	tag := l.text[from:l.at]
	switch {
	case l.peek(0) == '$' && (l.dollar || l.strict) && !isDigit(l.text[from+1]):
		l.at++
		tag += "$"
		end := strings.Index(l.text[l.at:], tag)
		if end < 0 {
			l.problem = unclosedQuote
			return
		}
		l.at += end + len(tag)
		l.add(text, from, "")
	case l.peek(0) == '(':
		l.problem = "$( is filled in by a client or a template"
	case len(tag) == 1:
		l.add(symbol, from, tag)
	default:
		l.add(param, from, tag)
	}
}

// number reads a number. One that runs into a word is cut differently by dialects.
func (l *lexer) number() {
	from := l.at
	hex := l.peek(0) == '0' && l.peek(1)|0x20 == 'x'
	if hex {
		l.at += 2
	}
	digits := func() {
		for isDigit(l.peek(0)) || l.peek(0) == '_' || hex && l.peek(0)|0x20 >= 'a' && l.peek(0)|0x20 <= 'f' {
			l.at++
		}
	}
	digits()
	if !hex && l.peek(0) == '.' {
		l.at++
		digits()
	}
	if !hex && l.peek(0)|0x20 == 'e' && (isDigit(l.peek(1)) || (l.peek(1) == '+' || l.peek(1) == '-') && isDigit(l.peek(2))) {
		l.at += 2
		digits()
	}
	if c := l.peek(0); startsName(c) || c == '$' {
		l.problem = "a number runs into a word"
	}
	l.add(number, from, "")
}

// param reads @x, @@x, :x and ?.
func (l *lexer) param() {
	from := l.at
	c := l.text[l.at]
	l.at++
	if c == ':' && (l.sees(":") || l.sees("=")) {
		l.at++
		l.add(symbol, from, l.text[from:l.at])
		return
	}
	if c == '@' && l.sees("@") {
		l.at++
	}
	begin := l.at
	for l.at < len(l.text) && l.inName(l.text[l.at]) && c != '?' {
		l.at++
	}
	if l.client && c == ':' && (l.at > begin || l.sees("'") || l.sees(`"`) || l.sees("{")) {
		l.problem = "a client puts the value of " + excerpt(l.text[from:]) + " in, which is not seen"
	}
	if l.at == begin && c != '?' {
		l.add(symbol, from, string(c))
		return
	}
	l.add(param, from, l.text[from:l.at])
}

// textPrefixes begin a text in some dialects that are read no further.
var textPrefixes = wordSet(`q nq r br rb`)

// word reads an unquoted name, or a text behind a prefix.
func (l *lexer) word() {
	from := l.at
	for l.at < len(l.text) && (l.inName(l.text[l.at]) || l.numberSign && l.text[l.at] == '#') {
		l.at++
	}
	name := l.text[from:l.at]
	for _, c := range name {
		if c >= utf8.RuneSelf && l.problem == "" {
			l.problem = outside(c)
		}
	}
	name = strings.ToLower(name)
	quote := l.peek(0)
	switch {
	case l.problem != "":
	case quote == '\'' && name == "n":
		l.quote(from, text, l.backslash, false)
	case quote == '\'' && (name == "x" || name == "b"):
		l.quote(from, text, false, false)
	case quote == '\'' && name == "e" && l.escapes:
		l.quote(from, text, true, true)
	case name == "u" && l.escapes && l.sees(`&"`):
		l.problem = `U&"..." hides a name`
	case name == "u" && l.escapes && l.sees("&'"):
		l.at++
		l.quote(from, text, l.backslash, false)
	case l.strict && (quote == '\'' || quote == '"') && textPrefixes()[name]:
		l.problem = name + " before a quote begins a text in some dialects"
	default:
		l.add(word, from, name)
	}
}

func (l *lexer) symbol() {
	c := l.text[l.at]
	switch {
	case c == '#' && l.noHash:
		l.problem = "# begins a comment for some clients"
	case c == '!' && l.sees("!!"):
		l.problem = "!! may be a command of a client"
	default:
		l.problem = outside(rune(c))
	}
	l.at++
	l.add(symbol, l.at-1, string(c))
}

func wordSet(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			set[w] = true
		}
		return set
	})
}
