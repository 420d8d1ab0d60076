// Package condition compares values as guards do (S2.5).
//
// It is pure: values in, a truth out. A comparison that makes no sense is false.
package condition

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// Operator is the op of a guard, resolved. The zero Operator never holds.
type Operator uint8

// The operators.
const (
	Never Operator = iota
	Eq
	Neq
	Gt
	Gte
	Lt
	Lte
	In
	Contains
	Exists
	NotExists
)

// Named returns the operator of a name; Never for a name that is none.
func Named(op string) Operator {
	switch op {
	case "eq":
		return Eq
	case "neq":
		return Neq
	case "gt":
		return Gt
	case "gte":
		return Gte
	case "lt":
		return Lt
	case "lte":
		return Lte
	case "in":
		return In
	case "contains":
		return Contains
	case "exists":
		return Exists
	case "not_exists":
		return NotExists
	default:
		return Never
	}
}

// TakesValue reports whether the operator compares with a value. It is false for those
// that look at the field alone.
func (op Operator) TakesValue() bool { return op != Exists && op != NotExists }

// Holds implements the table of S2.5.
func (op Operator) Holds(actual, expected document.Value) bool {
	switch {
	case op == NotExists:
		return actual.IsZero() || actual.Kind() == document.Null
	case actual.IsZero():
		return false // of a missing field only not_exists is true
	}
	switch op {
	case Exists:
		return actual.Kind() != document.Null
	case Eq:
		return document.Equal(actual, expected)
	case Neq:
		return !document.Equal(actual, expected)
	case In:
		return expected.Kind() == document.Array && hasElement(expected, actual)
	case Contains:
		return contains(actual, expected)
	case Gt, Gte, Lt, Lte:
		order, comparable := compare(actual, expected)
		return comparable && op.admits(order)
	default:
		return false
	}
}

func (op Operator) admits(order int) bool {
	switch op {
	case Gt:
		return order > 0
	case Gte:
		return order >= 0
	case Lt:
		return order < 0
	case Lte:
		return order <= 0
	default:
		return false
	}
}

// compare orders two numbers by value or two strings by code point, which is the order of
// their UTF-8 bytes. Other values have no order.
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
