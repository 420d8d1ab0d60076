package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declaration walks declare, export and the like where the parser knows them.
func (p variableReader) declaration(d *syntax.DeclClause) {
	words := []Word{{Text: d.Variant.Value, Static: true}}
	var args []*syntax.Assign // in the place of the words that are assignments
	for _, a := range d.Args {
		switch {
		case a.Name == nil:
			w := p.wordPart().word(a.Value, argument)
			p.builtinPart().path(w)
			words, args = append(words, w), append(args, nil)
		case a.Naked && a.Index == nil:
			words, args = append(words, Word{Text: a.Name.Value, Static: true}), append(args, nil)
		default:
			words, args = append(words, p.builtinPart().assignment(a)), append(args, a)
		}
	}
	c := p.command(Command{Words: words})
	if p.beyond != nil {
		return
	}
	decl := p.declareOptions(d.Variant.Value, words[1:])
	for i, w := range words[1:] {
		if a := args[i]; a != nil {
			p.declareValue(decl, a.Name.Value, w)
			p.builtinPart().influence(c, i+1, a.Name.Value, w)
			if decl.exports {
				p.builtinPart().passes(c, i+1, a.Name.Value, w)
			}
			continue
		}
		p.declareWord(decl, c, i+1, w)
	}
	p.declareNothing(decl, c, 0)
}

// declare walks the same commands where they are words like any other:
// `builtin export x=y`, `\declare x`.
func (p variableReader) declare(name string, c, at int, words []Word) {
	decl := p.declareOptions(name, words)
	for i, w := range words {
		p.declareWord(decl, c, at+i, w)
	}
	p.declareNothing(decl, c, at-1)
}

// attributes of a declaration.
type attributes struct {
	command                          string
	functions, print, integer, assoc bool
	reference, unexport, exports     bool
	named, hidden                    bool // it has names; one is not known
}

func (p variableReader) declareOptions(command string, words []Word) *attributes {
	a := &attributes{command: command, exports: command == "export"}
	for _, w := range words {
		if !w.Static || len(w.Text) < 2 || w.Text[0] != '-' {
			continue
		}
		a.functions = a.functions || strings.ContainsAny(w.Text, "fF")
		a.print = a.print || strings.Contains(w.Text, "p")
		a.integer = a.integer || strings.Contains(w.Text, "i")
		a.assoc = a.assoc || strings.Contains(w.Text, "A")
		if strings.Contains(w.Text, "n") {
			a.reference = command != "export" && command != "readonly"
			a.unexport = command == "export"
		}
		a.exports = a.exports && !a.unexport || strings.Contains(w.Text, "x")
	}
	return a
}

// declareWord walks one word: an option, a name, or an assignment in quotes.
func (p variableReader) declareWord(a *attributes, c, at int, w Word) {
	if w.Static && len(w.Text) > 0 && (w.Text[0] == '-' || w.Text[0] == '+') {
		return
	}
	text, v, assigned := strings.Cut(w.Text, "=")
	name, ok := plainVariable(Word{Text: strings.TrimSuffix(text, "+"), Static: true})
	switch {
	case a.functions && w.Static:
		a.named = true
	case !w.Static && (!assigned || !ok):
		a.hidden = true
		p.builtinPart().note(Hidden, c, at, "declares what is known only when the line runs")
	case !ok:
		p.hide(setsSubscript, w.String())
	case assigned:
		p.set(name, Word{Text: v, Static: w.Static, opaque: !w.Static, start: startOf(v)}, byAssignment)
		if strings.HasPrefix(v, "(") && (!w.Static || strings.ContainsAny(v, "$`[<>")) {
			p.hide("declares a list that is expanded again", w.String())
		}
		p.declareValue(a, name, w)
		p.builtinPart().influence(c, at, name, w)
		if a.exports {
			p.builtinPart().passes(c, at, name, w)
		}
	default:
		p.declareValue(a, name, w)
		if a.exports && p.variable(name).set {
			p.builtinPart().passes(c, at, name, anyValue)
		}
		if a.print {
			p.usesValue(name)
		}
	}
}

func startOf(text string) start {
	if strings.HasPrefix(text, string(Unknown)) {
		return startsUnknown
	}
	return startsKnown
}

// declareValue notes the attributes that a variable gets.
func (p variableReader) declareValue(a *attributes, name string, w Word) {
	a.named = true
	v := p.variable(name)
	v.declared++
	v.assoc = v.assoc || a.assoc
	if a.assoc {
		v.set = true
	}
	if !a.integer && !a.reference {
		return
	}
	p.declared = append(p.declared, name)
	v.integer = v.integer || a.integer
	if !a.reference {
		return
	}
	v.reference = true
	_, target, _ := strings.Cut(w.Text, "=")
	if !w.Static || !syntax.ValidName(target) {
		p.hide("makes a variable refer to something other than a plain name", w.String())
	}
	p.usesValue(target)
	p.find(Dumps, "makes a variable stand for another", name)
}

// declareNothing finds declarations that only show variables.
func (p variableReader) declareNothing(a *attributes, c, at int) {
	if a.named && !a.hidden || a.functions || a.command == "local" {
		return
	}
	p.builtinPart().note(Dumps, c, at, "shows variables with their values")
}

// let walks `let x=1 y++`, which is a command and arithmetic.
func (p variableReader) let(l *syntax.LetClause) {
	words := []Word{{Text: "let", Static: true}, anyValue}
	p.command(Command{Words: words})
	for _, x := range l.Exprs {
		p.letExpression(x)
	}
}

// letExpression walks one argument of let. Quoted text is an expression once more.
func (p variableReader) letExpression(x syntax.ArithmExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		switch e := n.(type) {
		case *syntax.Word:
			return false
		case *syntax.BinaryArithm:
			if strings.ContainsAny(e.Op.String(), "<>&|") {
				p.hide("has operators of the shell in let, which can be read in two ways; quote them", "")
			}
		case *syntax.ParenArithm:
			p.hide("has parentheses in let, which can be read in two ways; quote them", "")
		}
		return true
	})
	w, ok := x.(*syntax.Word)
	if !ok || w.Lit() != "" {
		p.wordPart().arithmetic(x)
		return
	}
	word := p.wordPart().word(w, argument)
	p.wordPart().evaluated(word, word.String())
}
