package document

import (
	"slices"
	"strings"
)

// Patch is a JSON Patch (RFC 6902) that is well formed, immutable. Its
// operations are add, remove, replace, move, copy and test.
type Patch struct{ operations []operation }

// operation is one operation of a patch. Only those that need them have from
// and value.
type operation struct {
	op    string
	path  pointer
	from  pointer
	value Value
}

// The operations of RFC 6902 section 4.
const (
	opAdd     = "add"
	opRemove  = "remove"
	opReplace = "replace"
	opMove    = "move"
	opCopy    = "copy"
	opTest    = "test"
)

func (o operation) hasFrom() bool  { return o.op == opMove || o.op == opCopy }
func (o operation) hasValue() bool { return o.op == opAdd || o.op == opReplace || o.op == opTest }

// PatchLimits bound a patch and what it may do to a document. Zero fields mean
// the defaults.
type PatchLimits struct {
	// Text is the longest text of a patch in bytes, by default twice Bytes.
	Text int
	// Operations is how many there may be, MaxPatchOperations by default.
	Operations int
	// Depth is how many arrays and objects may hold one another in the
	// patched document, DefaultDepth by default.
	Depth int
	// Bytes is how much the operations may write in all, in bytes of compact
	// JSON and whatever they take away again, DefaultBytes by default.
	Bytes int
	// Work is how many steps the operations may take in all: an element moved
	// or a byte read is one. MaxPatchWork by default, some tenths of a second.
	Work int
}

// Defaults of PatchLimits.
const (
	MaxPatchOperations = 10_000
	MaxPatchWork       = 1 << 25
)

func (l PatchLimits) withDefaults() PatchLimits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Text <= 0 {
		l.Text = 2 * l.Bytes
	}
	if l.Operations <= 0 {
		l.Operations = MaxPatchOperations
	}
	if l.Depth <= 0 {
		l.Depth = DefaultDepth
	}
	if l.Work <= 0 {
		l.Work = MaxPatchWork
	}
	return l
}

// Len returns the number of operations.
func (p *Patch) Len() int { return len(p.operations) }

// AppendJSON appends the patch as compact JSON, without the members that its
// operations do not need, and with values as they were written.
func (p *Patch) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, o := range p.operations {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = o.appendTo(dst)
	}
	return append(dst, ']')
}

func (o operation) appendTo(dst []byte) []byte {
	dst = append(dst, `{"op":"`...)
	dst = append(append(dst, o.op...), '"')
	if o.hasFrom() {
		dst = appendString(append(dst, `,"from":`...), o.from.text)
	}
	dst = appendString(append(dst, `,"path":`...), o.path.text)
	if o.hasValue() {
		dst = o.value.AppendJSON(append(dst, `,"value":`...))
	}
	return append(dst, '}')
}

// MarshalJSON implements the standard interface; it never fails.
func (p *Patch) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// String is the patch as JSON.
func (p *Patch) String() string { return string(p.AppendJSON(nil)) }

// Touched returns the pointers that the operations write to or take away from,
// in their order: both ends of a move, the path of all others but test. A
// pointer within another one of them is left out. Elements that only change
// their index, because others before them came or went, are not named.
func (p *Patch) Touched() []string {
	var written []pointer
	for _, o := range p.operations {
		switch o.op {
		case opTest:
		case opMove:
			written = append(written, o.from, o.path)
		default:
			written = append(written, o.path)
		}
	}
	outer := outermost(written)
	var touched []string
	for _, w := range written {
		if outer[w.text] {
			touched = append(touched, w.text)
			delete(outer, w.text)
		}
	}
	return touched
}

// outermost returns the texts of the pointers that lie within no other. Sorted
// by segments, what lies within a pointer comes right after it.
func outermost(pointers []pointer) map[string]bool {
	sorted := slices.Clone(pointers)
	slices.SortFunc(sorted, func(a, b pointer) int { return slices.CompareFunc(a.segments, b.segments, strings.Compare) })
	outer := make(map[string]bool)
	var last *pointer
	for i := range sorted {
		if last == nil || !last.holds(sorted[i]) {
			last = &sorted[i]
			outer[last.text] = true
		}
	}
	return outer
}
