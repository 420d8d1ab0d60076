package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// masked stands for what the log of decisions does not keep.
const masked = "[masked]"

// maxInput is the most of an input that a record keeps, in bytes. Of a longer one it
// keeps a note.
const maxInput = 16 << 10

// DefaultMaskKeys are parts of the names of members whose values are secrets.
func DefaultMaskKeys() []string {
	return []string{"password", "passwd", "secret", "token", "api_key", "api-key", "apikey", "authorization", "cookie", "private_key"}
}

// Masks are what the log of decisions does not keep of inputs. The zero Masks are
// the defaults.
type Masks struct {
	keys     []string
	patterns []maskPattern
}

var defaultMasks = mustMasks(DefaultMaskKeys(), DefaultMaskPatterns())

func mustMasks(keys, patterns []string) Masks {
	m, err := NewMasks(keys, patterns)
	if err != nil {
		panic(err)
	}
	return m
}

// NewMasks makes masks of parts of members' names, in whatever case, and of patterns
// (RE2) of text.
func NewMasks(keys, patterns []string) (Masks, error) {
	m := Masks{keys: []string{}}
	for _, key := range keys {
		if key == "" {
			return Masks{}, errors.New("an empty mask would match every name; remove it")
		}
		m.keys = append(m.keys, strings.ToLower(key))
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
	if m.keys == nil {
		m = defaultMasks
	}
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

// omitted is the one member of a note.
const omitted = "[omitted]"

func note(format string, args ...any) []byte {
	return document.ObjectValue([]document.Member{
		{Name: omitted, Value: document.StringValue(fmt.Sprintf(format, args...))},
	}).AppendJSON(nil)
}

// value is a value without what the masks match.
func (m *Masks) value(v document.Value) document.Value {
	switch v.Kind() {
	case document.String:
		return document.StringValue(m.text(v.Str()))
	case document.Array:
		elements := make([]document.Value, 0, v.Len())
		for _, e := range v.Elements() {
			elements = append(elements, m.value(e))
		}
		return document.ArrayValue(elements)
	case document.Object:
		members := make([]document.Member, 0, v.Len())
		for name, member := range v.Members() {
			kept := document.Member{Name: m.text(name), Value: document.StringValue(masked)}
			if !m.hides(name) {
				kept.Value = m.value(member)
			}
			members = append(members, kept)
		}
		return document.ObjectValue(members)
	default:
		return v
	}
}

// hides reports a name whose value is a secret.
func (m *Masks) hides(name string) bool {
	name = strings.ToLower(name)
	for _, key := range m.keys {
		if strings.Contains(name, key) {
			return true
		}
	}
	return false
}

func (m *Masks) text(s string) string {
	folded := fold(s)
	for i := range m.patterns {
		if kept := m.patterns[i].mask(s, folded); kept != s {
			s, folded = kept, fold(kept)
		}
	}
	return s
}
