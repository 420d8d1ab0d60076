package document

// The library reports more than a checker, but its work is unbounded, and keeps every
// violation on its way. It runs only on small cases. A step of it is some three hundred
// nanoseconds and, where it fails, as many bytes.
const (
	maxExplainSteps = 200_000 // to explain a checker's finding; else the message is shorter
	maxLibrarySteps = 500_000 // to decide, where only the library can
)

// affordable reports whether the library applies n to v in at most that many
// steps: it counts them, as if no keyword ever ended early.
func affordable(n *node, v Value, most int) bool {
	m := meter{left: most}
	m.visit(n, v, 1)
	return m.left >= 0
}

type meter struct{ left int }

func (m *meter) spend(steps int) bool {
	m.left -= steps
	return m.left >= 0
}

// visit counts n applied to v, the length-th of a chain that applies to v.
func (m *meter) visit(n *node, v Value, length int) {
	if length > 4*maxInPlace {
		m.left = -1 // dynamic references that lead on and on
	}
	// The library looks back over the chain for a cycle.
	if !m.spend(1 + length/16) {
		return
	}
	if n.values != nil {
		m.left -= n.values.count
	}
	for next := range n.inPlace() {
		m.visit(next, v, length+1)
	}
	for _, next := range n.dynamic {
		m.visit(next, v, length+1)
	}
	switch v.kind {
	case Number:
		m.left -= len(v.text)/8 + exponentWork(v.text)
	case String:
		m.left -= len(v.text) / 256
		if n.text != nil && n.text.pattern != nil {
			m.left -= len(v.text) * n.text.pattern.size / 512
		}
	case Array:
		m.elements(n, v)
	case Object:
		m.members(n, v)
	}
}

// exponentWork returns the library's work for digits that are not written.
func exponentWork(text string) int {
	return min(abs(normalise(text).exponent), maxExponent) / 8
}

func abs(n int) int { return max(n, -n) }

func (m *meter) elements(n *node, v Value) {
	a := n.array
	for i, e := range v.Elements() {
		if m.left < 0 {
			return
		}
		if a != nil && a.schemaAt(i) != nil {
			m.visit(a.schemaAt(i), e, 1)
		}
		if a != nil && a.contains != nil {
			m.visit(a.contains, e, 1)
		}
		if n.unevaluatedItems != nil {
			m.visit(n.unevaluatedItems, e, 1)
		}
		// It hashes elements so that lists and objects can be made to collide.
		if a != nil && a.unique && (e.kind == Array || e.kind == Object) {
			m.left -= 1 + v.Len()/8
		}
	}
}

func (m *meter) members(n *node, v Value) {
	o := n.object
	if o != nil {
		m.left -= len(o.required) / 8
	}
	for name, member := range v.Members() {
		if m.left < 0 {
			return
		}
		if n.unevaluated != nil {
			m.visit(n.unevaluated, member, 1)
		}
		if o == nil {
			continue
		}
		property, declared := o.properties[name]
		if declared {
			m.visit(property, member, 1)
		}
		for _, p := range o.patterns {
			if m.spend(1+len(name)*p.pattern.size/512) && p.pattern.MatchString(name) {
				declared = true
				m.visit(p.node, member, 1)
			}
		}
		if !declared && o.additional != nil {
			m.visit(o.additional, member, 1)
		}
		if o.names != nil {
			m.visit(o.names, StringValue(name), 1)
		}
	}
}
