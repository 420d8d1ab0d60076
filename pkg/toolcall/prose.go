package toolcall

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/interlock-run/interlock/pkg/shell"
)

// Words that no program reads as a path name no file: messages of commits, arguments of
// echo, the values of options that leave files out (S13.2). A line is judged without
// them.

// excluders take --exclude=PATTERN and the like.
var excluders = []string{"grep", "egrep", "fgrep", "rg", "ag", "tar", "rsync", "du", "diff", "tree"}

// excluding are their options, with the value attached.
var excluding = []string{"--exclude=", "--exclude-dir=", "--glob=!", "--ignore-dir="}

// plain are programs that take no name of a file from their input.
var plain = words(`echo printf cat head tail grep egrep fgrep ls cd pwd true false test [ mkdir touch tee git gh`)

// withoutProse returns a line in which words that are only text are replaced by x. It is
// the line itself where that is unknown.
func withoutProse(line string) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return line
	}
	p := prose{line: line}
	syntax.Walk(file, p.exclusions)
	if p.onlyPlain(file) {
		syntax.Walk(file, p.texts)
	}
	slices.SortFunc(p.cuts, func(a, b cut) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, c := range p.cuts {
		if c.from < at {
			continue
		}
		out.WriteString(line[at:c.from])
		out.WriteString(c.by)
		at = c.to
	}
	out.WriteString(line[at:])
	return out.String()
}

type cut struct {
	from, to int
	by       string
}

type prose struct {
	line string
	cuts []cut
}

// cutHere takes out the text of a here-document, and leaves the line that ends it.
func (p *prose) cutHere(text *syntax.Word) {
	from, to := int(text.Pos().Offset()), int(text.Pos().Offset())
	for _, part := range text.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			to += len(lit.Value)
		}
	}
	if to <= len(p.line) && from < to && p.line[to-1] == '\n' {
		p.cuts = append(p.cuts, cut{from, to, "x\n"})
	}
}

func (p *prose) cut(n syntax.Node, skip int) {
	p.cuts = append(p.cuts, cut{int(n.Pos().Offset()) + skip, int(n.End().Offset()), "x"})
}

// exclusions finds the values of options that leave files out.
func (p *prose) exclusions(n syntax.Node) bool {
	if _, ok := n.(*syntax.FuncDecl); ok {
		p.cuts = nil
		return false
	}
	call, ok := n.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || !slices.Contains(excluders, call.Args[0].Lit()) {
		return true
	}
	for _, w := range call.Args[1:] {
		text := p.line[w.Pos().Offset():w.End().Offset()]
		for _, option := range excluding {
			if strings.HasPrefix(text, option) && literal(w) {
				p.cut(w, len(option))
				p.cuts[len(p.cuts)-1].by = leftOut(text[len(option):])
			}
		}
	}
	return true
}

// leftOut returns the name of a folder that is left out, as it may stand in a line that is
// judged.
func leftOut(value string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(strings.Trim(value, `'"`), "./"), "/")
	if strings.HasPrefix(name, ".") {
		name = hiddenName + name[1:]
	}
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return "x"
	}
	return name
}

// hiddenName is written for the dot of a name that is left out.
const hiddenName = "dot-"

// onlyPlain reports a line whose commands are all plain, and that uses the output of none
// of them as a word.
func (p *prose) onlyPlain(file *syntax.File) bool {
	ok := true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl, *syntax.CoprocClause, *syntax.ProcSubst, *syntax.CmdSubst, *syntax.ParamExp, *syntax.ForClause, *syntax.DeclClause:
			ok = false
		case *syntax.Word:
			return !message(n) // its here-document is text
		case *syntax.CallExpr:
			ok = ok && len(n.Assigns) == 0 && len(n.Args) > 0 && plain[n.Args[0].Lit()] && !slices.ContainsFunc(n.Args[1:], p.consumes)
		}
		return ok
	})
	return ok
}

// consumes reports an option by which a plain program takes names from its input, or sets
// a variable.
func (p *prose) consumes(w *syntax.Word) bool {
	text := squeezed(p.line[w.Pos().Offset():w.End().Offset()])
	return strings.HasPrefix(text, "-v") || strings.HasPrefix(text, "--") && (strings.Contains(text, "stdin") || strings.Contains(text, "from"))
}

// texts finds words and here-documents of plain programs that are only text.
func (p *prose) texts(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		call, ok := n.Cmd.(*syntax.CallExpr)
		if !ok || call.Args[0].Lit() != "cat" && call.Args[0].Lit() != "tee" {
			return true
		}
		for _, r := range n.Redirs {
			if r.Hdoc != nil && literal(r.Hdoc) {
				p.cutHere(r.Hdoc)
			}
		}
	case *syntax.CallExpr:
		for i, w := range n.Args {
			switch text := p.line[w.Pos().Offset():w.End().Offset()]; {
			case i == 0 || !literal(w) && !message(w):
			case n.Args[0].Lit() == "echo", n.Args[0].Lit() == "printf":
				p.cut(w, 0)
			case messages(n, i):
				p.cut(w, 0)
			case commits(n) && strings.HasPrefix(text, "--message="):
				p.cut(w, len("--message="))
			}
		}
	}
	return true
}

// messages reports that a word is the message of a commit, an issue or a pull request.
func messages(call *syntax.CallExpr, i int) bool {
	if i < 2 {
		return false
	}
	switch option := call.Args[i-1].Lit(); {
	case commits(call):
		return slices.Contains([]string{"-m", "-am", "--message"}, option)
	case call.Args[0].Lit() == "gh" && (call.Args[1].Lit() == "pr" || call.Args[1].Lit() == "issue"):
		return slices.Contains([]string{"-t", "-b", "--title", "--body"}, option)
	default:
		return false
	}
}

func commits(call *syntax.CallExpr) bool {
	return call.Args[0].Lit() == "git" && len(call.Args) > 1 && (call.Args[1].Lit() == "commit" || call.Args[1].Lit() == "tag")
}

// literal reports a word that stands for exactly one text, without patterns.
func literal(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "*?[{") && len(w.Parts) > 0 && !strings.Contains(part.Value, "\n") {
				return false
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				return false
			}
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if _, ok := inner.(*syntax.Lit); !ok {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// message reports a word such as "$(cat <<'EOF' ... EOF)", as agents write messages.
func message(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	quoted, ok := w.Parts[0].(*syntax.DblQuoted)
	if !ok || len(quoted.Parts) != 1 {
		return false
	}
	subst, ok := quoted.Parts[0].(*syntax.CmdSubst)
	if !ok || len(subst.Stmts) != 1 || len(subst.Stmts[0].Redirs) != 1 {
		return false
	}
	call, ok := subst.Stmts[0].Cmd.(*syntax.CallExpr)
	here := subst.Stmts[0].Redirs[0].Hdoc
	return ok && len(call.Args) == 1 && call.Args[0].Lit() == "cat" && len(call.Assigns) == 0 && here != nil && literal(here)
}

// codePrograms run a file of code that is no script of a shell.
var codePrograms = words(`python python3 node deno bun ruby perl php pytest go Rscript`)

// knownCode reports a program that runs a file whose text the same line holds: it is looked
// through with the line. Such a file in two calls is allowed as well.
func knownCode(line string, plan *shell.Plan, f shell.Finding) bool {
	if !f.Own() || f.Command < 0 {
		return false
	}
	c := plan.Commands[f.Command]
	if c.Assigns >= len(c.Words) || !codePrograms[baseOf(c.Words[c.Assigns])] {
		return false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return false
	}
	written, known := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.Stmt); ok {
			to, text := writesFile(s, f.About)
			if to {
				written++
			}
			if to && text {
				known++
			}
		}
		return true
	})
	return known > 0 && known == written
}

// writesFile reports a statement that writes a file by a redirection, and that its text is a
// here-document of cat without expansions.
func writesFile(s *syntax.Stmt, file string) (to, text bool) {
	for _, r := range s.Redirs {
		to = to || (r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrClob) && path.Clean(r.Word.Lit()) == path.Clean(file)
		text = text || r.Hdoc != nil && literal(r.Hdoc)
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	return to, text && ok && len(call.Args) == 1 && call.Args[0].Lit() == "cat"
}
