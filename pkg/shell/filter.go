package shell

import (
	"strings"
	"sync"
)

// filterProgram is the program of sed or awk: the joined text of their program, where it
// is known. Integers that are known only when the line runs are read as 0.
type filterProgram struct {
	text  string
	at    int // the word that holds it
	known bool
}

// programOf gathers the program of a filter from its options or its first operand.
func (s *scan) programOf(at int) filterProgram {
	evals := s.evals
	if len(evals) == 0 && !s.coded && len(s.operands) > 0 {
		first := s.operands[0]
		evals = []eval{{s.words[first], first}}
	}
	f := filterProgram{at: at, known: true}
	var parts []string
	for _, e := range evals {
		f.at = e.at
		f.known = f.known && s.numbersOnly(e.word)
		parts = append(parts, strings.ReplaceAll(e.word.Text, string(Unknown), "0"))
	}
	f.text = strings.Join(parts, "\n")
	return f
}

// numbersOnly reports a word of which only integers are unknown.
func (s *scan) numbersOnly(w Word) bool {
	if w.Static {
		return true
	}
	if w.opaque || w.many || strings.Count(w.Text, string(Unknown)) != len(w.deps)+w.numbers {
		return false
	}
	for _, name := range w.deps {
		s.variablePart().must(name, anInteger, "builds a program from a value that is not known to be a number", "$"+name)
	}
	return true
}

// filterEffects are the effects of a filter's program.
type filterEffects struct {
	writes, runs, reads bool // files; commands; the environment
	files               bool // it reads files that it names
	script              []string
	why                 string
}

// filter notes the effects of the program of sed or awk.
func (s *scan) filter(f filterProgram, judge func(string) filterEffects) {
	if !f.known { // it could run anything
		s.builtinPart().note(Hidden, s.c, f.at, "runs a program that is known only when the line runs")
		return
	}
	e := judge(f.text)
	switch {
	case e.runs:
		s.builtinPart().note(Hidden, s.c, f.at, e.why)
	case e.writes:
		s.builtinPart().note(Writes, s.c, f.at, e.why)
	}
	if e.reads {
		s.builtinPart().note(Dumps, s.c, f.at, "reads the environment")
	}
	for _, script := range e.script {
		s.programPart().script(script, bash, posix)
	}
}

// sed walks sed.
func (p programReader) sed(c, at int) {
	sc := p.tabled("sed", c, at)
	sc.filter(sc.programOf(at), sedEffects)
}

// awk walks awk.
func (p programReader) awk(c, at int) {
	sc := p.tabled("awk", c, at)
	sc.filter(sc.programOf(at), awkEffects)
}

// jq walks jq, which does not write and can show the environment; yq can also write in
// place.
func (p programReader) jq(name string, c, at int) {
	line := "jq"
	if name == "yq" {
		line = "yq"
	}
	sc := p.tabled(line, c, at)
	f := sc.programOf(at)
	switch {
	case !f.known:
		sc.builtinPart().note(Dumps, c, f.at, "runs a program that is known only when the line runs")
	case jqReadsEnvironment(f.text):
		sc.builtinPart().note(Dumps, c, f.at, "reads the environment")
	}
}

// environmentWords are functions and variables of jq and yq that read the environment or run unseen
// code. A name may stand apart from its $.
var environmentWords = sync.OnceValue(func() map[string]bool {
	return wordSet(`env ENV strenv envsubst import include eval load load_str modulemeta`)
})

// jqReadsEnvironment finds env, $ENV and the functions of yq that read variables.
func jqReadsEnvironment(program string) bool {
	for at := 0; at < len(program); {
		end := at
		for end < len(program) && wordByte(program[end]) {
			end++
		}
		if environmentWords()[program[at:end]] && (at == 0 || program[at-1] != '.') {
			return true
		}
		at = max(end, at+1)
	}
	return false
}

func wordByte(c byte) bool { return c == '_' || !notAlphanumeric(rune(c)) }
