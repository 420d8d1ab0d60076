package document

import "math"

// Diff returns a patch that makes after of before: applied to before, it gives after with
// the same text, in its numbers ("1.0" stays that) and in the order of its keys. It has
// no operations for equal documents.
//
// Its text is never longer than that of replacing the whole document, and it can be
// applied within the default limits on operations and work, where Bytes and Depth allow
// after itself. Its time is linear in the documents, times how deep they nest, and parts
// that both share are free. It is not always the shortest patch: an element that moved
// within its list may be written again.
func Diff(before, after Value) *Patch {
	var d differ
	d.value(nil, len(`""`), before, after)
	patch := &Patch{operations: make([]operation, 0, len(d.changes))}
	for _, c := range d.changes {
		path, _ := readPointer(c.at.String())
		patch.operations = append(patch.operations, operation{op: c.op, path: path, value: c.value})
	}
	return patch
}

// change is an operation whose pointer is not written out yet.
type change struct {
	op    string
	at    *Path
	value Value
}

// differ collects changes, and how far they have got.
type differ struct {
	changes []change
	size    int // bytes of their text
	moves   int // the cost of applying them, in steps
}

// value finds the changes from a to b, which are at a pointer of width bytes in
// quotes. Where they are more than b itself, b is replaced.
func (d *differ) value(at *Path, width int, a, b Value) {
	if a == b { // the very tree, the very text
		return
	}
	if a.kind != b.kind || a.kind != Array && a.kind != Object {
		d.write(opReplace, at, width, b)
		return
	}
	before := *d
	if a.kind == Object {
		d.object(at, width, a, b)
	} else {
		d.array(at, width, a, b)
	}
	if more := d.size - before.size; d.tooMany() || more > replacing(width)+Size(b, more) {
		*d = before
		d.write(opReplace, at, width, b)
	}
}

// tooMany reports that something must be replaced as a whole.
func (d *differ) tooMany() bool {
	return len(d.changes) > MaxPatchOperations || d.moves > MaxPatchWork/2
}

// replacing returns the size of an operation that replaces, without its value.
func replacing(width int) int { return len(`{"op":"replace","path":,"value":},`) + width }

func (d *differ) write(op string, at *Path, width int, v Value) {
	d.changes = append(d.changes, change{op, at, v})
	d.size += len(`{"op":"","path":},`) + len(op) + width
	if op != opRemove {
		d.size += len(`,"value":`) + Size(v, math.MaxInt)
	}
}

// object changes members first, then removes, then adds. Members that stay keep the order
// of a, and new ones come last: so a member of both that is not in its place for b is
// removed and added again.
func (d *differ) object(at *Path, width int, a, b Value) {
	var gone []string
	kept := 0
	for name, value := range a.Members() {
		if kept == b.Len() || b.tree.members[kept].Name != name {
			gone = append(gone, name)
			continue
		}
		if other := b.tree.members[kept].Value; value != other && !d.tooMany() {
			d.value(at.Key(name), width+segmentWidth(name), value, other)
		}
		kept++
	}
	if len(gone) > 0 {
		d.moves += nameWork * a.Len() * (len(gone) + b.Len() - kept)
	}
	for _, name := range gone {
		d.write(opRemove, at.Key(name), width+segmentWidth(name), Value{})
	}
	for ; kept < b.Len() && !d.tooMany(); kept++ {
		added := b.tree.members[kept]
		d.write(opAdd, at.Key(added.Name), width+segmentWidth(added.Name), added.Value)
	}
}

// array leaves the elements that both have at either end, changes those between in pairs,
// then removes or adds the surplus of one.
func (d *differ) array(at *Path, width int, a, b Value) {
	before, after := a.Len(), b.Len()
	head, tail := 0, 0
	if shorter := min(before, after); before != after {
		for head < shorter && identical(a.Index(head), b.Index(head)) {
			head++
		}
		for tail < shorter-head && identical(a.Index(before-1-tail), b.Index(after-1-tail)) {
			tail++
		}
	}
	before, after = before-tail, after-tail
	for i := head; i < min(before, after) && !d.tooMany(); i++ {
		if x, y := a.Index(i), b.Index(i); x != y {
			d.value(at.At(i), width+indexWidth(i), x, y)
		}
	}
	d.moves += max(before-after, after-before) * (tail + 1)
	for i := before - 1; i >= after && !d.tooMany(); i-- {
		d.write(opRemove, at.At(i), width+indexWidth(i), Value{})
	}
	for i := before; i < after && !d.tooMany(); i++ {
		d.write(opAdd, at.At(i), width+indexWidth(i), b.Index(i))
	}
}

// identical reports that a and b have the same text: they are Equal, with the same order
// of keys and the same digits of numbers.
func identical(a, b Value) bool {
	if a == b {
		return true
	}
	if a.kind != b.kind || a.Len() != b.Len() || a.tree == nil || b.tree == nil {
		return false
	}
	for i := range a.tree.elements {
		if !identical(a.tree.elements[i], b.tree.elements[i]) {
			return false
		}
	}
	for i := range a.tree.members {
		x, y := &a.tree.members[i], &b.tree.members[i]
		if x.Name != y.Name || !identical(x.Value, y.Value) {
			return false
		}
	}
	return true
}

// segmentWidth returns how many bytes a key adds to a pointer in quotes.
func segmentWidth(name string) int {
	return len("/") + Size(StringValue(EscapeSegment(name)), math.MaxInt) - len(`""`)
}

// indexWidth returns how many bytes an index adds to a pointer.
func indexWidth(i int) int {
	width := len("/0")
	for ; i >= 10; i /= 10 {
		width++
	}
	return width
}
