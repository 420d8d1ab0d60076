package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parameter walks ${...} and describes its value.
func (p wordReader) parameter(e *syntax.ParamExp, quoted bool) hole {
	if e.Param == nil || e.Flags != nil || e.NestedParam != nil || e.Modifiers != nil {
		p.hide("has an expansion that bash does not have", "")
		return hole{start: startsUnknown, opaque: true}
	}
	name := e.Param.Value
	all := isAll(e.Index)
	p.indirection(e, all)
	switch {
	case e.Index == nil || all:
	case e.Short: // in an expression, bash expands the key again
		p.index(name, e.Index)
	default:
		p.subscript(name, e.Index)
	}
	if e.Slice != nil {
		p.arithmetic(e.Slice.Offset)
		p.arithmetic(e.Slice.Length)
	}
	if e.Repl != nil {
		p.operand(e.Repl.Orig, quoted)
		p.operand(e.Repl.With, quoted)
	}
	if e.Exp != nil {
		p.expand(name, e.Exp, quoted)
	}
	return p.held(e, quoted, all)
}

// indirection walks the name: reads, and ${!x}.
func (p wordReader) indirection(e *syntax.ParamExp, all bool) {
	name := e.Param.Value
	switch {
	case !e.Excl:
		p.variablePart().usesValue(name)
	case e.Names != 0, all && e.Exp == nil: // names, keys: no value is read
	default:
		p.variablePart().usesValue(name)
		p.variablePart().must(name, aName, "reads a variable that another variable names", "${!"+name+"}")
		p.find(Dumps, "reads a variable whose name is known only when the line runs", "${!"+name+"}")
	}
}

// held describes the known properties of the value of an expansion.
func (p wordReader) held(e *syntax.ParamExp, quoted, all bool) hole {
	name := e.Param.Value
	switch {
	case e.Length, countsOnly(name) && e.Exp == nil && e.Repl == nil && e.Slice == nil:
		return hole{start: startsSafe, integer: true, child: name == "!" && !e.Length}
	case e.Excl && all && e.Exp == nil:
		return hole{start: startsSafe, many: true, dep: keysOf + name}
	case !syntax.ValidName(name), e.Excl, e.Repl != nil, e.Slice != nil, e.Exp != nil && !trims(e.Exp.Op) && !orNumber(e.Exp):
		return hole{start: startsUnknown, many: !quoted || name == "@" || all, opaque: true}
	}
	h := hole{start: startsWithVariable, first: name, dep: name, many: !quoted || all, trimmed: e.Exp != nil && trims(e.Exp.Op)}
	if !quoted {
		h.loose = name
	}
	return h
}

// countsOnly reports the parameters that are integers in every line.
func countsOnly(name string) bool { return name == "#" || name == "?" || name == "$" || name == "!" }

// trims reports expansions that keep the beginning of the value.
func trims(op syntax.ParExpOperator) bool {
	return op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix
}

// orNumber reports ${x:-0}: the known properties of x are those of a number, too.
func orNumber(x *syntax.Expansion) bool {
	return (x.Op == syntax.DefaultUnset || x.Op == syntax.DefaultUnsetOrNull) && x.Word != nil && digits(x.Word.Lit())
}

// expand walks the operator of an expansion.
func (p wordReader) expand(name string, x *syntax.Expansion, quoted bool) {
	switch x.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		p.variablePart().set(name, p.operand(x.Word, quoted), byExpansion)
		return
	case syntax.OtherParamOps:
		if x.Word != nil && slices.Contains([]string{"P", "A", "a", "E", "K", "k", "L", "Q", "U", "u"}, x.Word.Lit()) && x.Word.Lit() != "P" {
			return
		}
		p.hide("expands the value of a variable again", "${"+name+"@P}")
	}
	p.operand(x.Word, quoted)
}

// operand resolves a word inside ${...}. In double quotes bash takes single
// quotes in it for characters, where the parser takes them for quotes.
func (p wordReader) operand(w *syntax.Word, quoted bool) Word {
	if quoted && w != nil && quotesCode(w.Parts) {
		p.hide("has quotes inside quotes that can be read in two ways", "")
	}
	word := p.word(w, value)
	p.builtinPart().pathInText(word)
	return word
}

func quotesCode(parts []syntax.WordPart) bool {
	return slices.ContainsFunc(parts, func(part syntax.WordPart) bool {
		switch part := part.(type) {
		case *syntax.SglQuoted:
			return strings.ContainsAny(part.Value, "$`\\\"}")
		case *syntax.DblQuoted:
			return quotesCode(part.Parts)
		}
		return false
	})
}

// substitution walks $(...) and says what stands in its place.
func (p wordReader) substitution(s *syntax.CmdSubst, quoted bool) hole {
	before := len(p.plan.Commands)
	p.flowPart().stmts(s.Stmts)
	h := hole{start: startsUnknown, many: !quoted, opaque: true}
	if len(s.Stmts) != 1 || len(p.plan.Commands) == before || s.Stmts[0].Background || !endsInCall(s.Stmts[0]) {
		return h
	}
	switch outputOf(p.plan.Commands[len(p.plan.Commands)-1]) {
	case printsNumbers:
		return hole{start: startsSafe, many: !quoted, integer: true}
	case printsPlain:
		return hole{start: startsSafe, many: !quoted}
	case printsChildren:
		return hole{start: startsSafe, many: !quoted, integer: true, child: true}
	}
	return h
}

// endsInCall reports a simple command of literal words, or a pipeline that ends in
// one: what it prints is what the last command of the plan prints.
func endsInCall(s *syntax.Stmt) bool {
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		s = b.Y
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	return ok && !slices.ContainsFunc(call.Args, func(w *syntax.Word) bool { return w.Lit() == "" })
}

// output is what a command is known to print.
type output uint8

const (
	printsAnything output = iota
	printsPlain           // one word that is not an option: a path, a commit, a branch
	printsNumbers
	printsChildren // processes that the line has started
)

// outputOf knows commands that lines take numbers and commits from.
func outputOf(c Command) output {
	if c.Assigns > 0 || !allStatic(c.Words) {
		return printsAnything
	}
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = w.Text
	}
	line := strings.Join(words, " ")
	switch {
	case line == "jobs -p":
		return printsChildren
	case slices.Contains([]string{"nproc", "wc -l", "wc -c", "wc -w", "id -u", "id -g", "date +%s", "date +%Y", "date +%s%N"}, line),
		len(words) == 4 && words[0] == "git" && words[1] == "rev-list" && words[2] == "--count" && words[3] != "" && words[3][0] != '-':
		return printsNumbers
	case len(words) > 2 && len(words) < 5 && words[0] == "grep" && words[1] == "-c" && words[2][0] != '-':
		return printsNumbers
	case words[0] == "seq" && !slices.ContainsFunc(words[1:], func(s string) bool { return !isInteger(s) }):
		return printsNumbers
	case slices.Contains([]string{"pwd", "pwd -P", "git branch --show-current", "git rev-parse --show-toplevel"}, line),
		len(words) > 2 && words[0] == "git" && (words[1] == "merge-base" || words[1] == "rev-parse") && !slices.ContainsFunc(words[2:], oddRevision):
		return printsPlain
	}
	return printsAnything
}

// oddRevision reports what git rev-parse could print back as an option.
func oddRevision(s string) bool {
	return s == "" || s[0] == '-' && s != "--short" && s != "--verify" && s != "--abbrev-ref" && s != "--all"
}

// isAll reports the subscripts @ and *.
func isAll(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}
