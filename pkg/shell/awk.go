package shell

import "strings"

// awkEffects reads a program of awk: its writes (print > file), its programs (system,
// pipes), its reads of the environment. Where a / could be a division or the begin of a
// pattern it judges for the worst.
func awkEffects(program string) filterEffects {
	r := &awkReader{text: program}
	for r.token() {
	}
	if r.failed && strings.ContainsAny(program, "|>@") || r.failed && (strings.Contains(program, "system") || strings.Contains(program, "getline")) {
		r.effects.runs, r.effects.why = true, "runs a program of awk that cannot be judged"
	}
	for _, name := range []string{"ENVIRON", "SYMTAB", "PROCINFO", "ARGV", "getline"} {
		r.effects.reads = r.effects.reads || strings.Contains(program, name)
	}
	return r.effects
}

type awkReader struct {
	text    string
	at      int
	failed  bool
	effects filterEffects

	last     awkToken // decides the meaning of a / after it
	depth    int      // of parentheses
	printing bool     // a print has begun, at the depth printAt
	printAt  int
}

// awkToken is the kind of the last token, which decides on a / that follows it.
type awkToken uint8

const (
	awkBeforePattern awkToken = iota // an operator, a statement's begin
	awkBeforeDivide                  // a value
	awkUnclear                       // a closing parenthesis, ++, getline
)

func (r *awkReader) peek(n int) byte {
	if r.at+n < len(r.text) {
		return r.text[r.at+n]
	}
	return 0
}

// token reads one token and reports whether there may be another.
func (r *awkReader) token() bool {
	if r.at >= len(r.text) || r.failed {
		return false
	}
	switch c := r.text[r.at]; {
	case c == ' ' || c == '\t':
		r.at++
	case c == '\\' && r.peek(1) == '\n':
		r.at += 2
	case c == '#':
		for r.at < len(r.text) && r.text[r.at] != '\n' {
			r.at++
		}
	case c == '"':
		r.quoted('"')
		r.last = awkBeforeDivide
	case c == '/':
		r.slash()
	case wordByte(c):
		r.name()
	default:
		r.operator(c)
	}
	return true
}

// quoted reads a string or a pattern.
func (r *awkReader) quoted(end byte) {
	for r.at++; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '\\':
			r.at++
		case c == '\n':
			r.failed = true
			return
		case c == end:
			r.at++
			return
		case c == '[' && end == '/':
			closing, ok := classEnd(r.text, r.at)
			if !ok || strings.Contains(r.text[r.at:closing], "/") { // some end the pattern there
				r.failed = true
				return
			}
			r.at = closing
		}
	}
	r.failed = true
}

func (r *awkReader) slash() {
	switch r.last {
	case awkBeforePattern:
		r.quoted('/')
		r.last = awkBeforeDivide
	case awkBeforeDivide:
		r.at++
		r.last = awkBeforePattern
	default:
		r.failed = true
	}
}

func (r *awkReader) name() {
	from := r.at
	for r.at < len(r.text) && (wordByte(r.text[r.at]) || r.text[r.at] == '.') {
		r.at++
	}
	r.last = awkBeforeDivide
	switch r.text[from:r.at] {
	case "print", "printf":
		r.printing, r.printAt = true, r.depth
		r.last = awkBeforePattern
	case "system":
		r.runs()
	case "getline", "length":
		r.last = awkUnclear
	case "return", "case", "else", "do", "in", "delete", "exit", "while", "if", "for", "BEGIN", "END":
		r.last = awkBeforePattern
	}
}

func (r *awkReader) runs() {
	r.effects.runs, r.effects.why = true, "runs commands from its program"
}

func (r *awkReader) operator(c byte) {
	r.at++
	r.last = awkBeforePattern
	switch c {
	case '(', '[':
		r.depth++
	case ')', ']':
		r.depth--
		r.last = awkUnclear
		if c == ']' {
			r.last = awkBeforeDivide
		}
	case ';', '{', '}': // a new line may continue with the print
		r.printing = false
	case '\n':
	case '+', '-':
		if r.peek(0) == c {
			r.at++
			r.last = awkUnclear
		}
	case '|':
		if r.peek(0) == '|' {
			r.at++
		} else {
			r.runs()
		}
	case '@':
		r.runs()
	case '>':
		if r.printing && r.depth <= r.printAt {
			r.redirect()
		} else if r.peek(0) == '=' {
			r.at++
		}
	case '$', '!', '~', '<', '=', '&', '*', '%', '^', ',', '?', ':':
	default:
		r.failed = true
	}
}

// redirect reads the target after the > of a print: a standard stream alone, or a file.
func (r *awkReader) redirect() {
	if r.peek(0) == '>' {
		r.at++
	}
	rest := strings.TrimLeft(r.text[r.at:], " \t")
	for _, stream := range []string{`"/dev/stderr"`, `"/dev/stdout"`, `"/dev/null"`} {
		if after, ok := strings.CutPrefix(rest, stream); ok {
			if after = strings.TrimLeft(after, " \t"); after == "" || strings.IndexByte(";}\n", after[0]) >= 0 {
				r.at = len(r.text) - len(after)
				return
			}
		}
	}
	r.effects.writes, r.effects.why = true, "writes a file from its program"
}
