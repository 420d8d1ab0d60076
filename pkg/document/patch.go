package document

import (
	"fmt"
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

// PatchLimits bound a patch and its effect on a document. Zero fields mean the defaults.
type PatchLimits struct {
	// Text is the longest text of a patch in bytes, by default twice Bytes.
	Text int
	// Operations is how many there may be, MaxPatchOperations by default.
	Operations int
	// Depth is how many arrays and objects may hold one another in the
	// patched document, DefaultDepth by default.
	Depth int
	// Bytes is how much the operations may write in all, in bytes of compact JSON
	// including parts that they take away again, DefaultBytes by default.
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

// String returns the patch as JSON.
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

// outermost returns the texts of the pointers that lie within no other. Sorted by
// segments, pointers within another come right after it.
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

// wrapping is how deep a patch wraps a value that it carries: in an operation,
// in the list of them.
const wrapping = 2

// ParsePatch reads a JSON Patch strictly, as ParseAll does, and reports every
// problem of it. Pointers of problems are into the patch, as "/0/path". There
// is not a patch while there are errors.
func ParsePatch(src []byte, limits PatchLimits) (*Patch, Problems) {
	limits = limits.withDefaults()
	v, problems := ParseAll(src, Limits{Bytes: limits.Text, Depth: limits.Depth + wrapping})
	if v.IsZero() {
		return nil, problems
	}
	patch, more := readPatch(v, limits)
	problems = append(problems, more...)
	if problems.HasErrors() {
		problems.Sort()
		return nil, problems
	}
	return patch, nil
}

// PatchOf reads a JSON Patch from a value, within the defaults of PatchLimits:
// see ParsePatch.
func PatchOf(v Value) (*Patch, Problems) {
	return readPatch(v, PatchLimits{}.withDefaults())
}

func readPatch(v Value, limits PatchLimits) (*Patch, Problems) {
	var r Report
	if v.kind != Array {
		r.Errorf(nil, CodeType, `a JSON Patch is a list of operations, not %s; write [{"op":"replace","path":"/status","value":"done"}]`, article(v.kind))
		return nil, r.Problems()
	}
	if v.Len() > limits.Operations {
		r.Errorf(nil, CodeTooMany, "the patch has %d operations, the limit is %d; send it in parts, or replace larger values", v.Len(), limits.Operations)
		return nil, r.Problems()
	}
	patch := &Patch{operations: make([]operation, 0, v.Len())}
	var root *Path
	for i, e := range v.Elements() {
		patch.operations = append(patch.operations, readOperation(&r, root.At(i), e))
	}
	if r.HasErrors() {
		return nil, r.Problems()
	}
	return patch, nil
}

func readOperation(r *Report, at *Path, v Value) operation {
	f, ok := r.Object(v, at, "an operation")
	if !ok {
		return operation{}
	}
	f.Require("op")
	op, ok := f.Enum("op", opAdd, opRemove, opReplace, opMove, opCopy, opTest)
	if !ok {
		return operation{}
	}
	o := operation{op: op, path: f.patchPointer("path")}
	if o.hasFrom() {
		o.from = f.patchPointer("from")
	}
	if o.hasValue() {
		f.Require("value")
		o.value, _ = v.Get("value")
	}
	return o
}

// patchPointer returns a field that must be there and be an RFC 6901 pointer.
func (f Fields) patchPointer(name string) pointer {
	f.Require(name)
	text, _ := f.Str(name)
	p, malformed := readPointer(text)
	if malformed != "" {
		f.Report.Errorf(f.At.Key(name), CodePointer, "%q is %s", name, malformed)
	}
	return p
}

// PatchError is an operation that could not be done, so that no part of its patch was.
type PatchError struct {
	// Operation is the place of the operation in the patch, from 0.
	Operation int
	// Op is its name, as "replace".
	Op string
	// Path is the pointer that is at fault: path, or from.
	Path string
	Code Code
	// Message describes the present value and how to fix the operation.
	Message string

	member string // of the operation: "path", "from" or "value"
}

// Error implements error.
func (e *PatchError) Error() string {
	return fmt.Sprintf("operation %d (%s %q): %s: %s", e.Operation, e.Op, shorten(e.Path), e.Code, e.Message)
}

// Problem returns the error as a problem of the patch: its pointer is that of
// the member of the operation to fix, as "/2/path".
func (e *PatchError) Problem() Problem {
	var patch *Path
	return Problem{
		Pointer: patch.At(e.Operation).Key(e.member).String(), Code: e.Code, Severity: SeverityError,
		Message: fmt.Sprintf("%s %q: %s", e.Op, shorten(e.Path), e.Message),
	}
}
