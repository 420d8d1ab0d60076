package shell

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// script walks a script that the line runs in another shell of the given dialects,
// which has none of the functions and variables of this one.
func (p programReader) script(text string, dialects ...dialect) {
	functions, associative := p.functions, p.maps
	p.functions, p.maps = nil, nil
	p.scriptHere(text, dialects...)
	p.functions, p.maps = functions, associative
}

// scriptHere walks a script that runs in the present shell.
func (p programReader) scriptHere(text string, dialects ...dialect) {
	if p.scripts += len(text) * len(dialects); p.scripts > maxScripts {
		p.beyond = errScripts
		return
	}
	if checkText(text) != nil {
		p.hide("runs a script that can be read in two ways", text)
		return
	}
	outer, outerText, outerInner := p.dialect, p.text, p.inner
	p.text, p.inner = text, true
	for _, d := range dialects {
		if !p.enter() {
			p.leave()
			break
		}
		p.dialect = d
		file, err := p.flowPart().readScript(text, d)
		if err == nil {
			p.body(file.Stmts)
		} else {
			p.hide("runs a script that does not parse, or not in every shell", text)
		}
		p.leave()
	}
	p.dialect, p.text, p.inner = outer, outerText, outerInner
}

// body walks the statements of a script. A function or an associative array that is made
// in its course, not in a branch or a subshell, is there for the rest.
func (p programReader) body(stmts []*syntax.Stmt) {
	for i, s := range stmts {
		var names []string
		switch d := s.Cmd.(type) {
		case *syntax.FuncDecl:
			if d.Name != nil && plainly(s) && plainly(d.Body) {
				p.functions = with(p.functions, d.Name.Value)
			}
		case *syntax.DeclClause:
			names = p.newMaps(s, d)
		}
		p.flowPart().stmts(stmts[i : i+1])
		p.maps = with(p.maps, names...)
	}
}

// with returns a set with more names in it. The set itself stays, for the script around.
func with(set map[string]bool, names ...string) map[string]bool {
	if len(names) == 0 {
		return set
	}
	more := make(map[string]bool, len(set)+len(names))
	maps.Copy(more, set)
	for _, name := range names {
		more[name] = true
	}
	return more
}

// newMaps returns the variables that `declare -A` makes associative arrays. One that has
// items already keeps its kind.
func (p programReader) newMaps(s *syntax.Stmt, d *syntax.DeclClause) (names []string) {
	if s.Background || s.Coprocess || s.Disown || d.Variant.Value != "declare" && d.Variant.Value != "typeset" || len(d.Args) < 2 ||
		d.Args[0].Name != nil || d.Args[0].Value.Lit() != "-A" {
		return nil
	}
	for _, a := range d.Args[1:] {
		if a.Name == nil {
			return nil
		}
		if v := p.vars[a.Name.Value]; v == nil || !v.set {
			names = append(names, a.Name.Value)
		}
	}
	return names
}

// plainly reports a definition, or a body of one, that is not part of more.
func plainly(s *syntax.Stmt) bool {
	switch s.Cmd.(type) {
	case *syntax.FuncDecl, *syntax.Block, *syntax.Subshell:
		return !s.Background && !s.Coprocess && !s.Disown
	}
	return false
}

// shellScript walks the argument of sh -c. sh is bash in one place and a plain
// shell in another, which read [[ a > b ]] differently.
func (p programReader) shellScript(shell, text string) {
	switch shell {
	case "bash", "rbash":
		p.script(text, bash)
	default:
		p.script(text, bash, posix)
	}
}

// inline walks words that are joined to a script of the present shell: eval, trap.
func (p programReader) inline(words []Word, what string) {
	text, ok := joined(words)
	if !ok {
		p.hide(what, text)
		return
	}
	p.scriptHere(text, p.dialect)
}

// joined returns the script that static words make.
func joined(words []Word) (text string, static bool) {
	static = true
	parts := make([]string, len(words))
	for i, w := range words {
		static = static && w.Static
		parts[i] = w.Text
	}
	text = strings.Join(parts, " ")
	return strings.ReplaceAll(text, string(Unknown), "…"), static
}

// A shell reads options, then a script: as the argument of -c, as a file, or from
// its input.

// bashOptions are the long options of bash that run no code.
var bashOptions = []string{"--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose", "--noediting", "--debugger"}

// shell walks sh, bash and the like. Words are those after the name.
func (p programReader) shell(name string, c, at int) {
	words := p.plan.Commands[c].Words
	if onlyChecks(name, words[at+1:]) {
		return
	}
	inline := false
	i := at + 1
	for ; i < len(words); i++ {
		w := words[i]
		text := w.Text
		var unclear Finding
		if !w.Static {
			unclear = p.builtinPart().finding(Hidden, c, i, hiddenWord)
		}
		switch {
		case !p.variablePart().safe(w, unclear):
			p.add(unclear)
			return
		case text == "" || !w.Static && w.start != startsKnown || text[0] != '-' && text[0] != '+' || text == "-":
			p.shellOperand(name, c, i, inline)
			return
		case text == "--":
			p.shellOperand(name, c, i+1, inline)
			return
		case !w.Static:
			p.add(unclear)
			return
		case strings.HasPrefix(text, "--"):
			if !slices.Contains(bashOptions, text) {
				p.builtinPart().note(Hidden, c, i, hiddenOption)
				return
			}
		case strings.ContainsAny(text, "sHk"):
			p.builtinPart().note(Hidden, c, i, hiddenOption)
			return
		default:
			inline = inline || text[0] == '-' && strings.Contains(text, "c")
			if !strings.ContainsAny(text, "oO") {
				continue
			}
			if i++; i < len(words) && !plainOption(words[i]) {
				p.builtinPart().note(Hidden, c, i, hiddenOption)
				return
			}
		}
	}
	p.shellOperand(name, c, i, inline)
}

// onlyChecks reports bash -n with files, which it reads and does not run.
func onlyChecks(name string, args []Word) bool {
	return !foreign(name) && len(args) > 1 && args[0].Static && args[0].Text == "-n" &&
		!slices.ContainsFunc(args[1:], func(w Word) bool {
			return w.start > startsSafe || w.many || w.Text == "" || strings.ContainsAny(w.Text[:1], "-+")
		})
}

// plainOption reports the name of an option of set or shopt that does not change the
// meaning of a script.
func plainOption(w Word) bool {
	return w.Static && !slices.Contains(rereadingOptions, w.Text)
}

// rereadingOptions of set and shopt make bash read text in another way than it was
// parsed here.
var rereadingOptions = []string{"keyword", "history", "histexpand"}

// shellOperand walks the words after the options.
func (p programReader) shellOperand(name string, c, at int, inline bool) {
	words := p.plan.Commands[c].Words
	switch {
	case at >= len(words) || words[at].Static && isStream(words[at].Text):
		p.add(Finding{Kind: Hidden, Command: c, Word: min(at, len(words)-1), What: hiddenInput, About: name})
	case inline && !words[at].Static:
		p.builtinPart().note(Hidden, c, at, hiddenScript)
	case inline && foreign(name):
		p.builtinPart().note(Hidden, c, at, hiddenForeign)
	case inline:
		p.shellScript(name, words[at].Text)
	case words[at].stream || words[at].opaque:
		p.builtinPart().note(Hidden, c, at, hiddenScript)
	default:
		p.ran = append(p.ran, ran{words[at].Text, c, at})
		p.builtinPart().note(Opaque, c, at, runsWorkspace)
		if OfSystem(words[at].Text) {
			p.builtinPart().note(Code, c, at, runsSystem)
		}
	}
}

// foreign reports shells whose scripts have another grammar than bash's.
func foreign(name string) bool {
	switch name {
	case "bash", "sh", "dash", "ash", "rbash":
		return false
	}
	return true
}

// isStream reports files that are the input of the process, not a script.
func isStream(s string) bool {
	return s == "-" || strings.HasPrefix(s, "/dev/") || strings.HasPrefix(s, "/proc/")
}

// ran is a file that is run.
type ran struct {
	file        string
	command, at int
}

// checkOwnScripts finds files that the line writes itself and then runs: their text is in
// the line, but not as commands.
func (p programReader) checkOwnScripts() {
	if len(p.written) == 0 || len(p.ran) == 0 {
		return
	}
	written := make(map[string]bool, len(p.written))
	for _, file := range p.written {
		written[path.Clean(file)] = true
	}
	for _, r := range p.ran {
		if written[path.Clean(r.file)] {
			p.add(Finding{Kind: Hidden, Command: r.command, Word: r.at, What: ownScript, About: r.file})
		}
	}
}
