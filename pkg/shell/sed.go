package shell

import "strings"

// sedEffects reads a program of GNU sed: its writes (w, W, s///w), its programs (e,
// s///e). It takes unreadable parts for programs.
func sedEffects(program string) filterEffects {
	r := &sedReader{text: program}
	for r.command() {
	}
	if r.failed {
		return filterEffects{runs: true, why: "runs a program of sed that cannot be judged"}
	}
	return r.effects
}

type sedReader struct {
	text    string
	at      int
	failed  bool
	effects filterEffects
}

func (r *sedReader) fail() bool {
	r.failed = true
	return false
}

func (r *sedReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *sedReader) skip(set string) {
	for r.at < len(r.text) && strings.IndexByte(set, r.text[r.at]) >= 0 {
		r.at++
	}
}

// line returns the rest of the line, with the lines that a backslash continues.
func (r *sedReader) line() string {
	from := r.at
	for r.at < len(r.text) && r.text[r.at] != '\n' {
		if r.text[r.at] == '\\' && r.at+1 < len(r.text) {
			r.at++
		}
		r.at++
	}
	return r.text[from:r.at]
}

// command reads one command and reports whether there may be another.
func (r *sedReader) command() bool {
	r.skip(" \t\n;")
	if r.at >= len(r.text) {
		return false
	}
	if !r.addresses() {
		return r.fail()
	}
	c := r.peek()
	r.at++
	switch c {
	case '{', '}', '=', 'd', 'D', 'F', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z':
		return r.end(c)
	case '#':
		r.line()
	case 'a', 'i', 'c':
		r.appended()
	case ':', 'b', 't', 'T':
		r.skip(" \t")
		for r.at < len(r.text) && strings.IndexByte(" \t\n;}", r.text[r.at]) < 0 {
			r.at++
		}
	case 'l', 'L', 'q', 'Q':
		r.skip(" \t0123456789")
		return r.end(c)
	case 'r', 'R':
		r.effects.files = true
		r.line()
	case 'w', 'W':
		r.output()
	case 'e':
		r.execute()
	case 's':
		return r.substitute()
	case 'y':
		return r.parts() && r.end(c)
	default:
		return r.fail()
	}
	return true
}

// appended reads the text of a, i and c: one line and those that a backslash
// continues.
func (r *sedReader) appended() {
	r.skip(" \t")
	if r.peek() == '\\' {
		r.at++
		r.skip(" \t")
		if r.peek() == '\n' {
			r.at++
		}
	}
	r.line()
}

// end requires that a command is at its end.
func (r *sedReader) end(c byte) bool {
	r.skip(" \t")
	switch n := r.peek(); {
	case r.at >= len(r.text), n == ';', n == '\n', n == '}', n == '#', c == '{', c == '}':
		return true
	}
	return r.fail()
}

// addresses reads 1,5 /x/I,$ 0~3 addr,+2 and the ! after them.
func (r *sedReader) addresses() bool {
	for range 2 {
		switch c := r.peek(); {
		case c >= '0' && c <= '9', c == '$', c == '+', c == '~':
			r.at++
			r.skip("0123456789~")
		case c == '/':
			r.at++
			if !r.until('/', true) {
				return false
			}
			r.skip("IM")
		case c == '\\':
			r.at += 2
			if r.at > len(r.text) || !r.until(r.text[r.at-1], true) {
				return false
			}
			r.skip("IM")
		}
		r.skip(" \t")
		if r.peek() != ',' {
			break
		}
		r.at++
		r.skip(" \t")
	}
	r.skip(" \t!")
	return true
}

// until reads up to a delimiter that ends a pattern or a replacement.
func (r *sedReader) until(delimiter byte, pattern bool) bool {
	if delimiter == '\n' || delimiter == '\\' {
		return false
	}
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == delimiter:
			r.at++
			return true
		case c == '\\':
			r.at++
		case c == '\n':
			return false
		case c == '[' && pattern:
			end, ok := classEnd(r.text, r.at)
			if !ok {
				return false
			}
			r.at = end
		}
	}
	return false
}

// classEnd returns the place of the ] that closes the [ at a place. It is unknown where
// programs disagree: after [] and [^], and with a backslash inside.
func classEnd(text string, at int) (end int, ok bool) {
	rest := text[at+1:]
	rest = strings.TrimPrefix(rest, "^")
	if strings.HasPrefix(rest, "]") {
		return 0, false
	}
	for i := len(text) - len(rest); i < len(text); i++ {
		switch text[i] {
		case ']':
			return i, !strings.Contains(text[at:i], "\\]") && !strings.HasSuffix(text[at:i], "\\")
		case '\n':
			return 0, false
		case '[':
			if i+1 < len(text) && strings.IndexByte(":.=", text[i+1]) >= 0 {
				close := strings.Index(text[i+2:], text[i+1:i+2]+"]")
				if close < 0 {
					return 0, false
				}
				i += close + 3
			}
		}
	}
	return 0, false
}

// parts reads the two parts of s and y.
func (r *sedReader) parts() bool {
	if r.at >= len(r.text) {
		return r.fail()
	}
	delimiter := r.text[r.at]
	r.at++
	if delimiter >= 0x80 || delimiter == '[' || delimiter == ']' || !r.until(delimiter, true) || !r.until(delimiter, false) {
		return r.fail()
	}
	return true
}

func (r *sedReader) substitute() bool {
	if !r.parts() {
		return false
	}
	for {
		switch c := r.peek(); c {
		case 'g', 'p', 'i', 'I', 'm', 'M', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			r.at++
		case 'e':
			r.at++
			r.effects.runs, r.effects.why = true, "runs what it substitutes"
		case 'w':
			r.at++
			r.output()
			return true
		default:
			return r.end('s')
		}
	}
}

// output reads the file name of w.
func (r *sedReader) output() {
	r.skip(" \t")
	file := r.line()
	if !harmless(Word{Text: file, Static: true}) {
		r.effects.writes, r.effects.why = true, "writes a file from its program"
	}
}

// execute reads the command of e.
func (r *sedReader) execute() {
	r.skip(" \t")
	if script := r.line(); script != "" && !strings.Contains(script, "\\") {
		r.effects.script = append(r.effects.script, script)
		return
	}
	r.effects.runs, r.effects.why = true, "runs what it reads"
}
