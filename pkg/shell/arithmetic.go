package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Arithmetic runs commands: bash evaluates the value of a variable as an
// expression again, and a[$(cmd)] is one. So everything in an expression must be
// known to be an integer.

const notKnownInteger = "does arithmetic on a value that is not known to be a number, which bash would evaluate"

// arithmetic walks an expression.
func (p wordReader) arithmetic(x syntax.ArithmExpr) {
	for {
		switch e := x.(type) {
		case *syntax.BinaryArithm:
			p.binary(e)
			x = e.X
			if assigns(e.Op) {
				return
			}
		case *syntax.UnaryArithm:
			if name := nameOf(e.X); name != "" && (e.Op == syntax.Inc || e.Op == syntax.Dec) {
				p.variablePart().set(name, Word{integer: true, Text: string(Unknown)}, byArithmetic)
			}
			p.enter()
			p.arithmetic(e.X)
			p.leave()
			return
		case *syntax.ParenArithm:
			p.enter()
			p.arithmetic(e.X)
			p.leave()
			return
		case *syntax.Word:
			p.number(e)
			return
		case nil:
			return
		default:
			p.hide(notKnownInteger, "")
			return
		}
	}
}

// binary walks the right side of an operator, and an assignment.
func (p wordReader) binary(e *syntax.BinaryArithm) {
	p.enter()
	p.arithmetic(e.Y)
	if assigns(e.Op) {
		if name := nameOf(e.X); name != "" {
			p.variablePart().set(name, Word{integer: true, Text: string(Unknown)}, byArithmetic)
		}
		if _, plain := literalName(e.X); !plain || e.Op != syntax.Assgn {
			p.arithmetic(e.X)
		}
	}
	p.leave()
}

func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// nameOf returns the variable that an expression is, or the array it is an item of.
func nameOf(x syntax.ArithmExpr) string {
	if name, ok := literalName(x); ok {
		return name
	}
	if w, ok := x.(*syntax.Word); ok && len(w.Parts) == 1 {
		if e, ok := w.Parts[0].(*syntax.ParamExp); ok && e.Param != nil {
			return e.Param.Value
		}
	}
	return ""
}

func literalName(x syntax.ArithmExpr) (string, bool) {
	w, ok := x.(*syntax.Word)
	if !ok {
		return "", false
	}
	name := w.Lit()
	return name, syntax.ValidName(name)
}

// number walks one word of an expression, which must be an integer.
func (p wordReader) number(w *syntax.Word) {
	if lit := w.Lit(); lit != "" || len(w.Parts) == 0 {
		p.numeral(lit)
		return
	}
	for _, part := range w.Parts {
		p.numberPart(part)
	}
}

// numeral judges literal text in an expression: an integer, or the name of one.
func (p wordReader) numeral(text string) {
	switch {
	case isInteger(text):
	case syntax.ValidName(text):
		p.variablePart().usesValue(text)
		p.variablePart().mustIn(p.array, text, anInteger, notKnownInteger, text)
	default:
		p.hide(notKnownInteger, text)
	}
}

func (p wordReader) numberPart(part syntax.WordPart) {
	switch part := part.(type) {
	case *syntax.Lit:
		if !digits(part.Value) {
			p.numeral(part.Value)
		}
	case *syntax.ArithmExp:
		p.enter()
		p.arithmetic(part.X)
		p.leave()
	case *syntax.ParamExp:
		p.known(p.parameter(part, true), "$"+part.Param.Value)
	case *syntax.CmdSubst:
		p.known(p.substitution(part, true), "$(...)")
	case *syntax.DblQuoted:
		for _, inner := range part.Parts {
			p.numberPart(inner)
		}
	default:
		p.hide(notKnownInteger, "")
	}
}

// known requires that the value of an expansion is an integer.
func (p wordReader) known(h hole, about string) {
	switch {
	case h.integer:
	case h.dep != "" && !h.opaque:
		p.variablePart().must(h.dep, anInteger, notKnownInteger, about)
	default:
		p.hide(notKnownInteger, about)
	}
}

// evaluated judges a word whose value bash evaluates as arithmetic: operands of [[ -eq
// ]], arguments of let, values of integer variables.
func (p wordReader) evaluated(w Word, about string) {
	switch {
	case w.integer, isInteger(w.Text), w.Text == "":
	case w.Static:
		x, err := p.flowPart().expression(w.Text)
		if err != nil || x == nil {
			p.hide(notKnownInteger, about)
			return
		}
		p.enter()
		p.arithmetic(x)
		p.leave()
	case w.opaque || strings.Trim(w.Text, string(Unknown)+"0123456789") != "":
		p.hide(notKnownInteger, about)
	default:
		for _, name := range w.deps {
			p.variablePart().must(name, anInteger, notKnownInteger, about)
		}
	}
}

// subscript walks [...] of an array, which is arithmetic unless the array is
// associative.
func (p wordReader) subscript(array string, x syntax.ArithmExpr) {
	if isAll(x) {
		return
	}
	if w, ok := x.(*syntax.Word); ok && p.maps[array] {
		p.variablePart().rely(duty{name: array, isMap: true, finding: Finding{Kind: Hidden, Command: -1, What: notKnownInteger, About: array}})
		p.builtinPart().path(p.word(w, value))
		return
	}
	p.index(array, x)
}

// index walks [...] as arithmetic.
func (p wordReader) index(array string, x syntax.ArithmExpr) {
	outer := p.array
	p.array = array
	p.enter()
	if key, ok := quotedKey(x); ok {
		p.key(key)
	} else {
		p.arithmetic(x)
	}
	p.leave()
	p.array = outer
}

// quotedKey returns the text of ["key"].
func quotedKey(x syntax.ArithmExpr) (string, bool) {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		return "", false
	}
	switch q := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		return q.Value, !q.Dollar
	case *syntax.DblQuoted:
		if len(q.Parts) == 1 {
			if lit, ok := q.Parts[0].(*syntax.Lit); ok {
				return lit.Value, true
			}
		}
	}
	return "", false
}

// key judges the text of a subscript: as arithmetic it could evaluate each name in it.
func (p wordReader) key(text string) {
	if strings.ContainsAny(text, "$`[\\") {
		p.hide(notKnownInteger, text)
		return
	}
	for _, name := range strings.FieldsFunc(text, func(c rune) bool { return c != '_' && notAlphanumeric(c) }) {
		if syntax.ValidName(name) {
			p.numeral(name)
		}
	}
}

// isInteger reports a literal integer of bash: decimal, octal, hexadecimal, with a
// base, with a sign.
func isInteger(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	if base, rest, ok := strings.Cut(s, "#"); ok {
		return digits(base) && rest != "" && strings.IndexFunc(rest, notAlphanumeric) < 0
	}
	if len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") {
		return strings.Trim(strings.ToLower(s[2:]), hexDigits) == ""
	}
	return digits(s)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func notAlphanumeric(c rune) bool {
	return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
}
