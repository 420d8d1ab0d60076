package condition

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
)

// leaf is one key of a condition with its matcher.
type leaf struct {
	key  string
	text document.Value // the matcher as written
	// path is the pointer of a key that begins with /, facet and of are a facet with its type;
	// otherwise the key is "anywhere".
	path  pointer
	facet Facet
	of    Type
	// tests are of each value, and count is of how many there are.
	tests []test
	count []test
	// exists and notExists ask for the value itself.
	exists, notExists bool
	each              quantifier
	or                document.Value
}

// quantifier says how many values must match.
type quantifier uint8

const (
	byStance quantifier = iota
	eachEvery
	eachSome
)

// anywhere is the key that looks at every text.
const anywhere = "anywhere"

// mostElements is how many values of one key are looked at.
const mostElements = 256

// run is one use of a condition on a call. note is nil unless the doubt is to be explained.
type run struct {
	call  Facts
	note  *doubt
	shown []document.Value // the values that were looked at, when note is set
	input document.Value
	state inputState
	at    places // of the value that is looked at
}

type inputState uint8

const (
	inputUnasked inputState = iota
	inputThere
	inputUnclear
)

// arguments returns the input of the call, once.
func (r *run) arguments() (document.Value, bool) {
	if r.state == inputUnasked {
		input, ok := r.call.Input()
		r.state = inputUnclear
		if ok && input.Kind() == document.Object {
			r.input, r.state = input, inputThere
		}
	}
	return r.input, r.state == inputThere
}

// judge returns whether the comparison holds.
func (l *leaf) judge(r *run, stance Stance) Truth {
	if choose, ok := r.call.(Chosen); ok {
		return choose(Comparison{l}, stance)
	}
	switch {
	case l.of != NoType:
		return l.judgeFacet(r, stance)
	case l.path != nil:
		return l.judgePointer(r, stance)
	default:
		return l.judgeAnywhere(r, stance)
	}
}

// tally joins the results of the values of one key.
type tally struct {
	every  bool
	result Truth
	seen   int
}

func (l *leaf) tally(stance Stance) tally {
	every := l.each == eachEvery || l.each == byStance && stance.allows()
	return tally{every: every, result: Of(every)}
}

func (t *tally) add(one Truth) {
	t.seen++
	if t.every {
		t.result = t.result.And(one)
	} else {
		t.result = t.result.Or(one)
	}
}

// judgePointer looks at the values that a pointer leads to.
func (l *leaf) judgePointer(r *run, stance Stance) Truth {
	input, ok := r.arguments()
	if !ok {
		return r.doubts(doubt{why: inputNotRead})
	}
	result := True
	if l.count != nil {
		w := walk{counting: true}
		w.from(r, l, input, 0)
		result = w.counted(r, l)
	}
	if len(l.tests) == 0 && !l.exists && !l.notExists {
		return result
	}
	w := walk{stance: stance, tally: l.tally(stance)}
	w.from(r, l, input, 0)
	if w.tally.seen == 0 && w.tally.every {
		return result.And(r.doubts(doubt{why: noElements}))
	}
	return result.And(w.tally.result)
}

// counted returns whether there are as many values as asked: elements of the list that the pointer
// leads to, or places that one with * leads to.
func (w *walk) counted(r *run, l *leaf) Truth {
	n := w.tally.seen
	switch {
	case w.unclear:
		return Doubt
	case !l.path.starred() && w.found.Kind() != document.Array:
		return r.doubts(doubt{why: wrongKind, value: w.found, text: "a list", upTo: len(l.path)})
	case !l.path.starred():
		n = w.found.Len()
	}
	return countHolds(l.count, n, n)
}

// judgeValue returns whether one value of a pointer matches. It is Missing when there is none.
func (l *leaf) judgeValue(r *run, v document.Value, stance Stance) Truth {
	present := !v.IsZero() && v.Kind() != document.Null
	t := True
	if l.exists {
		t = t.And(Of(present))
	}
	if l.notExists {
		t = t.And(Of(!present))
	}
	if len(l.tests) == 0 || t == False {
		return t
	}
	if v.IsZero() {
		if v = l.or; v.IsZero() {
			return r.doubts(doubt{why: missing, upTo: len(l.path)})
		}
	}
	return t.And(l.passes(r, v, stance))
}

// passes returns whether a value passes all tests.
func (l *leaf) passes(r *run, v document.Value, stance Stance) Truth {
	t := True
	for i := range l.tests {
		if t = t.And(l.tests[i].holds(r, v, stance)); t == False {
			break
		}
	}
	return t
}

// judgeFacet judges a comparison with a facet.
func (l *leaf) judgeFacet(r *run, stance Stance) Truth {
	set := r.call.Facet(l.facet)
	if r.note != nil {
		for _, e := range set.Values {
			r.shown = append(append(r.shown, e.Value), e.Also...)
		}
	}
	if !set.Known {
		r.doubts(doubt{why: notKnown, text: set.Why})
	}
	if l.of == WindowType {
		return l.judgeWindow(set, stance)
	}
	if l.of == NetworkType && stance.allows() && len(l.tests) > 0 && r.namesHosts() {
		return r.doubts(doubt{why: notKnown, text: "the addresses of hosts with names are not looked up"}).And(l.judgeElements(r, set, stance))
	}
	if len(set.Values) > mostElements {
		return r.doubts(doubt{why: tooMany, number: len(set.Values)})
	}
	t := l.judgeNumberOf(set)
	if len(l.tests) == 0 {
		return t
	}
	if set.Known && len(set.Values) == 0 && !l.or.IsZero() {
		return t.And(l.passes(r, l.or, stance))
	}
	return t.And(l.judgeElements(r, set, stance))
}

// namesHosts reports that a host of the call is a name, or may be.
func (r *run) namesHosts() bool {
	hosts := r.call.Facet(Host)
	return !hosts.Known || slices.ContainsFunc(hosts.Values, func(e Element) bool { return !isAddress(e.Value.Str()) })
}

// judgeNumberOf judges exists, not_exists and count of a facet.
func (l *leaf) judgeNumberOf(set Set) Truth {
	least, most := 0, len(set.Values)
	for i := range set.Values {
		if !set.Values[i].Unsure {
			least++
		}
		if set.Values[i].Below {
			most = unbounded
		}
	}
	if !set.Known {
		most = unbounded
	}
	t := True
	if l.exists {
		t = t.And(existence(least, most))
	}
	if l.notExists {
		t = t.And(existence(least, most).Not())
	}
	if l.count != nil {
		t = t.And(countHolds(l.count, least, most))
	}
	return t
}

func existence(least, most int) Truth {
	switch {
	case least > 0:
		return True
	case most == 0:
		return False
	default:
		return Doubt
	}
}

// judgeElements returns whether the values of a facet match. A value that may not be there never
// makes an allowance hold, and puts it in doubt when it does not match.
func (l *leaf) judgeElements(r *run, set Set, stance Stance) Truth {
	all := l.tally(stance)
	sure := 0
	for i := range set.Values {
		e := &set.Values[i]
		t := l.judgeElement(r, e, stance)
		if e.Unsure {
			t = l.judgeUnsure(r, e, t, all.every, stance)
		} else {
			sure++
		}
		all.add(t)
	}
	switch {
	case !set.Known:
		return all.openResult()
	case all.every && sure == 0 && all.result == True && (stance&granting != 0 || len(set.Values) > 0 || l.each == eachEvery):
		return r.doubts(doubt{why: noElements})
	default:
		return all.result
	}
}

// openResult returns the result over an incomplete list of values.
func (t *tally) openResult() Truth {
	if t.every {
		return t.result.And(Doubt)
	}
	return t.result.Or(Doubt)
}

// judgeUnsure returns what a value adds that may not be part of the set: restrictions take it for
// one, allowances must hold with and without it.
func (l *leaf) judgeUnsure(r *run, e *Element, t Truth, every bool, stance Stance) Truth {
	if t == Doubt && l.of == SchemaType { // the last part of a name whose schema is known
		t = False
	}
	switch {
	case every && t == False, !every && t == True && stance.allows():
		return r.doubts(doubt{why: unsure, value: e.Value})
	default:
		return t
	}
}

// judgeElement returns whether a value matches: in a restriction if one of its readings does, in an
// allowance if all do.
func (l *leaf) judgeElement(r *run, e *Element, stance Stance) Truth {
	t := l.judgeReading(r, e.Value, e, stance)
	for _, other := range e.Also {
		u := l.judgeReading(r, other, e, stance)
		if !stance.allows() {
			t = t.Or(u)
		} else {
			t = t.And(u)
		}
	}
	for i := 0; i < len(e.Full) && !stance.allows(); i++ {
		t = t.Or(l.judgeFull(r, e.Full[i], e, stance))
	}
	return t
}

// judgeFull judges a further reading for a restriction. That the value is another than one is said of the value alone: its
// further readings always are.
func (l *leaf) judgeFull(r *run, v document.Value, e *Element, stance Stance) Truth {
	t := True
	for i := range l.tests {
		x, reading := &l.tests[i], v
		if x.op == opNeq {
			reading = e.Value
		}
		if e.Below {
			t = t.And(x.holdsBelow(r, reading, stance))
		} else {
			t = t.And(x.holds(r, reading, stance))
		}
	}
	return t
}

func (l *leaf) judgeReading(r *run, v document.Value, e *Element, stance Stance) Truth {
	if l.of == AmountType && v.Kind() == document.Number {
		switch {
		case !e.Signed && v.Number()[0] == '-' && document.CompareNumbers(v.Number(), "0") < 0:
			return r.doubts(doubt{why: negative, value: v})
		case stance.allows() && !precise(v.Number()):
			return r.doubts(doubt{why: tooPrecise, value: v})
		}
	}
	if !e.Below {
		return l.passes(r, v, stance)
	}
	t := True
	for i := range l.tests {
		t = t.And(l.tests[i].holdsBelow(r, v, stance))
	}
	return t
}

// judgeWindow returns whether the time is within a window. An edge that is hit twice is inside for
// restrictions and outside for allowances.
func (l *leaf) judgeWindow(set Set, stance Stance) Truth {
	t := True
	for i := range l.tests {
		x := &l.tests[i]
		if x.op == opNeq {
			t = t.And(x.inside(set, stance.Opposite()).Not())
		} else {
			t = t.And(x.inside(set, stance))
		}
	}
	return t
}

// inside returns whether the set has one of the windows of the test.
func (x *test) inside(set Set, stance Stance) Truth {
	for i := range set.Values {
		e := &set.Values[i]
		if e.Unsure && stance.allows() {
			continue
		}
		if slices.ContainsFunc(x.values, func(v document.Value) bool { return document.Equal(v, e.Value) }) {
			return True
		}
	}
	if !set.Known {
		return Doubt
	}
	return False
}
