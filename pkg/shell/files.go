package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Open is a redirection that opens a file.
type Open struct {
	File Word
	// Reads and Writes are what the file is opened for.
	Reads, Writes bool
}

// opensFile notes a redirection of a file. One of a standard stream, of /dev/null or of a process opens none.
func (p flowReader) opensFile(r *syntax.Redirect, w Word) {
	if harmless(w) || w.Static && (w.Text == "/dev/stdin" || w.Text == "/dev/tty") {
		return
	}
	switch r.Op {
	case syntax.WordHdoc, syntax.DplIn:
	case syntax.RdrIn:
		p.plan.Opens = append(p.plan.Opens, Open{File: w, Reads: true})
	case syntax.RdrInOut:
		p.plan.Opens = append(p.plan.Opens, Open{File: w, Reads: true, Writes: true})
	case syntax.DplOut:
		if !w.Static || !isDescriptor(w.Text) {
			p.plan.Opens = append(p.plan.Opens, Open{File: w, Writes: true})
		}
	default:
		p.plan.Opens = append(p.plan.Opens, Open{File: w, Writes: true})
	}
}

// Redirects reports a finding of a redirection into a file, which Plan.Opens has too.
func (f Finding) Redirects() bool { return f.What == redirectsOutput }

// Stream reports a word that is a process of the line: a pipe, and no file.
func (w Word) Stream() bool { return w.stream }

// Within returns the folder that holds every file which a word can name, below which they are, or false where that
// is not known. Of its parts, only patterns of names are then not known.
func (w Word) Within() (folder string, ok bool) {
	if w.Static || !w.globs || w.others {
		return "", false
	}
	at := strings.IndexByte(w.Text, byte(Unknown))
	cut := strings.LastIndexByte(w.Text[:at], '/') + 1
	for part := range strings.SplitSeq(w.Text[cut:], "/") {
		if strings.HasPrefix(part, ".") && couldBe(part, "..") { // .* may be the folder above
			return "", false
		}
	}
	if cut == 0 {
		return ".", true
	}
	return w.Text[:cut], true
}

// SedNamesFiles reports a program of sed that may read or write files which it names, or run a command.
func SedNamesFiles(program string) bool {
	e := sedEffects(program)
	return e.runs || e.writes || e.files
}
