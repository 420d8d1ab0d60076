// Package mail reads the senders and recipients in the input of a tool that sends mail (S7.7, S21.13).
//
// It is pure, and it does not trust the form of an input: all that names a sender or a recipient counts, at any depth and
// in any spelling, because a tool may read any of it.
package mail

import (
	"bytes"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// Lists are the addresses that are allowed.
type Lists struct{ From, To List }

// Found has what an input says about mail.
type Found struct {
	// Count is how many mails are sent, at least 1: objects that name recipients.
	Count int64
	// Senders and Recipients are those that are named. Stray are addresses by names that are not known for either.
	Senders, Recipients, Stray []Address
	// Wrong says why the input must be refused, or is empty.
	Wrong string
}

// Read reads the input of a tool that sends mail, and holds it to the lists.
func Read(input []byte, lists Lists) Found {
	if len(input) == 0 {
		input = []byte("{}")
	}
	v, problem := document.Parse(input, document.Limits{Bytes: len(input)})
	if problem != nil || v.Kind() != document.Object {
		return Found{Wrong: "its input is not one JSON object"}
	}
	m := reader{lists: lists}
	m.object(v, nil, false)
	m.lines(v, nil, false)
	switch {
	case m.wrong != "":
	case lists.To != nil && m.count == 0:
		m.wrong = "its input names no recipient"
	case lists.From != nil && !m.from:
		m.wrong = "its input names no sender"
	}
	m.found.Count, m.found.Wrong = max(m.count, 1), m.wrong
	return m.found
}

// reader reads one input.
type reader struct {
	lists Lists
	found Found
	// count is how many emails are sent: objects that name recipients.
	count int64
	// from is true when a sender is named somewhere.
	from bool
	// wrong says why the call is denied, or is empty.
	wrong string
	// depth is how many texts that hold JSON the one that is read is in.
	depth int
	// inHeaders is true inside of a field that has headers.
	inHeaders bool
}

// object reads an object. sent is true when its parent names a sender.
func (m *reader) object(v document.Value, at *document.Path, sent bool) {
	means, n := m.pair(v, at)
	sent = sent || means == sender && n > 0
	recipients := means == recipient && n > 0
	for name, field := range v.Members() {
		switch meaningOf(name) {
		case sender:
			if m.addresses(field, at.Key(name), m.lists.From, "allowed_from") > 0 {
				sent, m.from = true, true
			}
		case recipient:
			recipients = m.addresses(field, at.Key(name), m.lists.To, "allowed_to") > 0 || recipients
		case either:
			recipients = m.texts(field, at.Key(name)) > 0 || recipients
		case unclear:
			m.setCause(at.Key(name), "only looks like the name of a sender or recipient; write the name in plain letters")
		default:
			switch {
			case isHeaders(name):
				recipients = m.headers(field, at.Key(name)) > 0 || recipients
			case !m.inHeaders && !isBody(name) && !isAside(name):
				m.strays(field, at.Key(name))
			}
		}
		m.stray(name, at)
	}
	if recipients {
		m.count++
		if !sent && m.lists.From != nil {
			m.setCause(at, "names recipients and no sender")
		}
	}
	before := m.inHeaders
	for name, field := range v.Members() {
		if means := meaningOf(name); means == neither || means == either {
			m.inHeaders = before || isHeaders(name)
			m.inside(field, at.Key(name), sent)
		}
	}
	m.inHeaders = before
}

// inside looks for further emails in a field that is not about addresses.
func (m *reader) inside(v document.Value, at *document.Path, sent bool) {
	switch v.Kind() {
	case document.Object:
		m.object(v, at, sent)
	case document.Array:
		for i, element := range v.Elements() {
			m.inside(element, at.At(i), sent)
		}
	case document.String:
		m.embedded(v.Str(), at, sent)
	default:
	}
}

// mostEmbedded is how many texts that hold JSON may be inside of each other.
const mostEmbedded = 8

// embedded reads the JSON that a text holds: a tool may send that text. Invalid JSON with addresses
// is in doubt.
func (m *reader) embedded(text string, at *document.Path, sent bool) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if text == "" || !strings.ContainsRune("{[\"", rune(text[0])) {
		return
	}
	v, problem := document.Parse([]byte(text), document.Limits{Bytes: len(text)})
	switch {
	case problem != nil:
		if text[0] != '"' && strings.Contains(text, ":") && (strings.Contains(text, "@") || strings.Contains(strings.ToLower(text), `\u0040`)) {
			m.setCause(at, "is a text that looks like JSON with addresses and cannot be read as JSON")
		}
	case m.depth == mostEmbedded:
		m.setCause(at, "has JSON inside of texts, too deep")
	default:
		m.depth++
		before := m.count
		m.inside(v, at, sent)
		if m.count > before {
			m.lines(v, at, false)
		}
		m.depth--
	}
}

// texts returns the recipients in a field that may as well hold whole emails.
func (m *reader) texts(v document.Value, at *document.Path) int {
	switch v.Kind() {
	case document.String:
		return m.addresses(v, at, m.lists.To, "allowed_to")
	case document.Array:
		n := 0
		for i, element := range v.Elements() {
			n += m.texts(element, at.At(i))
		}
		return n
	default:
		return 0
	}
}

// addresses holds a field to a list and returns how many addresses it has.
func (m *reader) addresses(v document.Value, at *document.Path, allowed List, list string) int {
	switch v.Kind() {
	case document.Null:
		return 0
	case document.Array:
		n := 0
		for i, element := range v.Elements() {
			n += m.addresses(element, at.At(i), allowed, list)
		}
		return n
	case document.Object:
		return m.named(v, at, allowed, list)
	case document.String:
		a, ok := ParseAddress(v.Str())
		switch {
		case v.Str() == "":
			return 0
		case !ok:
			m.setCause(at, "has "+document.Quote(v.Str())+", which is not one address (write name@example.com, one in each item of a list)")
		case allowed != nil && !allowed.Admits(a):
			m.note(a, list)
			m.setCause(at, "has "+document.Quote(v.Str())+", which is not in \""+list+"\"")
		default:
			m.note(a, list)
		}
		return 1
	default:
		m.setCause(at, "is not an address")
		return 1
	}
}

// note keeps an address that is named for a list.
func (m *reader) note(a Address, list string) {
	if list == "allowed_from" {
		m.found.Senders = append(m.found.Senders, a)
	} else {
		m.found.Recipients = append(m.found.Recipients, a)
	}
}

// named reads an address with a name next to it: {"name": ..., "email": ...}.
func (m *reader) named(v document.Value, at *document.Path, allowed List, list string) int {
	n := 0
	for name, field := range v.Members() {
		switch folded(name) {
		case "email", "address", "emailaddress":
			n += m.addresses(field, at.Key(name), allowed, list)
		case "name", "displayname":
		default:
			m.setCause(at.Key(name), "is not part of an address")
		}
	}
	if n == 0 {
		m.setCause(at, "has no address")
	}
	return n
}

func (m *reader) setCause(at *document.Path, why string) {
	if m.wrong == "" {
		m.wrong = "its input " + why
		if at != nil {
			m.wrong = document.Quote(at.String()) + " of " + m.wrong
		}
	}
}

// Tools that send email, where a policy does not name them: all tools of servers that
// have emailServer in their names, as a plugin's server has, and tools whose names end
// with emailTool on any server. Other tools are only restricted.
const (
	emailServer = "resend"
	emailTool   = "resend-email"
)

// Sends reports the capability of a tool that is known to send mail.
func Sends(capability []byte) bool {
	kind, rest, _ := bytes.Cut(capability, []byte(":"))
	server, tool := []byte(nil), rest
	if string(kind) == "mcp" {
		at := bytes.LastIndexByte(rest, ':')
		server, tool = rest[:max(at, 0)], rest[at+1:]
	}
	return hasInside(server, emailServer) || endsWith(tool, emailTool)
}

// hasInside reports a text that has another one in it, in either case.
func hasInside(text []byte, part string) bool {
	for i := 0; i+len(part) <= len(text); i++ {
		if strings.EqualFold(string(text[i:i+len(part)]), part) {
			return true
		}
	}
	return false
}

// endsWith reports the end of a name, in either case, with _ or - in it.
func endsWith(name []byte, end string) bool {
	if len(name) < len(end) {
		return false
	}
	for i, c := range name[len(name)-len(end):] {
		switch {
		case c == '_':
			c = '-'
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if c != end[i] {
			return false
		}
	}
	return true
}
