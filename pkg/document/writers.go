package document

import (
	"fmt"
	"slices"
	"strconv"
)

// Writers finds out which change wrote each value of a document last, by going back
// through the changes, the newest first: Undo takes back one after the other, and reports
// which values it has written.
//
// A value is one that holds no others, an empty list and an empty object too. An operation
// that adds, replaces or copies a value writes it; and so does one that takes the last
// element out of a list or an object, which writes the empty one. A value that moves keeps
// its writer, also when its index changes because others before it come or go. A document
// that was replaced as a whole is compared by its Diff: equal parts count as not written.
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

// Pointers returns those of all values whose writer is not known yet, and where each is in
// the document that is gone back to.
func (w *Writers) Pointers() (pointers, now []string) {
	for i := range w.open {
		pointers, now = append(pointers, w.open[i].pointer), append(now, Pointer(w.open[i].at...))
	}
	return pointers, now
}

// Len returns how many values there are whose writer is not known yet.
func (w *Writers) Len() int { return len(w.open) }

// Undo takes back a patch, and returns the pointers of the values that it wrote last. It
// takes as many steps as Cost says.
func (w *Writers) Undo(trail Trail) []string {
	var written []string
	for i := len(trail) - 1; i >= 0 && len(w.open) > 0; i-- {
		step := &trail[i]
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
	return written
}

// Cost returns how many steps it may take to undo a patch.
func (w *Writers) Cost(trail Trail) int { return len(w.open) * len(trail) }

// Trail is how to go back over the operations of a patch.
type Trail []stepBack

// Replay does patches that were judged when they were made once more, one after the other.
// It keeps none of the documents between, of which there may be thousands.
type Replay struct{ r *replay }

// NewReplay begins with a document.
func NewReplay(doc Value) *Replay { return &Replay{replayOf(doc)} }

// Do does a patch and says how to go back over it, or fails when it cannot be done.
func (r *Replay) Do(patch *Patch) (Trail, error) {
	trail := make(Trail, 0, len(patch.operations))
	for i := range patch.operations {
		step, err := r.r.step(&patch.operations[i])
		if err != nil {
			return nil, err
		}
		trail = append(trail, step)
	}
	return trail, nil
}

// replay does the operations of a patch that was judged when it was made once more, one
// after the other, and in all at the cost of applying it.
type replay struct {
	applier
	doc Value // as the operations have made it so far
}

func replayOf(doc Value) *replay {
	const any = 1 << 30
	limits := PatchLimits{Bytes: any, Work: any, Depth: any}
	return &replay{applier{editor: editor{work: any}, limits: limits, room: any}, doc}
}

// do does one operation.
func (r *replay) do(o *operation) error {
	next, failed := r.perform(r.doc, *o)
	if failed != nil {
		return failed
	}
	r.doc = next
	return nil
}

// move does a move in its two halves, and shows each before it is done: the slot that v is
// taken out of, and the one that it is put into then.
func (r *replay) move(o *operation, show func(s slot, v Value, put bool)) error {
	from, err := slotOf(r.doc, o.from.segments)
	if err != nil {
		return err
	}
	v, failed := r.find(r.doc, o.from, "from")
	if failed != nil {
		return failed
	}
	show(from, v, false)
	r.doc = r.takeOut()
	to, err := slotOf(r.doc, o.path.segments)
	if err != nil {
		return err
	}
	show(to, v, true)
	if r.doc, failed = r.put(r.doc, o.path, v); failed != nil {
		return failed
	}
	return nil
}

// step does one operation, and says how to go back over it.
func (r *replay) step(o *operation) (s stepBack, err error) {
	s.op = o.op
	switch o.op {
	case opTest:
		return s, nil
	case opMove:
		if slices.Equal(o.from.segments, o.path.segments) {
			s.op = opTest // it makes no change
			return s, nil
		}
		err = r.move(o, func(at slot, _ Value, put bool) {
			if put {
				s.add = at
			} else {
				s.remove = at
			}
		})
		return s, err
	case opRemove:
		s.remove, err = slotOf(r.doc, o.path.segments)
	default:
		s.add, err = slotOf(r.doc, o.path.segments)
	}
	if err != nil {
		return s, err
	}
	return s, r.do(o)
}

// stepBack goes back over one operation.
type stepBack struct {
	op string
	// add is where a value came to, in the document without the moved value, and remove
	// where one was taken from.
	add, remove slot
}

// slot is a place in a holder.
type slot struct {
	at     []string
	list   bool
	index  int
	length int // of the list
}

// holder returns the place of the parent.
func (s *slot) holder() []string { return s.at[:max(0, len(s.at)-1)] }

// slotOf resolves a place of a document.
func slotOf(doc Value, at []string) (slot, error) {
	if len(at) == 0 {
		return slot{}, nil
	}
	holder := at[:len(at)-1]
	v, found := Lookup(doc, Pointer(holder...))
	if !found {
		return slot{}, fmt.Errorf("there is no value at %q", Pointer(holder...))
	}
	s := slot{at: at, list: v.Kind() == Array, length: v.Len()}
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

// sibling returns the index at which a place stands in the list of the slot, once the
// value in the slot is taken out; ok is false for a place that is not in that list.
func (s *slot) sibling(at []string) (index int, ok bool) {
	last := len(at) - 1
	if !s.list || len(at) != len(s.at) || !slices.Equal(at[:last], s.holder()) {
		return 0, false
	}
	if at[last] == "-" {
		return s.length - 1, true
	}
	return arrayIndex(at[last])
}

// back returns where a value was before the operation, or that the operation wrote it.
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
		if slices.Equal(at, s.remove.holder()) {
			return nil, true // it is empty now
		}
		return s.remove.shifted(at, 1), false
	default: // opMove
		if within(at, s.add.at) {
			return append(slices.Clip(s.remove.at), at[len(s.add.at):]...), false
		}
		at = s.add.shifted(at, -1)
		if slices.Equal(at, s.remove.holder()) {
			return nil, true
		}
		return s.remove.shifted(at, 1), false
	}
}

// shifted moves the index of an element in the slot's list, at its index or after it.
func (s *slot) shifted(at []string, by int) []string {
	holder := s.holder()
	if !s.list || len(at) <= len(holder) || !within(at, holder) {
		return at
	}
	index, ok := arrayIndex(at[len(holder)])
	if !ok || index < s.index {
		return at
	}
	moved := slices.Clone(at)
	moved[len(holder)] = strconv.Itoa(index + by)
	return moved
}

// within reports that a place is another one, or lies within it.
func within(at, outer []string) bool {
	return len(at) >= len(outer) && slices.Equal(at[:len(outer)], outer)
}
