package app

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/interlock-run/interlock/pkg/jsonobject"
)

// sift tells, of the text of a record, that it cannot be one that a query selects: reading
// all of it takes many times longer.
type sift struct{ has, hasNot [][]byte }

// siftOf looks for the members that records write as Decision.Encode does.
func siftOf(q *DecisionQuery) sift {
	var s sift
	for _, m := range []struct{ name, value string }{
		{"tool", q.Tool},
		{"session_id", q.SessionID},
		{"decision", string(q.Decision)},
		{"code", string(q.Code)},
		{"workflow", q.Workflow},
		{"policy", q.Policy},
		{"principal", q.Principal},
	} {
		if m.value != "" {
			s.has = append(s.has, member(m.name, m.value))
		}
	}
	for _, d := range q.NotDecisions {
		// Another member of that name is only in shadows: a record with them is read.
		s.hasNot = append(s.hasNot, member("decision", string(d)))
	}
	return s
}

// member is how a record has a text.
func member(name, value string) []byte {
	w := jsonobject.New(len(name) + len(value) + 8)
	w.Open()
	w.Text(name, value)
	w.Close()
	return bytes.Trim(w.Bytes(), "{}")
}

// drops reports that a record need not be read. One that is not JSON is never dropped:
// anyone who reads the log must see that there is one.
func (s *sift) drops(record []byte) bool {
	lacks := slices.ContainsFunc(s.has, func(m []byte) bool { return !bytes.Contains(record, m) })
	unwanted := slices.ContainsFunc(s.hasNot, func(m []byte) bool { return bytes.Contains(record, m) }) &&
		!bytes.Contains(record, []byte(`"shadows":`))
	return (lacks || unwanted) && json.Valid(record)
}
