package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const testsSubscript = "tests a variable by something other than a plain name, which bash would evaluate"

// test walks [[ ]] and reports whether all in it is static.
func (p flowReader) test(x syntax.TestExpr) bool {
	static := true
	for {
		b, ok := x.(*syntax.BinaryTest)
		if !ok {
			break
		}
		static = p.binaryTest(b) && static
		if b.Op != syntax.AndTest && b.Op != syntax.OrTest {
			return static
		}
		x = b.X
	}
	p.enter()
	defer p.leave()
	switch t := x.(type) {
	case *syntax.UnaryTest:
		if t.Op == syntax.TsNot {
			return p.test(t.X) && static
		}
		w := p.testWord(t.X)
		if t.Op == syntax.TsVarSet || t.Op == syntax.TsRefVar {
			p.tested(w)
		}
		return w.Static && static
	case *syntax.ParenTest:
		return p.test(t.X) && static
	case *syntax.Word:
		return p.testWord(t).Static && static
	default:
		p.hide("has a test that cannot be judged", "")
		return false
	}
}

// binaryTest walks the right side of && and ||, and both of other operators.
func (p flowReader) binaryTest(t *syntax.BinaryTest) bool {
	p.enter()
	defer p.leave()
	switch t.Op {
	case syntax.AndTest, syntax.OrTest:
		return p.test(t.Y)
	}
	x, y := p.testWord(t.X), p.testWord(t.Y)
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		p.wordPart().evaluated(x, x.String())
		p.wordPart().evaluated(y, y.String())
	}
	return x.Static && y.Static
}

func (p flowReader) testWord(x syntax.TestExpr) Word {
	w, ok := x.(*syntax.Word)
	if !ok {
		return anyValue
	}
	word := p.wordPart().word(w, argument)
	p.builtinPart().pathInText(word)
	return word
}

// tested judges the operand of -v: reading it reports whether the variable is set, and a
// subscript in it is evaluated.
func (p flowReader) tested(w Word) {
	name, ok := plainVariable(w)
	if !ok {
		p.hide(testsSubscript, w.String())
		return
	}
	p.variablePart().usesValue(name)
}

// plainVariable returns the name that a word gives to a variable, with a number or @ as
// its subscript at most.
func plainVariable(w Word) (string, bool) {
	name, rest, indexed := strings.Cut(w.Text, "[")
	if indexed {
		index, closed := strings.CutSuffix(rest, "]")
		if !closed || !digits(index) && index != "@" && index != "*" {
			return "", false
		}
	}
	return name, w.Static && syntax.ValidName(name)
}

var comparisons = []string{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}

// testCommand walks the operands of test and [. A word that is not known could be
// -v, and then the one that follows it is evaluated.
func (p flowReader) testCommand(words []Word) {
	unclear := Finding{Kind: Hidden, Command: -1, What: testsSubscript}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !w.Static {
			unclear.About = w.String()
		}
		switch {
		case !p.single(w, unclear):
			p.add(unclear)
			return
		case i+1 < len(words) && words[i+1].Static && slices.Contains(comparisons, words[i+1].Text):
			if i+2 < len(words) && !p.single(words[i+2], unclear) {
				p.add(unclear)
				return
			}
			i += 2
		case !w.Static:
			if i+1 < len(words) && !joins(words[i+1]) {
				p.add(unclear)
				return
			}
		case w.Text == "-v" || w.Text == "-R":
			if i+1 < len(words) {
				p.tested(words[i+1])
			}
			i++
		case len(w.Text) == 2 && w.Text[0] == '-' && w.Text != "-a" && w.Text != "-o":
			if i+1 < len(words) && !p.single(words[i+1], unclear) {
				p.add(unclear)
				return
			}
			i++
		}
	}
}

func joins(w Word) bool {
	return w.Static && (w.Text == "-a" || w.Text == "-o" || w.Text == ")" || w.Text == "]")
}

// single reports that a word cannot become several. The agent that sets the environment
// is not who writes the line, so its variables are taken for words.
func (p flowReader) single(w Word, f Finding) bool {
	if w.opaque && w.many {
		return false
	}
	for _, name := range w.loose {
		p.variablePart().rely(duty{name: name, needs: oneWord, finding: f, unlessOutside: true})
	}
	return true
}
