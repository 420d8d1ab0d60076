package pathglob

import "strings"

// Meet returns a name that both patterns match where case does not count, in lower case where that is possible. When it is
// false, no name matches both, in any case: that is certain. Of parts with ?, [, \ or letters beyond ASCII, it takes
// every name for one that matches.
func (g Glob) Meet(other Glob) (name string, ok bool) {
	for _, a := range g.alternatives {
		for _, b := range other.alternatives {
			m := meeting[segment]{a: a, b: b, open: segment.open, both: bothSegments}
			if parts, ok := m.from(0, 0); ok {
				return strings.Join(parts, "/"), true
			}
		}
	}
	return "", false
}

// Folders returns a pattern of the folders below which the pattern matches every name.
func (g Glob) Folders() Glob {
	var all Glob
	for _, pattern := range g.alternatives {
		if end := len(pattern) - 2; end > 0 && pattern[end].kind == folders && pattern[end+1].text == "*" {
			all.alternatives = append(all.alternatives, pattern[:end])
		}
	}
	return all
}

// meeting searches a text that two sequences of parts have in common. Open parts stand for any number of others.
type meeting[T any] struct {
	a, b []T
	open func(T) bool
	// both returns a text that two parts match which are not open.
	both func(a, b T) (string, bool)
	fail map[[2]int]bool
}

// from returns the texts of the parts from a place in each sequence on.
func (m *meeting[T]) from(i, j int) ([]string, bool) {
	if i == len(m.a) && j == len(m.b) {
		return nil, true
	}
	if m.fail[[2]int{i, j}] {
		return nil, false
	}
	var texts []string
	var ok bool
	switch {
	case i < len(m.a) && m.open(m.a[i]):
		if texts, ok = m.from(i+1, j); !ok {
			texts, ok = m.after(m.b, j, i, j+1)
		}
	case j < len(m.b) && m.open(m.b[j]):
		if texts, ok = m.from(i, j+1); !ok {
			texts, ok = m.after(m.a, i, i+1, j)
		}
	case i < len(m.a) && j < len(m.b):
		if text, both := m.both(m.a[i], m.b[j]); both {
			texts, ok = m.from(i+1, j+1)
			texts = append([]string{text}, texts...)
		}
	}
	if ok {
		return texts, true
	}
	if m.fail == nil {
		m.fail = map[[2]int]bool{}
	}
	m.fail[[2]int{i, j}] = true
	return nil, false
}

// after returns a text of one part, none for an open one, and those that follow.
func (m *meeting[T]) after(parts []T, at, i, j int) ([]string, bool) {
	if at == len(parts) {
		return nil, false
	}
	var texts []string
	if !m.open(parts[at]) {
		text, ok := m.both(parts[at], parts[at])
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	rest, ok := m.from(i, j)
	return append(texts, rest...), ok
}

func (s segment) open() bool { return s.kind == folders }

// bothSegments returns a part of a name that two segments match.
func bothSegments(a, b segment) (string, bool) {
	m := meeting[rune]{a: a.characters(), b: b.characters(), open: func(c rune) bool { return c == '*' }, both: func(a, b rune) (string, bool) {
		return strings.ToLower(string(a)), a == b
	}}
	texts, ok := m.from(0, 0)
	if ok && len(texts) == 0 {
		return "x", true
	}
	return strings.Join(texts, ""), ok
}

// characters returns those of the segment without case, and * for any number of characters.
func (s segment) characters() []rune {
	for i := range len(s.folded) {
		if c := s.folded[i]; c == '?' || c == '[' || c == '\\' || c >= 0x80 {
			return []rune{'*'}
		}
	}
	return []rune(s.folded)
}
