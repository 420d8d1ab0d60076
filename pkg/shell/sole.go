package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// Single reports a line of one simple command that runs once and in the foreground, without
// commands in its words and without redirections, except 2>&1 and those of output to /dev/null.
func Single(line string) bool {
	if checkText(line) != nil {
		return false
	}
	p := newPlanner()
	defer p.release()
	file, err := p.flowPart().readScript(line, bash)
	if err != nil || len(file.Stmts) != 1 {
		return false
	}
	s := file.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) > 0 && !s.Negated && !s.Background && !s.Coprocess && !s.Disown && !substitutes(s) &&
		!slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return !drops(r) })
}

// drops reports a redirection of output to /dev/null, or of one output to the other.
func drops(r *syntax.Redirect) bool {
	if r.N != nil && r.N.Value != "1" && r.N.Value != "2" || r.Word == nil {
		return false
	}
	to := r.Word.Lit()
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return to == "/dev/null"
	case syntax.DplOut:
		return to == "1" || to == "2"
	default:
		return false
	}
}

// Conclusive reports that the exit status 0 of a line means that each of its commands has
// run and has succeeded: the line is one simple command, or several joined by &&. The
// status of a pipe, of a list, of a background job or after ! does not mention the kind.
func Conclusive(line string) bool {
	if checkText(line) != nil {
		return false
	}
	p := newPlanner()
	defer p.release()
	file, err := p.flowPart().readScript(line, bash)
	return err == nil && len(file.Stmts) == 1 && conclusive(file.Stmts[0])
}

func conclusive(s *syntax.Stmt) bool {
	if s.Negated || s.Background || s.Coprocess {
		return false
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		return len(cmd.Args) > 0
	case *syntax.BinaryCmd:
		return cmd.Op == syntax.AndStmt && conclusive(cmd.X) && conclusive(cmd.Y)
	default:
		return false
	}
}
