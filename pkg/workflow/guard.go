package workflow

import (
	"strings"
	"unicode"

	"github.com/interlock-run/interlock/pkg/document"
)

// GuardResult is the outcome of one guard (S2.3).
type GuardResult struct {
	Name  string
	Field string
	Op    string
	// Expected is the guard's value; missing when the operator takes none.
	Expected document.Value
	// Actual is what the context held; missing when it held nothing.
	Actual document.Value
	Passed bool
}

// operator is a guard's op, resolved. The zero operator never passes.
type operator uint8

const (
	opNever operator = iota
	opEq
	opNeq
	opGt
	opGte
	opLt
	opLte
	opIn
	opContains
	opExists
	opNotExists
)

func operatorOf(op string) operator {
	switch op {
	case "eq":
		return opEq
	case "neq":
		return opNeq
	case "gt":
		return opGt
	case "gte":
		return opGte
	case "lt":
		return opLt
	case "lte":
		return opLte
	case "in":
		return opIn
	case "contains":
		return opContains
	case "exists":
		return opExists
	case "not_exists":
		return opNotExists
	default:
		return opNever
	}
}

// takesValue is false for the operators that look at the field alone.
func (op operator) takesValue() bool { return op != opExists && op != opNotExists }

// predicate is a compiled guard.
type predicate struct {
	name     string
	field    string
	opName   string
	op       operator
	expected document.Value
	path     []segment // nil when field can only be a top-level key
}

func newPredicate(g *Guard) *predicate {
	p := &predicate{name: g.Name, field: g.Field, opName: g.Op, op: operatorOf(g.Op), path: pathOf(g.Field)}
	if p.op.takesValue() {
		p.expected = g.Value
		if g.Value.IsZero() {
			p.op = opNever // nothing to compare with
		}
	}
	return p
}

// evaluate fills in what came of the guard.
func (p *predicate) evaluate(context document.Value, result *GuardResult) {
	result.Name, result.Field, result.Op = p.name, p.field, p.opName
	result.Expected, result.Actual = p.expected, p.lookup(context)
	result.Passed = p.op.holds(result.Actual, result.Expected)
}

// holds is the table of S2.5.
func (op operator) holds(actual, expected document.Value) bool {
	switch {
	case op == opNotExists:
		return actual.IsZero() || actual.Kind() == document.Null
	case actual.IsZero():
		return false // of a missing field only not_exists is true
	}
	switch op {
	case opExists:
		return actual.Kind() != document.Null
	case opEq:
		return document.Equal(actual, expected)
	case opNeq:
		return !document.Equal(actual, expected)
	case opIn:
		return expected.Kind() == document.Array && hasElement(expected, actual)
	case opContains:
		return contains(actual, expected)
	case opGt, opGte, opLt, opLte:
		order, comparable := compare(actual, expected)
		return comparable && op.admits(order)
	default:
		return false
	}
}

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
	default:
		return false
	}
}

// compare orders two numbers by value or two strings by code point, which is the
// order of their UTF-8 bytes. Nothing else has an order.
func compare(a, b document.Value) (int, bool) {
	switch {
	case a.Kind() != b.Kind():
		return 0, false
	case a.Kind() == document.Number:
		return document.CompareNumbers(a.Number(), b.Number()), true
	case a.Kind() == document.String:
		return strings.Compare(a.Str(), b.Str()), true
	default:
		return 0, false
	}
}

func contains(actual, expected document.Value) bool {
	switch actual.Kind() {
	case document.String:
		return expected.Kind() == document.String && strings.Contains(actual.Str(), expected.Str())
	case document.Array:
		return hasElement(actual, expected)
	case document.Object:
		if expected.Kind() != document.String {
			return false
		}
		_, ok := actual.Get(expected.Str())
		return ok
	default:
		return false
	}
}

func hasElement(array, v document.Value) bool {
	for i := range array.Len() {
		if document.Equal(array.Index(i), v) {
			return true
		}
	}
	return false
}

// String says what the guard wanted and what it found.
func (g GuardResult) String() string {
	found := "it is missing"
	if !g.Actual.IsZero() {
		found = "it is " + brief(g.Actual)
	}
	if g.Passed {
		return g.wanted() + ", and " + found
	}
	return g.wanted() + ", but " + found
}

// wanted says what the guard wants, without anything of the context.
func (g GuardResult) wanted() string {
	s := "guard " + document.Quote(g.Name) + " requires "
	switch {
	case g.Op == "exists":
		return s + g.Field + " to exist"
	case g.Op == "not_exists":
		return s + g.Field + " not to exist"
	case g.Expected.IsZero():
		return s + "what this workflow does not define"
	default:
		return s + g.Field + " " + g.Op + " " + brief(g.Expected)
	}
}

// longestBrief is the longest text, in bytes, that brief gives.
const longestBrief = 120

// brief is a value for a message: its JSON, short and printable.
func brief(v document.Value) string {
	text := v.String()
	cut := len(text) > longestBrief
	if cut {
		text = strings.ToValidUTF8(text[:longestBrief], "")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
	if cut {
		text += "..."
	}
	return text
}
