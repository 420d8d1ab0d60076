package mail

import (
	"strings"
	"unicode"

	"github.com/interlock-run/interlock/pkg/document"
)

// Mail has headers in more forms than fields: as objects that have a name next to a
// value, as lists, as lines. All of them are held to the lists as fields of that name.

// pair holds an object that names a header to the meaning of the header: {"name": "Bcc",
// "value": "x@example.com"}. It returns the meaning. Every member next to the name may be
// its value.
func (m *reader) pair(v document.Value, at *document.Path) (means meaning, addresses int) {
	for name, field := range v.Members() {
		if isHeaderName(name) && field.Kind() == document.String && means == neither {
			means = headerOf(field.Str())
		}
	}
	if means == neither {
		return neither, 0
	}
	for name, field := range v.Members() {
		if !isHeaderName(name) && meaningOf(name) == neither {
			addresses += m.header(means, field, at.Key(name))
		}
	}
	return means, addresses
}

func isHeaderName(name string) bool {
	switch folded(name) {
	case "name", "key", "header", "headername", "field", "fieldname":
		return true
	default:
		return false
	}
}

// headerOf returns the meaning of a header; one that may be a recipient is.
func headerOf(name string) meaning {
	means := meaningOf(strings.Trim(name, " \t:"))
	if means == either {
		means = recipient
	}
	return means
}

// header holds the value of a header to the list of its meaning.
func (m *reader) header(means meaning, v document.Value, at *document.Path) (addresses int) {
	switch means {
	case sender:
		if addresses = m.addresses(v, at, m.lists.From, "allowed_from"); addresses > 0 {
			m.from = true
		}
	case recipient:
		addresses = m.addresses(v, at, m.lists.To, "allowed_to")
	case unclear:
		m.setCause(at, "has a header whose name only looks like that of senders or recipients; write the name in plain letters")
	default:
	}
	return addresses
}

// isHeaders reports the fields that hold headers.
func isHeaders(name string) bool { return strings.Contains(folded(name), "header") }

// headers reads the field of an email that has its headers, for those that are no
// members of objects: lines, "Bcc: x@example.com", and lists of names and values,
// ["Bcc", "x@example.com"]. It returns how many recipients they have.
func (m *reader) headers(v document.Value, at *document.Path) (recipients int) {
	switch v.Kind() {
	case document.String:
		name, value, ok := strings.Cut(v.Str(), ":")
		if means := headerOf(name); ok && means != neither {
			return counted(means, m.header(means, document.StringValue(strings.TrimSpace(value)), at))
		}
	case document.Array:
		named := neither
		for i, element := range v.Elements() {
			if named != neither {
				recipients += counted(named, m.header(named, element, at.At(i)))
				named = neither
				continue
			}
			if element.Kind() == document.String {
				named = headerOf(element.Str())
			}
			recipients += m.headers(element, at.At(i))
		}
	default:
	}
	return recipients
}

func counted(means meaning, addresses int) (recipients int) {
	if means == recipient {
		return addresses
	}
	return 0
}

// lines refuses line breaks in all but bodies: in the text of a header they begin another
// one. body is true for the value of a body.
func (m *reader) lines(v document.Value, at *document.Path, body bool) {
	switch v.Kind() {
	case document.String:
		if !body && breaks(v.Str()) {
			m.setCause(at, "has a line break, which only the text of an email may have")
		}
	case document.Array:
		for i, element := range v.Elements() {
			m.lines(element, at.At(i), body)
		}
	case document.Object:
		for name, field := range v.Members() {
			if breaks(name) {
				m.setCause(at, "has a field with a line break in its name")
			}
			m.lines(field, at.Key(name), isBody(name) || body && isBodyValue(name))
		}
	default:
	}
}

func breaks(s string) bool { return strings.ContainsAny(s, "\r\n") }

// isBody reports the fields that hold the text of an email, or attachments.
func isBody(name string) bool {
	switch folded(name) {
	case "text", "html", "body", "content", "contents", "message", "plain", "plaintext", "markdown", "amp", "amphtml", "react",
		"textbody", "htmlbody", "bodytext", "bodyhtml", "bodyplain", "textcontent", "htmlcontent", "messagebody", "emailbody",
		"messagetext", "messagehtml", "textpart", "htmlpart":
		return true
	default:
		return false
	}
}

// isBodyValue reports the members that hold the text where a body is an object.
func isBodyValue(name string) bool {
	switch folded(name) {
	case "value", "data":
		return true
	default:
		return false
	}
}

// Address is one mailbox. Its domain is in lower case.
type Address struct{ Local, Domain string }

// String returns name@example.com.
func (a Address) String() string { return a.Local + "@" + a.Domain }

// ParseAddress reads name@example.com, alone or as Name <name@example.com>. It refuses
// ambiguous forms: lists, quotes, comments, routes.
func ParseAddress(text string) (Address, bool) {
	if name, rest, named := strings.Cut(text, "<"); named {
		inner, closed := strings.CutSuffix(rest, ">")
		if !closed || strings.ContainsFunc(name, notInName) {
			return Address{}, false
		}
		text = inner
	}
	local, domain, ok := strings.Cut(text, "@")
	if !ok || local == "" || strings.ContainsFunc(text, notInMailbox) || strings.Contains(domain, "@") {
		return Address{}, false
	}
	if domain == "" || strings.HasPrefix(domain, ".") || strings.HasSuffix(domain, ".") || strings.Contains(domain, "..") {
		return Address{}, false
	}
	return Address{local, lowerASCII(domain)}, true
}

func notInName(c rune) bool { return !unicode.IsPrint(c) || strings.ContainsRune("@,;:<>()[]\\\"", c) }

func notInMailbox(c rune) bool { return c == ' ' || notInName(c) && c != '@' }

// lowerASCII leaves other letters alone: some of them fold to those of ASCII and
// would make another domain pass for a known one.
func lowerASCII(s string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// List has addresses, or patterns of them. Nil means any.
type List []string

// Admits reports an address that is on the list. The domain is compared without
// case, the rest exactly, and a * stands for any characters of its side of the @.
func (list List) Admits(a Address) bool {
	for _, entry := range list {
		if entry == "*" {
			return true
		}
		local, domain, _ := strings.Cut(entry, "@")
		if sideMatches(local, a.Local) && sideMatches(lowerASCII(domain), a.Domain) {
			return true
		}
	}
	return false
}

// sideMatches compares one side of an address. The part that a * matches must be plain:
// some mail servers route by % and !, and some programs fold other letters.
func sideMatches(entry, side string) bool {
	if !strings.Contains(entry, "*") {
		return entry == side
	}
	if strings.ContainsFunc(side, notPlain) {
		return false
	}
	parts := strings.Split(entry, "*")
	first, last := parts[0], parts[len(parts)-1]
	rest, ok := strings.CutPrefix(side, first)
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, last)
}

func notPlain(c rune) bool { return c > unicode.MaxASCII || c == '%' || c == '!' }
