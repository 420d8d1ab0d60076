package sdk

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// partialError says what a view of a document does not hold all of.
type partialError struct{ at *document.Path }

func (e *partialError) Error() string { return "does not hold all of \"" + e.at.String() + "\"" }

// merge makes of a document the outcome of a view of it, from before to after. The
// view may have only a part of the document: it fails, with a [*partialError], when
// the rest would be lost.
func merge(at *document.Path, doc, before, after document.Value) (document.Value, error) {
	switch {
	case document.Equal(before, after):
		return doc, nil
	case doc.Kind() == document.Object && before.Kind() == document.Object && after.Kind() == document.Object:
		return mergeObject(at, doc, before, after)
	default:
		return after, shown(at, doc, before)
	}
}

func mergeObject(at *document.Path, doc, before, after document.Value) (document.Value, error) {
	var members []document.Member
	for name, value := range doc.Members() {
		was, seen := before.Get(name)
		is, stays := after.Get(name)
		switch {
		case stays:
			next, err := merge(at.Key(name), value, was, is)
			if err != nil {
				return document.Value{}, err
			}
			members = append(members, document.Member{Name: name, Value: next})
		case !seen: // the view has nothing of it
			members = append(members, document.Member{Name: name, Value: value})
		}
	}
	for name, is := range after.Members() {
		if _, there := doc.Get(name); there {
			continue
		}
		// A zero value that only the view has is not a change.
		if was, seen := before.Get(name); seen && document.Equal(was, is) {
			continue
		}
		// encoding/json also reads a member into a field of almost its name.
		for other := range doc.Members() {
			if strings.EqualFold(name, other) {
				return document.Value{}, &partialError{at.Key(other)}
			}
		}
		members = append(members, document.Member{Name: name, Value: is})
	}
	return document.ObjectValue(members), nil
}

// shown fails unless a view has all of a document. It may have more, the zero
// values of what is not there; and what is empty it may leave out, or have as
// another empty value.
func shown(at *document.Path, doc, view document.Value) error {
	switch {
	case document.Equal(doc, view), empty(doc) && empty(view):
		return nil
	case doc.Kind() == document.Object && view.Kind() == document.Object:
		for name, value := range doc.Members() {
			part, _ := view.Get(name)
			if err := shown(at.Key(name), value, part); err != nil {
				return err
			}
		}
		return nil
	case doc.Kind() == document.Array && view.Kind() == document.Array && doc.Len() == view.Len():
		for i, value := range doc.Elements() {
			if err := shown(at.At(i), value, view.Index(i)); err != nil {
				return err
			}
		}
		return nil
	default:
		return &partialError{at}
	}
}

// empty is true for the values that Go leaves out or has as zero.
func empty(v document.Value) bool {
	switch v.Kind() {
	case document.Bool:
		return !v.Bool()
	case document.Number:
		return document.CompareNumbers(v.Number(), "0") == 0
	case document.String:
		return v.Str() == ""
	default: // also null, and nothing at all
		return v.Len() == 0
	}
}
