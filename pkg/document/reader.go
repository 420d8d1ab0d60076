package document

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Reader reads texts into memory that it uses again. A Value that it returned is valid until it
// reads the next text, and as long as the bytes of its own text do not change. The zero Reader
// is ready for use. It is not safe for concurrent use.
type Reader struct {
	src      string
	at       int
	open     []Member // of the lists and objects that are not closed yet
	elements []Value
	members  []Member
	trees    []tree
}

const (
	// mostScanned is how many members an object may have that is read without a map.
	mostScanned = 32
	// mostKept is how much memory of one kind is kept for the next text.
	mostKept = 1024
)

// Read reads one JSON text as Parse does. Texts in their usual form, without escapes, cost no
// allocation once there is memory for their parts; the others are left to Parse.
func (r *Reader) Read(src []byte, limits Limits) (Value, *Problem) {
	limits = limits.withDefaults()
	if len(src) <= limits.Bytes {
		r.reset(src)
		if v, ok := r.value(limits.Depth); ok && r.next() == 0 && r.at == len(r.src) {
			return v, nil
		}
	}
	return Parse(src, limits)
}

func (r *Reader) reset(src []byte) {
	r.src, r.at = unsafe.String(unsafe.SliceData(src), len(src)), 0
	if cap(r.open) > mostKept || cap(r.elements) > mostKept || cap(r.members) > mostKept || cap(r.trees) > mostKept {
		r.open, r.elements, r.members, r.trees = nil, nil, nil, nil
	}
	r.open, r.elements, r.members, r.trees = r.open[:0], r.elements[:0], r.members[:0], r.trees[:0]
}

// next skips blanks and returns the byte after them, 0 at the end.
func (r *Reader) next() byte {
	for ; r.at < len(r.src); r.at++ {
		switch c := r.src[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// value reads a value in which so many lists and objects may hold one another. It is not ok when Parse has to
// read the text.
func (r *Reader) value(levels int) (Value, bool) {
	switch c := r.next(); c {
	case '"':
		text, ok := r.text()
		return Value{kind: String, text: text}, ok
	case '{', '[':
		if levels == 0 {
			return Value{}, false
		}
		r.at++
		return r.children(c == '{', levels-1)
	case 't':
		return BoolValue(true), r.word("true")
	case 'f':
		return BoolValue(false), r.word("false")
	case 'n':
		return NullValue(), r.word("null")
	default:
		return r.number()
	}
}

func (r *Reader) word(text string) bool {
	if !strings.HasPrefix(r.src[r.at:], text) {
		return false
	}
	r.at += len(text)
	return true
}

func (r *Reader) number() (Value, bool) {
	start := r.at
	for r.at < len(r.src) && strings.IndexByte("0123456789+-.eE", r.src[r.at]) >= 0 {
		r.at++
	}
	v := NumberValue(r.src[start:r.at])
	return v, v.kind == Number
}

// text reads a text without escapes, at whose quote it stands.
func (r *Reader) text() (string, bool) {
	start, ascii := r.at+1, true
	for i := start; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == '"':
			r.at = i + 1
			text := r.src[start:i]
			return text, ascii || utf8.ValidString(text)
		case c < ' ' || c == '\\':
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

// children reads the rest of a list or object, behind its bracket.
func (r *Reader) children(object bool, levels int) (Value, bool) {
	from, end := len(r.open), byte(']')
	if object {
		end = '}'
	}
	for c := r.next(); c != end; c = r.next() {
		if len(r.open) > from {
			if c != ',' {
				return Value{}, false
			}
			r.at++
		}
		var one Member
		ok := true
		if object {
			one.Name, ok = r.name()
		}
		if ok {
			one.Value, ok = r.value(levels)
		}
		if !ok || object && (len(r.open)-from == mostScanned || place(r.open[from:], one.Name) >= 0) {
			return Value{}, false
		}
		r.open = append(r.open, one)
	}
	r.at++
	return r.closed(object, from), true
}

// name reads the name of a member and the colon behind it.
func (r *Reader) name() (string, bool) {
	if r.next() != '"' {
		return "", false
	}
	name, ok := r.text()
	if !ok || r.next() != ':' {
		return "", false
	}
	r.at++
	return name, true
}

// closed returns a list or object of the children that have been open since.
func (r *Reader) closed(object bool, from int) Value {
	children := r.open[from:]
	r.open = r.open[:from]
	kind := Array
	if object {
		kind = Object
	}
	if len(children) == 0 {
		return Value{kind: kind}
	}
	if object {
		start := len(r.members)
		r.members = append(r.members, children...)
		r.trees = append(r.trees, tree{members: r.members[start:len(r.members):len(r.members)]})
	} else {
		start := len(r.elements)
		for i := range children {
			r.elements = append(r.elements, children[i].Value)
		}
		r.trees = append(r.trees, tree{elements: r.elements[start:len(r.elements):len(r.elements)]})
	}
	return Value{kind: kind, tree: &r.trees[len(r.trees)-1]}
}
