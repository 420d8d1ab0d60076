package tree

import (
	"bytes"
	"crypto/sha256"
	"strings"
)

// rules are the patterns of one file, and of the files with less precedence.
type rules struct {
	up *rules
	// base is the folder of the file, relative to the repository; patterns with a slash are relative to it.
	base     string
	patterns []pattern
	// context is a hash of all patterns in force.
	context [32]byte
}

// pattern is one line, parsed as git does it.
type pattern struct {
	text     string
	literal  int // length of the part without wildcards
	negative bool
	folders  bool // matches folders alone
	name     bool // has no slash: matches the name alone
	suffix   bool // is "*" and a literal
}

// with adds the patterns of a file to rules; nil rules are none.
func (r *rules) with(base string, content []byte) *rules {
	patterns, effective := parsePatterns(content)
	if len(patterns) == 0 {
		return r
	}
	next := &rules{up: r, base: base, patterns: patterns}
	h := sha256.New()
	if r != nil {
		h.Write(r.context[:])
	}
	h.Write([]byte(base))
	h.Write([]byte{0})
	h.Write(effective)
	h.Sum(next.context[:0])
	return next
}

// parsePatterns returns the patterns of a file, and their lines.
func parsePatterns(content []byte) (list []pattern, effective []byte) {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		line, _, _ = bytes.Cut(line, []byte{0})
		text := trimSpaces(string(line))
		p := parsePattern(text)
		if p.text == "" {
			continue
		}
		list = append(list, p)
		effective = append(append(effective, text...), '\n')
	}
	return list, effective
}

// trimSpaces removes spaces at the end that no backslash escapes.
func trimSpaces(s string) string {
	end := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if end < 0 {
				end = i
			}
			continue
		case '\\':
			i++
			if i == len(s) {
				return s
			}
		}
		end = -1
	}
	if end >= 0 {
		return s[:end]
	}
	return s
}

func parsePattern(s string) pattern {
	p := pattern{}
	if strings.HasPrefix(s, "!") {
		p.negative, s = true, s[1:]
	}
	p.suffix = strings.HasPrefix(s, "*") && literalLength(s[1:]) == len(s)-1
	if strings.HasSuffix(s, "/") {
		p.folders, s = true, s[:len(s)-1]
	}
	p.name = !strings.Contains(s, "/")
	p.literal = literalLength(s)
	if !p.name && s[0] == '/' {
		s = s[1:]
		p.literal--
	}
	p.text = s
	return p
}

func literalLength(s string) int {
	if i := strings.IndexAny(s, `*?[\`); i >= 0 {
		return i
	}
	return len(s)
}

// mostSteps bounds the work of matching one path. A path that needs more is not ignored.
const mostSteps = 20_000

// ignores reports whether rules ignore a path of their repository. That a folder above is ignored is the
// caller's to know.
func (r *rules) ignores(path string, isFolder bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	steps := mostSteps
	for ; r != nil; r = r.up {
		relative := path
		if r.base != "" {
			relative = path[len(r.base)+1:]
		}
		for i := len(r.patterns) - 1; i >= 0; i-- {
			p := &r.patterns[i]
			if p.folders && !isFolder {
				continue
			}
			match := p.matches(name, relative, &steps)
			if steps < 0 {
				return false
			}
			if match {
				return !p.negative
			}
		}
	}
	return false
}

// matches compares a pattern with a name and its path relative to the pattern's folder.
func (p *pattern) matches(name, path string, steps *int) bool {
	if p.name {
		switch {
		case p.literal == len(p.text):
			return p.text == name
		case p.suffix:
			return strings.HasSuffix(name, p.text[1:])
		}
		return wildmatch(p.text, name, false, steps)
	}
	if !strings.HasPrefix(path, p.text[:p.literal]) {
		return false
	}
	text, rest := p.text[p.literal:], path[p.literal:]
	if p.literal > 0 && text == "" && rest == "" {
		return true
	}
	return wildmatch(text, rest, true, steps)
}
