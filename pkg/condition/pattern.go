package condition

import (
	"strings"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/document"
)

// mostWild is how many * a pattern may have.
const mostWild = 8

// mostPattern is the longest pattern, in bytes.
const mostPattern = 1024

// newPattern reads a literal of a type, or returns how to fix it.
func newPattern(of Type, text string) (pattern, string) {
	switch {
	case text == "":
		return nil, "is empty; write a pattern"
	case len(text) > mostPattern:
		return nil, "is too long; shorten it"
	case wilds(text) > mostWild:
		return nil, "has more than 8 *; use fewer"
	}
	switch of {
	case PathType:
		return newPathPattern(text)
	case HostType:
		return newHostPattern(text)
	case NetworkType:
		return newNetwork(text)
	case RefType:
		return newRefPattern(text)
	case SchemaType:
		return schemaPattern{newTextPattern(text)}, ""
	case RouteType:
		return newRoutePattern(text)
	case CommandType:
		return newCommandPattern(text)
	case MailType:
		return newMailPattern(text)
	default:
		return newTextPattern(text), ""
	}
}

// wilds counts the * of a pattern, those next to one another once.
func wilds(text string) int {
	n := 0
	for i := range len(text) {
		if text[i] == '*' && (i == 0 || text[i-1] != '*') {
			n++
		}
	}
	return n
}

// whole is a part of every pattern whose values are no folders.
type whole struct{}

func (whole) matchBelow(string, Stance) Truth { return Doubt }

// textPattern is a text in which * stands for any text and ? for one character. It matches
// the whole value.
type textPattern struct {
	whole
	text string
	wild bool
}

func newTextPattern(text string) textPattern {
	return textPattern{text: text, wild: strings.ContainsAny(text, "*?")}
}

func (p textPattern) match(text string, _ Stance) Truth {
	if !p.wild {
		return Of(p.text == text)
	}
	return Of(like(p.text, text))
}

// like goes forward, and when it fails lets the last * take one character more.
func like(pattern, text string) bool {
	p, t, retry, retryText := 0, 0, -1, 0
	for t < len(text) {
		_, size := utf8.DecodeRuneInString(text[t:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			p++
			retry, retryText = p, t
		case p < len(pattern) && pattern[p] == '?':
			p++
			t += size
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case retry >= 0:
			_, size = utf8.DecodeRuneInString(text[retryText:])
			retryText += size
			p, t = retry, retryText
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// schemaPattern matches names in a schema. A name that is written without it may be in any: a restriction that
// names the schema is in doubt of it.
type schemaPattern struct{ textPattern }

func (p schemaPattern) match(text string, stance Stance) Truth {
	if !stance.allows() { // most databases read names without case
		p.text, text = strings.ToLower(p.text), strings.ToLower(text)
	}
	if t := p.textPattern.match(text, stance); t == True || stance.allows() {
		return t
	}
	tail := p.text
	for n := strings.Count(tail, ".") - strings.Count(text, "."); n > 0; n-- {
		_, tail, _ = strings.Cut(tail, ".")
	}
	if tail != p.text && like(tail, text) {
		return Doubt
	}
	return False
}

// routePattern matches paths of URLs. A path that servers may read as another one is in doubt.
type routePattern struct{ textPattern }

func newRoutePattern(text string) (pattern, string) {
	switch {
	case text[0] != '/' && text[0] != '*':
		return nil, "matches no path of a URL; begin it with /"
	case strings.ContainsAny(text, "?#"):
		return nil, "has a ? or #, which end the path of a URL; write the path alone"
	case oddRoute("/" + strings.TrimPrefix(strings.ReplaceAll(text, "*", "x"), "/")):
		return nil, "has parts that programs read differently, such as .., // or %; write the plain path"
	}
	return routePattern{newTextPattern(text)}, ""
}

func (p routePattern) match(text string, stance Stance) Truth {
	if oddRoute(text) {
		return Doubt
	}
	return p.textPattern.match(text, stance)
}

// oddRoute reports a path that is not absolute, or that is not the only way to write it.
func oddRoute(text string) bool {
	return !strings.HasPrefix(text, "/") || !isPlain(text) || strings.ContainsAny(text, `\%;?# `) ||
		strings.Contains(text, "//") || strings.Contains(text+"/", "/./") || strings.Contains(text+"/", "/../")
}

// commandPattern matches simple commands by their first words, or by all of them where it has * or is
// compared with like.
type commandPattern struct {
	textPattern
}

// asLike returns the pattern as like compares it: with all words of a command.
func asLike(p pattern) pattern {
	if command, ok := p.(commandPattern); ok {
		command.wild = true
		return command
	}
	return p
}

func newCommandPattern(text string) (pattern, string) {
	words := strings.Join(strings.Fields(text), " ")
	if words == "" {
		return nil, "is blank; write the first words of a command"
	}
	return commandPattern{newTextPattern(words)}, ""
}

func (p commandPattern) match(text string, stance Stance) Truth {
	if strings.ContainsRune(text, utf8.RuneError) {
		return Doubt // a word of it is not known
	}
	if p.wild {
		return p.textPattern.match(text, stance)
	}
	rest, ok := strings.CutPrefix(text, p.text)
	return Of(ok && (rest == "" || rest[0] == ' '))
}

// mailPattern matches addresses of mail: one address, or all of a domain. An address that
// servers may route elsewhere is in doubt.
type mailPattern struct {
	whole
	local, domain string
}

func newMailPattern(text string) (pattern, string) {
	local, domain, at := strings.Cut(text, "@")
	switch {
	case !at:
		return nil, "is not an address; write name@example.com or *@example.com"
	case local != "*" && !plainMailbox(local):
		return nil, "has a name that programs read differently; write a plain one, or *"
	case strings.Contains(domain, "*"):
		return nil, "has a * in the domain; write each domain"
	case !plainHost(lowered(domain)):
		return nil, "has no valid domain; write name@example.com"
	}
	return mailPattern{local: local, domain: lowered(domain)}, ""
}

func (p mailPattern) match(text string, stance Stance) Truth {
	local, domain, at := strings.Cut(text, "@")
	if !at || !plainMailbox(local) {
		return Doubt
	}
	domain = lowered(domain)
	if !plainHost(domain) {
		return Doubt
	}
	if domain != p.domain {
		return False
	}
	return Of(p.local == "*" || p.local == local || !stance.allows() && strings.EqualFold(p.local, local))
}

// plainMailbox reports the part before the @ that every server reads as a name: some route by % and
// !, and some fold letters that are not ASCII.
func plainMailbox(local string) bool {
	for i := range len(local) {
		c := lower(local[i])
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(".+-_'=&/#$^~{}|", c) < 0 {
			return false
		}
	}
	return local != "" && local[0] != '.' && local[len(local)-1] != '.' && !strings.Contains(local, "..")
}

// lowered writes the letters of ASCII small, and leaves others: some of them fold to ASCII.
func lowered(s string) string {
	for i := range len(s) {
		if s[i] != lower(s[i]) {
			b := []byte(s)
			for j := range b {
				b[j] = lower(b[j])
			}
			return string(b)
		}
	}
	return s
}

// kindOfLiteral returns the kind of literal that a type is compared with.
func (t Type) kindOfLiteral() document.Kind {
	switch t {
	case NumberType, AmountType:
		return document.Number
	case BoolType:
		return document.Bool
	default:
		return document.String
	}
}
