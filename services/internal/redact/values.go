package redact

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// value masks the secrets of a JSON value.
func (m *Masks) value(v document.Value) document.Value {
	switch v.Kind() {
	case document.String:
		return document.StringValue(m.maskText(v.Str()))
	case document.Array:
		return m.array(v)
	case document.Object:
		return m.object(v)
	default:
		return v
	}
}

func (m *Masks) object(v document.Value) document.Value {
	pair := m.namesSecret(v)
	members := make([]document.Member, 0, v.Len())
	for name, member := range v.Members() {
		kept := document.Member{Name: m.maskText(name), Value: document.StringValue(masked)}
		if !m.names.hide(name) && (!pair || !holdsValue(name)) {
			kept.Value = m.value(member)
		}
		members = append(members, kept)
	}
	return document.ObjectValue(members)
}

// namesSecret reports whether an object names a secret that another of its members holds, such as
// {"name": "DB_PASSWORD", "value": "..."}.
func (m *Masks) namesSecret(v document.Value) bool {
	for name, member := range v.Members() {
		switch foldedName(name) {
		case "name", "key", "header", "field", "variable", "var":
			if member.Kind() == document.String && m.names.hide(member.Str()) {
				return true
			}
		default:
		}
	}
	return false
}

// holdsValue reports whether a member holds the value in such an object.
func holdsValue(name string) bool {
	switch foldedName(name) {
	case "value", "values", "val", "content", "data", "text", "default":
		return true
	default:
		return false
	}
}

// array masks the element after the name of a secret: in a pair ["Authorization", "..."], and in
// arguments ["--password", "..."].
func (m *Masks) array(v document.Value) document.Value {
	elements := make([]document.Value, 0, v.Len())
	hidden := false
	for _, e := range v.Elements() {
		kept := m.value(e)
		if hidden {
			kept = document.StringValue(masked)
		}
		hidden = !hidden && e.Kind() == document.String && (v.Len() == 2 || strings.HasPrefix(e.Str(), "-")) && m.introduces(e.Str())
		elements = append(elements, kept)
	}
	return document.ArrayValue(elements)
}

// introduces reports whether a text consists of the name of a secret only.
func (m *Masks) introduces(s string) bool {
	return !strings.ContainsAny(s, "=: \t\r\n") && m.names.hide(strings.TrimLeft(s, "-"))
}
