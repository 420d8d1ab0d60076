package toolcall

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/interlock-run/interlock/pkg/document"
)

// inputPattern matches the input of a tool that runs no command lines (S9.6): an object of the
// same members. Texts may have *, which stands for a part of that text and nothing else.
type inputPattern struct {
	kind    document.Kind
	members map[string]inputPattern
	items   []inputPattern
	exact   document.Value // of a number, a truth or null
	text    textPattern
}

// newInputPattern compiles a pattern. An error says what is wrong with it.
func newInputPattern(pattern string) (p inputPattern, err error) {
	const form = `write the input as one JSON object, with * in a text for any part of it: {"path": "docs/*"}`
	v, problem := document.Parse([]byte(pattern), document.Limits{})
	if problem != nil {
		return p, fmt.Errorf("the pattern is not JSON: %s; %s", problem.Message, form)
	}
	if v.Kind() != document.Object {
		return p, errors.New("the pattern must be a JSON object; " + form)
	}
	return compileInput("", v)
}

func compileInput(name string, v document.Value) (p inputPattern, err error) {
	p.kind = v.Kind()
	switch v.Kind() {
	case document.Object:
		p.members = make(map[string]inputPattern, v.Len())
		for key, member := range v.Members() {
			if p.members[key], err = compileInput(key, member); err != nil {
				return p, err
			}
		}
	case document.Array:
		p.items = make([]inputPattern, v.Len())
		for i, item := range v.Elements() {
			if p.items[i], err = compileInput(name, item); err != nil {
				return p, err
			}
		}
	case document.String:
		p.text, err = newTextPattern(name, v.Str())
	default:
		p.exact = v
	}
	return p, err
}

// matchInput reports that an input matches: an object without duplicate members.
func (p *inputPattern) matchInput(input []byte) bool {
	if len(input) == 0 {
		input = []byte("{}")
	}
	v, problem := document.Parse(input, document.Limits{Bytes: longestInput})
	return problem == nil && p.match(v)
}

func (p *inputPattern) match(v document.Value) bool {
	if v.Kind() != p.kind {
		return false
	}
	switch p.kind {
	case document.Object:
		if v.Len() != len(p.members) {
			return false
		}
		for key, member := range v.Members() {
			of, known := p.members[key]
			if !known || !of.match(member) {
				return false
			}
		}
		return true
	case document.Array:
		if v.Len() != len(p.items) {
			return false
		}
		for i, item := range v.Elements() {
			if !p.items[i].match(item) {
				return false
			}
		}
		return true
	case document.String:
		return p.text.match(v.Str())
	default:
		return document.Equal(p.exact, v)
	}
}

// textPattern matches one text: exactly, or by its parts with anything between them.
type textPattern struct {
	parts []string // one for a text without *
	// any is a text that is only * and no name of a place: it matches every text.
	any bool
	// place: the text names a file, a folder or an address of the web.
	place bool
	// host is the part of an address of the web that names a server; nil where no * is in it.
	host *textPattern
	// mailbox: the text names somebody by an @.
	mailbox bool
}

// newTextPattern compiles a text. \* is a * that stands for itself.
func newTextPattern(name, text string) (p textPattern, err error) {
	part := ""
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], `\*`):
			part += "*"
			i++
		case text[i] == '*':
			p.parts = append(p.parts, part)
			part = ""
		default:
			part += text[i : i+1]
		}
	}
	p.parts = append(p.parts, part)
	if len(p.parts) == 1 {
		return p, nil
	}
	p.place = strings.Contains(text, "/") || namesPlace(name)
	p.mailbox = strings.Contains(text, "@")
	p.any = text == "*" && !p.place
	scheme, rest, remote := strings.Cut(text, "://")
	switch host, _, ended := strings.Cut(rest, "/"); {
	case hasDots(text):
		return p, fmt.Errorf("the pattern has %s, which leads out of a folder; write the folder that is meant", document.Quote(text))
	case !remote:
	case strings.Contains(scheme, "*"):
		return p, fmt.Errorf("%s leaves the protocol open; name it: https://example.com/*", document.Quote(text))
	case strings.Contains(host, "*") && (!ended || strings.HasSuffix(host, "*")):
		return p, fmt.Errorf("%s also matches servers with other names; end the name of the server with /: https://example.com/*", document.Quote(text))
	case strings.Contains(host, "*"):
		of, err := newTextPattern("", host)
		if err != nil {
			return p, err
		}
		p.host = &of
	}
	return p, nil
}

// namesPlace reports the name of a member that names a file, a folder or an address.
func namesPlace(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"path", "file", "dir", "folder", "cwd", "uri", "url", "root", "target", "dest", "source", "location"},
		func(part string) bool { return strings.Contains(name, part) })
}

// match reports that a text is the pattern's, or has its parts with plain text between them. What a
// tool could read as something else than it looks like does not match.
func (p *textPattern) match(text string) bool {
	switch {
	case len(p.parts) == 1:
		return text == p.parts[0]
	case p.any:
		return true
	case !plainText(text) || p.place && !plainPlace(text):
		return false
	case p.mailbox && strings.Count(text, "@") != 1:
		return false
	}
	if p.host != nil {
		_, rest, _ := strings.Cut(text, "://")
		host, _, ended := strings.Cut(rest, "/")
		if !ended || strings.ContainsFunc(host, notInHost) || !p.host.match(host) {
			return false
		}
	}
	if p.place && !strings.Contains(text, "://") {
		text = path.Clean(text)
	}
	return p.between(text, func(filled string) bool {
		return !strings.ContainsAny(filled, `\`) && (!p.mailbox || !strings.ContainsAny(filled, " ,;:<>()[]\"'%!/|"))
	})
}

// between reports that a text has the parts in their order, the first at its beginning and the last
// at its end, with texts between them that are allowed.
func (p *textPattern) between(text string, allowed func(string) bool) bool {
	text, ok := strings.CutPrefix(text, p.parts[0])
	if !ok {
		return false
	}
	for _, part := range p.parts[1 : len(p.parts)-1] {
		filled, rest, found := strings.Cut(text, part)
		if !found || !allowed(filled) {
			return false
		}
		text = rest
	}
	filled, ok := strings.CutSuffix(text, p.parts[len(p.parts)-1])
	return ok && allowed(filled)
}

func notInHost(r rune) bool {
	return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '-'
}

// plainText refuses characters that do not show, and those that programs take for other ones.
func plainText(text string) bool {
	return utf8.ValidString(text) && norm.NFKC.IsNormalString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || slices.Contains(lookAlikes, r) })
}

// lookAlikes are characters that look like a slash, a dot or a colon, and are not normalized to one.
var lookAlikes = []rune{'\u2044', '\u2215', '\u29F8', '\u2571', '\u29F5', '\u2216', '\u0589', '\u2236', '\uA789', '\u00B7', '\u22C5'}

// plainPlace refuses names that lead elsewhere than they seem to: by "..", by separators of Windows,
// by percent-encoding, or by a home folder or a variable.
func plainPlace(text string) bool {
	return !hasDots(text) && !strings.ContainsAny(text, `\%$`) && !strings.HasPrefix(text, "~")
}

func hasDots(text string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' || r == '?' || r == '#' || r == ';' }), func(part string) bool {
		return strings.Trim(part, " ") == ".." || len(part) > 1 && strings.Trim(part, ". ") == ""
	})
}
