package shell

import (
	"mvdan.cc/sh/v3/syntax"
)

// planner makes the plan of one line.
type planner struct {
	parser  *syntax.Parser
	dialect dialect
	text    string // that the present tree was parsed from
	fed     bool   // the walked command gets its standard input from the line
	at      span   // the statement or redirection that is walked
	inner   bool   // text is not the line, but that of a script in it, which stands at at
	plan    Plan

	vars     map[string]*variable
	declared []string // variables with attributes
	duties   []duty
	array    string // whose subscript is read

	plain map[string]string // names of programs, by those of their files

	depth   int
	wraps   int // commands that run one another now
	scripts int // bytes of inner scripts
	hidden  int
	dumps   int
	beyond  error // a bound was exceeded

	direct    bool            // the shell itself runs the command, so that it may be a function
	functions map[string]bool // those that are certainly defined by now
	called    []Finding       // calls of those, as programs
	maps      map[string]bool // variables that are certainly associative arrays by now
	moves     []ran           // folders that the line goes to
	undefines bool            // the line may take a function away again

	written []string // files that redirections write
	opens   bool     // a redirection reads a file by another descriptor than 0
	copies  []Word   // descriptors above 2 of which the output or the errors become copies
	ran     []ran    // script files that are run
}

// Readers of the parts of a line, on the same planner.
type (
	wordReader     struct{ *planner } // words and their expansion
	variableReader struct{ *planner }
	flowReader     struct{ *planner } // statements and control flow
	builtinReader  struct{ *planner } // commands of the shell itself
	programReader  struct{ *planner }
)

func (p *planner) wordPart() wordReader         { return wordReader{p} }
func (p *planner) variablePart() variableReader { return variableReader{p} }
func (p *planner) flowPart() flowReader         { return flowReader{p} }
func (p *planner) builtinPart() builtinReader   { return builtinReader{p} }
func (p *planner) programPart() programReader   { return programReader{p} }

func newPlanner() *planner {
	return &planner{parser: parsers.Get().(*syntax.Parser), dialect: bash, vars: make(map[string]*variable)}
}

func (p *planner) release() { parsers.Put(p.parser) }

// enter goes one level down; beyond the bound no more is read, and the line is refused.
func (p *planner) enter() bool {
	p.depth++
	if p.depth > maxNesting {
		p.beyond = errTooDeep
	}
	return p.beyond == nil
}

func (p *planner) leave() { p.depth-- }

// enough is how many findings are kept of a kind without an excuse.
const enough = 8

func (p *planner) add(f Finding) {
	switch f.Kind {
	case Hidden:
		if p.hidden++; p.hidden > enough {
			return
		}
	case Dumps:
		if p.dumps++; p.dumps > enough {
			return
		}
	}
	p.plan.Findings = append(p.plan.Findings, f)
}

// find notes an effect that is not a command's.
func (p *planner) find(kind Kind, what, about string) {
	p.add(Finding{Kind: kind, Command: -1, What: what, About: about, Start: p.at.from, End: p.at.to})
}

// stands returns the place of a part of the present tree in the line.
func (p *planner) stands(n syntax.Node) span {
	if p.inner {
		return p.at
	}
	return span{int(n.Pos().Offset()), int(n.End().Offset())}
}

// hide notes a command that the text does not show.
func (p *planner) hide(what, about string) { p.find(Hidden, what, about) }

// command adds a simple command to the plan.
func (p *planner) command(c Command) int {
	if len(p.plan.Commands) >= maxCommands {
		p.beyond = errTooMany
		return len(p.plan.Commands) - 1
	}
	c.place(p.at)
	c.Fed = c.Fed || p.fed
	p.plan.Commands = append(p.plan.Commands, c)
	return len(p.plan.Commands) - 1
}

// place sets where the command stands: from its first word to its last, or else where the
// statement does.
func (c *Command) place(statement span) {
	all := span{}
	for i := range c.Words {
		at := c.Words[i].at
		switch {
		case at.to == 0:
		case all.to == 0:
			all = at
		default:
			all = span{min(all.from, at.from), max(all.to, at.to)}
		}
	}
	if all.to == 0 {
		all = statement
	}
	c.Start, c.End = all.from, all.to
}
