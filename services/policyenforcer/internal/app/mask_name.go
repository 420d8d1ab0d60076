package app

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// maskNames are the names of what is secret, as foldedName has them.
type maskNames struct {
	// parts of names, whole names, and parts of what is assigned by = in a text.
	parts, whole, assigned []string
}

// add reads a name as NewMasks documents it.
func (n *maskNames) add(key string) error {
	list := &n.parts
	text := key
	if rest, ok := strings.CutPrefix(key, "="); ok {
		list, text = &n.whole, rest
	} else if rest, ok := strings.CutSuffix(key, "="); ok {
		list, text = &n.assigned, rest
	}
	folded := foldedName(text)
	if folded == "" {
		return fmt.Errorf("the mask %q has no letters and would match every name; remove it", key)
	}
	*list = append(*list, folded)
	return nil
}

// hide reports a name whose value is a secret.
func (n *maskNames) hide(name string) bool {
	name = foldedName(name)
	return slices.Contains(n.whole, name) || containsOne(name, n.parts)
}

func containsOne(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// foldedName is a name without case and what parts its words.
func foldedName(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c == '.' || c == ' ' {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(c))
	}, name)
}

// maskText masks what a text gives the names: NAME=x, name: x, "name": "x", --name x,
// <name>x</name>, and "name x" where x has a digit. It reads the text once.
func (n *maskNames) maskText(s string) string {
	var kept strings.Builder
	end := 0 // of what is kept
	for at := 0; at < len(s); {
		if !inName(s[at]) {
			at++
			continue
		}
		start := at
		for at < len(s) && inName(s[at]) {
			at++
		}
		from, to := n.secretAfter(s, start, at)
		if from == to {
			continue
		}
		kept.WriteString(s[end:from])
		kept.WriteString(masked)
		end, at = to, to
	}
	if end == 0 {
		return s
	}
	kept.WriteString(s[end:])
	return kept.String()
}

// secretAfter is where the secret lies that the name s[start:at] introduces; from is
// to when it introduces none.
func (n *maskNames) secretAfter(s string, start, at int) (from, to int) {
	name := foldedName(s[start:at])
	known := slices.Contains(n.whole, name) || containsOne(name, n.parts)
	assigned := known || containsOne(name, n.assigned)
	if !assigned {
		return 0, 0
	}
	sign := skip(s, skip(s, at, `\"'`), " \t")
	switch {
	case sign < len(s) && (s[sign] == '=' || s[sign] == ':' && known):
		return value(s, skip(s, skip(s, sign, "=:>"), blanks))
	case start > 0 && (s[start-1] == '<' || s[start-1] == ':') && element(s, at) > 0:
		from = skip(s, element(s, at), blanks)
		return from, upTo(s, from, "<")
	case at == len(s) || !strings.Contains(blanks, s[at:at+1]):
		return 0, 0
	case s[start] == '-':
		return value(s, skip(s, at, blanks))
	case known:
		from, to = value(s, skip(s, at, blanks))
		if strings.ContainsAny(s[from:to], "0123456789") {
			return from, to
		}
	}
	return 0, 0
}

const blanks = " \t\r\n"

// inName reports the bytes that names have in texts.
func inName(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// element is where the tag ends that has a name up to here; 0 when it does not end.
func element(s string, at int) int {
	end := upTo(s, at, "<>\n")
	if end == len(s) || s[end] != '>' || s[at] != '>' && s[at] != ' ' && s[at] != '\t' {
		return 0
	}
	return end + 1
}

// value is a word of a command line, a document or source text that begins here, up to
// the quote that ends it.
func value(s string, from int) (start, end int) {
	escaped := skip(s, from, `\`)
	if escaped == len(s) || s[escaped] != '"' && s[escaped] != '\'' {
		return from, upTo(s, from, blanks+`"'`)
	}
	quote := s[escaped]
	for at := escaped + 1; at < len(s) && s[at] != '\n'; at++ {
		switch {
		case s[at] == quote:
			return from, at + 1
		case s[at] == '\\' && quote == '"' && escaped == from:
			at++
		}
	}
	return from, upTo(s, from, "\n")
}

// skip is where other bytes begin than these.
func skip(s string, at int, these string) int {
	for at < len(s) && strings.IndexByte(these, s[at]) >= 0 {
		at++
	}
	return at
}

// upTo is where the first of some bytes is, or the end.
func upTo(s string, at int, these string) int {
	if i := strings.IndexAny(s[at:], these); i >= 0 {
		return at + i
	}
	return len(s)
}
