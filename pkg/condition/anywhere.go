package condition

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// deepest is how many texts of JSON may hold one another.
const deepest = 4

// judgeAnywhere looks at every text of the input, names of members too, and at those in texts that
// are JSON. It only restricts: a harmless text could satisfy an allowance.
func (l *leaf) judgeAnywhere(r *run, stance Stance) Truth {
	input, ok := r.arguments()
	if !ok {
		return r.doubts(doubt{why: inputNotRead})
	}
	if stance.allows() {
		return r.doubts(doubt{why: onlyRestricts})
	}
	t := tally{result: False}
	l.texts(r, input, &t, 0)
	return t.result
}

func (l *leaf) texts(r *run, v document.Value, t *tally, depth int) {
	switch v.Kind() {
	case document.String:
		l.oneText(r, v, t, depth)
	case document.Array:
		for i := range v.Len() {
			l.texts(r, v.Index(i), t, depth)
		}
	case document.Object:
		for i := range v.Len() {
			name, child := v.Member(i)
			t.add(l.passes(r, document.StringValue(name), Restricts))
			l.texts(r, child, t, depth)
		}
	default:
	}
}

// oneText looks at one text, and into it when it is JSON.
func (l *leaf) oneText(r *run, v document.Value, t *tally, depth int) {
	one := l.passes(r, v, Restricts)
	if one == True && r.note != nil {
		r.shown = append(r.shown, v)
	}
	t.add(one)
	text := v.Str()
	if t.result == True || !startsJSON(text) {
		return
	}
	inner, problem := document.Parse([]byte(strings.TrimPrefix(text, byteOrderMark)), document.Limits{})
	switch {
	case problem != nil && problem.Code == document.CodeJSONSyntax:
		return // a text that is not JSON, such as "[draft] notes"
	case problem != nil:
		t.add(r.doubts(doubt{why: jsonUnclear, value: v}))
	case depth == deepest:
		t.add(r.doubts(doubt{why: jsonTooDeep}))
	default:
		l.texts(r, inner, t, depth+1)
	}
}

const byteOrderMark = "\ufeff"

// startsJSON reports a text that a program may read as JSON.
func startsJSON(text string) bool {
	text = strings.TrimLeft(strings.TrimPrefix(text, byteOrderMark), " \t\r\n")
	return text != "" && strings.IndexByte(`{["`, text[0]) >= 0
}
