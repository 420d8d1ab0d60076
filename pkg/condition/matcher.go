package condition

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// matcher reads the operators and literals of a key.
type matcher struct {
	*reader
	leaf *leaf
}

// read reads a literal, a list of literals, or operators.
func (m matcher) read(v document.Value, at *document.Path) {
	switch v.Kind() {
	case document.Array:
		m.operator("in", v, at)
	case document.Object:
		if v.Len() == 0 {
			m.errorf(at, document.CodeEmpty, "the comparison is empty; write a value, a list of values, or operators such as {\"lte\": 100}")
		}
		for name, value := range v.Members() {
			m.operator(name, value, at.Key(name))
		}
		m.compares(v, at)
	default:
		m.operator("eq", v, at)
	}
}

// compares reports operators without a comparison, and operators that exclude one another.
func (m matcher) compares(v document.Value, at *document.Path) {
	l := m.leaf
	_, hasOr := v.Get("or")
	_, hasEach := v.Get("each")
	switch {
	case m.failed:
	case l.exists && l.notExists:
		m.errorf(at, document.CodeConflict, "\"exists\" and \"not_exists\" exclude each other; remove one")
	case hasOr && (l.exists || l.notExists):
		m.errorf(at, document.CodeConflict, "with \"or\" there is always a value; remove \"exists\" or \"or\"")
	case (hasOr || hasEach) && len(l.tests) == 0 && (hasOr || !l.exists && !l.notExists):
		m.errorf(at, document.CodeNoEffect, "there is no comparison; add an operator, such as \"in\"")
	}
}

// names returns the operators that the key has.
func (m matcher) names() []string {
	switch {
	case m.leaf.path != nil:
		return ofPointer
	case m.leaf.of != NoType:
		return m.leaf.of.operatorNames()
	default:
		return ofAnywhere
	}
}

func (m matcher) operator(name string, v document.Value, at *document.Path) {
	op := operators[name]
	names := m.names()
	switch {
	case op == noOperator:
		m.errorf(at, document.CodeUnknownField, "there is no operator %s%s; operators of %s: %s",
			document.Quote(name), m.report.DidYouMean(name, slices.Values(names)), document.Quote(m.leaf.key), strings.Join(names, ", "))
		return
	case op == opWithin && m.leaf.path != nil:
		m.errorf(at, document.CodeType, "a pointer has no operator \"within\", since its type is not known; write \"like\", or use a facet such as \"files\" or \"host\"")
		return
	case !slices.Contains(names, name):
		m.errorf(at, document.CodeType, "%s has no operator %q; it has: %s", document.Quote(m.leaf.key), name, strings.Join(names, ", "))
		return
	}
	switch op {
	case opExists, opNotExists:
		m.existence(op, name, v, at)
	case opEach:
		m.quantifier(v, at)
	case opOr:
		m.or(v, at)
	case opCount:
		m.leaf.count = m.sizes(name, v, at)
	case opLength, opBytes:
		m.leaf.tests = append(m.leaf.tests, test{op: op, sizes: m.sizes(name, v, at)})
	default:
		m.comparison(op, name, v, at)
	}
}

func (m matcher) existence(op operator, name string, v document.Value, at *document.Path) {
	if !v.Bool() {
		m.errorf(at, document.CodeType, "%q must be true; for the opposite there are \"exists\" and \"not_exists\"", name)
		return
	}
	m.leaf.exists = m.leaf.exists || op == opExists
	m.leaf.notExists = m.leaf.notExists || op == opNotExists
}

func (m matcher) quantifier(v document.Value, at *document.Path) {
	switch v.Str() {
	case "every":
		m.leaf.each = eachEvery
	case "some":
		m.leaf.each = eachSome
	default:
		m.errorf(at, document.CodeEnum, "\"each\" must be \"every\" or \"some\"")
		return
	}
	if m.leaf.path != nil && !m.leaf.path.starred() {
		m.errorf(at, document.CodeNoEffect, "%s leads to one value; for the elements of a list write %s", document.Quote(m.leaf.key), document.Quote(m.leaf.key+"/*"))
	}
}

func (m matcher) or(v document.Value, at *document.Path) {
	if !scalar(v) || v.Kind() == document.Null {
		m.errorf(at, document.CodeType, "\"or\" must be the value that the tool takes when there is none: a text, a number, true or false")
		return
	}
	if m.leaf.of != NoType && v.Kind() != m.leaf.of.kindOfLiteral() {
		m.errorf(at, document.CodeType, "\"or\" must be a %s, as the values of %q are", m.leaf.of.kindOfLiteral(), m.leaf.key)
		return
	}
	m.leaf.or = v
}

// sizes reads a matcher on a number of elements, characters or bytes.
func (m matcher) sizes(name string, v document.Value, at *document.Path) []test {
	switch v.Kind() {
	case document.Number:
		return m.size(opEq, v, at)
	case document.Array:
		var values []document.Value
		for i, e := range v.Elements() {
			if len(m.size(opEq, e, at.At(i))) > 0 {
				values = append(values, e)
			}
		}
		if v.Len() == 0 {
			m.errorf(at, document.CodeEmpty, "the list is empty; name some numbers")
		}
		return []test{{op: opIn, values: values}}
	case document.Object:
		tests := []test{}
		for key, e := range v.Members() {
			op := operators[key]
			if op < opEq || op > opLte {
				m.errorf(at.Key(key), document.CodeUnknownField, "%q has no operator %s; it has: eq, neq, gt, gte, lt, lte", name, document.Quote(key))
				continue
			}
			tests = append(tests, m.size(op, e, at.Key(key))...)
		}
		if v.Len() == 0 {
			m.errorf(at, document.CodeEmpty, "%q has no comparison; write a number, or an operator such as {\"lte\": 20}", name)
		}
		return tests
	default:
		m.errorf(at, document.CodeType, "%q must be a number, or operators such as {\"lte\": 20}, not %s", name, aKind(v.Kind()))
		return nil
	}
}

func (m matcher) size(op operator, v document.Value, at *document.Path) []test {
	n, ok := v.Number().Int64()
	if v.Kind() != document.Number || !ok || n < 0 {
		m.errorf(at, document.CodeRange, "a number of values must be a whole number from 0 on, not %s", document.Quote(v.String()))
		return nil
	}
	if n == 0 && op == opLt {
		m.errorf(at, document.CodeRange, "there are never fewer than 0; write {\"eq\": 0} for none")
	}
	return []test{{op: op, value: v}}
}

// comparison reads an operator that compares with literals.
func (m matcher) comparison(op operator, name string, v document.Value, at *document.Path) {
	x := test{op: op}
	switch {
	case op == opIn || op == opWithin && v.Kind() == document.Array:
		if !m.isList(v, at) {
			return
		}
		for i, e := range v.Elements() {
			m.literal(&x, e, at.At(i))
		}
	default:
		m.literal(&x, v, at)
	}
	if op >= opGt && op <= opLte && v.Kind() != document.Number && v.Kind() != document.String {
		m.errorf(at, document.CodeType, "%q orders numbers and texts; write one", name)
	}
	m.leaf.tests = append(m.leaf.tests, x)
}

func (m matcher) isList(v document.Value, at *document.Path) bool {
	switch {
	case v.Kind() != document.Array:
		m.errorf(at, document.CodeType, "\"in\" must be a list, not %s", aKind(v.Kind()))
	case v.Len() == 0:
		m.errorf(at, document.CodeEmpty, "the list is empty, so that no value matches; name some values")
	case v.Len() > mostListed:
		m.errorf(at, document.CodeTooMany, "the list has %d values, the limit is %d", v.Len(), mostListed)
	default:
		return true
	}
	return false
}

// literal adds one literal to a test.
func (m matcher) literal(x *test, v document.Value, at *document.Path) {
	l := m.leaf
	switch {
	case !scalar(v):
		m.errorf(at, document.CodeType, "a value to compare with must be a text, a number, true, false or null, not %s", aKind(v.Kind()))
		return
	case l.of != NoType && v.Kind() != l.of.kindOfLiteral():
		m.errorf(at, document.CodeType, "%q is compared with a %s, not %s", l.key, l.of.kindOfLiteral(), aKind(v.Kind()))
		return
	case l.path == nil && l.of == NoType && v.Kind() != document.String, x.op == opLike && v.Kind() != document.String:
		m.errorf(at, document.CodeType, "it is compared with texts; write a text, not %s", aKind(v.Kind()))
		return
	}
	m.possible(x.op, v, at)
	x.value = v
	x.values = append(x.values, v)
	patterned := l.of.patterned() && x.op != opContains
	if !patterned && x.op != opLike {
		return
	}
	of := l.of
	if x.op == opLike && !patterned {
		of = NoType
	}
	p, fix := newPattern(of, v.Str())
	if fix != "" {
		m.errorf(at, document.CodeNoEffect, "%s %s", document.Quote(v.Str()), fix)
		return
	}
	switch {
	case x.op == opLike:
		p = asLike(p)
	case l.facet == K8sResource:
		p = resourcePattern{newTextPattern(v.Str())}
	}
	x.patterns = append(x.patterns, p)
}

// possible reports a literal that no value can be equal to.
func (m matcher) possible(op operator, v document.Value, at *document.Path) {
	l := m.leaf
	known := words[l.facet]
	switch {
	case l.of == WindowType:
		known = m.windows
	case l.of == WordType && len(known) == 0 && v.Str() == "":
		m.errorf(at, document.CodeEmpty, "the text is empty; write a value")
	case l.facet == K8sResource && op != opContains && k8sWritten(v.Str()) != v.Str():
		m.errorf(at, document.CodeName, "resources are written in the plural: %s", document.Quote(k8sWritten(v.Str())))
	case l.of == AmountType && v.Number().Float64() < 0, l.of == NumberType && v.Number().Float64() < 0:
		m.errorf(at, document.CodeRange, "%q is never below 0", l.key)
	case l.of == NumberType && op <= opNeq && !v.Number().IsInteger():
		m.errorf(at, document.CodeRange, "%q is a whole number", l.key)
	case l.facet == Port && (v.Number().Float64() < 1 || v.Number().Float64() > 65535):
		m.errorf(at, document.CodeRange, "a port is a number from 1 to 65535")
	case l.path != nil && op >= opGt && op <= opLte && badDate(v.Str()):
		m.errorf(at, document.CodeRange, "%s is not a date of the calendar", document.Quote(v.Str()))
	}
	if len(known) > 0 && !slices.Contains(known, v.Str()) {
		m.errorf(at, document.CodeEnum, "%s is never a value of %q%s; values: %s",
			document.Quote(v.Str()), l.key, m.report.DidYouMean(v.Str(), slices.Values(known)), strings.Join(known, ", "))
	}
}

// badDate reports a text that is written as a date and is none: 2026-13-01.
func badDate(text string) bool {
	const form = "2006-01-02"
	if len(text) < len(form) || text[4] != '-' || text[7] != '-' {
		return false
	}
	for _, part := range []string{text[:4], text[5:7], text[8:10]} {
		if _, err := strconv.ParseUint(part, 10, 16); err != nil {
			return false
		}
	}
	_, err := time.Parse(form, text[:len(form)])
	return err != nil
}

func scalar(v document.Value) bool {
	switch v.Kind() {
	case document.String, document.Number, document.Bool, document.Null:
		return true
	default:
		return false
	}
}
