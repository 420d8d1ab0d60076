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

// MaxInput bounds a kept input, in bytes. A note replaces a longer one.
const MaxInput = 16 << 10

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
	switch {
	case len(input) == 0:
		return nil
	case len(input) > MaxInput:
		return note("the input has %d bytes, more than the %d that are kept", len(input), MaxInput)
	}
	value, problem := document.Parse(input, document.Limits{})
	if problem != nil {
		return note("the input is not JSON that can be kept")
	}
	kept := m.value(value).AppendJSON(nil)
	if len(kept) > MaxInput {
		return note("the masked input has %d bytes, more than the %d that are kept", len(kept), MaxInput)
	}
	return kept
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
