// Package shell reads command lines as bash would and reports the programs that they
// would run, their writes, and their reads from the environment (S3.3, rules R1 to R4).
// It judges the syntax tree, never the text.
//
// It is pure: it must never run a program, read a file or a variable, or trust claims of
// a line about itself. It reports unseen parts as hidden, so that the judge of a plan can
// refuse it.
package shell

import (
	"slices"
	"strings"
)

// Plan has the effects of a line, as far as its text shows them. Safe to read
// concurrently.
type Plan struct {
	// Empty is true when the line has only blanks and comments.
	Empty bool
	// Background is true when something in the line runs on while the rest does: &, coproc.
	Background bool
	// Commands are the simple commands that could run, in the order of the text, those
	// that others run (sh -c, find -exec, xargs, timeout) after the command that runs
	// them.
	Commands []Command
	// Findings are the effects of the commands and redirections.
	Findings []Finding
	// Reads are the variables that the line reads, each once.
	Reads []string
	// Sets are the variables that the line sets without a command that shows it:
	// loops, ${x:=y}, arithmetic, {fd}>. Each once.
	Sets []string
	// Names are the words that could name a file, wherever they stand: arguments,
	// targets of redirections, values of variables, here-documents.
	Names []Word
	// Opens are the redirections of files.
	Opens []Open
	// Repeats is true when a part of the line may run more than once: in a loop or a function.
	Repeats bool

	// connects is true when a redirection may read from another machine: /dev/tcp.
	connects bool
}

// Command is one simple command.
type Command struct {
	// Words are its assignments, its name and its arguments.
	Words []Word
	// Assigns is how many of Words are assignments before the name. When they are
	// all, there is no name.
	Assigns int
	// Start and End are its place in the line, in bytes: End is behind it. Commands of a
	// script of the line, such as that of sh -c, have the place of the command that has the
	// script.
	Start, End int
	// Wraps is set when it only runs the command that follows it with other
	// circumstances: timeout, nice, time.
	Wraps bool
	// Fed is set when the line gives it its standard input: by a redirection or a pipe.
	Fed bool
}

// String returns the command as a message shows it, with … for unknown parts.
func (c Command) String() string {
	var b strings.Builder
	for i, w := range c.Words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.String())
		if b.Len() > 200 {
			break
		}
	}
	return b.String()
}

// Program returns the name of the program that the command runs, without the folder, as
// far as the text shows it.
func (c Command) Program() string {
	if c.Assigns >= len(c.Words) || !c.Words[c.Assigns].Static {
		return ""
	}
	name := c.Words[c.Assigns].Text
	return name[strings.LastIndexByte(name, '/')+1:]
}

// Unknown stands in the Text of a word for text that is only known when the line
// runs: an expansion, a glob, a list in braces.
const Unknown = '\x00'

// Word is one word after quote removal.
type Word struct {
	// Text has an Unknown for each part that is not known.
	Text string
	// Static is true when Text is all that the word can be: no expansion, glob,
	// brace or tilde.
	Static bool

	many    bool     // it may become none or several words
	stream  bool     // it is a process substitution: a pipe, not a file
	start   start    // its possible beginning
	first   string   // the variable that it begins with, for startsWithVariable
	loose   []string // variables that are split into words
	integer bool     // it can only be integers
	child   bool     // it is $!, a process that the line has started
	home    bool     // it begins with ~
	trimmed bool     // it holds a variable's value without its end
	numbers int      // how many of its unknown parts are integers
	deps    []string // variables whose values it holds
	opaque  bool     // it holds something else that is not known
	globs   bool     // it holds a pattern of names
	others  bool     // it holds something that is not known and no such pattern
	at      span     // where it stands; empty for a word that is made up
}

// span is a place in the line, in bytes.
type span struct{ from, to int }

// String returns the word as a message shows it.
func (w Word) String() string { return strings.ReplaceAll(w.Text, string(Unknown), "…") }

// Home reports a word that holds the folder of a user: ~, $HOME.
func (w Word) Home() bool { return w.home || slices.Contains(w.deps, "HOME") }

// Kind is the subject of a finding.
type Kind uint8

// The kinds.
const (
	// Hidden is a command that could run and that the text does not show: R2, R3
	// and R4 refuse it.
	Hidden Kind = iota + 1
	// Writes is a file written, created, renamed, deleted or changed in its
	// metadata, or a program that is not seen run by one that is: R3.
	Writes
	// Code is code of another language given in the line: R3 and R4.
	Code
	// Dumps shows variables of the environment without naming them: R4.
	Dumps
	// Opaque is a program of the workspace, or one that builds or tests it by its files:
	// its effects are not seen. R3 refuses it where the state says so.
	Opaque
	// Stranger is a program that no table has: R3. About is its name, without the folder.
	Stranger
	// Variable is a variable in the environment of a program that may change the effects
	// of the program: R3 and R4. About is its name.
	Variable
	// Elsewhere acts on another machine or service, or may: R3, in a state that only reads.
	Elsewhere
	// Signals reaches processes that the line did not start, or may: refused in every state.
	Signals
)

// Finding is one thing that a line would do.
type Finding struct {
	Kind Kind
	// Command and Word are the places of its cause, in Plan.Commands and in the command's
	// Words; Command is -1 when no command does.
	Command, Word int
	// What is its text for a message, and About its object where that helps: text of the
	// line, unquoted.
	What, About string
	// Start and End are its place in the line when no command has caused it.
	Start, End int
	// Target is the file that a redirection writes, with ~ for the folder of the user; empty where
	// only the run of the line decides it.
	Target string
}

// Guess reports a finding on another machine that follows from words which no table has.
func (f Finding) Guess() bool {
	return f.What == unknownGoal || f.What == unknownSubcommand || strings.Contains(f.About, "…")
}

// Path returns the word as the path of one file, with ~ for the folder of the user; empty where
// only the run of the line decides it.
func (w Word) Path() string {
	if w.Static {
		return w.Text
	}
	if rest, ok := strings.CutPrefix(w.Text, string(Unknown)); ok && w.Home() && !strings.ContainsRune(rest, Unknown) && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return ""
}

// Variables returns those whose values the words of the command hold, as far as they stand
// there as expansions.
func (c Command) Variables() []string {
	var names []string
	for _, w := range c.Words {
		for _, name := range w.deps {
			name = strings.TrimPrefix(name, keysOf)
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Parse reads the argument of a `bash -c`. It fails (R1) on lines that bash and this
// parser could read differently or that are beyond the bounds; the error says how to fix
// it.
func Parse(line string) (*Plan, error) {
	if err := checkText(line); err != nil {
		return nil, err
	}
	p := newPlanner()
	defer p.release()
	file, err := p.flowPart().readScript(line, bash)
	if err != nil {
		return nil, err
	}
	p.plan.Empty = len(file.Stmts) == 0
	p.text = line
	p.programPart().body(file.Stmts)
	p.variablePart().settle()
	if p.beyond != nil {
		return nil, p.beyond
	}
	plan := p.plan
	return &plan, nil
}
