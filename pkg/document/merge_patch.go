package document

import (
	"fmt"
	"math"
	"slices"
)

// MergePatch returns doc as a JSON Merge Patch (RFC 7396) makes it: members of the patch
// are set in doc, object by object; null removes; any other patch than an object takes
// the place of doc. Names keep their places and new ones come last. The result shares
// with doc every list and object without changes.
//
// Codes: PATCH_TOO_LARGE, a patch of more than limits.Bytes; TOO_DEEP, the
// result would nest deeper than limits.Depth. The pointer is where, in both.
func MergePatch(doc, patch Value, limits PatchLimits) (Value, *Problem) {
	limits = limits.withDefaults()
	if Size(patch, limits.Bytes) > limits.Bytes {
		return Value{}, &Problem{
			Code: CodePatchTooLarge, Severity: SeverityError,
			Message: fmt.Sprintf("the patch has more than %d bytes; send it in parts", limits.Bytes),
		}
	}
	merged, problem := merge(doc, patch, limits.Depth)
	if problem != nil {
		problem.Message = fmt.Sprintf("lists and objects would nest more than %d levels deep; flatten them", limits.Depth)
	}
	return merged, problem
}

// merge puts patch in the place of target, which may be Missing. The result may
// nest levels deep.
func merge(target, patch Value, levels int) (Value, *Problem) {
	if patch.kind != Object {
		r := ruler{most: math.MaxInt}
		if r.measure(patch, levels); r.tooDeep {
			return Value{}, &Problem{Code: CodeTooDeep, Severity: SeverityError}
		}
		return patch, nil
	}
	if levels == 0 {
		return Value{}, &Problem{Code: CodeTooDeep, Severity: SeverityError}
	}
	if target.kind != Object {
		target = Value{kind: Object}
	}
	m := merging{target: target}
	for name, change := range patch.Members() {
		place := target.find(name)
		if change.kind == Null {
			m.remove(place)
			continue
		}
		merged, problem := merge(target.childAt(place), change, levels-1)
		if problem != nil {
			problem.Pointer = Pointer(name) + problem.Pointer
			return Value{}, problem
		}
		m.set(place, Member{name, merged})
	}
	return m.result(), nil
}

// merging is an object under change.
type merging struct {
	target  Value
	members []Member // a copy of the target's, once one of them changed
	removed bool     // some members are Missing, to be left out
}

func (m *merging) own() {
	if m.members == nil {
		for name, value := range m.target.Members() {
			m.members = append(m.members, Member{name, value})
		}
	}
}

func (m *merging) remove(place int) {
	if place >= 0 {
		m.own()
		m.members[place].Value = Value{}
		m.removed = true
	}
}

// set puts a member at a place, or after all others when that is -1.
func (m *merging) set(place int, member Member) {
	switch {
	case place < 0:
		m.own()
		m.members = append(m.members, member)
	case m.target.childAt(place) != member.Value: // not the very tree, the very text
		m.own()
		m.members[place] = member
	}
}

func (m *merging) result() Value {
	switch {
	case m.members == nil:
		return m.target
	case m.removed:
		m.members = slices.DeleteFunc(m.members, func(member Member) bool { return member.Value.IsZero() })
	case len(m.members) == m.target.Len():
		return Value{kind: Object, tree: &tree{members: m.members, index: m.target.tree.index}}
	}
	return ObjectValue(m.members)
}
