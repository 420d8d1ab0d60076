package shell

import (
	"slices"
	"strings"
)

// remoteScan finds acts on other machines, and those that do no harm.
type remoteScan struct{ *scan }

func (s *scan) remotePart() remoteScan { return remoteScan{s} }

// scan is the reading of one command's words by the line of its program.
type scan struct {
	*planner
	spec       *spec
	name       string
	c          int    // the command
	words      []Word // all of its words
	operands   []int  // places in words
	quiet      bool   // the last option of those that say so makes it harmless: ask looksOnly
	pipes      bool   // as quiet, and no other mode takes it back
	doubted    int    // the place of an option that may take back a harmless one, or 0
	coded      bool   // code was given by an option
	evals      []eval
	rest       int    // the place where the words of something else begin, or 0
	moduleOf   string // the option that ended the options so
	moduleName Word
	unclear    bool
	uploads    int  // the place of an option that sends, or 0
	sends      int  // the same, of any data
	asks       bool // a method that only reads is given
	acts       int  // the place of a method that changes something, or 0
	loose      bool // an option that is not known, which may have an argument
	isolated   bool // it does not load from the folder that it runs in
}

// eval is a program for sed, awk or jq.
type eval struct {
	word Word
	at   int
}

const unclearOption = "has a word that may be an option which writes; write -- before it, or a plain name"

// scanWords reads the words of a command after the one at.
func (p programReader) scanWords(s *spec, name string, c, at int) *scan {
	sc := &scan{planner: p.planner, spec: s, name: name, c: c, words: p.plan.Commands[c].Words}
	for i := at + 1; i < len(sc.words); i++ {
		w := sc.words[i]
		if w.Static && w.Text == "--" && s.through {
			continue
		}
		if w.Static && w.Text == "--" {
			for i++; i < len(sc.words); i++ {
				sc.operands = append(sc.operands, i)
			}
			break
		}
		sc.check(w, i)
		if isOption(w) {
			i = sc.option(w, i)
			if sc.rest != 0 {
				return sc
			}
			continue
		}
		sc.operands = append(sc.operands, i)
		if s.stops {
			for i++; i < len(sc.words); i++ {
				sc.operands = append(sc.operands, i)
			}
		}
	}
	return sc
}

func isOption(w Word) bool {
	return len(w.Text) > 1 && w.Text[0] == '-' || len(w.Text) == 1 && !w.Static && w.Text[0] == '-'
}

// check finds words that may be options without looking like one.
func (s *scan) check(w Word, at int) {
	if w.Static || s.spec.doubt == 0 {
		return
	}
	if f := s.builtinPart().finding(s.spec.doubt, s.c, at, unclearOption); !s.variablePart().safe(w, f) {
		s.add(f)
		s.unclear = true
	}
}

// option reads an option and returns the place of its last word.
func (s *scan) option(w Word, at int) int {
	if strings.HasPrefix(w.Text, "--") || s.spec.single {
		return s.longOption(w, at)
	}
	if o, ok := s.spec.options[w.Text]; ok && len(w.Text) > 2 { // -pe, --exec of an odd program
		return s.argument(o, Word{Static: true}, false, at)
	}
	if begin := s.spec.prefixOf(w.Text); begin != "" {
		return s.argument(s.spec.options[begin], part(w, len(begin)), true, at)
	}
	for i := 1; i < len(w.Text); i++ {
		if w.Text[i] == Unknown {
			s.unknownOption(at)
			return at
		}
		o, known := s.spec.options["-"+w.Text[i:i+1]]
		s.remotePart().doubt(!known, at)
		switch {
		case !known && s.spec.strict:
			s.unknownOption(at)
		case o.takes == takesNothing:
			s.apply(o, Word{Static: true}, at, at)
		default:
			return s.argument(o, part(w, i+1), i+1 < len(w.Text), at)
		}
	}
	return at
}

// longOption reads --name, --name=argument, and -name where that is the style.
func (s *scan) longOption(w Word, at int) int {
	name, _, attached := strings.Cut(w.Text, "=")
	if s.spec.colons {
		name, _, _ = strings.Cut(name, ":")
	}
	if s.spec.folds {
		name = strings.ToLower(name)
	}
	if strings.ContainsRune(name, Unknown) {
		s.unknownOption(at)
		return at
	}
	o, known := s.lookup(name)
	if expands, ok := strings.CutPrefix(name, "--expand-"); ok && !known && s.spec.expands {
		if o, known = s.lookup("--" + expands); known { // its argument is made of variables
			return s.argument(o, anyValue, true, at+1)
		}
	}
	doubted := s.doubted
	s.remotePart().doubt(!known || !s.remotePart().exact(name), at)
	s.loose = s.loose || !known && !attached
	if !known && !s.spec.single {
		next := Word{}
		if at+1 < len(s.words) {
			next = s.words[at+1]
		}
		s.programPart().unknownLook(s.c, at, w, next)
	}
	if !known {
		if begin := s.spec.prefixOf(w.Text); begin != "" {
			s.doubted = doubted
			return s.argument(s.spec.options[begin], part(w, len(begin)), true, at)
		}
	}
	if !known && s.spec.clusters {
		for _, letter := range strings.TrimLeft(name, "-") {
			if o, ok := s.spec.options["-"+string(letter)]; ok {
				s.apply(o, Word{}, at, at)
			}
		}
	}
	if !known && s.spec.strict {
		s.unknownOption(at)
	}
	return s.argument(o, part(w, len(name)+1), attached, at)
}

// lookup finds an option by its name, or by the beginning of a long one.
func (s *scan) lookup(name string) (option, bool) {
	if o, ok := s.spec.options[name]; ok {
		return o, true
	}
	if s.spec.single {
		o, ok := s.spec.options["-"+strings.TrimLeft(name, "-")]
		return o, ok
	}
	name = strings.ReplaceAll(name, "_", "-")
	if at := slices.IndexFunc(s.spec.long, func(long string) bool { return strings.HasPrefix(long, name) && len(name) > 2 }); at >= 0 {
		return s.spec.options[s.spec.long[at]], true
	}
	return option{}, false
}

// argument applies an option with its attached value or with the next word.
func (s *scan) argument(o option, attached Word, isAttached bool, at int) int {
	switch {
	case isAttached || o.takes == takesNothing || o.takes == takesAttached:
		s.apply(o, attached, at, at)
		return at
	case o.takes == takesTwo:
		s.apply(o, Word{}, at, at)
		return at + 2
	case at+1 >= len(s.words):
		s.apply(o, Word{}, at, at)
		return at
	}
	next := s.words[at+1]
	if s.spec.doubt != 0 {
		if f := s.builtinPart().finding(s.spec.doubt, s.c, at+1, unclearOption); optionsFollow(next) || !s.flowPart().single(next, f) {
			s.add(f)
		}
	}
	s.apply(o, next, at, at+1)
	return at + 1
}

// optionsFollow reports a word that may become several: the others may be options.
func optionsFollow(w Word) bool { return w.many && w.start == startsUnknown }

// part returns the rest of a word from a place in its text on.
func part(w Word, from int) Word {
	if from > len(w.Text) {
		return Word{Static: true}
	}
	w.Text = w.Text[from:]
	w.Static = !strings.ContainsRune(w.Text, Unknown)
	w.stream = false
	if !w.Static && w.start == startsKnown {
		w.start = startOf(w.Text)
	}
	return w
}

// unknownOption judges a word that is an unknown option.
func (s *scan) unknownOption(at int) {
	if s.spec.doubt != 0 {
		what := "has an option that cannot be judged"
		if s.spec.listed {
			what = "has an option that is not known to be harmless"
		}
		s.builtinPart().note(s.spec.doubt, s.c, at, what)
	}
	s.unclear = true
}

// apply carries out an option. at is the place of the option, argAt that of its argument.
func (s *scan) apply(o option, arg Word, at, argAt int) {
	switch o.role {
	case roleQuiet:
		s.quiet = true
		s.remotePart().doubt(s.remotePart().denies(o, arg, at), at)
		if s.spec.asks && strings.ContainsAny(arg.Text, "="+string(Unknown)) {
			s.builtinPart().note(Writes, s.c, at, "may write what it tells into a file")
		}
	case roleSwitch:
		s.quiet = true
		s.remotePart().doubt(s.remotePart().denies(o, arg, at), at)
	case roleActs:
		s.quiet = false
	case rolePipes:
		s.pipes = true
		s.remotePart().doubt(s.remotePart().denies(o, arg, at), at)
	case roleIsolates:
		s.isolated = true
	case roleConfig:
		s.builtinPart().note(Opaque, s.c, at, "reads settings from a file, which say what runs")
	case roleFolder:
		s.builtinPart().move(s.c, min(argAt, len(s.words)-1))
	case roleChecks:
		s.coded = true
	case roleProject:
		s.quiet = true
		s.builtinPart().note(Opaque, s.c, at, runsProject)
	case roleModule:
		s.rest, s.moduleOf, s.moduleName = argAt, o.name, arg
	case roleStop:
		s.rest = at + 1
	case roleEval:
		s.evals = append(s.evals, eval{arg, argAt})
	case roleSplit:
		s.evals = append(s.evals, eval{arg, argAt})
		s.rest = argAt + 1
	case roleReads:
		s.readsNames(arg.Text)
	case rolePasses:
		s.passesOn(arg, at)
	case roleDump:
		s.builtinPart().note(Dumps, s.c, at, "shows the environment")
	case roleUploads:
		s.uploads = at
		s.sends = at
	case roleElsewhere:
		s.builtinPart().note(Elsewhere, s.c, at, actsElsewhere)
	case roleSends:
		s.sends = at
	case roleMethod:
		if !arg.Static || !readingMethods[strings.ToUpper(arg.Text)] {
			s.acts = at
		} else {
			s.asks = true
		}
	case roleDryRun:
		s.quiet = arg.Static && (arg.Text == "" || arg.Text == "client" || arg.Text == "server" || affirms[arg.Text])
		s.remotePart().doubt(s.remotePart().denies(o, Word{Static: true}, at), at)
	case roleSignals:
		s.builtinPart().note(Signals, s.c, at, signalsOthers)
	case roleWrites, roleOut, roleOutDash, roleToStdout, roleUnseen, roleFormat, roleWorkspace, roleSetting, roleReport, roleGoFlags, roleModMode, roleOverride, roleChoice, roleRest:
		s.applyWriting(o, arg, at)
	case roleWord:
		if !arg.Static || strings.ContainsAny(arg.Text, "./~$") {
			s.builtinPart().note(Code, s.c, at, "runs code of a file that is not seen")
		}
	case roleNoFile:
		if !arg.Static || strings.Contains(strings.ToLower(arg.Text), "file") {
			s.builtinPart().note(Writes, s.c, at, "has a setting that may name a file to write")
		}
	case roleProperty:
		if !harmlessProperty(arg) {
			s.builtinPart().note(Code, s.c, at, givesSetting)
		}
	case roleVirtual:
		if !harmlessVirtual(o.name, arg) {
			s.builtinPart().note(Code, s.c, at, "has an option of the virtual machine that is not known to be harmless")
		}
	default:
		s.applyCode(o, arg, at, argAt)
	}
}

func (s *scan) applyWriting(o option, arg Word, at int) {
	output := arg.Static && arg.Text == "-" || harmless(arg)
	switch o.role {
	case roleWrites:
		s.builtinPart().note(Writes, s.c, at, "has an option that writes or runs something")
	case roleUnseen:
		s.builtinPart().note(Writes, s.c, at, "has an option that runs what is not seen")
	case roleOut, roleOutDash:
		if !output || o.role == roleOut && !harmless(arg) {
			s.builtinPart().note(Writes, s.c, at, "has an option that writes a file")
		}
	case roleToStdout:
		if output || arg.Static && arg.Text == "stdout" {
			s.pipes = true
		} else {
			s.builtinPart().note(Writes, s.c, at, "has an option that writes a file")
		}
	case roleWorkspace:
		if !arg.Static || !withinWorkspace(arg.Text) || strings.ContainsAny(arg.Text, "{}") {
			s.builtinPart().note(Writes, s.c, at, "has an option that reads settings or code that no file of the workspace has")
		}
	case roleSetting:
		key, v, _ := strings.Cut(arg.Text, "=")
		writes := slices.ContainsFunc(writingSettings, func(part string) bool { return strings.Contains(key, part) })
		if !arg.Static || v != "" && writes {
			s.builtinPart().note(Writes, s.c, at, "has a setting that may write or run something")
		}
	case roleGoFlags:
		if !arg.Static || !harmlessToolFlags(arg.Text) {
			s.builtinPart().note(Writes, s.c, at, "gives a tool of go options by which it may write or run something")
		}
	case roleModMode:
		if !arg.Static || arg.Text != "readonly" && arg.Text != "vendor" {
			s.builtinPart().note(Writes, s.c, at, "has an option by which go may change go.mod")
		}
	case roleOverride:
		key, _, set := strings.Cut(strings.ReplaceAll(arg.Text, " ", ""), "=")
		if !arg.Static || strings.ContainsAny(arg.Text, "\n\r") || set && !slices.ContainsFunc(harmlessOverrides, func(begin string) bool { return strings.HasPrefix(key, begin) }) || !set && !withinWorkspace(arg.Text) {
			s.builtinPart().note(Writes, s.c, at, "has a setting that may write or run something")
		}
	case roleChoice:
		if kind, _, _ := strings.Cut(arg.Text, ";"); !arg.Static || !choicesOfReport()[kind] || strings.Contains(strings.ToLower(arg.Text), "file") {
			s.builtinPart().note(Writes, s.c, at, "has a form of report that is not known to write nothing")
		}
	case roleRest:
		if at+1 < len(s.words) {
			s.builtinPart().note(Writes, s.c, at, "hands words to a program of the workspace, which may be told to write")
		}
	case roleReport:
		if kind, _, named := strings.Cut(arg.Text, ":"); !arg.Static || named && !strings.HasPrefix(kind, "term") || s.spec.name == "pytest" && kind != "" && !strings.HasPrefix(kind, "term") {
			s.builtinPart().note(Writes, s.c, at, "has an option that writes a file")
		}
	case roleFormat:
		if !arg.Static || strings.HasPrefix(arg.Text, "@") || strings.Contains(arg.Text, "%output{") {
			s.builtinPart().note(Writes, s.c, at, "has a format that may write a file")
		}
	}
}

func (s *scan) applyCode(o option, arg Word, at, argAt int) {
	const given = "runs code that is given in the line"
	switch o.role {
	case roleCode:
		s.coded = true
		s.builtinPart().note(Code, s.c, at, given)
	case rolePython:
		s.pythonCode(arg, at)
	case roleProgram:
		s.coded = true
		s.builtinPart().note(Code, s.c, at, "runs a program from a file, which is not seen")
	case roleFilter:
		s.coded = true
		s.builtinPart().note(Dumps, s.c, at, "runs a program from a file, which is not seen")
	case roleScript:
		s.coded = true
		s.inlineScript(arg, argAt)
	case roleRun:
		s.runArgument(arg, argAt)
	case roleHidden:
		s.coded = true
		s.builtinPart().note(Hidden, s.c, at, hiddenShell)
	case roleFile:
		s.coded = true
		s.ran = append(s.ran, ran{arg.Text, s.c, argAt})
		s.builtinPart().note(Opaque, s.c, at, runsWorkspace)
		if !arg.Static || isStream(arg.Text) {
			s.builtinPart().note(Code, s.c, at, "runs code that is known only when the line runs")
		}
	case roleLoads:
		s.builtinPart().note(Opaque, s.c, at, runsWorkspace)
	case roleData:
		s.builtinPart().note(Opaque, s.c, at, runsWorkspace)
		if !arg.Static || strings.Contains(arg.Text, ":") && !strings.HasPrefix(arg.Text, "node:") || strings.Contains(arg.Text, "auto_") {
			s.builtinPart().note(Code, s.c, at, given)
		}
	case roleName:
		if !arg.Static || strings.Trim(arg.Text, nameCharacters) != "" {
			s.builtinPart().note(Code, s.c, at, given)
		}
	case rolePlugin:
		if !arg.Static || !strings.HasPrefix(arg.Text, "no:") && !harmlessPlugins()[arg.Text] {
			s.builtinPart().note(Code, s.c, at, "runs a plugin that is not known to be harmless")
		}
	case roleSSH:
		option := strings.ToLower(arg.Text)
		if names := strings.TrimLeft(option, " \t\"'="); strings.HasPrefix(names, "sendenv") || strings.HasPrefix(names, "setenv") {
			s.readsPatterns(arg, at)
		} else if !arg.Static || strings.Contains(option, "command") || strings.Contains(option, "exec") {
			s.builtinPart().note(Hidden, s.c, at, "has an option that runs a command")
		}
	}
}

// nameCharacters make the name of a module, and not code.
const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:=,.-"

// inlineScript walks an argument that a shell runs.
func (s *scan) inlineScript(arg Word, at int) {
	if !arg.Static {
		s.builtinPart().note(Hidden, s.c, at, hiddenScript)
		return
	}
	s.programPart().script(arg.Text, bash, posix)
}

// runArgument walks an argument that is a command, to which others are added.
func (s *scan) runArgument(arg Word, at int) {
	s.builtinPart().note(Writes, s.c, at, "runs a program that an option names")
	if arg.Static && arg.Text == "" {
		return
	}
	if !arg.Static {
		s.builtinPart().note(Hidden, s.c, at, hiddenScript)
		return
	}
	words := append(splitPlain(arg.Text), anyWords)
	if inner := s.command(Command{Words: words}); s.beyond == nil {
		s.direct = false
		s.builtinPart().run(inner, 0)
	}
}

// anyWords stands for arguments that are not known.
var anyWords = Word{Text: string(Unknown), start: startsUnknown, many: true, opaque: true}

// splitPlain splits text without quotes or other syntax into words.
func splitPlain(text string) []Word {
	if strings.Trim(text, " \t\n") == "" || strings.ContainsAny(text, "'\"\\$`&|;<>()*?[]{}!#~\n") {
		return []Word{anyValue}
	}
	var words []Word
	for field := range strings.FieldsSeq(text) {
		words = append(words, Word{Text: field, Static: true})
	}
	return words
}

// prefixOf is the beginning of an option of which only the beginning is known, or is empty.
func (s *spec) prefixOf(text string) string {
	for _, begin := range s.prefixes {
		if strings.HasPrefix(text, begin) {
			return begin
		}
	}
	return ""
}
