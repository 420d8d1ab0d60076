package facet

import (
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

// fileProgram says which words of a program name files.
type fileProgram struct {
	options commandOptions
	// reads and writes are options whose value is a file, deep those with which operands stand for everything
	// under them.
	reads, writes, deep wordSet
	// operands is what the program does with its operands, the first skipped ones aside; with one of the options unless,
	// all are files.
	operands use
	skipped  int
	unless   wordSet
	// always is true where operands stand for everything under them, and here where the present folder is meant
	// without any.
	always, here bool
	// number is true for a program that takes -20.
	number bool
	// judge reads the words of a program in its own way.
	judge func(*lineReader, fileProgram, []shell.Word)
}

// filePrograms are the programs whose files are known. A line of the table has the names of programs, and:
//
//	reads writes changes none   what the operands are
//	skip1                          the first operand is no file; skip1:-e,-f without these options
//	always deep:-r,-R              operands stand for everything under them
//	here                           without operands, the present folder
//	number                         -20 is an option
//	-abc --long -n= --name=        options, with = those that take a value
//	-f=r -o=w                      options whose value is a file that is read or written
var filePrograms = sync.OnceValue(func() map[string]fileProgram {
	all := make(map[string]fileProgram)
	for line := range strings.Lines(fileTable) {
		names, text, ok := strings.Cut(strings.TrimSpace(line), "::")
		if !ok {
			continue
		}
		p := newFileProgram(text)
		for name := range strings.FieldsSeq(names) {
			p.judge = fileJudges[name]
			all[name] = p
		}
	}
	for name := range strings.FieldsSeq(filelessPrograms) {
		all[name] = fileProgram{judge: func(*lineReader, fileProgram, []shell.Word) {}}
	}
	for name := range strings.FieldsSeq(wrapPrograms) {
		all[name] = fileProgram{judge: wraps}
	}
	return all
})

func newFileProgram(text string) fileProgram {
	var p fileProgram
	var flags, values, read, written []string
	for token := range strings.FieldsSeq(text) {
		name, kind, valued := strings.Cut(token, "=")
		word, list, _ := strings.Cut(token, ":")
		switch {
		case token == "reads":
			p.operands = reads
		case token == "writes":
			p.operands = writes
		case token == "changes":
			p.operands = changes
		case token == "none":
		case token == "always":
			p.always = true
		case token == "here":
			p.here = true
		case token == "number":
			p.number = true
		case word == "skip1":
			p.skipped, p.unless = 1, wordSet(strings.ReplaceAll(list, ",", " "))
		case word == "deep":
			p.deep = wordSet(strings.ReplaceAll(list, ",", " "))
			flags = append(flags, strings.Split(list, ",")...)
		case valued:
			values = append(values, name)
			switch kind {
			case "r":
				read = append(read, name)
			case "w":
				written = append(written, name)
			}
		case strings.HasPrefix(token, "--"):
			flags = append(flags, token)
		case strings.HasPrefix(token, "-"):
			for _, letter := range token[1:] {
				flags = append(flags, "-"+string(letter))
			}
		default:
			panic("facet: no such word in the table of files: " + token)
		}
	}
	set := func(list []string) wordSet { return wordSet(strings.Join(list, " ")) }
	p.options = commandOptions{flags: set(flags), values: set(values)}
	p.reads, p.writes = set(read), set(written)
	return p
}

// given are the words of a command, apart.
type given struct {
	operands []shell.Word
	// options are those that are known, with their values.
	options []givenOption
	// unknown is an option that is not known; nil for none.
	unknown *shell.Word
}

type givenOption struct {
	name  string
	value shell.Word
}

func (g *given) has(set wordSet) bool {
	for _, o := range g.options {
		if set.has(o.name) {
			return true
		}
	}
	return false
}

// value returns the last value of an option.
func (g *given) value(set wordSet) (value shell.Word, ok bool) {
	for _, o := range g.options {
		if set.has(o.name) {
			value, ok = o.value, true
		}
	}
	return value, ok
}

// read takes the words of a command apart.
func (p *fileProgram) read(list []shell.Word) given {
	var g given
	dashes := false
	for i := 0; i < len(list); i++ {
		w := list[i]
		switch {
		case dashes, len(w.Text) < 2, w.Text[0] != '-':
			if !dashes && !w.Static && !w.Stream() && strings.HasPrefix(w.Text, string(shell.Unknown)) && p.minds() {
				g.unknown = &list[i] // its value may be an option
			}
			g.operands = append(g.operands, w)
		case w.Static && w.Text == "--":
			dashes = true
		case p.number && w.Static && strings.Trim(w.Text[1:], "0123456789") == "":
		default:
			used, found := p.options.option(w, list[i+1:])
			for _, o := range found {
				if !o.known {
					g.unknown = &list[i]
					continue
				}
				value := shell.Word{Text: o.value, Static: true}
				if used == 1 && p.options.values.has(o.name) {
					value = list[i+1]
				}
				g.options = append(g.options, givenOption{o.name, value})
			}
			i += used
		}
	}
	return g
}

// minds reports a program to which an option in place of a file would make a difference.
func (p *fileProgram) minds() bool {
	return p.operands != reads || p.deep != "" || p.reads != "" || p.writes != ""
}

// plain notes the files of a program that the table describes in full.
func (l *lineReader) plain(p fileProgram, list []shell.Word) {
	g := p.read(list)
	l.settings(p, &g)
	l.below = p.always || g.has(p.deep)
	operands := g.operands
	if p.skipped > 0 && !g.has(p.unless) {
		operands = operands[min(p.skipped, len(operands)):]
	}
	if len(operands) == 0 && (p.here || l.below && p.operands == reads) {
		l.named(".", reads, l.below)
	}
	for _, w := range operands {
		l.word(w, p.operands)
	}
}

// settings notes the files of options, and doubt about an option that is not known.
func (l *lineReader) settings(p fileProgram, g *given) {
	if g.unknown != nil {
		why := l.name + " has " + g.unknown.String() + ", and it is not known which files it means; leave it out"
		l.doubt(why, condition.Reads)
		if p.operands == writes || p.operands == changes || p.writes != "" {
			l.doubt(why, condition.Writes)
		}
	}
	for _, o := range g.options {
		if p.reads.has(o.name) {
			l.word(o.value, reads)
		}
		if p.writes.has(o.name) {
			l.word(o.value, writes)
		}
	}
}
