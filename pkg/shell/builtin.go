package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	setsSubscript = "sets or clears a variable by something other than a plain name, which bash would evaluate"
	hiddenScript  = "runs a script that is known only when the line runs"
)

// builtin walks the commands that the shell runs itself and that no table of programs
// has. It reports false for others.
func (p builtinReader) builtin(name string, c, at int) bool {
	args := p.plan.Commands[c].Words[at+1:]
	switch name {
	case "cd", "pushd":
		for i := range args {
			p.move(c, at+1+i)
		}
	case "eval":
		p.programPart().inline(afterDashes(args), hiddenScript)
	case "trap":
		p.trap(args)
	case ".", "source":
		p.source(c, at)
	case "command":
		p.commandBuiltin(c, at)
	case "builtin":
		p.wrapped(c, at+1+len(args)-len(afterDashes(args)))
	case "exec":
		p.exec(c, at)
	case "test":
		p.flowPart().testCommand(args)
	case "[":
		p.flowPart().testCommand(withoutLast(args))
	case "read":
		p.readBuiltin(c, at, "a:d:i:n:N:p:t:u:", "a")
	case "mapfile", "readarray":
		p.readBuiltin(c, at, "C:c:d:n:O:s:u:", "")
	case "getopts":
		p.names(c, at+1, withoutFirst(args))
	case "wait":
		p.readBuiltin(c, at, "p:", "p")
	case "printf":
		p.printf(c, at)
	case "unset":
		p.unset(args)
	case "declare", "typeset", "local", "export", "readonly":
		p.variablePart().declare(name, c, at+1, args)
	case "let":
		for _, w := range args {
			p.wordPart().evaluated(w, w.String())
		}
	case "set", "shopt":
		p.setBuiltin(name, c, at)
	case "alias":
		p.alias(c, at)
	case "jobs":
		if len(args) > 0 && (!args[0].Static || strings.Contains(args[0].Text, "x")) {
			p.wrapped(c, at+2)
		}
	case "hash", "enable", "history", "fc", "bind", "compgen", "complete":
		p.rareBuiltin(name, c, at)
	default:
		return false
	}
	return true
}

func afterDashes(words []Word) []Word {
	if len(words) > 0 && words[0].Static && words[0].Text == "--" {
		return words[1:]
	}
	return words
}

func withoutLast(words []Word) []Word {
	if len(words) > 0 && words[len(words)-1].Static && words[len(words)-1].Text == "]" {
		return words[:len(words)-1]
	}
	return words
}

func withoutFirst(words []Word) []Word { return words[min(1, len(words)):] }

// trap walks `trap script signals`.
func (p builtinReader) trap(args []Word) {
	if len(args) > 0 && args[0].Static && (args[0].Text == "-p" || args[0].Text == "-l") {
		return
	}
	args = afterDashes(args)
	switch {
	case len(args) == 0:
	case !args[0].Static:
		p.hide(hiddenScript, args[0].String())
	case len(args) == 1 || args[0].Text == "" || args[0].Text == "-": // resets
	default:
		p.programPart().scriptHere(args[0].Text, p.dialect)
	}
}

// source runs a file in the shell itself: its text is not seen.
func (p builtinReader) source(c, at int) {
	words := p.plan.Commands[c].Words
	switch {
	case at+1 >= len(words):
	case words[at+1].opaque || len(words[at+1].deps) > 0 || words[at+1].stream || isStream(words[at+1].Text):
		p.note(Hidden, c, at+1, hiddenScript)
	default:
		p.ran = append(p.ran, ran{words[at+1].Text, c, at + 1})
		p.note(Writes, c, at, "runs a file in the shell itself, which may do anything")
	}
}

// commandBuiltin walks `command [-pVv] name ...`.
func (p builtinReader) commandBuiltin(c, at int) {
	words := p.plan.Commands[c].Words
	for i := at + 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Static && (w.Text == "--" || w.Text == "-p"):
		case w.Static && strings.HasPrefix(w.Text, "-"):
			return // -v and -V ask
		default:
			p.wrapped(c, i)
			return
		}
	}
}

// exec walks `exec [-cl] [-a name] command ...`.
func (p builtinReader) exec(c, at int) {
	words := p.plan.Commands[c].Words
	for i := at + 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Static && w.Text == "-a":
			i++
		case w.Static && strings.HasPrefix(w.Text, "-a"), w.Static && strings.HasPrefix(w.Text, "-") && strings.Trim(w.Text, "-cl") == "":
		case w.Static && strings.HasPrefix(w.Text, "-") && strings.HasSuffix(w.Text, "a"):
			i++
		default:
			p.wrapped(c, i)
			return
		}
	}
}

// readBuiltin walks builtins that set the variables that their operands name.
func (p builtinReader) readBuiltin(c, at int, options, naming string) {
	words := p.plan.Commands[c].Words
	i := at + 1
	for ; i < len(words); i++ {
		w := words[i]
		if w.Text == "" || w.Text[0] != '-' {
			break
		}
		if w.Static && w.Text == "--" {
			i++
			break
		}
		letter, attached, takes := lastOption(w.Text, options)
		switch {
		case !w.Static && !takes:
			p.note(Hidden, c, i, setsSubscript)
			return
		case !takes:
			continue
		case attached == "" && i+1 < len(words):
			i++
			attached = words[i].Text
			w = words[i]
		}
		switch {
		case letter == 'C':
			p.note(Hidden, c, i, "runs a command for the lines that it reads")
		case strings.IndexByte(naming, letter) >= 0:
			p.names(c, i, []Word{{Text: attached, Static: w.Static}})
		}
	}
	if naming == "p" { // wait's operands are jobs
		return
	}
	if i >= len(words) {
		p.variablePart().set("REPLY", anyValue, byAssignment)
		p.variablePart().set("MAPFILE", anyValue, byAssignment)
		return
	}
	p.names(c, i, words[i:])
}

// lastOption returns the option in a word of short options that takes an argument, and
// the part of it that is in the word.
func lastOption(word, options string) (letter byte, attached string, takes bool) {
	for i := 1; i < len(word); i++ {
		if at := strings.IndexByte(options, word[i]); at >= 0 && word[i] != ':' {
			return word[i], word[i+1:], true
		}
	}
	return 0, "", false
}

// names sets variables to unknown values. at is the place of the first.
func (p builtinReader) names(c, at int, words []Word) {
	for i, w := range words {
		name, ok := plainVariable(w)
		if !ok {
			p.hide(setsSubscript, w.String())
			continue
		}
		p.variablePart().set(name, anyValue, byAssignment)
		p.influence(c, min(at+i, len(p.plan.Commands[c].Words)-1), name, anyValue)
	}
}

// printf walks printf -v, which sets a variable.
func (p builtinReader) printf(c, at int) {
	words := p.plan.Commands[c].Words
	if at+1 >= len(words) {
		return
	}
	w := words[at+1]
	unclear := p.finding(Hidden, c, at+1, "gives printf a format that may be an option; write -- before it")
	switch {
	case w.Static && w.Text == "-v" && at+2 < len(words):
		p.names(c, at+2, words[at+2:at+3])
	case w.Static && strings.HasPrefix(w.Text, "-v"):
		p.names(c, at+1, []Word{{Text: w.Text[2:], Static: true}})
	case w.start > startsSafe && strings.HasSuffix(w.Text, `\n`): // no name ends so
	case !p.variablePart().safe(w, unclear) || !w.Static && strings.HasPrefix(w.Text, "-"):
		p.add(unclear)
	}
}

func (p builtinReader) unset(args []Word) {
	for _, w := range args {
		p.undefines = p.undefines || !w.Static || p.functions[w.Text]
		if w.Static && strings.HasPrefix(w.Text, "-") {
			continue
		}
		name, ok := plainVariable(w)
		if !ok {
			p.hide(setsSubscript, w.String())
		} else {
			p.variablePart().variable(name).unset = true
		}
	}
}

// setBuiltin walks set and shopt: without operands set shows every variable, and some
// options change how bash reads the rest.
func (p builtinReader) setBuiltin(name string, c, at int) {
	words := p.plan.Commands[c].Words
	if name == "set" && !slices.ContainsFunc(words[at+1:], func(w Word) bool { return !w.many }) {
		p.note(Dumps, c, at, "shows every variable")
	}
	for i := at + 1; i < len(words); i++ {
		w := words[i]
		rereads := slices.Contains(rereadingOptions, w.Text) ||
			name == "set" && strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "kH")
		switch {
		case w.Static && w.Text == "--":
			return
		case !w.Static || rereads:
			p.note(Hidden, c, i, "sets an option that may change what the line means")
			return
		case name == "set" && (w.Text == "allexport" || strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "a")):
			p.note(Variable, c, i, "passes every variable on to the programs that follow")
		}
	}
}

// alias defines commands. The value is judged as a command with arguments that are
// not known.
func (p builtinReader) alias(c, at int) {
	words := p.plan.Commands[c].Words
	for i := at + 1; i < len(words); i++ {
		w := words[i]
		name, text, defines := strings.Cut(w.Text, "=")
		if w.Static && !defines {
			continue
		}
		value, plain := p.aliasValue(text)
		if !w.Static || name == "" || !plain {
			p.note(Hidden, c, i, "defines an alias that is not one plain command")
			return
		}
		p.added(append(value, anyWords))
	}
}

// aliasValue returns the words of the one simple command that an alias is.
func (p builtinReader) aliasValue(text string) (words []Word, plain bool) {
	outer := p.text
	defer func() { p.text = outer }()
	p.text = text
	file, err := p.flowPart().readScript(text, bash)
	call, plain := oneCall(file)
	if err != nil || !plain {
		return nil, false
	}
	for _, arg := range call.Args {
		words = append(words, p.wordPart().word(arg, argument))
	}
	return words, true
}

// oneCall returns the one simple command that a file is.
func oneCall(file *syntax.File) (*syntax.CallExpr, bool) {
	if file == nil || len(file.Stmts) != 1 {
		return nil, false
	}
	s := file.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	return call, ok && len(call.Args) > 0 && len(call.Assigns) == 0 && len(s.Redirs) == 0 &&
		!s.Negated && !s.Background && !s.Coprocess && !s.Semicolon.IsValid()
}

// rareBuiltin walks builtins that few lines need and that can run or write.
func (p builtinReader) rareBuiltin(name string, c, at int) {
	for i, w := range p.plan.Commands[c].Words[at+1:] {
		i += at + 1
		option := strings.HasPrefix(w.Text, "-")
		switch {
		case name == "compgen" && (!w.Static || strings.ContainsAny(w.Text, "$`<>") || option && strings.ContainsAny(w.Text, "CF")):
			p.note(Hidden, c, i, "expands a word list again")
		case name == "compgen" || name == "complete":
		case name == "hash" && (!w.Static || option && strings.Contains(w.Text, "p")):
			p.note(Writes, c, i, "changes which program a name runs")
		case name == "enable" && (!w.Static || option && strings.Contains(w.Text, "f")):
			p.note(Writes, c, i, "loads code into the shell")
		case name == "history" && (!w.Static || option && strings.ContainsAny(w.Text, "wancdr")):
			p.note(Writes, c, i, "changes the history")
		case name == "bind" && (!w.Static || option && strings.ContainsAny(w.Text, "xf")):
			p.note(Hidden, c, i, "binds a command to a key")
		}
	}
	if args := p.plan.Commands[c].Words[at+1:]; name == "fc" && (len(args) == 0 || !args[0].Static || !strings.HasPrefix(args[0].Text, "-l")) {
		p.note(Hidden, c, at, "runs commands of the history again")
	}
}
