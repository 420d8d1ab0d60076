package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// maxCedarDepth bounds nested expressions.
const maxCedarDepth = 32

// maxCedarLeaves bounds the comparisons of a condition that is made of an expression.
const maxCedarLeaves = 64

// cedarExpression is a condition that is read. An operator has parts; a comparison has leaf, the
// condition when it holds, and other, the condition when it does not.
type cedarExpression struct {
	op    string // &&, ||, ! or empty
	parts []*cedarExpression
	leaf  document.Value
	other document.Value
	// pointer and equal are set for a comparison with ==.
	pointer string
	equal   document.Value
}

// leaves returns how many comparisons permits has, and negated ones.
func (e *cedarExpression) leaves() (plain, negated int) {
	switch e.op {
	case "":
		return 1, 1
	case "!":
		plain, negated = e.parts[0].leaves()
		return negated, plain
	}
	together, guarded, before := 0, 0, 0 // of a conjunction, of a disjunction, of the guards so far
	for _, part := range e.parts {
		p, n := part.leaves()
		if e.op == "&&" {
			p, n = n, p // the disjunction is the negated one
		}
		guarded = min(guarded+p+before, 1<<20)
		before = min(before+n, 1<<20)
		together = min(together+n, 1<<20)
	}
	if e.op == "&&" {
		return together, guarded
	}
	return guarded, together
}

// permits returns the condition of a permit. Cedar skips a policy whose evaluation fails, and
// evaluates from the left no further than it must: so `a || b` holds by b only where a is
// certainly false. negated wants the opposite.
func (e *cedarExpression) permits(negated bool) document.Value {
	switch {
	case e.op == "!":
		return e.parts[0].permits(!negated)
	case e.op == "" && negated:
		return e.other
	case e.op == "":
		return e.leaf
	case (e.op == "&&") != negated:
		var all []document.Value
		for _, part := range e.parts {
			all = append(all, part.permits(negated))
		}
		return allOf(all...)
	}
	if list, ok := e.oneOf(); ok && !negated {
		return list
	}
	var any, before []document.Value
	for _, part := range e.parts {
		any = append(any, allOf(append(before[:len(before):len(before)], part.permits(negated))...))
		before = append(before, part.permits(!negated))
	}
	return anyOf(any...)
}

// oneOf returns `x == "a" || x == "b"` as a list of values.
func (e *cedarExpression) oneOf() (document.Value, bool) {
	var values []document.Value
	for _, part := range e.parts {
		if e.op != "||" || part.op != "" || part.pointer == "" || part.pointer != e.parts[0].pointer {
			return document.Value{}, false
		}
		values = append(values, part.equal)
	}
	return one(e.parts[0].pointer, document.ArrayValue(values)), true
}

// forbids returns the condition of a forbid, which applies where it is in doubt.
func (e *cedarExpression) forbids() document.Value {
	switch e.op {
	case "!":
		return not(e.parts[0].forbids())
	case "":
		return e.leaf
	}
	var parts []document.Value
	for _, part := range e.parts {
		parts = append(parts, part.forbids())
	}
	if list, ok := e.oneOf(); ok {
		return list
	}
	if e.op == "&&" {
		return allOf(parts...)
	}
	return anyOf(parts...)
}

// cedarConditions reads the expression of a clause.
type cedarConditions struct {
	cedarReader
	forbids bool
	depth   int
}

func (r *cedarConditions) all() (*cedarExpression, error) {
	e, err := r.or()
	if err != nil {
		return nil, err
	}
	if r.peek().kind != cedarEnd {
		return nil, fmt.Errorf("%q is not translated", r.peek().text)
	}
	if plain, negated := e.leaves(); max(plain, negated) > maxCedarLeaves {
		return nil, fmt.Errorf("the condition has more than %d comparisons", maxCedarLeaves)
	}
	return e, nil
}

func (r *cedarConditions) or() (*cedarExpression, error) { return r.chain("||", r.and) }

func (r *cedarConditions) and() (*cedarExpression, error) { return r.chain("&&", r.unary) }

func (r *cedarConditions) chain(op string, part func() (*cedarExpression, error)) (*cedarExpression, error) {
	first, err := part()
	if err != nil {
		return nil, err
	}
	parts := []*cedarExpression{first}
	for r.is(op) {
		next, err := part()
		if err != nil {
			return nil, err
		}
		parts = append(parts, next)
	}
	if len(parts) == 1 {
		return first, nil
	}
	return &cedarExpression{op: op, parts: parts}, nil
}

func (r *cedarConditions) unary() (*cedarExpression, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxCedarDepth {
		return nil, errors.New("it nests too deeply")
	}
	if r.is("!") {
		e, err := r.unary()
		return &cedarExpression{op: "!", parts: []*cedarExpression{e}}, err
	}
	if r.is("(") {
		e, err := r.or()
		if err != nil {
			return nil, err
		}
		return e, r.want(")")
	}
	return r.comparison()
}

// comparison reads a comparison of one attribute of the input with literals.
func (r *cedarConditions) comparison() (*cedarExpression, error) {
	if r.is("[") {
		return r.listContains()
	}
	names, method, err := r.attribute()
	if err != nil {
		return nil, err
	}
	if method == "" && r.is("has") {
		return r.has(names)
	}
	pointer, err := inputPointer(names)
	if err != nil {
		return nil, err
	}
	if method != "" {
		return r.contains(pointer, method)
	}
	switch op := r.peek(); {
	case r.is("like"):
		return r.like(pointer)
	case r.is("in"):
		return r.in(pointer)
	case r.is("=="), r.is("!="):
		v, err := r.literal()
		return equality(pointer, v, op.text == "!="), err
	case r.is("<"), r.is("<="), r.is(">"), r.is(">="):
		return r.order(pointer, op.text)
	case op.kind == cedarEnd, op.text == "&&", op.text == "||", op.text == ")":
		return equality(pointer, document.BoolValue(true), false), nil
	default:
		return nil, fmt.Errorf("%q behind an attribute is not translated", op.text)
	}
}

func equality(pointer string, v document.Value, differs bool) *cedarExpression {
	same, other := one(pointer, v), one(pointer, one("neq", v))
	if differs {
		return &cedarExpression{leaf: other, other: same}
	}
	return &cedarExpression{leaf: same, other: other, pointer: pointer, equal: v}
}

func (r *cedarConditions) order(pointer, op string) (*cedarExpression, error) {
	v, err := r.literal()
	if err != nil {
		return nil, err
	}
	if v.Kind() != document.Number {
		return nil, fmt.Errorf("%s compares whole numbers only", op)
	}
	holds := map[string]string{"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}[op]
	other := map[string]string{"<": "gte", "<=": "gt", ">": "lte", ">=": "lt"}[op]
	return &cedarExpression{leaf: one(pointer, one(holds, v)), other: one(pointer, one(other, v))}, nil
}

// attribute reads context.input.a.b, context.input["a"] and context.arg_a, and the name of a
// method behind it, whose parenthesis is taken.
func (r *cedarConditions) attribute() (names []string, method string, err error) {
	if first := r.peek(); !r.is("context") {
		return nil, "", fmt.Errorf("%q is not translated; only context.input is", first.text)
	}
	for {
		switch {
		case r.is("."):
			name := r.next()
			if name.kind != cedarName {
				return nil, "", errors.New("a name is expected behind the dot")
			}
			if r.is("(") {
				return names, name.text, nil
			}
			names = append(names, name.text)
		case r.is("["):
			raw := r.next()
			name, ok := unquoteCedar(raw.text, false)
			if raw.kind != cedarText || !ok || !r.is("]") {
				return nil, "", errors.New("only a text stands in the brackets of an attribute")
			}
			names = append(names, name)
		default:
			return names, "", nil
		}
	}
}

// inputPointer returns the pointer of an attribute of the context.
func inputPointer(names []string) (string, error) {
	argument, flat := "", false
	if len(names) == 1 {
		argument, flat = strings.CutPrefix(names[0], "arg_")
	}
	switch {
	case flat:
		names = []string{argument}
	case len(names) > 1 && names[0] == "input":
		names = names[1:]
	default:
		return "", fmt.Errorf("context.%s is not translated; only context.input.NAME and context.arg_NAME are", strings.Join(names, "."))
	}
	pointer := document.Pointer(names...)
	if strings.Contains(pointer, "*") {
		return "", errors.New("an attribute with * in its name is not translated")
	}
	return pointer, nil
}

// has reads the name behind has.
func (r *cedarConditions) has(names []string) (*cedarExpression, error) {
	name := r.next()
	attribute := name.text
	if name.kind == cedarText {
		unquoted, ok := unquoteCedar(name.text, false)
		if !ok {
			return nil, errors.New("the name behind has cannot be read")
		}
		attribute = unquoted
	} else if name.kind != cedarName {
		return nil, errors.New("a name is expected behind has")
	}
	pointer, err := inputPointer(append(append([]string{}, names...), attribute))
	yes := document.BoolValue(true)
	return &cedarExpression{leaf: one(pointer, one("exists", yes)), other: one(pointer, one("not_exists", yes))}, err
}

// like reads a pattern.
func (r *cedarConditions) like(pointer string) (*cedarExpression, error) {
	raw := r.next()
	pattern, ok := unquoteCedar(raw.text, true)
	if raw.kind != cedarText || !ok || strings.ContainsAny(pattern, `*?\`) {
		return nil, errors.New("a pattern with the characters *, ? or \\ themselves is not translated")
	}
	return said(like(pointer, strings.ReplaceAll(pattern, string(wildcard), "*"))), nil
}

// said returns an expression whose opposite is not.
func said(condition document.Value) *cedarExpression {
	return &cedarExpression{leaf: condition, other: not(condition)}
}

// in reads a list behind in. Cedar compares entities so, and fails for texts: such a forbid never
// applies, which cannot be meant.
func (r *cedarConditions) in(pointer string) (*cedarExpression, error) {
	if !r.forbids {
		return nil, errors.New("in compares entities, and fails for a text; write [...].contains(...)")
	}
	if err := r.want("["); err != nil {
		return nil, err
	}
	values, err := r.literals()
	return said(one(pointer, document.ArrayValue(values))), err
}

// listContains reads ["a", "b"].contains(context.input.x), behind its first bracket.
func (r *cedarConditions) listContains() (*cedarExpression, error) {
	values, err := r.literals()
	if err != nil {
		return nil, err
	}
	if !r.is(".") || !r.is("contains") || !r.is("(") {
		return nil, errors.New("only contains is translated for a list")
	}
	names, method, err := r.attribute()
	if err != nil {
		return nil, err
	}
	pointer, err := inputPointer(names)
	if err == nil && (method != "" || !r.is(")")) {
		err = errors.New("only an attribute stands in contains(...)")
	}
	return said(one(pointer, document.ArrayValue(values))), err
}

// contains reads the arguments of a method of a set.
func (r *cedarConditions) contains(pointer, method string) (*cedarExpression, error) {
	var values []document.Value
	var err error
	switch method {
	case "contains":
		var v document.Value
		v, err = r.literal()
		values = []document.Value{v}
	case "containsAll", "containsAny":
		if err = r.want("["); err == nil {
			values, err = r.literals()
		}
	default:
		err = fmt.Errorf("%s(...) is not translated", method)
	}
	if err == nil {
		err = r.want(")")
	}
	if err != nil {
		return nil, err
	}
	some := func(op string, v document.Value) document.Value {
		return one(pointer+"/*", object(field("each", text("some")), field(op, v)))
	}
	if method == "containsAny" {
		return said(some("in", document.ArrayValue(values))), nil
	}
	var all []document.Value
	for _, v := range values {
		all = append(all, some("eq", v))
	}
	return said(allOf(all...)), nil
}

// literals reads values up to the closing bracket.
func (r *cedarConditions) literals() ([]document.Value, error) {
	var values []document.Value
	for !r.is("]") {
		v, err := r.literal()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
		if !r.is(",") && r.peek().text != "]" {
			return nil, errors.New("a list is not closed")
		}
	}
	if len(values) == 0 {
		return nil, errors.New("the list is empty")
	}
	return values, nil
}

// literal reads a text, a whole number or a boolean.
func (r *cedarConditions) literal() (document.Value, error) {
	sign := ""
	if r.is("-") {
		sign = "-"
	}
	t := r.next()
	switch {
	case t.kind == cedarNumber:
		if v := document.NumberValue(sign + strings.TrimLeft(t.text[:len(t.text)-1], "0") + t.text[len(t.text)-1:]); !v.IsZero() {
			return v, nil
		}
	case sign != "":
	case t.kind == cedarText:
		if s, ok := unquoteCedar(t.text, false); ok {
			return text(s), nil
		}
	case t.kind == cedarName && (t.text == "true" || t.text == "false"):
		return document.BoolValue(t.text == "true"), nil
	}
	return document.Value{}, fmt.Errorf("%q is compared with, which is no text, whole number, true or false", t.text)
}
