package document

import (
	"fmt"
	"slices"
	"strconv"
)

// Writers finds out which change wrote each value of a document last, by going back
// through the changes, the newest first: Undo takes back one after the other, and tells
// which values it has written.
//
// A value is one that holds no others, an empty list and an empty object too. What adds,
// replaces or copies a value writes it; and so does what takes the last element out of a
// list or an object, which writes the empty one. A value that moves keeps its writer,
// also when its index changes because others before it come or go. A document that was
// replaced as a whole is told by its patch: what Diff finds to be the same was not written.
type Writers struct{ open []tracked }

// tracked is a value whose writer is not known yet.
type tracked struct {
	// pointer is where it is in the document at the end, and at where it is now.
	pointer string
	at      []string
}

// NewWriters begins with the values of a document that are at or below one of the
// pointers, all for none, in the order of the document; partial is true when there are more
// than most, and the others are left out.
func NewWriters(doc Value, pointers []string, most int) (w *Writers, partial bool) {
	w = &Writers{}
	if len(pointers) == 0 {
		pointers = []string{""}
	}
	seen := make(map[string]bool)
	for _, pointer := range pointers {
		p, problem := readPointer(pointer)
		if problem != "" {
			continue
		}
		v, found := Lookup(doc, pointer)
		if !found {
			continue
		}
		if !w.collect(v, slices.Clone(p.segments), seen, most) {
			return w, true
		}
	}
	return w, false
}

// collect adds the values of a tree, and is false when there are too many.
func (w *Writers) collect(v Value, at []string, seen map[string]bool, most int) bool {
	switch {
	case v.Kind() == Object && v.Len() > 0:
		for name, member := range v.Members() {
			if !w.collect(member, append(slices.Clip(at), name), seen, most) {
				return false
			}
		}
		return true
	case v.Kind() == Array && v.Len() > 0:
		for i, element := range v.Elements() {
			if !w.collect(element, append(slices.Clip(at), strconv.Itoa(i)), seen, most) {
				return false
			}
		}
		return true
	}
	pointer := Pointer(at...)
	if seen[pointer] {
		return true
	}
	if len(w.open) >= most {
		return false
	}
	seen[pointer] = true
	w.open = append(w.open, tracked{pointer, at})
	return true
}

// Pointers are those of all values whose writer is not known yet, and where each is in the
// document that is gone back to.
func (w *Writers) Pointers() (pointers, now []string) {
	for i := range w.open {
		pointers, now = append(pointers, w.open[i].pointer), append(now, Pointer(w.open[i].at...))
	}
	return pointers, now
}

// Len is how many values there are whose writer is not known yet.
func (w *Writers) Len() int { return len(w.open) }

// Undo takes back the patch that was applied to a document, and returns the pointers of the
// values that it wrote last. It fails when the patch cannot be applied.
func (w *Writers) Undo(before Value, patch *Patch) ([]string, error) {
	// What each operation was applied to.
	docs := make([]Value, 0, len(patch.operations))
	doc := before
	for i := range patch.operations {
		docs = append(docs, doc)
		var failed error
		if doc, failed = applyOne(doc, &patch.operations[i]); failed != nil {
			return nil, failed
		}
	}
	var written []string
	for i := len(patch.operations) - 1; i >= 0 && len(w.open) > 0; i-- {
		step, err := newStepBack(docs[i], &patch.operations[i])
		if err != nil {
			return nil, err
		}
		kept := w.open[:0]
		for _, t := range w.open {
			at, wrote := step.back(t.at)
			if wrote {
				written = append(written, t.pointer)
				continue
			}
			kept = append(kept, tracked{t.pointer, at})
		}
		w.open = kept
	}
	return written, nil
}

// applyOne applies one operation, whatever its size: the patch was judged when it was made.
func applyOne(doc Value, o *operation) (Value, error) {
	const any = 1 << 30
	one := Patch{operations: []operation{*o}}
	doc, failed := one.Apply(doc, PatchLimits{Bytes: any, Work: any, Depth: any})
	if failed != nil {
		return doc, failed
	}
	return doc, nil
}

// stepBack goes back over one operation.
type stepBack struct {
	op string
	// add is where a value came to, in the document without what moved, and remove where
	// one was taken from.
	add, remove slot
}

// slot is a place in a holder.
type slot struct {
	holder, at []string // at is the holder's and the place's
	list       bool
	index      int
}

func newStepBack(before Value, o *operation) (stepBack, error) {
	s := stepBack{op: o.op}
	var err error
	switch o.op {
	case opRemove:
		s.remove, err = slotOf(before, o.path.segments)
	case opMove:
		if s.remove, err = slotOf(before, o.from.segments); err != nil {
			return s, err
		}
		if slices.Equal(o.from.segments, o.path.segments) {
			s.op = opTest // it changes nothing
			return s, nil
		}
		rest, failed := applyOne(before, &operation{op: opRemove, path: o.from})
		if failed != nil {
			return s, failed
		}
		s.add, err = slotOf(rest, o.path.segments)
	case opTest:
	default:
		s.add, err = slotOf(before, o.path.segments)
	}
	return s, err
}

// slotOf resolves a place of a document.
func slotOf(doc Value, at []string) (slot, error) {
	if len(at) == 0 {
		return slot{}, nil
	}
	holder := at[:len(at)-1]
	v, found := Lookup(doc, Pointer(holder...))
	if !found {
		return slot{}, fmt.Errorf("there is nothing at %q", Pointer(holder...))
	}
	s := slot{holder: holder, at: at, list: v.Kind() == Array}
	if !s.list {
		return s, nil
	}
	if name := at[len(at)-1]; name == "-" {
		s.index = v.Len()
	} else if index, ok := arrayIndex(name); ok {
		s.index = index
	} else {
		return slot{}, fmt.Errorf("%q is no index", name)
	}
	s.at = append(slices.Clip(holder), strconv.Itoa(s.index))
	return s, nil
}

// back is where a value was before the operation, or that the operation wrote it.
func (s *stepBack) back(at []string) (before []string, wrote bool) {
	switch s.op {
	case opTest:
		return at, false
	case opReplace, opCopy, opAdd:
		if within(at, s.add.at) {
			return nil, true
		}
		if s.op == opReplace {
			return at, false
		}
		return s.add.shifted(at, -1), false
	case opRemove:
		if slices.Equal(at, s.remove.holder) {
			return nil, true // it is empty now
		}
		return s.remove.shifted(at, 1), false
	default: // opMove
		if within(at, s.add.at) {
			return append(slices.Clip(s.remove.at), at[len(s.add.at):]...), false
		}
		at = s.add.shifted(at, -1)
		if slices.Equal(at, s.remove.holder) {
			return nil, true
		}
		return s.remove.shifted(at, 1), false
	}
}

// shifted moves the index of what stands in the slot's list, at its index or after it.
func (s *slot) shifted(at []string, by int) []string {
	if !s.list || len(at) <= len(s.holder) || !within(at, s.holder) {
		return at
	}
	index, ok := arrayIndex(at[len(s.holder)])
	if !ok || index < s.index {
		return at
	}
	moved := slices.Clone(at)
	moved[len(s.holder)] = strconv.Itoa(index + by)
	return moved
}

// within reports that a place is another one, or lies within it.
func within(at, outer []string) bool {
	return len(at) >= len(outer) && slices.Equal(at[:len(outer)], outer)
}
