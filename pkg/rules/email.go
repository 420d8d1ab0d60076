package rules

import (
	"bytes"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// emailRules are email_config, compiled (S7.7).
type emailRules struct {
	// named is true when the policy names its email tools.
	named    bool
	from, to addressList
	limit    *limit // nil for none
	by       *Source
}

func compileEmail(e *EmailLimits, by *Source) *emailRules {
	compiled := &emailRules{named: e.Tools != nil, from: e.AllowedFrom, to: e.AllowedTo, by: by}
	if e.Limited {
		compiled.limit = &limit{account: Account{Measure: Emails, Scope: PerSession}, max: e.MaxPerSession, by: by}
	}
	return compiled
}

// covers reports a capability that sends email.
func (e *emailRules) covers(said *outcome, capability []byte) bool {
	if e.named {
		return said.email
	}
	return sendsEmail(capability)
}

// mail has the senders and recipients of an input.
type mail struct {
	rules *emailRules
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

// check reads a call's input. wrong says why it must be denied, or is empty. All that
// names a sender or a recipient is held to the lists, at any depth and in any spelling: a
// tool may read any of it.
func (e *emailRules) check(input []byte) (count int64, wrong string) {
	if len(input) == 0 {
		input = []byte("{}")
	}
	v, problem := document.Parse(input, document.Limits{Bytes: len(input)})
	if problem != nil || v.Kind() != document.Object {
		return 0, "its input is not one JSON object"
	}
	m := mail{rules: e}
	m.object(v, nil, false)
	m.lines(v, nil, false)
	switch {
	case m.wrong != "":
	case e.to != nil && m.count == 0:
		m.wrong = "its input names no recipient"
	case e.from != nil && !m.from:
		m.wrong = "its input names no sender"
	}
	return max(m.count, 1), m.wrong
}

// object reads an object. sent is true when its parent names a sender.
func (m *mail) object(v document.Value, at *document.Path, sent bool) {
	means, n := m.pair(v, at)
	sent = sent || means == sender && n > 0
	recipients := means == recipient && n > 0
	for name, field := range v.Members() {
		switch meaningOf(name) {
		case sender:
			if m.addresses(field, at.Key(name), m.rules.from, "allowed_from") > 0 {
				sent, m.from = true, true
			}
		case recipient:
			recipients = m.addresses(field, at.Key(name), m.rules.to, "allowed_to") > 0 || recipients
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
		if !sent && m.rules.from != nil {
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
func (m *mail) inside(v document.Value, at *document.Path, sent bool) {
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
func (m *mail) embedded(text string, at *document.Path, sent bool) {
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
func (m *mail) texts(v document.Value, at *document.Path) int {
	switch v.Kind() {
	case document.String:
		return m.addresses(v, at, m.rules.to, "allowed_to")
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
func (m *mail) addresses(v document.Value, at *document.Path, allowed addressList, list string) int {
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
		a, ok := parseAddress(v.Str())
		switch {
		case v.Str() == "":
			return 0
		case !ok:
			m.setCause(at, "has "+document.Quote(v.Str())+", which is not one address (write name@example.com, one in each item of a list)")
		case allowed != nil && !allowed.admits(a):
			m.setCause(at, "has "+document.Quote(v.Str())+", which is not in \""+list+"\"")
		}
		return 1
	default:
		m.setCause(at, "is not an address")
		return 1
	}
}

// named reads an address with a name next to it: {"name": ..., "email": ...}.
func (m *mail) named(v document.Value, at *document.Path, allowed addressList, list string) int {
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

func (m *mail) setCause(at *document.Path, why string) {
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

func sendsEmail(capability []byte) bool {
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
