package decisionlog

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/interlock-run/interlock/pkg/jsonobject"
)

// sift excludes records from a query by their text, which is many times faster than to decode them.
type sift struct{ has, hasNot [][]byte }

// siftOf returns the sift of a query. It has members in the form of Decision.Encode.
func siftOf(q *Query) sift {
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

// member returns a member with a text in the form of records.
func member(name, value string) []byte {
	w := jsonobject.New(len(name) + len(value) + 8)
	w.Open()
	w.Text(name, value)
	w.Close()
	return bytes.Trim(w.Bytes(), "{}")
}

// drops reports whether a record can be skipped. It keeps records that are not JSON, so that readers of the
// log see them.
func (s *sift) drops(record []byte) bool {
	lacks := slices.ContainsFunc(s.has, func(m []byte) bool { return !bytes.Contains(record, m) })
	unwanted := slices.ContainsFunc(s.hasNot, func(m []byte) bool { return bytes.Contains(record, m) }) &&
		!bytes.Contains(record, []byte(`"shadows":`))
	return (lacks || unwanted) && json.Valid(record)
}
