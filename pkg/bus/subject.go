package bus

import (
	"errors"
	"fmt"
	"strings"
)

// Root is the first token of every subject.
const Root = "interlock"

// TypePrefix begins the CloudEvents type of every event, followed by its entity and its type.
const TypePrefix = "run.interlock."

// MaxSubjectBytes is the longest subject that is published. NATS refuses a
// control line (subject, reply, sizes) of more than 4096 bytes.
const MaxSubjectBytes = 3072

// ErrSubject is the error for a subject that cannot be built or read.
var ErrSubject = errors.New("bus: bad subject")

// Subject names the object of an event: `interlock.<namespace>.<entity>.<id>.<type>`. The
// fields hold plain text; the tokens on the wire are escaped by Token.
type Subject struct {
	Namespace string
	// Entity is the kind: "run", "toolcall", "workflow".
	Entity string
	ID     string
	// Type is the kind of event: "transitioned", or in several tokens "interrupt.fired".
	Type string
}

// String returns the subject as it is published.
func (s Subject) String() string {
	return Root + "." + Token(s.Namespace) + "." + Token(s.Entity) + "." + Token(s.ID) + "." + typeTokens(s.Type, '%')
}

// typeTokens escapes a type, whose dots part tokens.
func typeTokens(name string, mark byte) string {
	if strings.IndexByte(name, '.') < 0 {
		return escape(name, mark)
	}
	tokens := strings.Split(name, ".")
	for i, token := range tokens {
		if token == "" {
			return escape(name, mark) // NATS has no empty tokens
		}
		tokens[i] = escape(token, mark)
	}
	return strings.Join(tokens, ".")
}

// Filter returns the subject to subscribe to: an empty field matches anything.
func (s Subject) Filter() string {
	token := func(field string) string {
		if field == "" {
			return "*"
		}
		return Token(field)
	}
	kind := ">" // types have one token or more
	if s.Type != "" {
		kind = typeTokens(s.Type, '%')
	}
	return Root + "." + token(s.Namespace) + "." + token(s.Entity) + "." + token(s.ID) + "." + kind
}

// ParseSubject reads the output of String. Its error is ErrSubject.
func ParseSubject(subject string) (Subject, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 5 || tokens[0] != Root {
		return Subject{}, fmt.Errorf("%w: %q is not %s.<namespace>.<entity>.<id>.<type>", ErrSubject, subject, Root)
	}
	for i, token := range tokens {
		text, err := Untoken(token)
		if err != nil {
			return Subject{}, err
		}
		if text == "" {
			return Subject{}, fmt.Errorf("%w: %q has an empty token", ErrSubject, subject)
		}
		tokens[i] = text
	}
	s := Subject{Namespace: tokens[1], Entity: tokens[2], ID: tokens[3], Type: strings.Join(tokens[4:], ".")}
	if s.String() != subject {
		return Subject{}, fmt.Errorf("%w: %q is not escaped as it should be", ErrSubject, subject)
	}
	return s, nil
}

// lane returns the key of events that must keep their order. It is the namespace and the
// id, regardless of the entity, so that a run's transitions and the decisions on its tool
// calls keep theirs too. A subject of another form is a lane of its own.
func lane(subject string) string {
	rest, ok := strings.CutPrefix(subject, Root+".")
	if !ok {
		return subject
	}
	namespace, rest, _ := strings.Cut(rest, ".")
	_, rest, ok = strings.Cut(rest, ".")
	id, _, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 {
		return subject
	}
	return namespace + "." + id
}

// Token escapes text as one token of a NATS subject: every byte outside
// [A-Za-z0-9_-] becomes %XX with upper-case hex digits, as RFC 3986 section 2.1
// has it. Two texts never share a token.
func Token(text string) string { return escape(text, '%') }

// Untoken reverses Token. It accepts only the output of Token.
func Untoken(token string) (string, error) {
	if strings.IndexByte(token, '%') < 0 && escape(token, '%') == token {
		return token, nil
	}
	out := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c != '%' {
			out = append(out, c)
			continue
		}
		if i+2 >= len(token) {
			return "", fmt.Errorf("%w: token %q ends inside an escape", ErrSubject, token)
		}
		high, low := unhex(token[i+1]), unhex(token[i+2])
		if high < 0 || low < 0 {
			return "", fmt.Errorf("%w: token %q has a bad escape", ErrSubject, token)
		}
		out = append(out, byte(high<<4|low))
		i += 2
	}
	if Token(string(out)) != token {
		return "", fmt.Errorf("%w: token %q is not escaped as it should be", ErrSubject, token)
	}
	return string(out), nil
}

const hexDigits = "0123456789ABCDEF"

// escape writes every byte outside [A-Za-z0-9_-] as mark and two hex digits.
func escape(text string, mark byte) string {
	bad := 0
	for i := range len(text) {
		if !plain(text[i]) {
			bad++
		}
	}
	if bad == 0 {
		return text
	}
	out := make([]byte, 0, len(text)+2*bad)
	for i := range len(text) {
		if c := text[i]; plain(c) {
			out = append(out, c)
		} else {
			out = append(out, mark, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(out)
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func unhex(c byte) int { return strings.IndexByte(hexDigits, c) }
