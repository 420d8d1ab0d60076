package facet

import (
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// MaxRecord bounds the facts that are kept of a call, in bytes.
const MaxRecord = 32 << 10

// Record returns the facets of a call as a JSON object, to be kept: {"writes": {"known": true, "values": ["src/a.go"]}}. Facets
// that have no room are not known later. The time is not part of it.
func Record(call condition.Facts) []byte {
	var members []document.Member
	room := MaxRecord
	for _, name := range condition.Facets() {
		if name == condition.Time {
			continue
		}
		v := setValue(call.Facet(name))
		size := len(v.AppendJSON(nil)) + len(name) + 4
		if size > room {
			continue
		}
		room -= size
		members = append(members, document.Member{Name: string(name), Value: v})
	}
	return document.ObjectValue(members).AppendJSON(nil)
}

func setValue(s condition.Set) document.Value {
	members := []document.Member{{Name: "known", Value: boolValue(s.Known)}}
	if !s.Known && s.Why != "" {
		members = append(members, document.Member{Name: "why", Value: stringValue(s.Why)})
	}
	if len(s.Values) > 0 {
		values := make([]document.Value, len(s.Values))
		for i := range s.Values {
			values[i] = elementValue(&s.Values[i])
		}
		members = append(members, document.Member{Name: "values", Value: document.ArrayValue(values)})
	}
	return document.ObjectValue(members)
}

// elementValue returns a value as it is; one with other readings, or with marks, is an object.
func elementValue(e *condition.Element) document.Value {
	if len(e.Also) == 0 && !e.Below && !e.Unsure {
		return e.Value
	}
	members := []document.Member{{Name: "value", Value: e.Value}}
	if len(e.Also) > 0 {
		members = append(members, document.Member{Name: "also", Value: document.ArrayValue(e.Also)})
	}
	if e.Below {
		members = append(members, document.Member{Name: "below", Value: boolValue(true)})
	}
	if e.Unsure {
		members = append(members, document.Member{Name: "unsure", Value: boolValue(true)})
	}
	return document.ObjectValue(members)
}

// Recorded returns the facts of a call that Record has kept, with its input. Facets that are not in them are not known.
func Recorded(facts []byte, input document.Value) condition.Facts {
	v, _ := document.Parse(facts, document.Limits{Bytes: len(facts) + 1})
	return recorded{facts: v, input: input}
}

type recorded struct{ facts, input document.Value }

// Input implements condition.Facts.
func (r recorded) Input() (document.Value, bool) {
	if r.input.IsZero() {
		return document.ObjectValue(nil), true
	}
	return r.input, r.input.Kind() == document.Object
}

// Facet implements condition.Facts.
func (r recorded) Facet(name condition.Facet) condition.Set {
	v, ok := r.facts.Get(string(name))
	if !ok || v.Kind() != document.Object {
		return condition.Unknown(string(name) + " was not kept")
	}
	known, _ := v.Get("known")
	why, _ := v.Get("why")
	s := condition.Set{Known: known.Bool(), Why: why.Str()}
	values, _ := v.Get("values")
	for _, e := range values.Elements() {
		s.Values = append(s.Values, elementOf(e))
	}
	return s
}

func elementOf(v document.Value) condition.Element {
	if v.Kind() != document.Object {
		return condition.Element{Value: v}
	}
	value, _ := v.Get("value")
	also, _ := v.Get("also")
	below, _ := v.Get("below")
	unsure, _ := v.Get("unsure")
	e := condition.Element{Value: value, Below: below.Bool(), Unsure: unsure.Bool()}
	for _, other := range also.Elements() {
		e.Also = append(e.Also, other)
	}
	return e
}
