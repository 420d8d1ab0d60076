package document

import "slices"

// Touched returns the lists of writers that a change of a document touches, each with the
// first place where it does (S18.2). A list is touched where the value at its place, or any
// part of that, is another one afterwards, or is written, taken away or moved by an
// operation of the patch. Without a patch, only differences count. ok is false when that
// takes too long to find out.
//
// A place is found by every subschema that could apply to it: alternatives, conditions and
// negations count as if they did.
func (s *Schema) Touched(before, after Value, patch *Patch) (touched []Restriction, ok bool) {
	if !s.restricted {
		return nil, true
	}
	g := guard{left: maxSteps, seen: map[*writerList]bool{}}
	root := g.closed([]*node{s.root})
	if patch == nil {
		g.walk(root, before, after, nil, false)
		return g.found, g.left >= 0
	}
	r := replayOf(before)
	for i := range patch.operations {
		if err := g.operation(root, r, &patch.operations[i]); err != nil || g.left < 0 {
			return nil, false
		}
	}
	return g.found, true
}

// guard finds the lists that a change touches.
type guard struct {
	left  int
	seen  map[*writerList]bool
	found []Restriction
}

// closed adds to nodes those that apply to the same value, and drops those within which
// there is no list.
func (g *guard) closed(nodes []*node) []*node {
	var all []*node
	seen := make(map[*node]bool, len(nodes))
	var add func(n *node)
	add = func(n *node) {
		if n == nil || !n.guarded || seen[n] {
			return
		}
		g.left--
		seen[n] = true
		all = append(all, n)
		for next := range n.inPlace() {
			add(next)
		}
		for _, next := range n.dynamic {
			add(next)
		}
	}
	for _, n := range nodes {
		add(n)
	}
	return all
}

// member returns the nodes of a member of an object.
func (g *guard) member(nodes []*node, name string) []*node {
	var all []*node
	for _, n := range nodes {
		all = append(all, n.unevaluated)
		o := n.object
		if o == nil {
			continue
		}
		property, declared := o.properties[name]
		all = append(all, property, o.names)
		for _, p := range o.patterns {
			if g.left -= 8 + (1+len(name))*p.pattern.size/8; g.left < 0 {
				return nil
			}
			if p.pattern.MatchString(name) {
				declared = true
				all = append(all, p.node)
			}
		}
		if !declared {
			all = append(all, o.additional)
		}
	}
	return g.closed(all)
}

// element returns the nodes of an element of a list.
func (g *guard) element(nodes []*node, i int) []*node {
	var all []*node
	for _, n := range nodes {
		all = append(all, n.unevaluatedItems)
		if n.array != nil {
			all = append(all, n.array.schemaAt(i), n.array.contains)
		}
	}
	return g.closed(all)
}

// operation notes the lists that one operation of a patch touches, and does it.
func (g *guard) operation(root []*node, r *replay, o *operation) error {
	switch o.op {
	case opTest:
	case opMove:
		return g.move(root, r, o)
	default:
		to, err := slotOf(r.doc, o.path.segments)
		if err != nil {
			return err
		}
		v, by := o.value, 0
		switch o.op {
		case opAdd:
			by = 1
		case opRemove:
			by = -1
		case opCopy:
			v, _ = Lookup(r.doc, o.from.text)
			by = 1
		}
		g.slot(root, r.doc, to, v, by)
	}
	return r.do(o)
}

func (g *guard) move(root []*node, r *replay, o *operation) error {
	from, err := slotOf(r.doc, o.from.segments)
	if err != nil {
		return err
	}
	to, ok := from.sibling(o.path.segments)
	switch {
	case slices.Equal(o.from.segments, o.path.segments): // it stays where it is
	case ok: // elements outside of the two stay where it is
		g.way(root, r.doc, from.holder(), nil, func(nodes []*node, list Value, at *Path) { g.reorder(nodes, list, from.index, to, at) })
	default:
		return r.move(o, func(s slot, v Value, put bool) {
			if put {
				g.slot(root, r.doc, s, v, 1)
			} else {
				g.slot(root, r.doc, s, Value{}, -1)
			}
		})
	}
	return r.do(o)
}

// slot notes the lists touched to write v into a slot, or to take out its value, when v
// is Missing. In a list, later elements move by that many.
func (g *guard) slot(root []*node, doc Value, s slot, v Value, by int) {
	if len(s.at) == 0 {
		g.walk(root, doc, v, nil, true)
		return
	}
	g.way(root, doc, s.holder(), nil, func(nodes []*node, holder Value, at *Path) {
		if !s.list {
			name := s.at[len(s.at)-1]
			old, _ := holder.Get(name)
			g.walk(g.member(nodes, name), old, v, at.Key(name), true)
			return
		}
		after := func(i int) (Value, bool) {
			if i == s.index && by >= 0 {
				return v, true
			}
			return holder.Index(i - by), i == s.index
		}
		end := s.index + 1
		if by != 0 {
			end = holder.Len() + max(by, 0)
		}
		g.span(nodes, holder, s.index, end, at, after)
	})
}

// reorder notes the lists touched to move an element within a list.
func (g *guard) reorder(nodes []*node, list Value, from, to int, at *Path) {
	by := 1
	if to < from {
		by = -1
	}
	g.span(nodes, list, min(from, to), max(from, to)+1, at, func(i int) (Value, bool) {
		if i == to {
			return list.Index(from), true
		}
		return list.Index(i + by), i == from
	})
}

// span compares a stretch of a list with its later values. Where the elements have no
// list of writers, that is free: their parent is touched anyhow.
func (g *guard) span(nodes []*node, list Value, from, end int, at *Path, then func(int) (after Value, written bool)) {
	most := 0 // places that have schemas of their own
	for _, n := range nodes {
		if n.array != nil {
			most = max(most, len(n.array.prefix))
		}
	}
	rest := g.element(nodes, most)
	for i := from; i < end && g.left >= 0; i++ {
		of := rest
		if i < most {
			of = g.element(nodes, i)
		} else if len(rest) == 0 {
			return
		}
		after, written := then(i)
		g.walk(of, list.Index(i), after, at.At(i), written)
	}
}

// way follows the way to the parent of a place that is written. All on it is touched.
func (g *guard) way(nodes []*node, v Value, segments []string, at *Path, end func([]*node, Value, *Path)) {
	if g.left--; len(nodes) == 0 || g.left < 0 {
		return
	}
	switch {
	case len(segments) == 0:
		end(nodes, v, at)
	case v.kind == Array:
		i, _ := arrayIndex(segments[0])
		g.way(g.element(nodes, i), v.Index(i), segments[1:], at.At(i), end)
	default:
		next, _ := v.Get(segments[0])
		g.way(g.member(nodes, segments[0]), next, segments[1:], at.Key(segments[0]), end)
	}
	g.note(nodes, at)
}

// walk compares two values at a place, notes the lists of the nodes that apply to it when
// it is touched, and reports whether it is. All written values are touched.
func (g *guard) walk(nodes []*node, before, after Value, at *Path, written bool) bool {
	if g.left--; g.left < 0 {
		return true
	}
	if !written && same(before, after) {
		return false
	}
	touched := written || before.kind != after.kind
	if len(nodes) == 0 {
		return touched || !g.equal(before, after)
	}
	var inner bool
	switch {
	case before.kind == Object || after.kind == Object:
		inner = g.members(nodes, before, after, at, written)
	case before.kind == Array || after.kind == Array:
	case !touched:
		touched = !g.equal(before, after)
	}
	if before.kind == Array || after.kind == Array {
		inner = g.elements(nodes, before, after, at, written) || inner
	}
	if touched = touched || inner; touched {
		g.note(nodes, at)
	}
	return touched
}

func (g *guard) equal(a, b Value) bool {
	if same(a, b) {
		return true
	}
	g.left -= (len(a.text) + len(b.text)) / 16
	return Equal(a, b)
}

func (g *guard) members(nodes []*node, before, after Value, at *Path, written bool) bool {
	touched := false
	if before.kind != Object {
		before = Value{}
	}
	if after.kind != Object {
		after = Value{}
	}
	visit := func(name string, a, b Value) {
		if !written && same(a, b) || g.left < 0 {
			return
		}
		touched = g.walk(g.member(nodes, name), a, b, at.Key(name), written) || touched
	}
	for name, a := range before.Members() {
		b, _ := after.Get(name)
		visit(name, a, b)
	}
	for name, b := range after.Members() {
		if before.find(name) < 0 {
			visit(name, Value{}, b)
		}
	}
	g.left -= (before.Len() + after.Len()) / 16
	return touched
}

func (g *guard) elements(nodes []*node, before, after Value, at *Path, written bool) bool {
	touched := false
	if before.kind != Array {
		before = Value{}
	}
	if after.kind != Array {
		after = Value{}
	}
	for i := range max(before.Len(), after.Len()) {
		var a, b Value
		if i < before.Len() {
			a = before.Index(i)
		}
		if i < after.Len() {
			b = after.Index(i)
		}
		if !written && same(a, b) {
			continue
		}
		if g.left < 0 {
			return true
		}
		touched = g.walk(g.element(nodes, i), a, b, at.At(i), written) || touched
	}
	g.left -= (before.Len() + after.Len()) / 16
	return touched
}

// note keeps the lists of nodes, each with the first place where it is touched.
func (g *guard) note(nodes []*node, at *Path) {
	for _, n := range nodes {
		if n.writers != nil && !g.seen[n.writers] {
			g.seen[n.writers] = true
			g.found = append(g.found, Restriction{at.String(), n.writers.rules})
		}
	}
}
