package document

import (
	"maps"
	"slices"
)

// The cost of one name, to put in an index, and to read without one, against one element
// moved.
const (
	indexWork = 8
	nameWork  = 2
)

// editor changes documents by copying the trees on the way to the change, and
// shares all others. A tree that it made is its own, and is changed in place
// from then on: many changes of one large list copy it once.
type editor struct {
	work  int            // steps that are left
	owned map[*tree]bool // its own trees, and whether their index is too
	trail []hop          // the way of the last descent
}

// hop is a holder on the way down, and the place of the child that was taken.
type hop struct {
	holder Value
	place  int
}

func (e *editor) spend(steps int) { e.work -= steps }

// descend follows segments and remembers the way. It returns where it came to,
// and whether that is the end.
func (e *editor) descend(doc Value, segments []string) (Value, bool) {
	e.trail = e.trail[:0]
	for _, segment := range segments {
		place := e.placeOf(doc, segment)
		if place < 0 {
			return doc, false
		}
		e.trail = append(e.trail, hop{doc, place})
		doc = doc.childAt(place)
	}
	return doc, true
}

func (e *editor) placeOf(v Value, segment string) int {
	e.spend(1)
	if v.tree != nil && v.tree.index == nil {
		e.spend(nameWork * len(v.tree.members))
	}
	return v.placeOf(segment)
}

// ascend puts child where the trail ended and returns the whole document.
func (e *editor) ascend(child Value) Value {
	for _, s := range slices.Backward(e.trail) {
		child = e.set(s.holder, s.place, child)
	}
	return child
}

// last takes the last hop off the trail.
func (e *editor) last() hop {
	s := e.trail[len(e.trail)-1]
	e.trail = e.trail[:len(e.trail)-1]
	return s
}

// set returns holder with another child at a place: holder itself when that is
// the same.
func (e *editor) set(holder Value, place int, child Value) Value {
	if holder.childAt(place) == child { // the very tree, the very text
		return holder
	}
	t := e.own(holder)
	if holder.kind == Object {
		t.members[place].Value = child
	} else {
		t.elements[place] = child
	}
	return Value{kind: holder.kind, tree: t}
}

// insert returns a list with one more element, before the one at place.
func (e *editor) insert(list Value, place int, element Value) Value {
	t := e.own(list)
	e.spend(len(t.elements) - place)
	t.elements = slices.Insert(t.elements, place, element)
	return Value{kind: Array, tree: t}
}

// extend returns an object with one more member, the last.
func (e *editor) extend(object Value, name string, value Value) Value {
	t := e.own(object)
	if t.index != nil {
		if !e.owned[t] {
			e.spend(indexWork * len(t.index))
			t.index = maps.Clone(t.index)
			e.owned[t] = true
		}
		t.index[name] = len(t.members)
	}
	t.members = append(t.members, Member{name, value})
	return Value{kind: Object, tree: t}
}

// without returns holder without the child at a place. An object is left
// without an index until it settles: each removal would build it again.
func (e *editor) without(holder Value, place int) Value {
	if holder.Len() == 1 {
		return Value{kind: holder.kind}
	}
	t := e.own(holder)
	e.spend(holder.Len() - place)
	if holder.kind == Object {
		t.members = slices.Delete(t.members, place, place+1)
		t.index = nil
	} else {
		t.elements = slices.Delete(t.elements, place, place+1)
	}
	return Value{kind: holder.kind, tree: t}
}

// own returns the tree of v when it is the editor's own, or else a copy, which
// shares the index.
func (e *editor) own(v Value) *tree {
	if _, mine := e.owned[v.tree]; mine {
		return v.tree
	}
	t := &tree{}
	if v.tree != nil {
		e.spend(v.Len())
		*t = tree{elements: slices.Clone(v.tree.elements), members: slices.Clone(v.tree.members), index: v.tree.index}
	}
	if e.owned == nil {
		e.owned = make(map[*tree]bool)
	}
	e.owned[t] = false
	return t
}

// settle gives up the nodes that the editor owns: from then on, they do not change. It
// must be called before a tree gets to a second place, and at the end.
func (e *editor) settle() {
	for t := range e.owned {
		if t.index == nil && len(t.members) >= indexFrom {
			e.spend(indexWork * len(t.members))
			t.index = indexOf(t.members)
		}
	}
	clear(e.owned)
}

func indexOf(members []Member) map[string]int {
	index := make(map[string]int, len(members))
	for i, m := range members {
		index[m.Name] = i
	}
	return index
}
