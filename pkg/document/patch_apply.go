package document

import (
	"fmt"
	"strconv"
)

// Apply returns doc as the patch makes it, or says which operation cannot be done; then
// none was. doc does not change, and the result shares with it every list and object
// without changes.
//
// It follows RFC 6902. Names keep their places and new ones come last. Numbers are equal
// by value for test (1 and 1.0). The whole document may be replaced, but not removed.
//
// Codes: PATCH_TEST_FAILED; PATCH_PATH_MISSING and PATCH_INDEX, the value is missing;
// PATCH_MOVE_INTO_SELF; PATCH_ROOT; and over the limits TOO_DEEP, PATCH_TOO_LARGE,
// PATCH_TOO_COSTLY.
func (p *Patch) Apply(doc Value, limits PatchLimits) (Value, *PatchError) {
	limits = limits.withDefaults()
	a := applier{editor: editor{work: limits.Work}, limits: limits, room: limits.Bytes}
	for i, o := range p.operations {
		patched, err := a.perform(doc, o)
		if err == nil && a.work < 0 {
			err = &PatchError{
				member: "path", Code: CodePatchTooCostly,
				Message: "the operations until here move or read too much; send them in parts, or replace the whole list or object at once",
			}
		}
		if err != nil {
			err.Operation, err.Op, err.Path = i, o.op, o.path.text
			if err.member == "from" {
				err.Path = o.from.text
			}
			return Value{}, err
		}
		doc = patched
	}
	a.settle()
	return doc, nil
}

// applier applies the operations of one patch to one document.
type applier struct {
	editor
	limits PatchLimits
	room   int // bytes that operations may still write
}

func (a *applier) perform(doc Value, o operation) (Value, *PatchError) {
	switch o.op {
	case opAdd:
		if err := a.admit(o.value, o.path, "value"); err != nil {
			return Value{}, err
		}
		return a.put(doc, o.path, o.value)
	case opRemove:
		return a.remove(doc, o.path)
	case opReplace:
		return a.replace(doc, o)
	case opMove:
		return a.move(doc, o)
	case opCopy:
		return a.copy(doc, o)
	default:
		return a.test(doc, o)
	}
}

// find returns the value that p names. member is the member of the operation that p is.
func (a *applier) find(doc Value, p pointer, member string) (Value, *PatchError) {
	v, ok := a.descend(doc, p.segments)
	if !ok || v.IsZero() {
		return Value{}, missing(absenceIn(doc, p.segments), member)
	}
	return v, nil
}

func missing(a absence, member string) *PatchError {
	code := CodePatchPathMissing
	if a.holder.kind == Array {
		code = CodePatchIndex
	}
	return &PatchError{member: member, Code: code, Message: a.message(&Report{})}
}

// put puts v at p, where something may be or not.
func (a *applier) put(doc Value, p pointer, v Value) (Value, *PatchError) {
	if len(p.segments) == 0 {
		return v, nil
	}
	parents, name := p.segments[:len(p.segments)-1], p.segments[len(p.segments)-1]
	holder, ok := a.descend(doc, parents)
	if !ok {
		gone := absenceIn(doc, parents)
		err := missing(gone, "path")
		if gone.holder.kind == Object {
			err.Message += "; add " + pointerShown(gone.at+Pointer(gone.segment)) + " first"
		}
		return Value{}, err
	}
	place := a.placeOf(holder, name)
	switch {
	case holder.kind == Object && place >= 0:
		return a.ascend(a.set(holder, place, v)), nil
	case holder.kind == Object:
		return a.ascend(a.extend(holder, name, v)), nil
	case holder.kind == Array && (name == "-" || name == strconv.Itoa(holder.Len())):
		return a.ascend(a.insert(holder, holder.Len(), v)), nil
	case place >= 0:
		return a.ascend(a.insert(holder, place, v)), nil
	}
	return Value{}, missing(absence{holder: holder, at: Pointer(parents...), segment: name, adding: true}, "path")
}

func (a *applier) remove(doc Value, p pointer) (Value, *PatchError) {
	if len(p.segments) == 0 {
		return Value{}, &PatchError{
			member: "path", Code: CodePatchRoot,
			Message: `the whole document cannot be removed; replace it, as with {} for an empty object`,
		}
	}
	if _, err := a.find(doc, p, "path"); err != nil {
		return Value{}, err
	}
	return a.takeOut(), nil
}

// takeOut returns the document without the value found last.
func (a *applier) takeOut() Value {
	found := a.last()
	return a.ascend(a.without(found.holder, found.place))
}

func (a *applier) replace(doc Value, o operation) (Value, *PatchError) {
	if len(o.path.segments) > 0 {
		if _, err := a.find(doc, o.path, "path"); err != nil {
			return Value{}, err
		}
	}
	if err := a.admit(o.value, o.path, "value"); err != nil {
		return Value{}, err
	}
	if len(o.path.segments) == 0 {
		return o.value, nil
	}
	return a.ascend(o.value), nil
}

func (a *applier) move(doc Value, o operation) (Value, *PatchError) {
	v, err := a.find(doc, o.from, "from")
	if err != nil {
		return Value{}, err
	}
	if o.from.holds(o.path) {
		if len(o.from.segments) == len(o.path.segments) {
			return doc, nil
		}
		return Value{}, &PatchError{
			member: "path", Code: CodePatchMoveIntoSelf,
			Message: fmt.Sprintf("%q lies within %q, which cannot move into itself; copy it instead", shorten(o.path.text), shorten(o.from.text)),
		}
	}
	if len(o.path.segments) > len(o.from.segments) {
		if err := a.nests(v, o.path); err != nil {
			return Value{}, err
		}
	}
	return a.put(a.takeOut(), o.path, v)
}

func (a *applier) copy(doc Value, o operation) (Value, *PatchError) {
	v, err := a.find(doc, o.from, "from")
	if err != nil {
		return Value{}, err
	}
	if err := a.admit(v, o.path, "path"); err != nil {
		return Value{}, err
	}
	if _, mine := a.owned[v.tree]; mine {
		a.settle()
	}
	return a.put(doc, o.path, v)
}

func (a *applier) test(doc Value, o operation) (Value, *PatchError) {
	v, err := a.find(doc, o.path, "path")
	if err != nil {
		return Value{}, err
	}
	a.spend(Size(v, max(0, a.work)))
	if !Equal(v, o.value) {
		return Value{}, &PatchError{
			member: "value", Code: CodePatchTestFailed,
			Message: fmt.Sprintf("the document has %s there, not %s; read it again and create a new patch", glimpse(v), glimpse(o.value)),
		}
	}
	return doc, nil
}

// admit takes v from the rest that operations may write, and checks that it does not nest
// too deep at p.
func (a *applier) admit(v Value, p pointer, member string) *PatchError {
	r := ruler{most: a.room}
	r.measure(v, a.limits.Depth-len(p.segments))
	a.spend(r.size)
	switch {
	case r.tooDeep:
		return a.tooDeep(member)
	case !r.fits():
		return &PatchError{
			member: member, Code: CodePatchTooLarge,
			Message: fmt.Sprintf("the patch writes more than %d bytes in total; write or copy less", a.limits.Bytes),
		}
	}
	a.room -= r.size
	return nil
}

// nests checks that v does not nest too deep at p. Its reads count as work.
func (a *applier) nests(v Value, p pointer) *PatchError {
	r := ruler{most: max(0, a.work)}
	r.measure(v, a.limits.Depth-len(p.segments))
	a.spend(r.size)
	if r.tooDeep {
		return a.tooDeep("path")
	}
	return nil
}

func (a *applier) tooDeep(member string) *PatchError {
	return &PatchError{
		member: member, Code: CodeTooDeep,
		Message: fmt.Sprintf("lists and objects would nest more than %d levels deep; flatten them", a.limits.Depth),
	}
}

// glimpse returns a value for a message: as it is when short, or else its kind.
func glimpse(v Value) string {
	const most = 64
	switch {
	case Size(v, most) <= most:
		return v.String()
	case v.kind == Array:
		return "a list of " + countElements(v.Len())
	case v.kind == Object:
		return fmt.Sprintf("an object of %d", v.Len())
	case v.kind == String:
		return Quote(v.text)
	default:
		return shorten(v.text)
	}
}
