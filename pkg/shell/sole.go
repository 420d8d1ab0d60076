package shell

import "mvdan.cc/sh/v3/syntax"

// Conclusive reports that the exit status 0 of a line means that each of its commands has
// run and has succeeded: the line is one simple command, or several joined by &&. The
// status of a pipe, of a list, of a background job or after ! says nothing of the kind.
func Conclusive(line string) bool {
	if checkText(line) != nil {
		return false
	}
	p := newPlanner()
	defer p.release()
	file, err := p.readScript(line, bash)
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
