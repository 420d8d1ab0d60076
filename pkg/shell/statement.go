package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (p flowReader) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

// stmt walks a statement: its redirections, then its command.
func (p flowReader) stmt(s *syntax.Stmt) {
	if s == nil {
		return
	}
	p.plan.Background = p.plan.Background || s.Background || s.Coprocess || s.Disown
	if p.enter() {
		outer, fed := p.at, p.fed
		p.fed = fed || slices.ContainsFunc(s.Redirs, feeds)
		for _, r := range s.Redirs {
			p.at = p.stands(r)
			p.redirect(r)
		}
		p.at = outer
		switch {
		case p.inner:
		case s.Cmd != nil: // without the end of the statement
			p.at = p.stands(s.Cmd)
		default:
			p.at = p.stands(s)
		}
		p.walk(s.Cmd)
		p.at = outer
		if !startsExec(s.Cmd) { // whose redirections stay
			p.fed = fed
		}
	}
	p.leave()
}

// startsExec reports a command that begins with exec, or may do so.
func startsExec(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	return slices.ContainsFunc(call.Args, func(w *syntax.Word) bool { return strings.Trim(w.Lit(), `\`) == "exec" })
}

func (p flowReader) walk(cmd syntax.Command) {
	switch c := cmd.(type) {
	case nil: // a redirection alone
		p.command(Command{Words: []Word{{Text: ">", Static: true}}})
	case *syntax.CallExpr:
		p.builtinPart().call(c)
	case *syntax.BinaryCmd:
		p.chain(c)
	case *syntax.Subshell:
		p.stmts(c.Stmts)
	case *syntax.Block:
		p.stmts(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			p.stmts(c.Cond)
			p.stmts(c.Then)
		}
	case *syntax.WhileClause:
		p.plan.Repeats = true
		p.stmts(c.Cond)
		p.stmts(c.Do)
	case *syntax.ForClause:
		p.plan.Repeats = true
		p.loop(c)
		p.stmts(c.Do)
	case *syntax.CaseClause:
		p.cases(c)
	case *syntax.FuncDecl:
		p.plan.Repeats = true
		p.function(c)
	case *syntax.ArithmCmd:
		p.conditional("((", p.staticNumbers(c.X))
		p.wordPart().arithmetic(c.X)
	case *syntax.TestClause:
		p.conditional("[[", p.test(c.X))
	case *syntax.DeclClause:
		p.variablePart().declaration(c)
	case *syntax.LetClause:
		p.variablePart().let(c)
	case *syntax.TimeClause:
		p.timed(c)
	case *syntax.CoprocClause:
		p.coprocess(c)
	default:
		p.hide("has syntax that cannot be judged", "")
	}
}

// chain walks a && b && c and a | b | c, which nest to the left.
func (p flowReader) chain(c *syntax.BinaryCmd) {
	var links []*syntax.BinaryCmd
	left := c.X
	for {
		links = append(links, c)
		next, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok || len(left.Redirs) > 0 {
			break
		}
		c, left = next, next.X
	}
	p.stmt(left)
	for i := len(links) - 1; i >= 0; i-- {
		c := links[i]
		if _, ok := c.Y.Cmd.(*syntax.TimeClause); ok && (c.Op == syntax.Pipe || c.Op == syntax.PipeAll) {
			p.hide("has time after a pipe, where bash takes it for a program; put it before the pipeline", "")
		}
		if fed := p.fed; c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			p.fed = true
			p.stmt(c.Y)
			p.fed = fed
		} else {
			p.stmt(c.Y)
		}
	}
}

func (p flowReader) loop(c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		name := l.Name.Value
		for _, item := range l.Items {
			w := p.wordPart().word(item, argument)
			p.builtinPart().path(w)
			p.variablePart().set(name, w, byLoop)
		}
		if !l.InPos.IsValid() {
			p.variablePart().set(name, anyValue, byLoop)
		}
		if c.Select {
			p.variablePart().set("REPLY", anyValue, byAssignment)
			p.variablePart().set(name, Word{Static: true}, byLoop)
		}
		if len(l.Items) == 0 {
			p.variablePart().set(name, Word{Static: true}, byLoop)
		}
	case *syntax.CStyleLoop:
		p.wordPart().arithmetic(l.Init)
		p.wordPart().arithmetic(l.Cond)
		p.wordPart().arithmetic(l.Post)
	}
}

func (p flowReader) cases(c *syntax.CaseClause) {
	p.wordPart().word(c.Word, value)
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			p.wordPart().word(pattern, argument)
		}
		p.stmts(item.Stmts)
	}
}

// function walks a definition. It is a command of its own, so that a list of commands has to
// name it, and its body is judged where it is defined: the command that calls it, by any
// name, runs no other code.
func (p flowReader) function(c *syntax.FuncDecl) {
	if c.Name == nil {
		p.hide("defines a function without a name", "")
		return
	}
	p.command(Command{Words: []Word{{Text: c.Name.Value + "()", Static: true}}})
	p.stmt(c.Body)
}

// conditional adds [[ ]] and (( )) as commands when their content is not static.
func (p flowReader) conditional(keyword string, static bool) {
	if !static {
		p.command(Command{Words: []Word{{Text: keyword, Static: true}, anyValue}})
	}
}

// staticNumbers reports an expression without variables.
func (p flowReader) staticNumbers(x syntax.ArithmExpr) bool {
	static := true
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && !isInteger(w.Lit()) {
			static = false
		}
		return static
	})
	return static
}

// timed walks `time cmd`. Bash takes -- for the end of its options, which the
// parser takes for the command.
func (p flowReader) timed(c *syntax.TimeClause) {
	if c.Stmt == nil {
		return
	}
	if call, ok := c.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && strings.HasPrefix(call.Args[0].Lit(), "-") {
		p.hide("has options of time that can be read in two ways; leave them out", call.Args[0].Lit())
	}
	p.stmt(c.Stmt)
}

// coprocess walks `coproc cmd`. Bash takes assignments before the command, which
// the parser takes for the command.
func (p flowReader) coprocess(c *syntax.CoprocClause) {
	p.plan.Background = true
	if c.Name != nil {
		w := p.wordPart().word(c.Name, argument)
		if !w.Static {
			p.hide("names a coprocess by what is known only when it runs", w.String())
		}
		p.variablePart().set(w.Text, Word{integer: true, Text: string(Unknown)}, byLoop)
		if !compound(c.Stmt.Cmd) { // bash takes the name for the command
			p.hide("names a coprocess that is not a group of commands, which can be read in two ways", w.String())
		}
	} else {
		p.variablePart().set("COPROC", Word{integer: true, Text: string(Unknown)}, byAssignment)
		if call, ok := c.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Assigns) > 0 { // after its name, as it may be
			p.hide("has assignments in a coprocess, which can be read in two ways", "")
		}
	}
	p.stmt(c.Stmt)
}

// compound reports commands that begin with a keyword of their own.
func compound(cmd syntax.Command) bool {
	switch cmd.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		return true
	}
	return false
}
