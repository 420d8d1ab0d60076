package toolcall

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// A fast look at an input reports whether it may name a file that is protected.

// hints are in every input that names a file which is protected, in any letter case,
// or could: escapes of JSON hide letters, patterns stand for them, and some file systems
// take the last ones for letters of ASCII.
var hints = []string{"interlock", "claude", "mcp.json", "codex", "cursor", "gemini", ".github", "file:", "json", "proc", "/fd", "%", `\x`, `\u`, "*", "?", "\u017f", "\u212a", "\u0130"}

// hintsBy are the hints by their first byte, in either letter case.
var hintsBy = func() (by [256][]string) {
	for _, hint := range hints {
		by[hint[0]] = append(by[hint[0]], hint)
		if upper := hint[0] - 'a' + 'A'; 'a' <= hint[0] && hint[0] <= 'z' {
			by[upper] = append(by[upper], hint)
		}
	}
	return by
}()

// telling are the bytes with which a hint or a pattern can begin.
var telling = func() (is [256]bool) {
	for b := range is {
		is[b] = len(hintsBy[b]) > 0 || strings.IndexByte("[]{}", byte(b)) >= 0
	}
	return is
}()

// mayName takes a fast look at an input: false is certain.
func (p Places) mayName(input []byte) bool {
	if p.Real != nil { // a link has any name
		return true
	}
	for i, b := range input {
		if !telling[b] {
			continue
		}
		if opensPattern(input, i) {
			return true
		}
		for _, hint := range hintsBy[b] {
			if beginsFold(input[i:], hint) {
				return true
			}
		}
	}
	own := func(file string) bool { return containsFold(input, path.Base(file)) }
	return slices.ContainsFunc(p.Data, own) || slices.ContainsFunc(p.Programs, own)
}

// opensPattern reports a bracket in a text of an input, which could be a class or a list of
// alternatives of a pattern. Those of JSON itself stand next to other signs.
func opensPattern(input []byte, i int) bool {
	const signs = " \t\r\n:,[]{}"
	switch input[i] {
	case '[', '{':
		return i > 0 && strings.IndexByte(signs, input[i-1]) < 0
	case ']', '}':
		return i+1 < len(input) && strings.IndexByte(signs, input[i+1]) < 0
	}
	return false
}

// beginsFold reports that a text begins with a word, in any case of its ASCII letters.
func beginsFold(text []byte, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		b := text[i]
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != word[i] {
			return false
		}
	}
	return true
}

// containsFold reports that a text has a word, in any case of its ASCII letters.
func containsFold(text []byte, word string) bool {
	low, high := word[0]|0x20, word[0]
	if 'a' <= low && low <= 'z' {
		high = low - 0x20
	} else {
		low = word[0]
	}
	for ; len(text) >= len(word); text = text[1:] {
		i := bytes.IndexByte(text, low)
		if low != high {
			if j := bytes.IndexByte(text[:max(i, 0)], high); j >= 0 || i < 0 {
				if i < 0 {
					j = bytes.IndexByte(text, high)
				}
				i = j
			}
		}
		if i < 0 || len(text)-i < len(word) {
			return false
		}
		text = text[i:]
		if strings.EqualFold(string(text[:len(word)]), word) {
			return true
		}
	}
	return false
}
