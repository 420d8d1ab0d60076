package facet

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

// touchByLine notes the files of a command line: those of its redirections, and those that its programs are given.
// A program whose effects are not known puts them in doubt.
func (f *Facts) touchByLine(t *touched) {
	plan, err := f.plan()
	if err != nil {
		t.unclear(err.Error())
		return
	}
	t.follow(plan)
	for _, o := range plan.Opens {
		l := lineReader{touched: t, name: "a redirection"}
		if o.Reads {
			l.word(o.File, reads)
		}
		if o.Writes {
			l.word(o.File, writes)
		}
	}
	for _, f := range plan.Findings {
		switch f.Kind {
		case shell.Hidden, shell.Code, shell.Opaque, shell.Stranger, shell.Variable:
			t.unclear(about(plan, f))
		default: // it touches no file that the line does not show, or is a write
		}
	}
	wrote := make([]bool, len(plan.Commands))
	for i, c := range plan.Commands {
		before := t.writes
		t.command(c)
		wrote[i] = t.writes > before
	}
	for _, f := range plan.Findings {
		explained := f.Redirects() || f.Command >= 0 && wrote[f.Command]
		if f.Kind == shell.Writes && !explained {
			t.unclear(about(plan, f))
		}
	}
}

// about describes a finding and what helps.
func about(plan *shell.Plan, f shell.Finding) string {
	who := "the command line"
	if f.Command >= 0 {
		if name := plan.Commands[f.Command].Program(); name != "" {
			who = name
		}
	}
	return who + " " + f.What + ", so its files are not known; use tools that name their files, or commands that do"
}

// follow notes the folders that the line goes to.
func (t *touched) follow(plan *shell.Plan) {
	for _, c := range plan.Commands {
		switch c.Program() {
		case "cd", "pushd", "chdir":
			t.goes(c.Words[c.Assigns+1:], plan.Repeats)
		case "popd":
			t.names.goesAway()
		}
		if slices.ContainsFunc(c.Words, func(w shell.Word) bool {
			return strings.HasPrefix(w.Text, "CDPATH=") || strings.HasPrefix(w.Text, "PWD=")
		}) {
			t.names.goesAway()
		}
	}
	if slices.Contains(plan.Sets, "CDPATH") {
		t.names.goesAway()
	}
}

// goes notes the folder of one cd.
func (t *touched) goes(words []shell.Word, repeats bool) {
	var folders []shell.Word
	for _, w := range words {
		if w.Static && slices.Contains([]string{"-P", "-L", "-e", "--", "-n"}, w.Text) {
			continue
		}
		folders = append(folders, w)
	}
	switch {
	case len(folders) != 1 || !folders[0].Static || folders[0].Text == "" || strings.HasPrefix(folders[0].Text, "-") || strings.HasPrefix(folders[0].Text, "+"):
		t.names.goesAway()
	case repeats && !t.names.absolute(folders[0].Text): // it may go there more than once
		t.names.goesAway()
	default:
		t.names.goesTo(folders[0].Text)
	}
}

// lineReader notes the words of one command.
type lineReader struct {
	*touched
	name string // of the program
	// here is the folder that relative names begin in, by an option; empty for that of the line.
	here string
	// below is true while names stand for everything under them.
	below bool
}

// use is what a program does with a file.
type use uint8

const (
	untouched use = iota
	reads
	writes
	changes // reads and writes
)

// word notes a word as the name of a file.
func (l *lineReader) word(w shell.Word, u use) {
	below := l.below
	var name string
	folder, pattern := w.Within()
	switch {
	case u == untouched || w.Stream() || standard(w):
		return
	case w.Static:
		name = w.Text
	case pattern:
		name, below = folder, true
	case w.Path() != "": // in the folder of the user
		l.away(w.Path()[1:], u, below)
		return
	default:
		l.unknown(w, u)
		return
	}
	if strings.HasPrefix(name, "~") && !w.Static {
		l.unknown(w, u)
		return
	}
	l.named(name, u, below)
}

// named notes a name in the folder of the command.
func (l *lineReader) named(name string, u use, below bool) {
	if l.here != "" && !l.names.absolute(name) {
		name = l.here + "/" + name
	}
	if u == reads || u == changes {
		l.read(name, below)
	}
	if u == writes || u == changes {
		l.write(name, below)
	}
}

// away notes a name in the folder of a user, which is not known.
func (l *lineReader) away(name string, u use, below bool) {
	places := l.names.places
	l.names.places = []string{elsewhere}
	l.named(strings.TrimPrefix(name, "/")+map[bool]string{true: "."}[strings.Trim(name, "/") == ""], u, below)
	l.names.places = places
}

// unknown notes a word that does not show which file it names.
func (l *lineReader) unknown(w shell.Word, u use) {
	why := l.name + " is given " + w.String() + ", which is known only when the line runs; write the names of files out"
	if u == reads || u == changes {
		l.doubt(why, condition.Reads)
	}
	if u == writes || u == changes {
		l.doubt(why, condition.Writes)
	}
}

// standard reports a word that is no file: a standard stream, the terminal, /dev/null.
func standard(w shell.Word) bool {
	if !w.Static {
		return false
	}
	switch w.Text {
	case "-", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/random", "/dev/urandom":
		return true
	}
	rest, ok := strings.CutPrefix(w.Text, "/dev/fd/")
	return ok && strings.Trim(rest, "0123456789") == "" // it was opened by a redirection
}

// command notes the files of one command.
func (t *touched) command(c shell.Command) {
	words := c.Words[c.Assigns:]
	if len(words) == 0 {
		return
	}
	l := &lineReader{touched: t, name: c.Program()}
	p, known := programOfFiles(c)
	switch {
	case !known && asks(words) && shell.Knows(words[0].Text):
	case !known:
		t.unclear(l.name + " is not known, or which files it reads; use another program, or a tool for files")
	case p.judge != nil:
		p.judge(l, p, words[1:])
	default:
		l.plain(p, words[1:])
	}
}

// asks reports a command that only asks about its program.
func asks(words []shell.Word) bool {
	return len(words) == 2 && words[0].Static && words[1].Static && (words[1].Text == "--version" || words[1].Text == "--help")
}

// programOfFiles finds the program of a command: one without a folder, or in a folder of the system.
func programOfFiles(c shell.Command) (fileProgram, bool) {
	w := c.Words[c.Assigns]
	if !w.Static {
		return fileProgram{}, false
	}
	name := w.Text
	for _, folder := range []string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/"} {
		if rest, ok := strings.CutPrefix(w.Text, folder); ok {
			name = rest
			break
		}
	}
	p, ok := filePrograms()[name]
	return p, ok
}
