package redact

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// names lists names of secrets, in the form that foldedName returns.
type names struct {
	// parts match within a name, whole a whole name, and assigned within a name before "=" in a text.
	parts, whole, assigned []string
}

// add parses a name in the form that New documents.
func (n *names) add(key string) error {
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

// hide reports whether the value of a name is secret.
func (n *names) hide(name string) bool {
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

// foldedName removes case and the separators of words from a name.
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
func (n *names) maskText(s string) string {
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

// secretAfter returns the range of the secret that follows the name s[start:at]. The range is empty
// if no secret follows.
func (n *names) secretAfter(s string, start, at int) (from, to int) {
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

// inName reports whether a byte can be part of a name in a text.
func inName(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// element returns the end of the tag whose name ends at a position, or 0 if the tag does not end.
func element(s string, at int) int {
	end := upTo(s, at, "<>\n")
	if end == len(s) || s[end] != '>' || s[at] != '>' && s[at] != ' ' && s[at] != '\t' {
		return 0
	}
	return end + 1
}

// value returns the range of the word that begins at a position of a command line, document or
// source text. A quoted word ends at its closing quote.
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

// skip returns the first position that has none of the given bytes.
func skip(s string, at int, these string) int {
	for at < len(s) && strings.IndexByte(these, s[at]) >= 0 {
		at++
	}
	return at
}

// upTo returns the first position that has one of the given bytes, or the length of the text.
func upTo(s string, at int, these string) int {
	if i := strings.IndexAny(s[at:], these); i >= 0 {
		return at + i
	}
	return len(s)
}
