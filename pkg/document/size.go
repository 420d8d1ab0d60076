package document

import "math"

// Size returns the length of v as compact JSON, in bytes, as AppendJSON writes
// it. Beyond most it gives up and returns some number that is more than most,
// so that its work is bounded by most too.
func Size(v Value, most int) int {
	r := ruler{most: most, keep: true}
	r.measure(v, math.MaxInt)
	return r.size
}

// ruler measures values until they are too large or nest too deep.
type ruler struct {
	size    int
	most    int
	tooDeep bool
	// keep lets trees remember their sizes. A patch that measures a tree while changing
	// it must not.
	keep bool
}

// measure of a tree: its size, and how many levels it has.
type measured struct{ size, levels int }

// maxMeasured is the largest number that fits into a tree's memory of its measure.
const maxMeasured = 1 << 31

func (t *tree) measured() (measured, bool) {
	m := t.memo.Load()
	return measured{int(m >> 32), int(m & (maxMeasured - 1))}, m != 0
}

func (t *tree) remember(m measured) {
	if m.size < maxMeasured && m.levels < maxMeasured {
		t.memo.Store(uint64(m.size)<<32 | uint64(m.levels))
	}
}

// fits reports whether the measured value is within bounds.
func (r *ruler) fits() bool { return !r.tooDeep && r.size <= r.most }

// measure adds v, in which levels lists and objects may hold one another, and returns
// how many there are. A subtree that is known is not walked, so that a document of
// which a little has changed costs that little.
func (r *ruler) measure(v Value, levels int) int {
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
		return r.measureTree(v, levels)
	default:
		r.size += len("null")
	}
	return 0
}

func (r *ruler) measureTree(v Value, levels int) int {
	if v.tree != nil {
		if known, ok := v.tree.measured(); ok {
			r.size += known.size
			r.tooDeep = r.tooDeep || known.levels > levels
			return known.levels
		}
	}
	if levels <= 0 {
		r.tooDeep = true
		return 1
	}
	before := r.size
	r.size += len("[]") + max(0, v.Len()-1) // the commas
	if v.tree == nil {
		return 1
	}
	deepest := r.measureChildren(v.tree, levels-1)
	if r.keep && r.fits() {
		v.tree.remember(measured{r.size - before, deepest + 1})
	}
	return deepest + 1
}

func (r *ruler) measureChildren(t *tree, levels int) (deepest int) {
	for i := range t.elements {
		if !r.fits() {
			return deepest
		}
		deepest = max(deepest, r.measure(t.elements[i], levels))
	}
	for i := range t.members {
		if !r.fits() {
			return deepest
		}
		r.measureString(t.members[i].Name)
		r.size += len(":")
		deepest = max(deepest, r.measure(t.members[i].Value, levels))
	}
	return deepest
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
