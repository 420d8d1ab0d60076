package document

import (
	"fmt"
	"strconv"
	"strings"
)

// absence is the place where a pointer leaves a document: holder is there, the member
// that segment names is not.
type absence struct {
	holder  Value
	at      string // the pointer of holder
	segment string
	adding  bool // whether segment may name the place after the last element
}

// absenceIn follows segments as far as they lead. They must leave doc.
func absenceIn(doc Value, segments []string) absence {
	for i, segment := range segments {
		place := doc.placeOf(segment)
		if place < 0 {
			return absence{holder: doc, at: Pointer(segments[:i]...), segment: segment}
		}
		doc = doc.childAt(place)
	}
	return absence{holder: doc, at: Pointer(segments...)}
}

// message describes the value that is there, and the correct form.
func (a absence) message(r *Report) string {
	switch a.holder.kind {
	case Object:
		return a.noMember(r)
	case Array:
		return a.noElement()
	case Missing:
		return "there is no document yet"
	default:
		return fmt.Sprintf("%s is %s, which has no members; make it an object or a list first", a.place(), article(a.holder.kind))
	}
}

func (a absence) noMember(r *Report) string {
	message := fmt.Sprintf("%s has no member %s", a.place(), Quote(a.segment))
	if a.holder.Len() == 0 {
		return message + "; it is empty"
	}
	names := make([]string, 0, a.holder.Len())
	for name := range a.holder.Members() {
		names = append(names, name)
	}
	if meant := r.DidYouMean(a.segment, func(yield func(string) bool) {
		for _, name := range names {
			if !yield(name) {
				return
			}
		}
	}); meant != "" {
		return message + meant
	}
	return message + "; it has " + quoteAll(names)
}

func (a absence) noElement() string {
	n := a.holder.Len()
	_, isIndex := arrayIndex(a.segment)
	switch {
	case a.segment == "-":
		return fmt.Sprintf("%s has %s, and - names the position after the last, which is empty%s", a.place(), countElements(n), a.indexes())
	case isIndex && a.adding:
		return fmt.Sprintf("%s has %s; use %s/- to append", a.place(), countElements(n), pointerShown(a.at))
	case isIndex:
		return fmt.Sprintf("%s has %s%s", a.place(), countElements(n), a.indexes())
	case strings.Trim(a.segment, "0123456789") == "" && a.segment != "" && a.segment[0] == '0':
		return fmt.Sprintf("%s is not an index of %s; write it without leading zeros", Quote(a.segment), a.place())
	default:
		return fmt.Sprintf("%s is not an index of %s, a list of %s%s", Quote(a.segment), a.place(), countElements(n), a.indexes())
	}
}

// indexes describes which indexes there are.
func (a absence) indexes() string {
	switch n := a.holder.Len(); n {
	case 0:
		return ""
	case 1:
		return "; write 0"
	default:
		return "; write 0 to " + strconv.Itoa(n-1)
	}
}

func (a absence) place() string {
	if a.at == "" {
		return "the document"
	}
	return pointerShown(a.at)
}

func countElements(n int) string {
	if n == 1 {
		return "1 element"
	}
	return strconv.Itoa(n) + " elements"
}

// pointerShown returns a pointer from outside for a message: short and printable.
func pointerShown(pointer string) string {
	quoted := Quote(pointer)
	return quoted[1 : len(quoted)-1]
}
