package workflow

import (
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// segment is one step of a path: a key, and the index that it is in an array.
type segment struct {
	key   string
	index int // -1 when it cannot be one
}

// pathOf compiles a field that may be more than a top-level key: a JSON Pointer
// when it begins with a slash, else a dotted path.
func pathOf(field string) []segment {
	var parts []string
	pointer := strings.HasPrefix(field, "/")
	switch {
	case pointer:
		parts = strings.Split(field[1:], "/")
	case strings.Contains(field, "."):
		parts = strings.Split(field, ".")
	default:
		return nil
	}
	path := make([]segment, len(parts))
	for i, part := range parts {
		if pointer {
			key, ok := document.UnescapeSegment(part)
			if !ok {
				return nil // has no name
			}
			part = key
		}
		path[i] = segment{key: part, index: indexOf(part)}
	}
	return path
}

// indexOf reads an array index as RFC 6901 has it: no sign, no leading zero.
func indexOf(s string) int {
	if s == "" || len(s) > 9 || len(s) > 1 && s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return -1
	}
	i, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return i
}

// lookup finds the field. A top-level key of exactly that name wins over a path.
func (p *predicate) lookup(context document.Value) document.Value {
	if v, ok := context.Get(p.field); ok {
		return v
	}
	if p.path == nil {
		return document.Value{}
	}
	v := context
	for _, s := range p.path {
		switch v.Kind() {
		case document.Object:
			v, _ = v.Get(s.key)
		case document.Array:
			v = v.Index(s.index)
		default:
			return document.Value{}
		}
	}
	return v
}

// topKey returns the top-level key of the context that a field reads.
func topKey(field string) string {
	if path := pathOf(field); path != nil {
		return path[0].key
	}
	return field
}

// FieldPath returns the path that the field of a guard takes where the context has no
// top-level key of its name, or nil when it takes none (S2.5).
func FieldPath(field string) []string {
	var path []string
	for _, s := range pathOf(field) {
		path = append(path, s.key)
	}
	return path
}

// LookupField returns the value that the field of a guard reads in a context; missing
// when there is none.
func LookupField(context document.Value, field string) document.Value {
	return newPredicate(&Guard{Field: field}).lookup(context)
}
