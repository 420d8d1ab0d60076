package shell

import (
	"slices"
	"strings"
)

// findArguments are the tests and actions of find that take an argument. Those
// that write or run are not among them.
var findArguments = strings.Fields(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype
	-size -perm -user -group -uid -gid -newer -anewer -cnewer -samefile -inum -links -mtime -atime -ctime -mmin -amin -cmin -used
	-maxdepth -mindepth -fstype -context -printf -regextype -D -files0-from -since`)

const findUnclear = "has a word that may be an action of find which deletes or runs; name the directory plainly, as ./dir"

// findFiles walks `find paths tests actions`.
func (p programReader) findFiles(c, at int) {
	words := p.plan.Commands[c].Words
	everywhere := false
	for i := at + 1; i < len(words); i++ {
		w := words[i]
		everywhere = everywhere || w.Text != "" && strings.Trim(w.Text, "/.") == "" && w.Text[0] == '/'
		if !w.Static {
			unclear := p.builtinPart().finding(Hidden, c, i, findUnclear)
			if !p.places(w, unclear) {
				p.add(unclear)
				return
			}
			continue
		}
		switch {
		case slices.Contains(findArguments, w.Text), strings.HasPrefix(w.Text, "-newer"):
			i++
			if everywhere && i < len(words) && couldBe(strings.NewReplacer("*", string(Unknown), "?", string(Unknown)).Replace(words[i].Text), "environ") {
				p.builtinPart().note(Dumps, c, i, readsProcess)
			}
			if i < len(words) && !words[i].Static {
				if unclear := p.builtinPart().finding(Hidden, c, i, findUnclear); mayAct(words[i]) || !p.flowPart().single(words[i], unclear) {
					p.add(unclear)
					return
				}
			}
		case w.Text == "-delete", w.Text == "-rm":
			p.builtinPart().note(Writes, c, i, "deletes files")
		case strings.HasPrefix(w.Text, "-fprint"), w.Text == "-fls":
			p.findOutput(c, i)
			i++
			if w.Text == "-fprintf" {
				i++
			}
		case slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.Text):
			i = p.findExec(c, i)
		}
	}
}

// places reports a word of find that can only be a place, as far as the variables in it are those
// that f relies on: a word with a slash is none of its actions.
func (p programReader) places(w Word, f Finding) bool {
	switch {
	case strings.HasPrefix(w.Text, "-"), w.opaque && w.many:
		return false
	case strings.Contains(w.Text, "/"):
		w.start = startsSafe
	case w.trimmed:
		return p.variablePart().safe(w, f)
	}
	return p.variablePart().relies(w, noAction, f)
}

// mayAct reports a pattern that may become several words, of which one is an action.
func mayAct(w Word) bool {
	return optionsFollow(w) && slices.ContainsFunc(findActions, func(action string) bool { return couldBe(w.Text, action) })
}

// findActions are the actions of find that delete, run or write.
var findActions = strings.Fields(`-delete -rm -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls`)

func (p programReader) findOutput(c, at int) {
	words := p.plan.Commands[c].Words
	if at+1 < len(words) && harmless(words[at+1]) {
		return
	}
	p.builtinPart().note(Writes, c, at, "writes a file")
}

// findExec walks -exec up to its ; or + and returns the place of that.
func (p programReader) findExec(c, at int) int {
	words := p.plan.Commands[c].Words
	end := at + 1
	if strings.HasSuffix(words[at].Text, "dir") && end < len(words) && strings.Contains(words[end].Text, "/") && !strings.HasPrefix(words[end].Text, "/") {
		p.builtinPart().note(Code, c, end, runsElsewhere)
	}
	for end < len(words) {
		w := words[end]
		if w.Static && (w.Text == ";" || w.Text == "+" && strings.HasSuffix(words[end-1].Text, "{}")) {
			break
		}
		end++
	}
	p.builtinPart().added(withPlaceholder(words[at+1:end], "{}", startsSafe))
	return end
}

// withPlaceholder makes the text that stands for a file name unknown.
func withPlaceholder(words []Word, placeholder string, begins start) []Word {
	out := words
	for i, w := range words {
		if placeholder == "" || !strings.Contains(w.Text, placeholder) {
			continue
		}
		w.Static, w.opaque, w.integer = false, true, false
		if strings.HasPrefix(w.Text, placeholder) {
			w.start = begins
		}
		w.Text = strings.ReplaceAll(w.Text, placeholder, string(Unknown))
		if &out[0] == &words[0] {
			out = slices.Clone(words)
		}
		out[i] = w
	}
	return out
}

// xargs walks `xargs [options] [command [arguments]]`, which adds its input to the
// command.
func (p programReader) xargs(c, at int) {
	sc := p.scanWords(specOf("xargs"), "xargs", c, at)
	if len(sc.operands) == 0 {
		p.builtinPart().added([]Word{{Text: "echo", Static: true}, anyWords})
		return
	}
	words := sc.words[sc.operands[0]:]
	if placeholder := sc.replacement(sc.operands[0]); placeholder != "" {
		p.builtinPart().added(withPlaceholder(words, placeholder, startsUnknown))
		return
	}
	p.builtinPart().added(slices.Concat(words, []Word{anyWords}))
}

// replacement returns the text that xargs replaces in the command, or is empty.
func (s *scan) replacement(end int) string {
	for i, w := range s.words[:end] {
		switch {
		case w.Text == "-I" || w.Text == "--replace" && i+1 == end:
			if w.Text == "--replace" {
				return "{}"
			}
			return s.words[i+1].Text
		case strings.HasPrefix(w.Text, "-I"), strings.HasPrefix(w.Text, "-i") && len(w.Text) > 2:
			return w.Text[2:]
		case strings.HasPrefix(w.Text, "--replace="):
			return w.Text[len("--replace="):]
		case w.Text == "-i", w.Text == "--replace":
			return "{}"
		case strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "Ii"):
			return s.clustered(w, i)
		}
	}
	return ""
}

// clustered returns the replacement of -0I{} or -0I {}.
func (s *scan) clustered(w Word, at int) string {
	i := strings.IndexAny(w.Text, "Ii")
	if strings.ContainsAny(w.Text[:i], "nPLdEsa") { // the letter is an argument
		return ""
	}
	switch rest := w.Text[i+1:]; {
	case rest != "":
		return rest
	case w.Text[i] == 'I' && at+1 < len(s.words):
		return s.words[at+1].Text
	}
	return "{}"
}

// parallel walks `parallel command ::: arguments`, which a shell runs.
func (p programReader) parallel(c, at int) {
	words := p.plan.Commands[c].Words
	sc := p.scanWords(specOf("parallel"), "parallel", c, at)
	if len(sc.operands) == 0 {
		p.builtinPart().note(Hidden, c, at, hiddenLines)
		return
	}
	from := sc.operands[0]
	to := from
	for to < len(words) && !strings.HasPrefix(words[to].Text, ":::") {
		to++
	}
	command := withPlaceholder(words[from:to], "{}", startsUnknown)
	for _, w := range command {
		if strings.ContainsAny(w.Text, "{}'\"\\$`&|;<>()*?[]!#~\n ") {
			p.builtinPart().note(Hidden, c, from, hiddenScript)
			return
		}
	}
	if len(command) == 0 {
		p.builtinPart().note(Hidden, c, at, hiddenArguments)
		return
	}
	p.builtinPart().added(slices.Concat(command, []Word{anyWords}))
}

// dd writes where of= says.
func (p programReader) dd(c, at int) {
	for i, w := range p.plan.Commands[c].Words[at+1:] {
		name, target, _ := strings.Cut(w.Text, "=")
		switch {
		case !w.Static && strings.ContainsRune(name, Unknown):
			f := p.builtinPart().finding(Writes, c, at+1+i, "has a word that may say which file it writes")
			if w.start == startsUnknown || w.start == startsWithVariable || w.many {
				p.add(f)
			}
		case name == "of" && !harmless(Word{Text: target, Static: w.Static}):
			p.builtinPart().note(Writes, c, at+1+i, "writes a file")
		}
	}
}

// make reads a makefile, which is not seen, and what the line says itself.
func (p programReader) makeFile(c, at int) {
	sc := p.tabled("make", c, at)
	p.builtinPart().note(Opaque, c, at, runsProject)
	for _, i := range sc.operands {
		if strings.ContainsRune(sc.words[i].Text, '$') {
			p.builtinPart().note(Code, c, i, "gives make text that it expands")
		}
		if name, _, ok := strings.Cut(sc.words[i].Text, "="); ok {
			p.builtinPart().influence(c, i, strings.TrimRight(name, ":+?"), sc.words[i])
		}
	}
	for i := at + 1; i < len(sc.words); i++ {
		file, attached := strings.CutPrefix(sc.words[i].Text, "-f")
		if attached && file == "" && i+1 < len(sc.words) {
			file = sc.words[i+1].Text
		}
		if attached && isStream(file) {
			p.builtinPart().note(Code, c, i, "runs a makefile from its input")
		}
	}
}

// processes walks ps: e among its options without a dash shows environments.
func (p programReader) processes(c, at int) {
	words := p.plan.Commands[c].Words
	for i := at + 1; i < len(words); i++ {
		w := words[i]
		isArgument := i > at+1 && words[i-1].Text != "" && strings.IndexByte(psArguments, words[i-1].Text[len(words[i-1].Text)-1]) >= 0
		switch {
		case !w.Static && !w.integer && w.start > startsSafe,
			strings.Contains(strings.ToLower(w.Text), "environ"), strings.HasPrefix(w.Text, "-E"):
			p.builtinPart().note(Dumps, c, i, readsProcess)
		case !isArgument && w.Text != "" && w.Text[0] != '-' && strings.Contains(w.Text, "e") && strings.Trim(w.Text, psLetters) == "":
			p.builtinPart().note(Dumps, c, i, readsProcess)
		}
	}
}

const (
	// psLetters are the options of ps without a dash.
	psLetters = "aAcefghHjklLmnNOoprsSTtuUvVwxXZ"
	// psArguments are the options of ps that take an argument.
	psArguments = "oOCpqstuUgGNk"
)

// fdFlags are the short options of fd that take no argument.
const fdFlags = "HIuLap0sFgilq1"

// fd walks `fd pattern -x command`: the command goes up to a ; or the end.
func (p programReader) fd(c, at int) {
	words := p.plan.Commands[c].Words
	for i := at + 1; i < len(words); i++ {
		w := words[i]
		if !w.Static {
			unclear := p.builtinPart().finding(Hidden, c, i, "has a word that may be an option which runs something")
			if !p.variablePart().safe(w, unclear) {
				p.add(unclear)
			}
			continue
		}
		command, runs := fdCommand(w.Text)
		if !runs {
			continue
		}
		end := i + 1
		for end < len(words) && words[end].Text != ";" {
			end++
		}
		inner := words[i+1 : end]
		if command != "" {
			inner = slices.Concat([]Word{{Text: command, Static: w.Static}}, inner)
		}
		p.builtinPart().added(slices.Concat(withPlaceholder(inner, "{}", startsSafe), []Word{{Text: string(Unknown), start: startsSafe, opaque: true}}))
		i = end
	}
}

// fdCommand reports an option that runs a command, and what of it is attached.
func fdCommand(option string) (attached string, runs bool) {
	if name, command, ok := strings.Cut(option, "="); slices.Contains([]string{"--exec", "--exec-batch", "--exec-", "--exe", "--exec-b"}, name) {
		if ok {
			return command, true
		}
		return "", true
	}
	if len(option) < 2 || option[0] != '-' || option[1] == '-' {
		return "", false
	}
	letters := strings.TrimLeft(option[1:], fdFlags)
	if letters == "" || letters[0] != 'x' && letters[0] != 'X' {
		return "", false
	}
	return letters[1:], true
}

// typescript walks `script [options] [file]`, which records a session in a file.
func (p programReader) typescript(c, at int) {
	sc := p.tabled("script", c, at)
	if len(sc.operands) == 0 || !harmless(sc.words[sc.operands[0]]) {
		p.builtinPart().note(Writes, c, at, "writes what it records into a file")
	}
	switch {
	case len(sc.operands) > 1: // as on macOS
		p.builtinPart().wrapped(c, sc.operands[1])
	case !sc.coded:
		p.builtinPart().note(Hidden, c, at, hiddenShell)
	}
}

// flock walks `flock [options] file command`, `flock file -c script` and `flock fd`.
func (p programReader) flock(c, at int) {
	sc := p.tabled("flock", c, at)
	if len(sc.operands) == 0 {
		return
	}
	if file := sc.words[sc.operands[0]]; len(sc.operands) > 1 || !file.Static || !digits(file.Text) {
		p.builtinPart().note(Writes, c, sc.operands[0], "makes the file that it locks")
	}
	if len(sc.operands) < 2 {
		return
	}
	next := sc.operands[1]
	if w := sc.words[next]; w.Static && (w.Text == "-c" || w.Text == "--command") {
		if next+1 < len(sc.words) {
			sc.inlineScript(sc.words[next+1], next+1)
		}
		return
	}
	p.builtinPart().wrapped(c, next)
}

// again walks `yarn workspaces foreach ...`, which runs a subcommand of yarn in many folders.
func (s *scan) again() {
	if len(s.operands) == 0 {
		return
	}
	manager, _, _ := strings.Cut(s.name, " ")
	s.builtinPart().added(slices.Concat([]Word{{Text: manager, Static: true}}, s.words[s.operands[0]:]))
}

// behind walks what follows -- where it is for another program that has a line: `cargo test --`.
func (s *scan) behind(at int) {
	name := s.name + " --"
	if specOf(name) == nil {
		name = s.spec.name + " --"
	}
	if specOf(name) == nil {
		return
	}
	end := slices.IndexFunc(s.words[at+1:], func(w Word) bool { return w.Static && w.Text == "--" })
	if end >= 0 && at+end+2 < len(s.words) {
		s.programPart().tabled(name, s.c, at+1+end)
	}
}
