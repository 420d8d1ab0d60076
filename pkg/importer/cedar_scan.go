package importer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// cedarKind is the kind of a token.
type cedarKind uint8

const (
	cedarEnd cedarKind = iota
	cedarName
	cedarNumber
	cedarText
	cedarSign
)

// cedarToken is one word of a Cedar policy.
type cedarToken struct {
	kind cedarKind
	// text is the token as it is written; that of a text has no quotes.
	text       string
	start, end int
	line       int
}

// cedarSigns are the signs of more than one character, the longest first.
var cedarSigns = []string{"::", "==", "!=", "<=", ">=", "&&", "||"}

// scanCedar cuts a text into tokens.
func scanCedar(src string) ([]cedarToken, error) {
	if !utf8.ValidString(src) {
		return nil, fmt.Errorf("the text is not UTF-8")
	}
	var tokens []cedarToken
	line := 1
	for at := 0; at < len(src); {
		c := src[at]
		switch {
		case c == '\n':
			line++
			at++
		case strings.IndexByte(" \t\r", c) >= 0:
			at++
		case strings.HasPrefix(src[at:], "//"):
			end := strings.IndexByte(src[at:], '\n')
			if end < 0 {
				end = len(src) - at
			}
			at += end
		default:
			token, err := cedarTokenAt(src, at, line)
			if err != nil {
				return nil, err
			}
			line += strings.Count(src[at:token.end], "\n")
			tokens = append(tokens, token)
			at = token.end
		}
	}
	return append(tokens, cedarToken{start: len(src), end: len(src), line: line}), nil
}

func cedarTokenAt(src string, at, line int) (cedarToken, error) {
	run := func(in func(byte) bool) int {
		end := at
		for end < len(src) && in(src[end]) {
			end++
		}
		return end
	}
	token := cedarToken{start: at, line: line}
	switch c := src[at]; {
	case c == '"':
		end := at + 1
		for end < len(src) && src[end] != '"' {
			if src[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(src) {
			return token, fmt.Errorf("line %d: the text has no end; close its quotes", line)
		}
		token.kind, token.text, token.end = cedarText, src[at+1:end], end+1
		return token, nil
	case isCedarLetter(c):
		token.kind, token.end = cedarName, run(func(c byte) bool { return isCedarLetter(c) || isDigit(c) })
	case isDigit(c):
		token.kind, token.end = cedarNumber, run(isDigit)
	default:
		token.kind, token.end = cedarSign, at+1
		for _, sign := range cedarSigns {
			if strings.HasPrefix(src[at:], sign) {
				token.end = at + len(sign)
			}
		}
		if c >= utf8.RuneSelf || token.end == at+1 && strings.IndexByte("(){}[];,.@<>!-+*?:=", c) < 0 {
			return token, fmt.Errorf("line %d: %q is no part of Cedar", line, rune(c))
		}
	}
	token.text = src[at:token.end]
	return token, nil
}

func isCedarLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool       { return c >= '0' && c <= '9' }

// wildcard stands for a * of a pattern that is not escaped; it is in no text.
const wildcard = '\uffff'

// unquoteCedar returns the value of a quoted text. In a pattern * is a wildcard and \* the character.
func unquoteCedar(raw string, pattern bool) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRuneInString(raw[i:])
		i += size
		switch {
		case r == wildcard:
			return "", false
		case r == '*' && pattern:
			b.WriteRune(wildcard)
		case r != '\\':
			b.WriteRune(r)
		default:
			escaped, size, ok := cedarEscape(raw[i:], pattern)
			if !ok {
				return "", false
			}
			b.WriteRune(escaped)
			i += size
		}
	}
	return b.String(), true
}

// cedarEscape returns the character of an escape, without its backslash, and its length.
func cedarEscape(s string, pattern bool) (r rune, size int, ok bool) {
	if s == "" {
		return 0, 0, false
	}
	if at := strings.IndexByte(`nrt0\"'`, s[0]); at >= 0 {
		return []rune("\n\r\t\x00\\\"'")[at], 1, true
	}
	switch {
	case s[0] == '*' && pattern:
		return '*', 1, true
	case s[0] == 'x' && len(s) >= 3:
		n, err := strconv.ParseUint(s[1:3], 16, 7)
		return rune(n), 3, err == nil
	case strings.HasPrefix(s, "u{"):
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return 0, 0, false
		}
		n, err := strconv.ParseUint(s[2:end], 16, 21)
		return rune(n), end + 1, err == nil && utf8.ValidRune(rune(n)) && rune(n) != wildcard
	}
	return 0, 0, false
}
