package sdk

import (
	"context"
	stdjson "encoding/json"
	"fmt"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/interlock-run/interlock/pkg/document"
)

// UpdateAs is [Client.Update] for documents as a Go value. T need not have all that
// the document has: only what change makes different is written, and the rest stays
// as it is, numbers to the last digit. When that can not be, because a list or a
// value would be replaced that T holds only in part, nothing is written.
//
// Names match exactly, as the document's schema has them.
func UpdateAs[T any](ctx context.Context, c *Client, id string, change func(*T) error) (State, error) {
	return c.Update(ctx, id, func(doc stdjson.RawMessage) (stdjson.RawMessage, error) {
		value := new(T)
		if err := json.Unmarshal(doc, value, jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false)); err != nil {
			return nil, fmt.Errorf("read the state as %T: %w", *value, err)
		}
		before, err := parsed(*value)
		if err != nil {
			return nil, err
		}
		if err := change(value); err != nil {
			return nil, err
		}
		after, err := parsed(*value)
		if err != nil {
			return nil, err
		}
		whole, err := parsed(doc)
		if err != nil {
			return nil, err
		}
		next, lost := merge(nil, whole, before, after)
		if lost != nil {
			return nil, fmt.Errorf("the state was not changed: %T does not hold all of %q, so the change would lose a part; "+
				"give it a field for that, or use Update", *value, lost.String())
		}
		return next.AppendJSON(nil), nil
	})
}

// anySize leaves the limit on a state to the server.
var anySize = document.Limits{Bytes: 1 << 30}

// parsed is a Go value as the document that it encodes to.
func parsed(value any) (document.Value, error) {
	text, err := stdjson.Marshal(value)
	if err != nil {
		return document.Value{}, fmt.Errorf("encode %T: %w", value, err)
	}
	v, problem := document.Parse(text, anySize)
	if problem != nil {
		return document.Value{}, fmt.Errorf("encode %T: %s", value, problem)
	}
	return v, nil
}

// merge makes of a document what became of a view of it, from before to after. It
// answers the path of what would be lost, because the view holds only a part of
// it.
func merge(at *document.Path, doc, before, after document.Value) (next document.Value, lost *document.Path) {
	if document.Equal(before, after) {
		return doc, nil
	}
	if doc.Kind() == document.Object && before.Kind() == document.Object && after.Kind() == document.Object {
		return mergeObject(at, doc, before, after)
	}
	return after, missing(at, doc, before)
}

func mergeObject(at *document.Path, doc, before, after document.Value) (document.Value, *document.Path) {
	var members []document.Member
	for name, value := range doc.Members() {
		was, seen := before.Get(name)
		is, stays := after.Get(name)
		switch {
		case stays:
			next, lost := merge(at.Key(name), value, was, is)
			if lost != nil {
				return document.Value{}, lost
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
		// A zero value that only the view has is no change.
		if was, seen := before.Get(name); !seen || !document.Equal(was, is) {
			members = append(members, document.Member{Name: name, Value: is})
		}
	}
	return document.ObjectValue(members), nil
}

// missing is the path of the first thing in a document that a view of it does not
// have, nil for none. A view may have more: zero values of what is not there. And
// it may leave out what is empty, or show it as another empty value.
func missing(at *document.Path, doc, view document.Value) *document.Path {
	if document.Equal(doc, view) || empty(doc) && (view.IsZero() || empty(view)) {
		return nil
	}
	switch {
	case doc.Kind() == document.Object && view.Kind() == document.Object:
		for name, value := range doc.Members() {
			shown, _ := view.Get(name)
			if lost := missing(at.Key(name), value, shown); lost != nil {
				return lost
			}
		}
		return nil
	case doc.Kind() == document.Array && view.Kind() == document.Array && doc.Len() == view.Len():
		for i, value := range doc.Elements() {
			if lost := missing(at.At(i), value, view.Index(i)); lost != nil {
				return lost
			}
		}
		return nil
	case at == nil:
		return at.Key("") // a path that is not nil
	default:
		return at
	}
}

// empty is true for the values that Go leaves out or shows as zero.
func empty(v document.Value) bool {
	switch v.Kind() {
	case document.Null:
		return true
	case document.Bool:
		return !v.Bool()
	case document.Number:
		return document.CompareNumbers(v.Number(), "0") == 0
	case document.String:
		return v.Str() == ""
	default:
		return v.Len() == 0
	}
}
