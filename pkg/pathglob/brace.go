package pathglob

// expand writes out the alternatives of a valid pattern, in order. It returns
// false when they come to more than most bytes together.
func expand(pattern string, most int) ([]string, bool) {
	e := expansion{left: most}
	e.expand(pattern, 0)
	return e.patterns, e.left >= 0
}

type expansion struct {
	patterns []string
	left     int
}

// expand writes out the braces of pattern from a place on.
func (e *expansion) expand(pattern string, from int) {
	if e.left < 0 {
		return
	}
	opened := next(pattern, from, '{')
	if opened < 0 {
		e.left -= len(pattern) + 1
		e.patterns = append(e.patterns, pattern)
		return
	}
	closed, commas := closing(pattern, opened)
	begin := opened + 1
	for _, end := range append(commas, closed) {
		e.expand(pattern[:opened]+pattern[begin:end]+pattern[closed+1:], opened)
		begin = end + 1
	}
}

// next finds an unescaped c outside of character classes, or returns -1.
func next(pattern string, from int, c byte) int {
	for i := from; i < len(pattern); i = after(pattern, i) {
		if pattern[i] == c {
			return i
		}
	}
	return -1
}

// closing finds the } that closes a {, and the commas between its alternatives.
func closing(pattern string, opened int) (closed int, commas []int) {
	depth := 0
	for i := opened; i < len(pattern); i = after(pattern, i) {
		switch pattern[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth--; depth == 0 {
				return i, commas
			}
		}
	}
	return len(pattern) - 1, commas // not in a valid pattern
}

// after returns the place behind one character, escape or class of a pattern.
func after(pattern string, i int) int {
	switch pattern[i] {
	case '\\':
		return i + 2
	case '[':
		for i++; i < len(pattern) && pattern[i] != ']'; i++ {
			if pattern[i] == '\\' {
				i++
			}
		}
	}
	return i + 1
}
