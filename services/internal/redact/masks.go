// Package redact removes secrets from inputs and texts before they are logged. It is pure.
package redact

import (
	"fmt"
	"sync"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

const (
	masked  = toolinput.MaskedMark
	omitted = toolinput.OmittedMark
)

const (
	// MaxInput bounds a kept input, in bytes. A longer one loses its long texts; a note replaces one that is too long without
	// them.
	MaxInput = 16 << 10
	// longText is the length in bytes above which a text is left out of an input that is too long.
	longText = 1 << 10
)

// DefaultNames returns the default names of secrets, in the form that New reads.
func DefaultNames() []string {
	return []string{
		"password", "passwd", "pwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey", "signingkey", "encryptionkey",
		"credential", "authorization", "cookie", "connectionstring", "=pass", "=pin", "=otp", "=auth", "=xauth", "dbpass",
		"pass=", "key=",
	}
}

// Masks finds secrets by the names of members and by patterns in texts. The zero value has the defaults.
type Masks struct {
	made     bool
	names    names
	patterns []pattern
}

var defaultMasks = sync.OnceValue(func() Masks { return mustNew(DefaultNames(), DefaultPatterns()) })

func mustNew(keys, patterns []string) Masks {
	m, err := New(keys, patterns)
	if err != nil {
		panic(err)
	}
	return m
}

// New compiles masks from names and patterns (RE2). A name matches any part of a member's
// name; case, dashes and underscores do not count. "=pin" matches a whole name only. "key="
// matches only names that a text assigns a value to with =. A pattern masks its whole match, or
// its group "secret" if it has one.
func New(names, patterns []string) (Masks, error) {
	m := Masks{made: true}
	for _, name := range names {
		if err := m.names.add(name); err != nil {
			return Masks{}, err
		}
	}
	for _, text := range patterns {
		pattern, err := newPattern(text)
		if err != nil {
			return Masks{}, err
		}
		m.patterns = append(m.patterns, pattern)
	}
	return m, nil
}

// Input returns the JSON input with its secrets masked. It returns a note for an input that is not
// JSON or is too long, and nil for no input.
func (m Masks) Input(input []byte) []byte {
	m = m.orDefault()
	if len(input) == 0 {
		return nil
	}
	value, problem := document.Parse(input, document.Limits{})
	if problem != nil {
		return note("the input is not JSON that can be kept")
	}
	if len(input) > MaxInput {
		value = withoutLong(value)
		if len(value.AppendJSON(nil)) > MaxInput {
			return note("the input has %d bytes, more than the %d that are kept", len(input), MaxInput)
		}
	}
	kept := m.value(value).AppendJSON(nil)
	if len(kept) > MaxInput {
		return note("the masked input has %d bytes, more than the %d that are kept", len(kept), MaxInput)
	}
	return kept
}

// withoutLong returns a value with a note in place of each long text. The whole text goes, because a part of a secret
// would not be masked.
func withoutLong(v document.Value) document.Value {
	switch v.Kind() {
	case document.String:
		if n := len(v.Str()); n > longText {
			return document.StringValue(fmt.Sprintf("%s %d bytes", omitted, n))
		}
		return v
	case document.Array:
		elements := make([]document.Value, 0, v.Len())
		for _, e := range v.Elements() {
			elements = append(elements, withoutLong(e))
		}
		return document.ArrayValue(elements)
	case document.Object:
		members := make([]document.Member, 0, v.Len())
		for name, member := range v.Members() {
			members = append(members, document.Member{Name: name, Value: withoutLong(member)})
		}
		return document.ObjectValue(members)
	default:
		return v
	}
}

// Text returns a text, such as a message that quotes an input, with its secrets masked.
func (m Masks) Text(s string) string {
	if len(s) > MaxInput {
		return fmt.Sprintf("the text has %d bytes, more than the %d that are kept", len(s), MaxInput)
	}
	m = m.orDefault()
	return m.maskText(s)
}

func (m Masks) orDefault() Masks {
	if !m.made {
		return defaultMasks()
	}
	return m
}

func note(format string, args ...any) []byte {
	return document.ObjectValue([]document.Member{
		{Name: omitted, Value: document.StringValue(fmt.Sprintf(format, args...))},
	}).AppendJSON(nil)
}

// maskText masks the matches of the patterns, and the values that follow the names.
func (m *Masks) maskText(s string) string {
	folded := fold(s)
	for i := range m.patterns {
		if kept := m.patterns[i].mask(s, folded); kept != s {
			s, folded = kept, fold(kept)
		}
	}
	if len(m.names.parts)+len(m.names.whole)+len(m.names.assigned) == 0 {
		return s
	}
	return m.names.maskText(s)
}
