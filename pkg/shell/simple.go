package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call walks a simple command.
func (p builtinReader) call(c *syntax.CallExpr) {
	words := make([]Word, 0, len(c.Assigns)+len(c.Args))
	for _, a := range c.Assigns {
		w := p.assignment(a)
		w.at = p.stands(a)
		words = append(words, w)
	}
	for _, arg := range c.Args {
		w := p.wordPart().word(arg, argument)
		w.at = p.stands(arg)
		p.path(w)
		words = append(words, w)
	}
	if len(c.Args) > 0 && assignmentLike(c.Args[0].Parts) {
		p.hide("has a word that can be read as an assignment or as a command", words[len(c.Assigns)].String())
	}
	at := p.command(Command{Words: words, Assigns: len(c.Assigns)})
	if p.beyond != nil {
		return
	}
	for i, a := range c.Assigns {
		if !forRead(a.Name.Value, words[len(c.Assigns):]) {
			p.influence(at, i, a.Name.Value, words[i])
			if len(c.Args) > 0 {
				p.passes(at, i, a.Name.Value, words[i])
			}
		}
	}
	if len(c.Args) > 0 {
		p.direct = true
		p.run(at, len(c.Assigns))
	}
}

// forRead reports IFS for read alone, which splits its input by it and does not run it.
func forRead(name string, words []Word) bool {
	return name == "IFS" && len(words) > 0 && words[0].Static && (words[0].Text == "read" || words[0].Text == "mapfile")
}

// assignmentLike reports a command word that begins like an assignment without a
// quote: the parser made it a command where bash may not (coproc), or the other
// way round.
func assignmentLike(parts []syntax.WordPart) bool {
	lit, ok := parts[0].(*syntax.Lit)
	if !ok {
		return false
	}
	if strings.HasPrefix(lit.Value, "{") && strings.Contains(lit.Value, "[") {
		return true // {a[i]}> opens a file
	}
	name, _, ok := strings.Cut(lit.Value, "=")
	if !ok {
		name = lit.Value
	}
	name, _, indexed := strings.Cut(strings.TrimSuffix(name, "+"), "[")
	return (ok || indexed) && syntax.ValidName(name)
}

// assignment walks x=y, x[i]=y, x=(y z) and gives it as a word.
func (p builtinReader) assignment(a *syntax.Assign) Word {
	name := a.Name.Value
	text := name
	if a.Index != nil {
		p.wordPart().subscript(name, a.Index)
		text += "[" + string(Unknown) + "]"
	}
	if a.Append {
		text += "+"
	}
	if a.Array != nil {
		p.elements(name, a.Array)
		return Word{Text: text + "=" + string(Unknown), opaque: true}
	}
	w := p.wordPart().word(a.Value, value)
	p.path(w)
	p.variablePart().set(name, w, byAssignment)
	w.Static = w.Static && a.Index == nil
	w.Text = text + "=" + w.Text
	w.start, w.integer, w.child = startsKnown, false, false
	return w
}

// elements walks (y [k]=z).
func (p builtinReader) elements(name string, array *syntax.ArrayExpr) {
	if len(array.Elems) == 0 {
		p.variablePart().set(name, Word{Static: true}, byAssignment)
	}
	for _, e := range array.Elems {
		if e.Index != nil {
			p.wordPart().subscript(name, e.Index)
		}
		w := p.wordPart().word(e.Value, argument)
		p.path(w)
		p.variablePart().set(name, w, byAssignment)
	}
}

// influence finds the setting of a variable that decides which code runs. word is the
// whole assignment.
func (p builtinReader) influence(command, at int, name string, word Word) {
	what, kind := influence(name)
	if what == "" {
		return
	}
	_, v, _ := strings.Cut(word.Text, "=")
	if judge := judgedVariables[name]; judge != nil && judge(v) && (word.Static || extends(name, word)) {
		return
	}
	if word.Static && slices.Contains(harmlessValues[lastPart(name)], v) {
		return
	}
	p.add(Finding{Kind: kind, Command: command, Word: at, What: what, About: name})
}

// extends reports a value in which only the variable's own value is unknown.
func extends(name string, word Word) bool {
	return !word.opaque && !word.many && strings.Count(word.Text, string(Unknown)) == len(word.deps) &&
		!slices.ContainsFunc(word.deps, func(dep string) bool { return dep != name })
}

// passes finds a variable in the environment of a program, unless it is known to
// be harmless. word is the whole assignment.
func (p builtinReader) passes(command, at int, name string, word Word) {
	if what, _ := influence(name); what != "" {
		return // influence has judged it
	}
	_, v, _ := strings.Cut(word.Text, "=")
	if !harmlessVariable(name, v, word.Static) {
		p.add(Finding{Kind: Variable, Command: command, Word: at, What: passesVariable, About: name})
	}
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '_')+1:] }

// run walks the effects of the command whose name is the word at.
func (p builtinReader) run(c, at int) {
	if p.beyond != nil {
		return
	}
	w := p.plan.Commands[c].Words[at]
	if !w.Static {
		p.add(Finding{Kind: Hidden, Command: c, Word: at, What: hiddenName, About: w.String()})
		return
	}
	name := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
	if name != w.Text {
		p.ran = append(p.ran, ran{w.Text, c, at})
		if namesProcess(w.Text) {
			p.note(Hidden, c, at, hiddenProcess)
			return
		}
	} else if p.builtin(name, c, at) {
		return
	}
	file := name
	name = p.programPart().programName(file)
	p.flowPart().signals(file, name, c, at)
	p.meet(file, name, c, at)
	p.tree(name, p.plan.Commands[c].Words[at+1:])
	p.programPart().program(name, c, at)
}

// meet notes a program of the workspace, and one that is not known. file is its name
// without the folder, and name the one that the tables may know.
func (p builtinReader) meet(file, name string, c, at int) {
	w := p.plan.Commands[c].Words[at]
	switch f := p.finding(Stranger, c, at, "runs a program that is not known to leave files alone"); {
	case strings.Contains(w.Text, "/") && !OfSystem(w.Text) && (w.Text[0] != '/' || known(name)):
		p.note(Opaque, c, at, runsWorkspace)
		p.programPart().console(c, at)
	case projectTools()[name]:
		p.note(Opaque, c, at, runsProject)
	case known(name):
	case p.direct && p.functions[file]:
		f.About = file
		p.called = append(p.called, f)
	default:
		f.About = file
		p.add(f)
	}
}

const (
	runsWorkspace = "runs code of the workspace, which is not seen"
	runsProject   = "builds or tests as files of the workspace say, which Interlock does not read"
)

// wrapped walks a command that another one runs: its words from at on.
func (p builtinReader) wrapped(c, at int) {
	words := p.plan.Commands[c].Words
	p.added(words[min(at, len(words)):len(words):len(words)])
}

// added walks a command that is made of words of another.
func (p builtinReader) added(words []Word) {
	if len(words) == 0 {
		return
	}
	p.wraps++
	if p.wraps > maxWraps {
		p.beyond = errTooDeep
	}
	if p.enter() {
		if inner := p.command(Command{Words: words}); p.beyond == nil {
			p.direct = false
			p.run(inner, 0)
		}
	}
	p.leave()
	p.wraps--
}

// finding returns one about a word of a command.
func (p builtinReader) finding(kind Kind, c, at int, what string) Finding {
	return Finding{Kind: kind, Command: c, Word: at, What: what, About: p.plan.Commands[c].Words[at].String()}
}

func (p builtinReader) note(kind Kind, c, at int, what string) { p.add(p.finding(kind, c, at, what)) }
