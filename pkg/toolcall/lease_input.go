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
	"github.com/interlock-run/interlock/pkg/toolinput"
)

// inputPattern matches the input of a tool that runs no command lines (S9.6): an object of the
// same members. Texts may have *, which stands for a part of that text only.
type inputPattern struct {
	kind    document.Kind
	members map[string]inputPattern
	items   []inputPattern
	exact   document.Value // of a number, a truth or null
	text    textPattern
}

// newInputPattern compiles a pattern. An error describes the problem with it.
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
	v, problem := document.Parse(input, document.Limits{Bytes: toolinput.Longest})
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
	// host is the part that names a server; nil where no * is in it.
	host *textPattern
	// remote: a protocol is before that name. path: a path follows it.
	remote, path bool
	// mailbox: the text names a person by an @.
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
	p.place = strings.Contains(text, "/") || namesPlace(name) || namesServer(name)
	p.mailbox = strings.Contains(text, "@")
	p.any = text == "*" && !p.place
	scheme, _, remote := strings.Cut(text, "://")
	host, ended := serverOf(text)
	p.remote, p.path = remote, ended
	switch {
	case hasDots(text):
		return p, fmt.Errorf("the pattern has %s, which leads out of a folder; write the folder that is meant", document.Quote(text))
	case remote && strings.Contains(scheme, "*"):
		return p, fmt.Errorf("%s leaves the protocol open; name it: https://example.com/*", document.Quote(text))
	case text == "*", !remote && !p.mailbox && !beginsWithServer(name, host, ended), !remote && p.mailbox && strings.Contains(host, " "):
	case !remote && p.mailbox && host == "*": // a mailbox of any server is meant
		p.host = &textPattern{parts: []string{"", ""}}
	case strings.Contains(host, "*") && (remote && !ended || strings.HasSuffix(host, "*")):
		return p, fmt.Errorf("%s also matches servers with other names; end the name of the server with /: https://example.com/*", document.Quote(text))
	case strings.Contains(host, "*"):
		p.host = &textPattern{parts: strings.Split(host, "*")}
	}
	return p, nil
}

// serverOf returns the part of an address that names a server, and whether a path
// follows.
func serverOf(text string) (host string, ended bool) {
	if _, rest, remote := strings.Cut(text, "://"); remote {
		text = rest
	} else if _, domain, mailbox := strings.Cut(text, "@"); mailbox {
		host, _, _ = strings.Cut(domain, ":")
		text = host
	}
	host, _, ended = strings.Cut(text, "/")
	return host, ended
}

// beginsWithServer reports a text without a protocol that begins with the name of a server, or may do so:
// by the name of its member, or by its dots. The name of a file does not, unless its first folder reads as a
// server (*.example.com/x): a * there stands for no further folder.
func beginsWithServer(name, host string, ended bool) bool {
	file := namesFile(name) && (!ended || strings.HasSuffix(host, "*"))
	return namesServer(name) || strings.Contains(host, ".") && !strings.Contains(host, " ") && !file
}

// namesServer reports the name of a member that names a server or an address.
func namesServer(name string) bool {
	return namedBy(name, "host", "domain", "server", "url", "uri", "endpoint", "origin", "addr", "site", "href", "link", "webhook", "callback", "proxy", "fqdn")
}

// namesFile reports the name of a member that names a file or a folder.
func namesFile(name string) bool { return namedBy(name, "path", "file", "dir", "folder", "cwd") }

func namedBy(name string, parts ...string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// namesPlace reports the name of a member that names a file, a folder or an address.
func namesPlace(name string) bool {
	return namesFile(name) || namedBy(name, "uri", "url", "root", "target", "dest", "source", "location")
}

// match reports that a text is the pattern's, or has its parts with plain text between them. Text
// that a tool could read in another way does not match.
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
		host, ended := serverOf(text)
		alike := strings.Contains(text, "://") == p.remote && strings.Contains(text, "@") == p.mailbox && ended == p.path
		if !alike || strings.ContainsFunc(host, notInHost) || !p.host.between(host, func(string) bool { return true }) {
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

// plainPlace refuses names that lead elsewhere than they seem to: by "..", by separators of Windows, by
// percent-encoding, by a home folder or a variable, or by a shell's expansion: docs/{a,../b}, docs/.[.]/b.
func plainPlace(text string) bool {
	return !hasDots(text) && !strings.ContainsAny(text, "\\%$`") && !strings.HasPrefix(text, "~") && !expandsToDots(text)
}

// expandsToDots reports a list in braces, and a pattern that begins with a dot.
func expandsToDots(text string) bool {
	if _, list, open := strings.Cut(text, "{"); open && (strings.Contains(list, ",") || strings.Contains(list, "..")) {
		return true
	}
	return slices.ContainsFunc(strings.Split(text, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") && strings.ContainsAny(part, "*?[(") || strings.ContainsAny(part, "[(") && strings.Contains(part, ".")
	})
}

func hasDots(text string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' || r == '?' || r == '#' || r == ';' }), func(part string) bool {
		return strings.Trim(part, " ") == ".." || len(part) > 1 && strings.Trim(part, ". ") == ""
	})
}
