package condition

import (
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/visible"
)

// pointer is a JSON pointer in which * stands for every element of a list.
type pointer []segment

// segment is one step of a pointer.
type segment struct {
	name     string
	skeleton string // how it looks: visible.Skeleton
	plain    bool   // it has only printable ASCII
	star     bool
}

// starred reports a pointer that leads to more than one value.
func (p pointer) starred() bool {
	for i := range p {
		if p[i].star {
			return true
		}
	}
	return false
}

// readSegments returns the steps of a pointer; ok is false when a ~ is not followed by 0 or 1.
func readSegments(text string) (p pointer, ok bool) {
	for part := range strings.SplitSeq(text[1:], "/") {
		name, ok := document.UnescapeSegment(part)
		if !ok {
			return nil, false
		}
		p = append(p, segment{name: name, skeleton: visible.Skeleton(name), plain: isPlain(name), star: part == "*"})
	}
	return p, true
}

// walk goes along a pointer and judges, or counts, the values at its end.
type walk struct {
	stance   Stance
	tally    tally
	counting bool
	// unclear is true when it could not be counted, found is the last value that was.
	unclear bool
	found   document.Value
	stars   places
}

// places are the elements at which the walk stands, of each * of a pointer.
type places struct {
	index [mostStars]int
	n     int
}

// from goes on at step i.
func (w *walk) from(r *run, l *leaf, v document.Value, i int) {
	switch {
	case i == len(l.path):
		w.end(r, l, v)
	case l.path[i].star:
		w.elements(r, l, v, i)
	case v.Kind() == document.Object:
		w.member(r, l, v, i)
	case v.Kind() == document.Array:
		w.element(r, l, v, i)
	case v.Kind() == document.String:
		w.doubt(r, doubt{why: wrongParent, value: v, text: "an object", upTo: i})
	case w.counting:
		w.doubt(r, doubt{why: missing, upTo: i + 1})
	case len(l.tests) > 0:
		w.doubt(r, doubt{why: wrongParent, value: v, text: "an object", upTo: i})
	default:
		w.end(r, l, document.Value{})
	}
}

// end judges the value that the pointer leads to; it is Missing when there is none.
func (w *walk) end(r *run, l *leaf, v document.Value) {
	if r.note != nil && !v.IsZero() {
		r.shown = append(r.shown, v)
	}
	switch {
	case !w.counting:
		r.at = w.stars
		w.tally.add(l.judgeValue(r, v, w.stance))
	case v.IsZero():
		w.doubt(r, doubt{why: missing, upTo: len(l.path)})
	default:
		w.tally.seen++
		w.found = v
	}
}

// doubt records that a value cannot be known.
func (w *walk) doubt(r *run, d doubt) {
	r.at = w.stars
	w.unclear = true
	w.tally.add(r.doubts(d))
}

// elements goes into every element of a list.
func (w *walk) elements(r *run, l *leaf, v document.Value, i int) {
	switch {
	case v.Kind() != document.Array:
		w.doubt(r, doubt{why: wrongParent, value: v, text: "a list", upTo: i})
		return
	case v.Len() > mostElements || w.tally.seen > mostElements:
		w.doubt(r, doubt{why: tooMany, number: v.Len(), upTo: i})
		return
	}
	star := w.stars.n
	w.stars.n++
	for j := range v.Len() {
		w.stars.index[star] = j
		w.from(r, l, v.Index(j), i+1)
	}
	w.stars.n--
}

// element goes into the element that a step names by its place.
func (w *walk) element(r *run, l *leaf, v document.Value, i int) {
	name := l.path[i].name
	at, err := strconv.Atoi(name)
	switch {
	case !isIndex(name):
		w.doubt(r, doubt{why: wrongParent, value: v, text: "an object", upTo: i})
	case err != nil || at >= v.Len():
		w.from(r, l, document.Value{}, len(l.path))
	default:
		w.from(r, l, v.Index(at), i+1)
	}
}

// member goes into the member that a step names, unless another one could be read for it.
func (w *walk) member(r *run, l *leaf, v document.Value, i int) {
	s := &l.path[i]
	var child document.Value
	for j := range v.Len() {
		name, value := v.Member(j)
		switch {
		case name == s.name:
			child = value
		case s.couldBe(name):
			w.doubt(r, doubt{why: lookAlike, text: name, upTo: i + 1})
			return
		}
	}
	if child.IsZero() {
		i = len(l.path) - 1
	}
	w.from(r, l, child, i+1)
}

// couldBe reports that a program may read another name as that of the step: it differs in case, in
// characters that do not show, or by letters that look like its own.
func (s *segment) couldBe(name string) bool {
	if s.plain && isPlain(name) {
		return sameFolded(s.name, name)
	}
	seen := visible.Skeleton(name)
	if seen == s.skeleton {
		return seen != ""
	}
	return hasLetter(seen) && isASCII(s.skeleton) && visible.CouldRead(seen, s.skeleton)
}

// sameFolded compares plain names without case, dashes, underscores and blanks.
func sameFolded(a, b string) bool {
	i, j := 0, 0
	for {
		for i < len(a) && parts(a[i]) {
			i++
		}
		for j < len(b) && parts(b[j]) {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b) && i+j > 0
		}
		if lower(a[i]) != lower(b[j]) {
			return false
		}
		i++
		j++
	}
}

func parts(c byte) bool { return c == '-' || c == '_' || c == ' ' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func hasLetter(s string) bool {
	for i := range len(s) {
		if c := lower(s[i]); 'a' <= c && c <= 'z' {
			return true
		}
	}
	return false
}

func isIndex(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != "" && (s == "0" || s[0] != '0')
}
