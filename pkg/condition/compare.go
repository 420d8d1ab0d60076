package condition

import (
	"cmp"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/document"
)

// test is one comparison of a matcher.
type test struct {
	op       operator
	value    document.Value   // of operators that compare with one value
	values   []document.Value // of in
	patterns []pattern        // of like, within, and of types whose literals are patterns
	sizes    []test           // of length and bytes
}

// pattern is a literal that more than one text can match.
type pattern interface {
	// match returns whether a text matches; Doubt for one that is not of the type.
	match(text string, stance Stance) Truth
	// matchBelow does match for a folder that stands for everything under it.
	matchBelow(folder string, stance Stance) Truth
}

// holds returns whether a value passes the test. A value of another kind is in doubt: it is never
// converted.
func (x *test) holds(r *run, v document.Value, stance Stance) Truth {
	if x.patterns != nil {
		return x.fits(r, v, stance, false)
	}
	switch x.op {
	case opEq:
		return equal(r, v, x.value)
	case opNeq:
		return equal(r, v, x.value).Not()
	case opIn:
		return x.isIn(r, v)
	case opContains:
		return contained(r, v, x.value)
	case opLength, opBytes:
		return x.hasSize(r, v)
	default:
		return x.ordered(r, v, stance)
	}
}

// holdsBelow does holds for a folder that stands for everything under it.
func (x *test) holdsBelow(r *run, v document.Value, stance Stance) Truth {
	return x.fits(r, v, stance, true)
}

// fits returns whether a text matches one of the patterns; for neq, none of them.
func (x *test) fits(r *run, v document.Value, stance Stance, below bool) Truth {
	if v.Kind() != document.String {
		return r.doubts(doubt{why: wrongKind, value: v, text: "a text"})
	}
	if x.op == opNeq {
		stance = stance.Opposite()
	}
	t := False
	for i := 0; i < len(x.patterns) && t != True; i++ {
		if below {
			t = t.Or(x.patterns[i].matchBelow(v.Str(), stance))
		} else {
			t = t.Or(x.patterns[i].match(v.Str(), stance))
		}
	}
	if t == Doubt {
		r.doubts(doubt{why: oddForm, value: v})
	}
	if x.op == opNeq {
		return t.Not()
	}
	return t
}

// equal compares with a literal. Null equals null, and is in doubt next to other literals.
func equal(r *run, v, literal document.Value) Truth {
	switch {
	case literal.Kind() == document.Null:
		return Of(v.Kind() == document.Null)
	case v.Kind() != literal.Kind():
		return r.doubts(doubt{why: wrongKind, value: v, text: kindNeeded(literal.Kind())})
	case v.Kind() == document.Number:
		return numberHolds(r, opEq, v, literal)
	default:
		return Of(document.Equal(v, literal))
	}
}

// numberHolds compares two numbers. The result is in doubt where programs that compute with float64
// have another one: 9007199254740993 is 9007199254740992 for them.
func numberHolds(r *run, op operator, v, literal document.Value) Truth {
	a, b := v.Number(), literal.Number()
	holds := op.admits(document.CompareNumbers(a, b))
	if keepsDigits(a) && keepsDigits(b) || holds == op.admits(cmp.Compare(a.Float64(), b.Float64())) {
		return Of(holds)
	}
	return r.doubts(doubt{why: tooPrecise, value: v})
}

// keepsDigits reports a number so short that it has a float64 of its own.
func keepsDigits(d document.Decimal) bool {
	return len(d) <= significant && !strings.ContainsAny(string(d), "eE")
}

// isIn returns whether the value is in the list; a kind that no literal has is in doubt.
func (x *test) isIn(r *run, v document.Value) Truth {
	kind, null, t := false, false, False
	for _, literal := range x.values {
		null = null || literal.Kind() == document.Null
		if literal.Kind() != v.Kind() {
			continue
		}
		kind = true
		if t = t.Or(equal(r, v, literal)); t == True {
			return True
		}
	}
	if kind || null && len(x.values) == 1 {
		return t
	}
	return r.doubts(doubt{why: wrongKind, value: v, text: kindNeeded(x.values[0].Kind())})
}

func kindNeeded(k document.Kind) string {
	switch k {
	case document.String:
		return "a text"
	case document.Bool:
		return "true or false"
	case document.Null:
		return "null"
	default:
		return "a " + k.String()
	}
}

// contained returns whether a text holds the literal, or a list has it as an element.
func contained(r *run, v, literal document.Value) Truth {
	switch {
	case v.Kind() == document.String && literal.Kind() == document.String:
		return Of(strings.Contains(v.Str(), literal.Str()))
	case v.Kind() != document.Array:
		return r.doubts(doubt{why: wrongKind, value: v, text: "a list or a text"})
	case v.Len() > mostElements:
		return r.doubts(doubt{why: tooMany, number: v.Len()})
	}
	t := False
	for i := range v.Len() {
		if t = t.Or(equal(r, v.Index(i), literal)); t == True {
			break
		}
	}
	return t
}

// hasSize judges the length of a text in characters, or in bytes.
func (x *test) hasSize(r *run, v document.Value) Truth {
	if v.Kind() != document.String {
		return r.doubts(doubt{why: wrongKind, value: v, text: "a text"})
	}
	size := len(v.Str())
	if x.op == opLength {
		size = utf8.RuneCountInString(v.Str())
	}
	return countHolds(x.sizes, size, size)
}

// ordered compares numbers by value and texts by code point.
func (x *test) ordered(r *run, v document.Value, stance Stance) Truth {
	switch {
	case v.Kind() != x.value.Kind():
		return r.doubts(doubt{why: wrongKind, value: v, text: kindNeeded(x.value.Kind())})
	case v.Kind() == document.String:
		return Of(x.op.admits(strings.Compare(v.Str(), x.value.Str())))
	case stance.allows() && !precise(v.Number()):
		return r.doubts(doubt{why: tooPrecise, value: v})
	default:
		return numberHolds(r, x.op, v, x.value)
	}
}

// admits returns whether an order is that of the operator.
func (op operator) admits(order int) bool {
	switch op {
	case opGt:
		return order > 0
	case opGte:
		return order >= 0
	case opLt:
		return order < 0
	case opLte:
		return order <= 0
	case opEq:
		return order == 0
	case opNeq:
		return order != 0
	default:
		return false
	}
}

// unbounded is the most that a number of values can be when it is not known.
const unbounded = math.MaxInt

// countHolds judges a number that lies between least and most.
func countHolds(tests []test, least, most int) Truth {
	t := True
	for i := range tests {
		t = t.And(tests[i].countHolds(least, most))
	}
	return t
}

func (x *test) countHolds(least, most int) Truth {
	if x.op == opIn {
		t := False
		for _, v := range x.values {
			one := test{op: opEq, value: v}
			t = t.Or(one.countHolds(least, most))
		}
		return t
	}
	n, ok := x.value.Number().Int64()
	if !ok {
		return Doubt
	}
	low, high := order(least, n), order(most, n)
	switch a, b := x.op.admits(low), x.op.admits(high); {
	case least == most || low == high && low != 0:
		return Of(a)
	case a && b && x.op != opNeq:
		return True
	case !a && !b && x.op != opEq:
		return False
	default:
		return Doubt
	}
}

func order(n int, m int64) int {
	switch {
	case int64(n) < m:
		return -1
	case int64(n) > m:
		return 1
	default:
		return 0
	}
}

// exact is the largest number up to which every integer is a float64.
const exact = document.Decimal("9007199254740992")

// significant is how many digits of a decimal every float64 keeps.
const significant = 15

// precise reports a number that programs which compute with float64 read as it is.
func precise(d document.Decimal) bool {
	size := document.Decimal(strings.TrimPrefix(string(d), "-"))
	if document.CompareNumbers(size, exact) > 0 {
		return false
	}
	return digits(string(size)) <= significant || d.IsInteger()
}

// digits counts the digits of a number from the first to the last that is not 0.
func digits(text string) int {
	n, zeros := 0, 0
	for i := range len(text) {
		c := text[i]
		switch {
		case c == 'e' || c == 'E':
			return n
		case c == '0' && n > 0:
			zeros++
		case '1' <= c && c <= '9':
			n += zeros + 1
			zeros = 0
		}
	}
	return n
}
