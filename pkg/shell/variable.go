package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The known properties of a variable come from all values that the line gives it, in any
// order: a property holds when every one of them has it. A variable that the line does
// not set comes from outside and has none.

// property is a requirement on the values of a variable.
type property uint8

const (
	anInteger property = 1 << iota
	aName              // the name of a variable
	noOption           // does not begin with -
	oneWord            // not split into words
	nearBy             // not a folder of the system
	aChild             // a process that the line has started
	noAction           // no option, or a path: no action of find has a slash
)

// variable has the uses of one in the line.
type variable struct {
	name             string
	read, set, shown bool
	lacks            property
	from             []string // variables whose values it takes
	integer, assoc   bool     // declare -i, -A
	reference, loop  bool     // declare -n; set by for
	unset            bool     // it may lose its attributes
	declared         int      // how often a command declares it
}

// keysOf before a name stands for the keys of an array.
const keysOf = "!"

// route is how a line sets a variable.
type route uint8

const (
	byAssignment route = iota // x=y, or a command that names it
	byLoop
	byExpansion
	byArithmetic
	byRedirect
)

func (p variableReader) variable(name string) *variable {
	v, ok := p.vars[name]
	if !ok {
		v = &variable{name: name}
		p.vars[name] = v
	}
	return v
}

// usesValue notes that the value of a variable is used.
func (p variableReader) usesValue(name string) {
	if !syntax.ValidName(name) {
		return
	}
	if v := p.variable(name); !v.read {
		v.read = true
		p.plan.Reads = append(p.plan.Reads, name)
	}
}

// set notes a value of a variable, and its consequences.
func (p variableReader) set(name string, w Word, by route) {
	v := p.variable(name)
	v.set = true
	v.from = append(v.from, w.deps...)
	v.lacks |= lacking(w)
	if by == byAssignment {
		return
	}
	v.loop = v.loop || by == byLoop
	if !v.shown {
		v.shown = true
		p.plan.Sets = append(p.plan.Sets, name)
	}
	if what, _ := influence(name); what != "" && by != byArithmetic {
		p.hide(what, name)
	}
}

// lacking returns the properties that a value may lack. Those of its variables are judged
// separately.
func lacking(w Word) property {
	var l property
	taken := w.Text == string(Unknown) && !w.opaque && len(w.deps) > 0
	if !w.integer && !isInteger(w.Text) && !taken && w.Text != "" {
		l |= anInteger
	}
	if !syntax.ValidName(w.Text) && !taken {
		l |= aName
	}
	if w.start == startsUnknown || w.start == startsKnown && mayBeOption(w.Text) {
		l |= noOption
	}
	if (l&noOption != 0 || w.trimmed) && !strings.Contains(w.Text, "/") {
		l |= noAction
	}
	if w.opaque || strings.ContainsAny(w.Text, " \t\n") || strings.Count(w.Text, string(Unknown)) > len(w.deps)+w.numbers { // a pattern
		l |= oneWord
	}
	if !w.child && !taken && w.Text != "" {
		l |= aChild
	}
	if w.opaque || OfSystem(w.Text) || strings.Contains(w.Text, "..") {
		l |= nearBy
	}
	return l
}

// mayBeOption reports a value that is an option, or a pattern that may become one where
// it is not quoted.
func mayBeOption(value string) bool {
	return value != "" && strings.ContainsRune("-*?[", rune(value[0])) || len(value) > 1 && value[1] == '(' && strings.ContainsRune("+@!", rune(value[0]))
}

// anyValue is a value that comes from outside.
var anyValue = Word{Text: string(Unknown), start: startsUnknown, opaque: true}

// duty is a property that the line relies on.
type duty struct {
	name        string
	needs       property
	unlessKeyOf string // no duty when that is an associative array
	finding     Finding
	// unlessOutside: no duty when the line does not set the variable.
	unlessOutside bool
	isMap         bool // it must be an associative array, wherever it is used
}

// must makes the plan rely on a property of a variable: when it does not hold,
// the finding is a hidden command.
func (p variableReader) must(name string, needs property, what, about string) {
	p.mustIn("", name, needs, what, about)
}

func (p variableReader) mustIn(array, name string, needs property, what, about string) {
	p.rely(duty{name: name, needs: needs, unlessKeyOf: array, finding: Finding{Kind: Hidden, Command: -1, What: what, About: about}})
}

func (p variableReader) rely(d duty) { p.duties = append(p.duties, d) }

// settle judges the assumptions, when all of the line is known.
func (p variableReader) settle() {
	p.builtinPart().checkFolders()
	p.spread()
	for _, d := range p.duties {
		if !p.holds(d) {
			p.add(d.finding)
		}
	}
	for _, name := range p.declared {
		switch v := p.vars[name]; {
		case v.integer && v.lacks&anInteger != 0:
			p.hide(notKnownInteger, name)
		case v.reference && v.loop:
			p.hide("makes a loop refer to variables by name", name)
		}
	}
	p.programPart().checkOwnScripts()
	p.flowPart().checkStandard()
	if p.undefines {
		for _, f := range p.called {
			p.add(f)
		}
	}
}

func (p variableReader) holds(d duty) bool {
	v := p.vars[d.name]
	if d.isMap {
		return v.assoc && v.declared == 1 && !v.unset
	}
	if d.unlessOutside && (v == nil || !v.set) && syntax.ValidName(d.name) {
		return true
	}
	if array := p.vars[d.unlessKeyOf]; array != nil && array.assoc && !array.unset && (v == nil || !v.set) {
		return true
	}
	missing := p.missing(d.name)
	return missing&d.needs == 0 || d.needs == noAction && missing&noOption == 0
}

// missing returns the properties that a variable lacks.
func (p variableReader) missing(name string) property {
	if array, ok := strings.CutPrefix(name, keysOf); ok {
		if v := p.vars[array]; v != nil && v.set && !v.assoc {
			return 0
		}
		return everyProperty
	}
	outside := everyProperty &^ kept(name)
	if v := p.vars[name]; v != nil && v.set {
		if kept(name) != 0 {
			return v.lacks | outside
		}
		return v.lacks
	}
	return outside
}

const everyProperty = anInteger | aName | noOption | oneWord | nearBy | aChild | noAction

// spread passes missing properties of variables on to those that take values from them.
func (p variableReader) spread() {
	takers := map[string][]*variable{}
	var changed []string
	for _, v := range p.vars {
		for _, from := range v.from {
			takers[from] = append(takers[from], v)
		}
	}
	for from := range takers {
		changed = append(changed, from)
	}
	for len(changed) > 0 {
		from := changed[len(changed)-1]
		changed = changed[:len(changed)-1]
		lacks := p.missing(from)
		for _, v := range takers[from] {
			if v.lacks|lacks != v.lacks {
				v.lacks |= lacks
				changed = append(changed, v.name)
			}
		}
	}
}

// kept returns the properties of the variables that bash itself keeps.
func kept(name string) property {
	switch name {
	case "RANDOM", "SRANDOM", "SECONDS", "LINENO", "BASHPID", "PPID", "UID", "EUID", "EPOCHSECONDS", "BASH_SUBSHELL", "OPTIND":
		return anInteger | noOption | noAction | oneWord | nearBy
	case "PWD", "OLDPWD", "HOME":
		return noOption | noAction | oneWord | nearBy
	}
	return 0
}

// safe reports that a word can neither be an option nor become several words that
// are. Where variables in it decide, the plan relies on them, and f is found when
// they do not hold.
func (p variableReader) safe(w Word, f Finding) bool { return p.relies(w, noOption, f) }

// relies returns whether the use is safe, by another property of the variable that the
// word begins with.
func (p variableReader) relies(w Word, needs property, f Finding) bool {
	switch {
	case w.Static:
		return true
	case w.start == startsUnknown, w.opaque && w.many:
		return false
	}
	if w.start == startsWithVariable {
		p.rely(duty{name: w.first, needs: needs, finding: f})
	}
	for _, name := range w.loose {
		p.rely(duty{name: name, needs: oneWord, finding: f})
	}
	return true
}
