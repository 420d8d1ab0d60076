package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect walks a redirection. One that writes a file is a finding: see output.
func (p flowReader) redirect(r *syntax.Redirect) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		p.variablePart().set(strings.Trim(r.N.Value, "{}"), Word{integer: true, Text: string(Unknown)}, byRedirect)
	}
	if r.Hdoc != nil {
		if quotedDelimiter(r.Word) {
			p.builtinPart().path(Word{Text: r.Hdoc.Lit(), Static: true})
		} else {
			p.endsOnce(r)
			p.builtinPart().path(p.wordPart().word(r.Hdoc, document))
		}
		return
	}
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
		return
	}
	w := p.wordPart().word(r.Word, argument)
	p.builtinPart().path(w)
	if w.Static && !strings.ContainsAny(w.Text, "./") { // a file, of any name
		p.plan.Names = append(p.plan.Names, w)
	}
	p.standard(r, w)
	p.opensFile(r, w)
	switch r.Op {
	case syntax.WordHdoc, syntax.DplIn:
	case syntax.RdrIn:
		p.plan.connects = p.plan.connects || mayConnect(w)
	case syntax.DplOut:
		if !w.Static || !isDescriptor(w.Text) {
			p.output(w)
		}
	default:
		p.output(w)
	}
}

const redirectsOutput = "redirects output into a file"

const reopens = "makes a file that is read the output or the errors, which /dev/stdout and the like open again to write"

// standard finds redirections after which /dev/stdout or /dev/stderr is a file that was
// opened to be read: a program that opens those names opens that file anew, and may write it.
func (p flowReader) standard(r *syntax.Redirect, w Word) {
	descriptor := ""
	if r.N != nil {
		if descriptor = strings.TrimLeft(r.N.Value, "0"); descriptor == "" {
			descriptor = "0"
		}
	} else if r.Op == syntax.DplOut {
		descriptor = "1"
	}
	standard := descriptor == "1" || descriptor == "2"
	switch r.Op {
	case syntax.RdrIn:
		p.opens = p.opens || descriptor != "" && descriptor != "0"
		if standard && !harmless(w) {
			p.find(Writes, reopens, w.String())
		}
	case syntax.DplIn, syntax.DplOut:
		from := strings.TrimSuffix(w.Text, "-")
		switch {
		case !standard || from == "1" || from == "2":
		case !w.Static, digits(from) && strings.Trim(from, "0") == "":
			p.find(Writes, reopens, w.String())
		case digits(from): // it may be opened by another redirection
			p.copies = append(p.copies, w)
		}
	}
}

// checkStandard finds copies of descriptors that may be of files that are read.
func (p flowReader) checkStandard() {
	if !p.opens {
		return
	}
	for _, w := range p.copies {
		p.find(Writes, reopens, w.String())
	}
}

// endsOnce finds a here-document in which a line is the delimiter already: bash
// ends it there, where the parser continues inside a substitution.
func (p flowReader) endsOnce(r *syntax.Redirect) {
	from, to := int(r.Hdoc.Pos().Offset()), int(r.Hdoc.End().Offset())
	if from > to || to > len(p.text) {
		p.hide("has a here-document that can be read in two ways", "")
		return
	}
	delimiter := r.Word.Lit()
	lines := strings.Split(p.text[from:to], "\n")
	for _, line := range lines[:len(lines)-1] { // the last is the delimiter
		if r.Op == syntax.DashHdoc {
			line = strings.TrimLeft(line, "\t")
		}
		if line == delimiter {
			p.hide("has a here-document that can be read in two ways", delimiter)
			return
		}
	}
}

// quotedDelimiter reports that there is no expansion in a here-document.
func quotedDelimiter(w *syntax.Word) bool {
	lit := w.Lit()
	return lit == "" || strings.Contains(lit, "\\")
}

// output finds a redirection that writes, unless its target is harmless.
func (p flowReader) output(w Word) {
	if harmless(w) {
		return
	}
	if w.Static {
		p.written = append(p.written, w.Text)
	}
	p.add(Finding{
		Kind: Writes, Command: -1, What: redirectsOutput, About: w.String(), Start: p.at.from, End: p.at.to, Target: w.Path(),
	})
}

// mayConnect reports files that are read from and could be connections of bash to another machine.
func mayConnect(w Word) bool {
	if !w.Static {
		return !w.stream
	}
	return strings.HasPrefix(w.Text, "/dev/tcp/") || strings.HasPrefix(w.Text, "/dev/udp/")
}

// harmless reports targets that are not files: /dev/null, the standard streams, a
// process that is judged itself.
func harmless(w Word) bool {
	if w.stream {
		return true
	}
	if !w.Static {
		return false
	}
	switch w.Text {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2": // see standard
		return true
	}
	return false
}

// isDescriptor reports the words after >& and <& that name no file.
func isDescriptor(s string) bool {
	return s == "-" || digits(strings.TrimSuffix(s, "-"))
}

// feeds reports a redirection that gives standard input, or may do so, from anything but /dev/null.
func feeds(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return r.Word == nil || r.Word.Lit() != "/dev/null"
	default:
		return r.N != nil && strings.Trim(r.N.Value, "0") == ""
	}
}
