package shell

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// program walks the effects of a program, by its line in the tables or by code of its
// own. at is the place of its name in the words of command c. Of others only the options
// are known.
func (p programReader) program(name string, c, at int) {
	args := p.plan.Commands[c].Words[at+1:]
	if len(args) == 1 && args[0].Static && (args[0].Text == "--help" || args[0].Text == "--version") {
		return
	}
	switch walkers()[name] {
	case "env":
		p.builtinPart().env(c, at)
	case "printenv":
		p.builtinPart().printenv(c, at)
	case "envsubst":
		p.builtinPart().envsubst(c, at)
	case "ps":
		p.processes(c, at)
	case "shell":
		p.shell(name, c, at)
	case "find":
		p.findFiles(c, at)
	case "fd":
		p.fd(c, at)
	case "xargs":
		p.xargs(c, at)
	case "sed":
		p.sed(c, at)
	case "awk":
		p.awk(c, at)
	case "jq":
		p.jq(name, c, at)
	case "dd":
		p.dd(c, at)
	case "tar":
		p.tar(c, at)
	case "git":
		p.git(c, at)
	case "make":
		p.makeFile(c, at)
	case "parallel":
		p.parallel(c, at)
	case "script":
		p.typescript(c, at)
	case "flock":
		p.flock(c, at)
	default:
		if sub, ok := strings.CutPrefix(name, "git-"); ok {
			p.gitProgram(sub, c, at)
			return
		}
		p.tabled(name, c, at)
	}
}

// tabled walks a program by its line.
func (p programReader) tabled(name string, c, at int) *scan {
	s := specOf(name)
	if s == nil && projectTools()[name] {
		s = projectLine()
	}
	if s == nil {
		p.unknownOptions(name, c, at)
		return nil
	}
	sc := p.scanWords(s, name, c, at)
	opaque := s.opaque
	switch {
	case s.hides:
		sc.builtinPart().note(Hidden, c, at, "runs commands that the line does not show")
	case s.dumps:
		sc.builtinPart().note(Dumps, c, at, "shows the environment")
	case s.again:
		sc.again()
	case sc.moduleOf != "":
		sc.module()
	case s.sub && sc.subcommand():
		opaque = false
	case s.inline:
		sc.inlineCode(at)
		sc.databaseShell()
	case s.code:
		sc.interpret(at)
	case s.wraps:
		sc.wrapper(at)
	case s.programs == 2 && len(sc.operands) > 1 && sc.words[sc.operands[1]].Static:
		sc.programPart().program(programName(sc.words[sc.operands[1]].Text), c, sc.operands[1])
	}
	if s.compiler && sc.remotePart().looksOnly() {
		sc.onlyChecks(at)
	}
	if s.asks {
		sc.quiet = sc.onlyAsks(at) || sc.remotePart().looksOnly() && len(sc.operands) == 0
		sc.pipes = false
	}
	sc.behind(at)
	if opaque {
		sc.builtinPart().note(Opaque, c, at, runsProject)
		sc.scriptArguments(at)
	}
	if s.targets > 0 {
		sc.settings()
	}
	sc.base(at)
	if s.cloud {
		sc.remotePart().verb(at)
	}
	if runsScripts[name] {
		sc.scriptShell(at)
	}
	return sc
}

// asked are words by which a program only describes itself, when it is given no other.
var asked = wordSet("-V -v -vV -version --version -dumpversion -help --help -h -qv --info")

// onlyAsks reports a command of one word that asks about the program.
func (s *scan) onlyAsks(at int) bool {
	return len(s.words) == at+2 && s.words[at+1].Static && asked[s.words[at+1].Text]
}

// scriptArguments judges the arguments of a script of a package: it hands them on to a
// program that is not seen.
func (s *scan) scriptArguments(at int) {
	manager, _, _ := strings.Cut(s.spec.name, " ")
	if !slices.Contains([]string{"npm", "yarn", "pnpm", "bun"}, manager) {
		return
	}
	for i := at + 1; i < len(s.words); i++ {
		next := Word{}
		if i+1 < len(s.words) {
			next = s.words[i+1]
		}
		if w := s.words[i]; w.Static && (w.Text == "-u" || w.Text == "-o") {
			s.builtinPart().note(Writes, s.c, i, looksOutput)
		} else {
			s.programPart().unknownLook(s.c, i, w, next)
		}
	}
}

// runsScripts are programs that run the scripts of a package in a shell.
var runsScripts = wordSet(`npm npx pnpm pnpx`)

// npmOptions are options of npm that name its programs or outputs.
var npmOptions = strings.Fields(`--script-shell --node-options --shell --editor --viewer --browser --git --onload-script --init-module --cache --tmp --logs-dir`)

// scriptShell finds options of npm, at any place, that name its programs or outputs.
func (s *scan) scriptShell(at int) {
	for i, w := range s.words[at+1:] {
		name, _, _ := strings.Cut(w.Text, "=")
		if w.Static && w.Text == "--" {
			return
		}
		// npm accepts the beginning of an option.
		if strings.HasPrefix(name, "--script") || strings.HasSuffix(name, "script-shell") || strings.HasPrefix(name, "--node-o") {
			s.builtinPart().note(Code, s.c, at+1+i, "has an option that says what runs scripts")
		} else if len(name) > len("--c") && slices.ContainsFunc(npmOptions, func(o string) bool { return strings.HasPrefix(o, name) }) {
			s.builtinPart().note(Writes, s.c, at+1+i, "has an option that says what npm runs or writes")
		}
	}
}

// base finds the writes of a program that happen with all options.
func (s *scan) base(at int) {
	s.remotePart().elsewhere(at)
	switch {
	case s.remotePart().looksOnly(), s.spec.compiler && s.onlyAsks(at):
	case s.spec.remote:
		place := at
		if len(s.operands) > 0 && s.spec.name == "ssh" {
			place = s.operands[0] // an entry of a list has to name the machine, which may be this one
		}
		s.builtinPart().note(Elsewhere, s.c, place, actsElsewhere)
		s.builtinPart().note(Writes, s.c, place, "runs a command elsewhere, which may do anything")
	case s.spec.writes, s.spec.operands > 0 && len(s.operands) >= s.spec.operands, s.spec.bare && len(s.operands) == 0:
		s.remotePart().unlessHarmless(Writes, at, "changes files")
	}
	if s.uploads > 0 && !s.remotePart().sendsAway() {
		s.builtinPart().note(Writes, s.c, s.uploads, "sends to an address that may be a file")
	}
	if s.spec.response && slices.ContainsFunc(s.words[at+1:], func(w Word) bool { return strings.HasPrefix(w.Text, "@") }) {
		s.builtinPart().note(Writes, s.c, at, "takes options from a file, which are not seen")
	}
	if s.spec.macros && slices.ContainsFunc(s.operands, func(i int) bool { return strings.ContainsAny(s.words[i].Text, "\\&"+string(Unknown)) }) {
		s.builtinPart().note(Code, s.c, at, "runs code that is given in the line")
	}
	if len(s.spec.verbs) > 0 {
		for _, place := range s.operands {
			if s.spec.verbs[s.words[place].Text] {
				s.builtinPart().note(Writes, s.c, place, "has a subcommand that writes files here")
				break
			}
		}
	}
	if s.spec.plus && slices.ContainsFunc(s.operands, func(i int) bool { return !harmlessPlus(s.words[i]) }) {
		s.builtinPart().note(Code, s.c, at, "runs code that is given in the line")
	}
	if s.spec.assigns {
		for _, place := range s.operands {
			if w := s.words[place]; !w.Static || strings.Contains(w.Text, "=") {
				s.builtinPart().note(Writes, s.c, place, "sets what this operand names")
			}
		}
	}
	if s.name == "go build" && !s.discards() {
		s.builtinPart().note(Writes, s.c, at, "writes a program; give it -o /dev/null, or several packages as ./...")
	}
	s.givenCode()
	s.environment(at)
	s.network()
	if s.spec.outs == 0 {
		return
	}
	for i, place := range s.operands {
		w := s.words[place]
		switch {
		case i+1 >= s.spec.outs && !harmless(w):
			s.builtinPart().note(Writes, s.c, place, "writes the file that this operand names")
		case i+1 < s.spec.outs && w.many:
			s.builtinPart().note(Writes, s.c, place, "has operands that may be more than one, and writes the last")
		}
	}
}

// givenCode finds operands that give code, or settings that may become code: a program of another
// module for go run, and switches of msbuild.
func (s *scan) givenCode() {
	manager, _, _ := strings.Cut(s.name, " ")
	for n, i := range s.operands {
		text := s.words[i].Text
		switch {
		case s.name == "go run" && n == 0 && strings.Contains(text, "@"):
			s.builtinPart().note(Code, s.c, i, "runs code from an address")
		case manager == "dotnet" && s.spec.listed && s.spec.colons && strings.HasPrefix(text, "/") && strings.Count(strings.SplitN(text, ":", 2)[0], "/") == 1:
			s.builtinPart().note(Writes, s.c, i, "has a switch of msbuild that is not known to be harmless")
		}
	}
}

// discards reports that go build only checks: several packages, -n, or -o, which is
// judged by itself.
func (s *scan) discards() bool {
	if slices.ContainsFunc(s.operands, func(i int) bool { return strings.HasSuffix(s.words[i].Text, "...") }) {
		return true
	}
	discards := false
	for _, w := range s.words {
		name, v, valued := strings.Cut(strings.TrimLeft(w.Text, "-"), "=")
		switch {
		case !strings.HasPrefix(w.Text, "-"):
		case name == "n" && valued && !affirms[v]:
			return false
		case name == "n", name == "o":
			discards = true
		}
	}
	return discards
}

// harmlessPlus reports an operand of a pager that says at most where it begins.
func harmlessPlus(w Word) bool {
	command, ok := strings.CutPrefix(w.Text, "+")
	if !ok {
		return true
	}
	pattern, searches := strings.CutPrefix(strings.TrimLeft(command, "+"), "/")
	return w.Static && (searches && !strings.ContainsAny(pattern, "\n\r") || strings.Trim(command, "+0123456789gGFpP%") == "")
}

// subcommand walks the subcommand's own line. It reports false when there is none.
func (s *scan) subcommand() bool {
	if len(s.operands) == 0 {
		return false
	}
	at := s.operands[0]
	if strings.HasPrefix(s.words[at].Text, "+") && len(s.operands) > 1 { // cargo +nightly fmt
		at = s.operands[1]
	}
	// The word after an unknown option may be its argument.
	if s.loose && !s.spec.closed && len(s.operands) > 1 && specOf(s.name+" "+s.words[at].Text) == nil {
		at = s.operands[1]
	}
	w := s.words[at]
	if !w.Static {
		s.builtinPart().note(Hidden, s.c, at, "runs a subcommand that is known only when the line runs")
		return true
	}
	name := s.name + " " + w.Text
	switch {
	case at+2 == len(s.words) && s.words[at+1].Static && (s.words[at+1].Text == "--help" || s.words[at+1].Text == "-h"):
	case specOf(name) != nil:
		s.programPart().tabled(name, s.c, at)
	case s.spec.programs == 1 && hasLine(programName(path.Base(w.Text))):
		s.programPart().program(programName(path.Base(w.Text)), s.c, at)
	case s.spec.client:
		s.builtinPart().note(Elsewhere, s.c, at, unknownSubcommand)
	case s.spec.closed:
		s.builtinPart().note(Writes, s.c, at, "has a subcommand that is not known to only read")
	default:
		s.looks(at)
		return false
	}
	return true
}

// looks judges the options after a place, none of which a line names, by how they look.
func (s *scan) looks(at int) {
	for i := at + 1; i < len(s.words); i++ {
		if s.words[i].Static && s.words[i].Text == "--" {
			return
		}
		next := Word{}
		if i+1 < len(s.words) {
			next = s.words[i+1]
		}
		s.programPart().unknownLook(s.c, i, s.words[i], next)
	}
}

// inlineCode judges programs whose words, or whose input, are code.
func (s *scan) inlineCode(at int) {
	if s.remotePart().looksOnly() || len(s.words) == at+2 && s.words[at+1].Static && slices.Contains([]string{"-V", "-v", "-version", "-h", "-help"}, s.words[at+1].Text) {
		return
	}
	s.builtinPart().note(Code, s.c, at, "runs code of its own language")
}

// interpret walks an interpreter: code in an option, a script in a file, or code
// from its input.
func (s *scan) interpret(at int) {
	switch {
	case s.coded, s.unclear:
	case len(s.operands) == 0:
		if !s.remotePart().looksOnly() {
			s.builtinPart().note(Code, s.c, at, "runs code from its input")
		}
	default:
		place := s.operands[0]
		w := s.words[place]
		switch {
		case w.Static && isStream(w.Text):
			s.builtinPart().note(Code, s.c, place, "runs code from its input")
		case w.stream, w.opaque:
			s.builtinPart().note(Code, s.c, place, "runs code that is known only when the line runs")
		default:
			s.ran = append(s.ran, ran{w.Text, s.c, place})
			s.builtinPart().note(Opaque, s.c, place, runsWorkspace)
			if strings.Contains(w.Text, ":") && addressOfCode(w.Text) {
				s.builtinPart().note(Code, s.c, place, "runs code from an address")
			}
			s.console(place)
			if OfSystem(w.Text) {
				s.builtinPart().note(Code, s.c, place, runsSystem)
			}
			if module := libraryModule(w.Text); s.spec.name == "python" && specOf("python -m "+module) != nil {
				s.programPart().tabled("python -m "+module, s.c, place)
			}
		}
	}
}

// libraryModule returns the module of python's library that a file is, or is empty.
func libraryModule(file string) string {
	at := strings.LastIndex(file, "/python")
	if at < 0 {
		return ""
	}
	_, module, _ := strings.Cut(file[at+1:], "/")
	module = strings.TrimSuffix(strings.TrimSuffix(module, ".py"), "/__main__")
	return strings.ReplaceAll(module, "/", ".")
}

// module walks `python -m name ...`.
func (s *scan) module() {
	w := s.moduleName
	if !w.Static || w.Text == "" {
		s.builtinPart().note(Code, s.c, min(s.rest, len(s.words)-1), "runs a module that is known only when the line runs")
		return
	}
	name := s.spec.name + " " + s.moduleOf + " " + w.Text
	if python := "python -m " + w.Text; specOf(name) == nil && specOf(python) != nil {
		name = python
	}
	if specOf(name) != nil {
		if strings.HasPrefix(name, "python -m ") && !s.isolated {
			// Python looks for it in the folder that it is in first.
			s.builtinPart().note(Opaque, s.c, min(s.rest, len(s.words)-1), runsWorkspace)
		}
		s.programPart().tabled(name, s.c, s.rest)
	} else if s.moduleOf == "-m" {
		s.builtinPart().note(Opaque, s.c, min(s.rest, len(s.words)-1), runsWorkspace)
		if libraryModules()[strings.SplitN(w.Text, ".", 2)[0]] {
			s.builtinPart().note(Code, s.c, min(s.rest, len(s.words)-1), "runs a module of the library that is not known to be harmless")
		}
		s.programPart().program(w.Text, s.c, s.rest)
	}
}

// architectures are those of setarch.
var architectures = sync.OnceValue(func() map[string]bool {
	return wordSet(`uname26 linux32 linux64 i386 i486 i586 i686 athlon x86_64 ppc ppc32 ppc64 ppcle ppc32le ppc64le mips mips32 mips64
sparc sparc32 sparc64 s390 s390x ia64 parisc parisc32 parisc64 alpha arm armv7l aarch64 riscv64 loongarch64 e2k`)
})

// wrapper walks the command that a program runs.
func (s *scan) wrapper(at int) {
	if s.spec.architecture && len(s.operands) > 0 && architectures()[s.words[s.operands[0]].Text] {
		s.operands = s.operands[1:]
	}
	switch {
	case s.coded || s.remotePart().looksOnly():
	case len(s.operands) <= s.spec.runs:
		if s.spec.shell {
			s.builtinPart().note(Hidden, s.c, at, hiddenShell)
		}
	case s.spec.joins:
		text, static := joined(s.words[s.operands[s.spec.runs]:])
		if !static {
			s.builtinPart().note(Hidden, s.c, s.operands[s.spec.runs], hiddenScript)
			return
		}
		s.programPart().script(text, bash, posix)
	default:
		next := s.operands[s.spec.runs]
		if s.words[next].Text == "--" {
			next++
		}
		s.builtinPart().wrapped(s.c, s.skipAssignments(next))
		if s.spec.dashes {
			s.withoutDashes(next)
		}
	}
}

// withoutDashes walks the command from the word at once more without its first --,
// as npm exec takes that for its own.
func (s *scan) withoutDashes(at int) {
	for i := at + 1; i < len(s.words); i++ {
		if s.words[i].Static && s.words[i].Text == "--" {
			s.builtinPart().added(slices.Concat(s.words[at:i], s.words[i+1:]))
			return
		}
	}
}

// skipAssignments passes over the variables that sudo and the like set.
func (s *scan) skipAssignments(at int) int {
	if s.name != "sudo" && s.name != "doas" {
		return at
	}
	return s.programPart().assignments(s.c, at)
}

// assignments passes over words like NAME=value and notes the variables.
func (p programReader) assignments(c, at int) int {
	words := p.plan.Commands[c].Words
	for ; at < len(words); at++ {
		w := words[at]
		name, _, ok := strings.Cut(w.Text, "=")
		if !ok {
			break
		}
		if strings.ContainsRune(name, Unknown) {
			p.builtinPart().note(Hidden, c, at, "sets a variable that is known only when the line runs")
			continue
		}
		p.builtinPart().influence(c, at, name, w)
		p.builtinPart().passes(c, at, name, w)
		p.variablePart().set(name, part(w, len(name)+1), byAssignment)
	}
	return at
}
