package document

import (
	"iter"
	"sync/atomic"
)

// Kind is the type of a Value.
type Kind uint8

// The kinds. The zero Value is Missing: no value at all, which is not null.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String names the kind as a message to a person does.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "list"
	case Object:
		return "object"
	default:
		return "missing"
	}
}

// Value is one JSON value, immutable. The zero Value is Missing. Values are
// cheap to copy; compare them with Equal, never with ==.
type Value struct {
	text  string // a String's text, a Number's source text
	tree  *tree  // of an Array or Object; nil when empty
	kind  Kind
	truth bool
}

// tree holds the children of an Array or Object. After the constructor returned, only the
// memory of its size changes.
type tree struct {
	elements []Value
	members  []Member
	index    map[string]int // name to place in members; nil for small objects
	memo     atomic.Uint64  // see remember: 0 for none
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value Value
}

// indexFrom is the object size from which a map beats walking the members.
const indexFrom = 9

// NullValue returns null.
func NullValue() Value { return Value{kind: Null} }

// BoolValue returns true or false.
func BoolValue(b bool) Value { return Value{kind: Bool, truth: b} }

// StringValue returns a string. It must be valid UTF-8.
func StringValue(s string) Value { return Value{kind: String, text: s} }

// NumberValue returns the number written as text, which is kept exactly. Text that is not
// a JSON number, or is beyond the bounds of a document (see ParseAll), gives Missing.
func NumberValue(text string) Value {
	if !isNumber(text) || numberProblem(text) != "" {
		return Value{}
	}
	return Value{kind: Number, text: text}
}

// ArrayValue returns an array of elements, which it keeps: the caller must not
// change the slice afterwards.
func ArrayValue(elements []Value) Value {
	if len(elements) == 0 {
		return Value{kind: Array}
	}
	return Value{kind: Array, tree: &tree{elements: elements}}
}

// ObjectValue returns an object with members in that order. It keeps the slice:
// the caller must not change it afterwards. Of members with the same name the
// first counts and the others are left out.
func ObjectValue(members []Member) Value {
	switch {
	case len(members) == 0:
		return Value{kind: Object}
	case len(members) < indexFrom:
		for i := 1; i < len(members); i++ {
			if place(members[:i], members[i].Name) >= 0 {
				return objectOfFirsts(members)
			}
		}
		return Value{kind: Object, tree: &tree{members: members}}
	}
	index := make(map[string]int, len(members))
	for i, m := range members {
		if _, repeated := index[m.Name]; repeated {
			return objectOfFirsts(members)
		}
		index[m.Name] = i
	}
	return Value{kind: Object, tree: &tree{members: members, index: index}}
}

func objectOfFirsts(members []Member) Value {
	seen := make(map[string]bool, len(members))
	firsts := make([]Member, 0, len(members))
	for _, m := range members {
		if !seen[m.Name] {
			seen[m.Name] = true
			firsts = append(firsts, m)
		}
	}
	return ObjectValue(firsts)
}

func place(members []Member, name string) int {
	for i := range members {
		if members[i].Name == name {
			return i
		}
	}
	return -1
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// IsZero reports whether v is Missing.
func (v Value) IsZero() bool { return v.kind == Missing }

// Bool returns the truth of a Bool, else false.
func (v Value) Bool() bool { return v.kind == Bool && v.truth }

// Str returns the text of a String, else "".
func (v Value) Str() string {
	if v.kind != String {
		return ""
	}
	return v.text
}

// Number returns a Number as written, else "".
func (v Value) Number() Decimal {
	if v.kind != Number {
		return ""
	}
	return Decimal(v.text)
}

// Len returns the number of elements or members, 0 for any other kind.
func (v Value) Len() int {
	if v.tree == nil {
		return 0
	}
	return len(v.tree.elements) + len(v.tree.members)
}

// Index returns element i of an Array, or Missing.
func (v Value) Index(i int) Value {
	if v.tree == nil || i < 0 || i >= len(v.tree.elements) {
		return Value{}
	}
	return v.tree.elements[i]
}

// Member returns the name and value of member i of an Object, in the order written, or Missing.
func (v Value) Member(i int) (name string, value Value) {
	if v.tree == nil || i < 0 || i >= len(v.tree.members) {
		return "", Value{}
	}
	return v.tree.members[i].Name, v.tree.members[i].Value
}

// Get returns the member of an Object by its exact name.
func (v Value) Get(name string) (Value, bool) {
	if i := v.find(name); i >= 0 {
		return v.tree.members[i].Value, true
	}
	return Value{}, false
}

func (v Value) find(name string) int {
	if v.tree == nil {
		return -1
	}
	if v.tree.index != nil {
		if i, ok := v.tree.index[name]; ok {
			return i
		}
		return -1
	}
	return place(v.tree.members, name)
}

// Elements yields the elements of an Array in order.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.tree == nil {
			return
		}
		for i, e := range v.tree.elements {
			if !yield(i, e) {
				return
			}
		}
	}
}

// Members yields the members of an Object in the order written.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.tree == nil {
			return
		}
		for _, m := range v.tree.members {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}
}

// MergeTop returns base with the members of patch set: shallow, at the top
// level (S2.3). Names of base keep their places, new ones follow. Neither
// argument changes. A base that is not an Object counts as an empty one, and so
// does such a patch.
func MergeTop(base, patch Value) Value {
	if patch.kind != Object || patch.Len() == 0 {
		if base.kind != Object {
			return Value{kind: Object}
		}
		return base
	}
	if base.kind != Object || base.Len() == 0 {
		return patch
	}
	members := make([]Member, len(base.tree.members), len(base.tree.members)+len(patch.tree.members))
	copy(members, base.tree.members)
	for _, m := range patch.tree.members {
		if i := base.find(m.Name); i >= 0 {
			members[i].Value = m.Value
		} else {
			members = append(members, m)
		}
	}
	return ObjectValue(members)
}

// Equal reports JSON equality: numbers by value (1 == 1.0, exactly, however long),
// objects regardless of the order of their keys (S2.5). Missing equals only Missing.
func Equal(a, b Value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case Bool:
		return a.truth == b.truth
	case String:
		return a.text == b.text
	case Number:
		return a.text == b.text || CompareNumbers(Decimal(a.text), Decimal(b.text)) == 0
	case Array:
		return equalElements(a, b)
	case Object:
		return equalMembers(a, b)
	default:
		return true
	}
}

func equalElements(a, b Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i, e := range a.Elements() {
		if !Equal(e, b.tree.elements[i]) {
			return false
		}
	}
	return true
}

func equalMembers(a, b Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for name, av := range a.Members() {
		bv, ok := b.Get(name)
		if !ok || !Equal(av, bv) {
			return false
		}
	}
	return true
}
