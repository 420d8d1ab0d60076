package shell

import (
	"slices"
	"strings"
)

// Programs hand variables of the environment on, or show them, by options and words of their own (R4).

// containers are clients that build and run containers.
var containers = wordSet(`docker podman nerdctl buildah docker-compose`)

// environment finds reads of the environment by a name in the words of a command.
func (s *scan) environment(at int) {
	switch {
	case containers[s.name]:
		s.containerEnvironment(at)
	case s.name == "keytool":
		for i, w := range s.words[at+1:] {
			if strings.HasSuffix(w.Text, ":env") && at+i+2 < len(s.words) {
				s.readsPatterns(s.words[at+i+2], at+1+i)
			}
		}
	case s.name == "mvn" && slices.ContainsFunc(s.words[at+1:], func(w Word) bool { return strings.HasSuffix(w.Text, "help:system") }):
		s.builtinPart().note(Dumps, s.c, at, "shows the environment")
	case strings.HasPrefix(s.name, "openssl "):
		for _, w := range s.words[at+1:] {
			if name, ok := strings.CutPrefix(w.Text, "env:"); ok {
				s.readsNames(name)
			}
		}
	}
}

// containerEnvironment walks the options of a client of containers, at any place: -e NAME takes the
// variable from the environment, and so do build arguments and secrets.
func (s *scan) containerEnvironment(at int) {
	for i := at + 1; i < len(s.words); i++ {
		name, value, attached := strings.Cut(s.words[i].Text, "=")
		arg := part(s.words[i], len(name)+1)
		if !attached {
			if arg = (Word{Static: true}); i+1 < len(s.words) {
				arg = s.words[i+1]
			}
		}
		switch {
		case strings.HasPrefix(name, "--env-host"):
			if !refuses[value] {
				s.builtinPart().note(Dumps, s.c, i, "shows the whole environment to a container")
			}
		case name == "--env", name == "--build-arg", name == "--unsetenv":
			s.passesOn(arg, i)
		case name == "--secret":
			s.readsPatterns(arg, i)
		case name == "secret": // podman secret create --env x NAME
			for _, w := range s.words[i+1:] {
				s.readsNames(w.Text)
			}
		default:
			s.clusteredEnvironment(i)
		}
	}
}

// clusteredEnvironment finds -e among options of one letter.
func (s *scan) clusteredEnvironment(i int) {
	text := s.words[i].Text
	if len(text) < 2 || text[0] != '-' || text[1] == '-' {
		return
	}
	letters := strings.TrimLeft(text[1:], "itdPq")
	switch {
	case letters == "e" && i+1 < len(s.words):
		s.passesOn(s.words[i+1], i)
	case strings.HasPrefix(letters, "e"):
		s.passesOn(part(s.words[i], len(text)-len(letters)+1), i)
	}
}

// beginsOf reports that a word is the beginning of another one.
func beginsOf(word, of string) bool { return strings.HasPrefix(of, word) }

// network finds changes to the network of this machine by ip: the verb after the object.
func (s *scan) network() {
	if s.name != "ip" || len(s.operands) < 2 {
		return
	}
	object, verb := s.words[s.operands[0]].Text, s.words[s.operands[1]]
	if len(object) > 1 && beginsOf(object, "monitor") {
		return // it only shows
	}
	if strings.HasPrefix(verb.Text, "e") && (beginsOf(object, "netns") || beginsOf(object, "vrf")) {
		return // exec, which has a line
	}
	if !verb.Static || !slices.ContainsFunc(ipReads, func(known string) bool {
		return strings.HasPrefix(known, verb.Text) && (known != "show" || len(verb.Text) > 1) // s is set
	}) {
		s.builtinPart().note(Writes, s.c, s.operands[1], "changes the network of this machine, or may")
	}
}

// ipReads are the verbs of ip that only show; their beginnings do as well.
var ipReads = strings.Fields(`show list lst ls get help identify pids monitor list-id`)

// env walks `env [options] [NAME=value]... [command]`.
func (p builtinReader) env(c, at int) {
	sc := p.programPart().scanWords(specOf("env"), "env", c, at)
	if len(sc.evals) > 0 {
		sc.envSplit(at)
		return
	}
	next := len(sc.words)
	if len(sc.operands) > 0 {
		next = sc.operands[0]
		if sc.words[next].Text == "-" { // means -i
			next++
		}
		next = p.programPart().assignments(c, next)
	}
	if next == len(sc.words) {
		p.note(Dumps, c, at, "shows the whole environment")
		return
	}
	p.wrapped(c, next)
}

// envSplit walks `env -S "words" more`, which splits the words as options,
// assignments and a command.
func (s *scan) envSplit(at int) {
	e := s.evals[0]
	words := slices.Concat(s.words[at:at+1], splitPlain(e.word.Text), s.words[e.at+1:])
	if !e.word.Static || !words[1].Static {
		s.builtinPart().note(Hidden, s.c, e.at, hiddenScript)
		return
	}
	if s.enter() {
		if inner := s.command(Command{Words: words}); s.beyond == nil {
			s.builtinPart().env(inner, 0)
		}
	}
	s.leave()
}

// printenv shows the variables that it names, or all.
func (p builtinReader) printenv(c, at int) {
	sc := p.programPart().scanWords(specOf("printenv"), "printenv", c, at)
	if len(sc.operands) == 0 || slices.ContainsFunc(sc.operands, func(i int) bool { return !sc.words[i].Static }) {
		p.note(Dumps, c, at, "shows the whole environment")
	}
	for _, i := range sc.operands {
		p.variablePart().usesValue(sc.words[i].Text)
	}
}

// envsubst puts the variables that its input names into its output, or only those
// that its operand names.
func (p builtinReader) envsubst(c, at int) {
	sc := p.programPart().scanWords(specOf("envsubst"), "envsubst", c, at)
	if len(sc.operands) != 1 || !sc.words[sc.operands[0]].Static {
		p.note(Dumps, c, at, "shows the variables that its input names")
		return
	}
	sc.readsNames(sc.words[sc.operands[0]].Text)
}

// passesOn judges NAME or NAME=value, of which the first passes a variable of the environment on.
func (s *scan) passesOn(arg Word, at int) {
	if !strings.Contains(arg.Text, "=") {
		s.readsPatterns(arg, at)
	}
}

// readsPatterns judges a word that names variables, or patterns of names.
func (s *scan) readsPatterns(arg Word, at int) {
	if !arg.Static || strings.ContainsAny(arg.Text, "*?[!") {
		s.builtinPart().note(Dumps, s.c, at, "passes variables on whose names it does not tell")
	}
	s.readsNames(arg.Text)
}

func (s *scan) readsNames(text string) {
	for _, name := range strings.FieldsFunc(text, func(c rune) bool { return c != '_' && notAlphanumeric(c) }) {
		s.variablePart().usesValue(name)
	}
}
