package document

import "math"

// Size returns the length of v as compact JSON, in bytes, as AppendJSON writes
// it. Beyond most it gives up and returns some number that is more than most,
// so that its work is bounded by most too.
func Size(v Value, most int) int {
	r := ruler{most: most}
	r.measure(v, math.MaxInt)
	return r.size
}

// ruler measures values until they are too large or nest too deep.
type ruler struct {
	size    int
	most    int
	tooDeep bool
}

// fits reports whether what was measured is within bounds.
func (r *ruler) fits() bool { return !r.tooDeep && r.size <= r.most }

// measure adds v, in which levels lists and objects may hold one another.
func (r *ruler) measure(v Value, levels int) {
	switch v.kind {
	case Bool:
		r.size += len("true")
		if !v.truth {
			r.size++
		}
	case Number:
		r.size += len(v.text)
	case String:
		r.measureString(v.text)
	case Array, Object:
		r.measureChildren(v, levels)
	default:
		r.size += len("null")
	}
}

func (r *ruler) measureChildren(v Value, levels int) {
	if levels <= 0 {
		r.tooDeep = true
		return
	}
	r.size += len("[]") + max(0, v.Len()-1) // the commas
	if v.tree == nil {
		return
	}
	for i := range v.tree.elements {
		if !r.fits() {
			return
		}
		r.measure(v.tree.elements[i], levels-1)
	}
	for i := range v.tree.members {
		if !r.fits() {
			return
		}
		r.measureString(v.tree.members[i].Name)
		r.size += len(":")
		r.measure(v.tree.members[i].Value, levels-1)
	}
}

// measureString adds s in quotes. It does not look at a text that is too long
// as it is.
func (r *ruler) measureString(s string) {
	r.size += len(s) + len(`""`)
	if r.size > r.most {
		return
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			r.size++
		case c >= ' ':
		case c == '\b' || c == '\t' || c == '\n' || c == '\f' || c == '\r':
			r.size++
		default:
			r.size += len(`\u0000`) - 1
		}
	}
}
