package tree

import "strings"

// outcome is the result of comparing a part of a pattern with a part of a text.
type outcome int

const (
	noMatch outcome = iota
	match
	// abortAll says that no longer text for an earlier star helps.
	abortAll
	// abortToStarStar says that only a longer text for an earlier "**" helps.
	abortToStarStar
)

// wildmatch compares as wildmatch() of git does. paths keeps wildcards but "**" from matching a slash.
// steps is what may be spent; it is negative when that was not enough.
func wildmatch(pattern, text string, paths bool, steps *int) bool {
	w := wild{paths: paths, steps: steps, pattern: pattern, text: text}
	return w.do(0, 0, 0) == match
}

type wild struct {
	pattern, text string
	paths         bool
	steps         *int
}

// p and t return a byte, 0 at the end.
func (w *wild) p(i int) byte { return at(w.pattern, i) }
func (w *wild) t(i int) byte { return at(w.text, i) }

func at(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// do compares the pattern from p with the text from t. start is where this part of the pattern begins.
func (w *wild) do(start, p, t int) outcome {
	for ; p < len(w.pattern); p, t = p+1, t+1 {
		if *w.steps--; *w.steps < 0 {
			return abortAll
		}
		c, x := w.p(p), w.t(t)
		if t >= len(w.text) && c != '*' {
			return abortAll
		}
		switch c {
		case '?':
			if w.paths && x == '/' {
				return noMatch
			}
		case '[':
			end, in := w.class(p, x)
			if end < 0 {
				return abortAll
			}
			if !in || w.paths && x == '/' {
				return noMatch
			}
			p = end
		case '*':
			var done bool
			var result outcome
			if p, t, result, done = w.star(start, p, t); done {
				return result
			}
		case '\\':
			p++
			c = w.p(p)
			fallthrough
		default:
			if x != c || p >= len(w.pattern) {
				return noMatch
			}
		}
	}
	if t < len(w.text) {
		return noMatch
	}
	return match
}

// star compares from a star on. When it is not done, p and t are at slashes that match.
func (w *wild) star(start, p, t int) (nextP, nextT int, result outcome, done bool) {
	slashes := !w.paths
	first := p
	if p++; w.p(p) == '*' {
		for p++; w.p(p) == '*'; p++ {
		}
		whole := w.p(p) == 0 || w.p(p) == '/' || w.p(p) == '\\' && w.p(p+1) == '/'
		if w.paths && (first == start || w.p(first-1) == '/') && whole {
			if w.p(p) == '/' && w.do(p+1, p+1, t) == match {
				return 0, 0, match, true
			}
			slashes = true
		}
	}
	slash := -1
	if t < len(w.text) {
		slash = strings.IndexByte(w.text[t:], '/')
	}
	switch {
	case p >= len(w.pattern):
		if !slashes && slash >= 0 {
			return 0, 0, abortToStarStar, true
		}
		return 0, 0, match, true
	case !slashes && w.p(p) == '/':
		if slash < 0 {
			return 0, 0, abortAll, true
		}
		return p, t + slash, 0, false
	}
	return 0, 0, w.rest(p, t, slashes), true
}

// rest compares the pattern behind a star with each tail of the text.
func (w *wild) rest(p, t int, slashes bool) outcome {
	for ; t < len(w.text); t++ {
		if c := w.p(p); !strings.ContainsRune(`*?[\`, rune(c)) {
			for t < len(w.text) && (slashes || w.text[t] != '/') && w.text[t] != c {
				t++
			}
			if w.t(t) != c || t >= len(w.text) {
				if slashes {
					return abortAll
				}
				return abortToStarStar
			}
		}
		if o := w.do(p, p, t); o != noMatch {
			if !slashes || o != abortToStarStar {
				return o
			}
		} else if !slashes && w.text[t] == '/' {
			return abortToStarStar
		}
	}
	return abortAll
}

// class compares a byte with the class that begins at p. It returns where the class ends; -1 when it
// does not.
func (w *wild) class(p int, x byte) (end int, in bool) {
	p++
	negated := w.p(p) == '!' || w.p(p) == '^'
	if negated {
		p++
	}
	var previous byte
	for first := true; first || w.p(p) != ']'; first = false {
		c := w.p(p)
		switch {
		case p >= len(w.pattern):
			return -1, false
		case c == '\\':
			p++
			if c = w.p(p); p >= len(w.pattern) {
				return -1, false
			}
			in = in || x == c
		case c == '-' && previous != 0 && p+1 < len(w.pattern) && w.p(p+1) != ']':
			p++
			if c = w.p(p); c == '\\' {
				p++
				if c = w.p(p); p >= len(w.pattern) {
					return -1, false
				}
			}
			in = in || previous <= x && x <= c
			c = 0
		case c == '[' && w.p(p+1) == ':':
			close := strings.IndexByte(w.pattern[p+2:], ']')
			if close < 0 {
				return -1, false
			}
			if close == 0 || w.p(p+2+close-1) != ':' {
				in = in || x == '['
				break
			}
			is, known := classes[w.pattern[p+2:p+2+close-1]]
			if !known {
				return -1, false
			}
			in = in || is(x)
			p += 2 + close
			c = 0
		default:
			in = in || x == c
		}
		previous = c
		p++
	}
	return p, in != negated
}

func between(x, low, high byte) bool { return low <= x && x <= high }
func isDigit(x byte) bool            { return between(x, '0', '9') }
func isUpper(x byte) bool            { return between(x, 'A', 'Z') }
func isLower(x byte) bool            { return between(x, 'a', 'z') }
func isAlpha(x byte) bool            { return isUpper(x) || isLower(x) }
func isGraph(x byte) bool            { return between(x, '!', '~') }

var classes = map[string]func(byte) bool{
	"alnum": func(x byte) bool { return isAlpha(x) || isDigit(x) },
	"alpha": isAlpha,
	"blank": func(x byte) bool { return x == ' ' || x == '\t' },
	"cntrl": func(x byte) bool { return x < ' ' || x == 0x7f },
	"digit": isDigit,
	"graph": isGraph,
	"lower": isLower,
	"print": func(x byte) bool { return x == ' ' || isGraph(x) },
	"punct": func(x byte) bool { return isGraph(x) && !isAlpha(x) && !isDigit(x) },
	"space": func(x byte) bool { return x == ' ' || x == '\t' || x == '\n' || x == '\r' },
	"upper": isUpper,
	"xdigit": func(x byte) bool {
		return isDigit(x) || between(x, 'a', 'f') || between(x, 'A', 'F')
	},
}
