package app

import (
	"fmt"
	"sync"

	"github.com/interlock-run/interlock/pkg/document"
)

// masked stands for what the log of decisions does not keep.
const masked = "[masked]"

// maxInput is the most of an input that a record keeps, in bytes. Of a longer one it
// keeps a note.
const maxInput = 16 << 10

// DefaultMaskKeys are names of secrets, as NewMasks reads them.
func DefaultMaskKeys() []string {
	return []string{
		"password", "passwd", "pwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey", "signingkey", "encryptionkey",
		"credential", "authorization", "cookie", "connectionstring", "=pass", "=pin", "=otp", "=auth", "=xauth", "dbpass",
		"pass=", "key=",
	}
}

// Masks are what the log of decisions does not keep of inputs. The zero Masks are
// the defaults.
type Masks struct {
	made     bool
	names    maskNames
	patterns []maskPattern
}

var defaultMasks = sync.OnceValue(func() Masks { return mustMasks(DefaultMaskKeys(), DefaultMaskPatterns()) })

func mustMasks(keys, patterns []string) Masks {
	m, err := NewMasks(keys, patterns)
	if err != nil {
		panic(err)
	}
	return m
}

// NewMasks makes masks of names and of patterns (RE2). A name is part of those of
// members, in whatever case, with or without dashes and underscores; "=pin" is a whole
// one, and "key=" is part of what a text assigns by =, in addition to those. Of what a pattern
// matches in a text all is masked, or what its group "secret" does.
func NewMasks(names, patterns []string) (Masks, error) {
	m := Masks{made: true}
	for _, name := range names {
		if err := m.names.add(name); err != nil {
			return Masks{}, err
		}
	}
	for _, text := range patterns {
		pattern, err := newMaskPattern(text)
		if err != nil {
			return Masks{}, err
		}
		m.patterns = append(m.patterns, pattern)
	}
	return m, nil
}

// Input is what the log keeps of an input: the same JSON without what the masks
// match, or a note when it is none, or too long. It is nil for no input.
func (m Masks) Input(input []byte) []byte {
	m = m.orDefault()
	switch {
	case len(input) == 0:
		return nil
	case len(input) > maxInput:
		return note("the input has %d bytes, more than the %d that are kept", len(input), maxInput)
	}
	value, problem := document.Parse(input, document.Limits{})
	if problem != nil {
		return note("the input is not JSON that can be kept")
	}
	kept := m.value(value).AppendJSON(nil)
	if len(kept) > maxInput {
		return note("the masked input has %d bytes, more than the %d that are kept", len(kept), maxInput)
	}
	return kept
}

// Text is what the log keeps of a text that may quote an input, such as a message.
func (m Masks) Text(s string) string {
	if len(s) > maxInput {
		return fmt.Sprintf("the text has %d bytes, more than the %d that are kept", len(s), maxInput)
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

// omitted is the one member of a note.
const omitted = "[omitted]"

func note(format string, args ...any) []byte {
	return document.ObjectValue([]document.Member{
		{Name: omitted, Value: document.StringValue(fmt.Sprintf(format, args...))},
	}).AppendJSON(nil)
}

// maskText is a text without what the patterns match.
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
