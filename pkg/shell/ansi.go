package shell

import (
	"strings"
	"unicode/utf8"
)

// ansi appends the meaning of $'...' in bash. It reports false for text that depends on
// the locale or is not valid.
func ansi(buf []byte, s string) ([]byte, bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			buf = append(buf, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			buf = append(buf, '\n')
		case 't':
			buf = append(buf, '\t')
		case '\\', '\'', '"', '?':
			buf = append(buf, c)
		case 'a', 'b', 'e', 'E', 'f', 'r', 'v', 'c':
			return buf, false // control characters: never part of a word that matters
		case '0', '1', '2', '3', '4', '5', '6', '7', 'x', 'u', 'U':
			value, width := escapeNumber(s[i:])
			switch {
			case width == 0 && strings.HasPrefix(s[i:], "x{"):
				return buf, false // \x{72} in some versions of bash
			case width == 0: // \x without digits stays
				buf = append(buf, '\\', c)
			case value < ' ' || value == 0x7f || value >= utf8.RuneSelf:
				return buf, false
			default:
				buf = append(buf, byte(value))
				i += width - 1
			}
		default:
			buf = append(buf, '\\', c)
		}
	}
	return buf, true
}

// escapeNumber reads \nnn, \xHH, \uHHHH or \UHHHHHHHH without the backslash. The
// width is 0 when there are no digits.
func escapeNumber(s string) (value, width int) {
	digits, base, most, skip := "01234567", 8, 3, 0
	switch s[0] {
	case 'x':
		digits, base, most, skip = hexDigits, 16, 2, 1
	case 'u':
		digits, base, most, skip = hexDigits, 16, 4, 1
	case 'U':
		digits, base, most, skip = hexDigits, 16, 8, 1
	}
	n := 0
	for n < most && skip+n < len(s) {
		d := strings.IndexByte(digits, lower(s[skip+n]))
		if d < 0 {
			break
		}
		value = value*base + d
		n++
	}
	if n == 0 {
		return 0, 0
	}
	return value, skip + n
}

const hexDigits = "0123456789abcdef"

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
