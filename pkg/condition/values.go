package condition

import (
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// PointerFault describes the problem with a pointer into the input, and how to fix it; or "".
func PointerFault(text string) string {
	_, fault := readPointer(text)
	return fault
}

// readPointer reads a pointer in which * stands for every element of a list.
func readPointer(text string) (path pointer, fault string) {
	if !strings.HasPrefix(text, "/") {
		return nil, "is not a pointer; begin it with /, such as " + asPointer(text)
	}
	path, ok := readSegments(text)
	if !ok {
		return nil, "is not a pointer; write ~ as ~0, and / within a name as ~1"
	}
	stars := 0
	for _, s := range path {
		if s.star {
			stars++
		} else if strings.HasPrefix(s.name, "*") {
			return nil, "has a * next to other characters; in a pointer * is a whole step, every element of a list"
		}
	}
	if stars > mostStars {
		return nil, "goes through more than " + strconv.Itoa(mostStars) + " lists; look at fewer levels"
	}
	return path, ""
}

// ValuesAt returns the values that a pointer leads to. A member that is missing or null has none. why says why
// there may be others, to follow the name of the tool's argument, without a full stop; it is empty when all are known.
func ValuesAt(text string, input document.Value) (values []document.Value, why string) {
	path, fault := readPointer(text)
	if fault != "" {
		return nil, fault
	}
	f := finder{path: path}
	f.from(input, 0)
	return f.values, f.why
}

// finder goes along a pointer and collects the values at its end.
type finder struct {
	path   pointer
	values []document.Value
	why    string
}

func (f *finder) from(v document.Value, i int) {
	switch {
	case v.IsZero() || v.Kind() == document.Null:
	case len(f.values) > mostElements:
		f.unclear("has more than " + strconv.Itoa(mostElements) + " values")
	case i == len(f.path):
		f.values = append(f.values, v)
	case f.path[i].star && v.Kind() == document.Array:
		for _, element := range v.Elements() {
			f.from(element, i+1)
		}
	case f.path[i].star:
		f.unclear("is not a list")
	case v.Kind() == document.Object:
		f.member(v, i)
	case v.Kind() == document.Array && isIndex(f.path[i].name):
		element, _ := document.Lookup(v, "/"+f.path[i].name)
		f.from(element, i+1)
	default:
		f.unclear("is not inside of an object")
	}
}

func (f *finder) member(v document.Value, i int) {
	s := &f.path[i]
	for name := range v.Members() {
		if name != s.name && s.couldBe(name) {
			f.unclear("has " + document.Quote(name) + " next to it, which a program may read as the same name")
		}
	}
	child, _ := v.Get(s.name)
	f.from(child, i+1)
}

// unclear keeps the first reason.
func (f *finder) unclear(why string) {
	if f.why == "" {
		f.why = why
	}
}
