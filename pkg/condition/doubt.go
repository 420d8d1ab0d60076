package condition

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// reason says why a comparison is in doubt.
type reason uint8

const (
	noReason reason = iota
	inputNotRead
	missing
	wrongParent
	wrongKind
	lookAlike
	tooMany
	noElements
	tooPrecise
	negative
	notKnown
	unsure
	oddForm
	jsonUnclear
	jsonTooDeep
	onlyRestricts
)

// doubt is the first cause of a doubt that was found.
type doubt struct {
	why    reason
	value  document.Value
	text   string // what was expected, or another name
	number int
	upTo   int // how many steps of the pointer lead there; 0 for all
	at     places
}

// doubts records why, when that is asked for, and returns Doubt.
func (r *run) doubts(d doubt) Truth {
	if r.note != nil && r.note.why == noReason {
		*r.note = d
		r.note.at = r.at
	}
	return Doubt
}

// explain judges the comparison and returns it as a leaf.
func (l *leaf) explain(r *run, stance Stance, negated bool) Leaf {
	r.note, r.shown, r.at = &doubt{}, nil, places{}
	out := Leaf{Looks: l.key, Expected: l.expected(), Negated: negated}
	out.Result = l.judge(r, stance)
	out.Actual = shownValues(r.shown)
	if out.Result == Doubt {
		out.Why = l.sentence(r.note)
	}
	r.note = nil
	return out
}

// mostShown is how long a value may be for people.
const mostShown = 120

func (l *leaf) expected() string {
	return clip(l.text.String())
}

func shownValues(values []document.Value) string {
	const most = 5
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == most {
			fmt.Fprintf(&b, "and %d more", len(values)-most)
			break
		}
		b.WriteString(shown(v))
	}
	return clip(b.String())
}

func shown(v document.Value) string {
	if v.Kind() == document.String {
		return document.Quote(v.Str())
	}
	return clip(v.String())
}

func clip(text string) string {
	if len(text) <= mostShown {
		return text
	}
	end := mostShown
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + "…"
}

// described names a value in a sentence: the text "250".
func described(v document.Value) string {
	switch v.Kind() {
	case document.String:
		return "the text " + shown(v)
	case document.Number:
		return "the number " + shown(v)
	case document.Array:
		return "a list"
	case document.Object:
		return "an object"
	case document.Missing:
		return "missing"
	default:
		return shown(v)
	}
}

// sentence describes the doubt and its fix, to follow the name of a rule.
func (l *leaf) sentence(d *doubt) string {
	looks := "looks at " + l.place(d) + ", "
	switch d.why {
	case inputNotRead:
		return looks + "but the arguments cannot be read. Send one JSON object in which no name is repeated."
	case missing:
		return looks + "which is missing. Send it."
	case wrongParent, wrongKind:
		return looks + "which is " + described(d.value) + " and must be " + d.text + "." + asKind(d.text)
	case lookAlike:
		return looks + "and there is " + document.Quote(d.text) + " next to it, which a program may read as the same name. Leave it out."
	case tooMany:
		return looks + "which has " + strconv.Itoa(d.number) + " values; at most " + strconv.Itoa(mostElements) + " are looked at. Send fewer in one call."
	case noElements:
		return looks + "of which there is none. Send at least one."
	case tooPrecise:
		return looks + "which is " + described(d.value) + ": not every program keeps all of its digits. Send at most 15 digits, and no more than 2^53."
	case negative:
		return looks + "which is " + described(d.value) + " and must not be below 0."
	case notKnown:
		return looks + "which is not known" + because(d.text) + "."
	case unsure:
		return looks + "where " + described(d.value) + " may be meant too. Write it so that it is meant in one way only."
	case oddForm:
		if l.of == SchemaType {
			return looks + "where " + described(d.value) + " may be in any schema. Write the schema before it, with a dot."
		}
		return looks + "where " + described(d.value) + " can be read in more than one way. Write it in its plain form."
	case jsonUnclear:
		return looks + "where a text holds JSON that programs read differently. Send it without repeated names."
	case jsonTooDeep:
		return looks + "where more than " + strconv.Itoa(deepest) + " texts of JSON hold one another. Send objects."
	default:
		return looks + "which it cannot judge here."
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// asKind returns how to send a value of a kind.
func asKind(kind string) string {
	kind = strings.TrimSuffix(kind, " or a text")
	return " Send it as " + kind + "."
}

// place returns the pointer of the value that is in doubt, with the places of elements for *.
func (l *leaf) place(d *doubt) string {
	if l.path == nil {
		return l.key
	}
	steps := l.path
	if d.upTo > 0 || d.why == wrongParent {
		steps = steps[:d.upTo]
	}
	if len(steps) == 0 {
		return "the arguments"
	}
	var b strings.Builder
	star := 0
	for i := range steps {
		b.WriteByte('/')
		switch {
		case steps[i].star && star < d.at.n:
			b.WriteString(strconv.Itoa(d.at.index[star]))
			star++
		case steps[i].star:
			b.WriteByte('*')
		default:
			b.WriteString(document.EscapeSegment(steps[i].name))
		}
	}
	return b.String()
}
