package document

// valueSet holds the values of an enum or a const: JSON equality, found without
// comparing one by one.
type valueSet struct {
	texts map[string]bool
	rest  map[string]bool // canonical forms
	kinds typeSet         // of rest
	count int
}

func newValueSet(list Value) *valueSet {
	s := &valueSet{texts: map[string]bool{}, rest: map[string]bool{}, count: list.Len()}
	for _, v := range list.Elements() {
		if v.kind == String {
			s.texts[v.text] = true
			continue
		}
		s.rest[string(Canonical(v))] = true
		s.kinds |= 1 << v.kind
	}
	return s
}

// find reports whether v is in the set, and the steps that it took to tell.
func (s *valueSet) find(v Value) (found bool, work int) {
	if v.kind == String {
		return s.texts[v.text], len(v.text) / 16
	}
	if v.kind == Missing {
		v = NullValue()
	}
	if s.kinds&(1<<v.kind) == 0 {
		return false, 0
	}
	var buffer [64]byte
	canonical := appendCanonical(buffer[:0], v)
	return s.rest[string(canonical)], len(canonical)
}
