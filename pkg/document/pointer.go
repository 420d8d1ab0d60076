package document

import (
	"strconv"
	"strings"
)

// Lookup returns what an RFC 6901 pointer names in v. The empty pointer is v
// itself; a pointer that is not well formed names nothing.
func Lookup(v Value, pointer string) (Value, bool) {
	if pointer == "" {
		return v, !v.IsZero()
	}
	if pointer[0] != '/' {
		return Value{}, false
	}
	for rest := pointer; rest != ""; {
		var segment string
		segment, rest = cutSegment(rest)
		child, ok := step(v, segment)
		if !ok {
			return Value{}, false
		}
		v = child
	}
	return v, true
}

func step(v Value, segment string) (Value, bool) {
	switch v.kind {
	case Object:
		name, ok := UnescapeSegment(segment)
		if !ok {
			return Value{}, false
		}
		return v.Get(name)
	case Array:
		i, ok := arrayIndex(segment)
		if !ok || i >= v.Len() {
			return Value{}, false
		}
		return v.Index(i), true
	default:
		return Value{}, false
	}
}

// arrayIndex reads an index as RFC 6901 section 4 has it: no sign, no leading
// zero.
func arrayIndex(segment string) (int, bool) {
	if segment == "" || len(segment) > 9 || leadingDigits(segment) != len(segment) || len(segment) > 1 && segment[0] == '0' {
		return 0, false
	}
	i, err := strconv.Atoi(segment)
	return i, err == nil
}

// EscapeSegment writes a key as one segment of a pointer: ~ as ~0, / as ~1.
func EscapeSegment(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// UnescapeSegment reads one segment of a pointer. It answers false when a ~ is
// followed by neither 0 nor 1.
func UnescapeSegment(segment string) (string, bool) {
	if !strings.Contains(segment, "~") {
		return segment, true
	}
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		if segment[i] != '~' {
			b.WriteByte(segment[i])
			continue
		}
		i++
		switch {
		case i < len(segment) && segment[i] == '0':
			b.WriteByte('~')
		case i < len(segment) && segment[i] == '1':
			b.WriteByte('/')
		default:
			return "", false
		}
	}
	return b.String(), true
}

// Pointer joins keys to a pointer.
func Pointer(keys ...string) string {
	var b strings.Builder
	for _, k := range keys {
		b.WriteByte('/')
		b.WriteString(EscapeSegment(k))
	}
	return b.String()
}

// Path is a place in a document while it is read. It costs nothing to extend,
// and becomes a pointer only when there is a problem to report. A nil Path is
// the whole document.
type Path struct {
	up    *Path
	name  string
	index int // when name is not used: -1 says that it is
}

// Key returns the path of the member called name.
func (p *Path) Key(name string) *Path { return &Path{up: p, name: name, index: -1} }

// At returns the path of element i.
func (p *Path) At(i int) *Path { return &Path{up: p, index: i} }

// Up returns the path of what holds it, nil for the whole document.
func (p *Path) Up() *Path {
	if p == nil {
		return nil
	}
	return p.up
}

// String writes the path as an RFC 6901 pointer.
func (p *Path) String() string {
	var segments []string
	for ; p != nil; p = p.up {
		if p.index >= 0 {
			segments = append(segments, strconv.Itoa(p.index))
		} else {
			segments = append(segments, EscapeSegment(p.name))
		}
	}
	var b strings.Builder
	for i := len(segments) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(segments[i])
	}
	return b.String()
}
