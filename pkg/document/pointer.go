package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Lookup returns the value that an RFC 6901 pointer names in v. The empty pointer is v
// itself; a pointer that is not well formed has no value.
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
	name, ok := UnescapeSegment(segment)
	if !ok {
		return Value{}, false
	}
	i := v.placeOf(name)
	return v.childAt(i), i >= 0
}

// placeOf returns the place of the child that an unescaped segment names, or -1.
func (v Value) placeOf(segment string) int {
	switch v.kind {
	case Object:
		return v.find(segment)
	case Array:
		if i, ok := arrayIndex(segment); ok && i < v.Len() {
			return i
		}
	}
	return -1
}

// childAt returns the element or member value at a place, or Missing at -1.
func (v Value) childAt(i int) Value {
	if i < 0 {
		return Value{}
	}
	if v.kind == Object {
		return v.tree.members[i].Value
	}
	return v.tree.elements[i]
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

// UnescapeSegment reads one segment of a pointer. It returns false when a ~ is
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

// pointer is an RFC 6901 pointer that is well formed.
type pointer struct {
	text     string
	segments []string // unescaped
}

// readPointer returns the problem with a text that is not a pointer, and how to fix it.
func readPointer(text string) (pointer, string) {
	p := pointer{text: text}
	if text == "" {
		return p, ""
	}
	if text[0] != '/' {
		return p, fmt.Sprintf(`%s, which is not a pointer; begin it with /, or write "" for the whole document`, Quote(text))
	}
	p.segments = make([]string, 0, strings.Count(text, "/"))
	for rest := text; rest != ""; {
		var segment string
		segment, rest = cutSegment(rest)
		name, ok := UnescapeSegment(segment)
		if !ok {
			return p, fmt.Sprintf("%s, which is not a pointer; write ~ as ~0, and / within a name as ~1", Quote(text))
		}
		p.segments = append(p.segments, name)
	}
	return p, ""
}

// holds reports whether q is p or lies within it.
func (p pointer) holds(q pointer) bool {
	return len(p.segments) <= len(q.segments) && slices.Equal(p.segments, q.segments[:len(p.segments)])
}

// Select reads the parts of doc that RFC 6901 pointers name: value i is the one that
// pointer i names, Missing when there is a problem with it (POINTER, PATH_MISSING).
func Select(doc Value, pointers []string) ([]Value, Problems) {
	values := make([]Value, len(pointers))
	var problems Report
	for i, text := range pointers {
		p, malformed := readPointer(text)
		if malformed != "" {
			problems.Add(Problem{Pointer: text, Code: CodePointer, Severity: SeverityError, Message: "is " + malformed})
			continue
		}
		v, ok := Lookup(doc, text)
		if !ok {
			problems.Add(Problem{
				Pointer: text, Code: CodePathMissing, Severity: SeverityError,
				Message: absenceIn(doc, p.segments).message(&problems),
			})
			continue
		}
		values[i] = v
	}
	return values, problems.Problems()
}

// Path is a place in a document while it is read. It is free to extend, and becomes a
// pointer only when there is a problem to report. A nil Path is the whole document.
type Path struct {
	up    *Path
	name  string
	index int // when name is not used: -1 says that it is
}

// Key returns the path of the member called name.
func (p *Path) Key(name string) *Path { return &Path{up: p, name: name, index: -1} }

// At returns the path of element i.
func (p *Path) At(i int) *Path { return &Path{up: p, index: i} }

// Up returns the path of its parent, nil for the whole document.
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
