package document

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
