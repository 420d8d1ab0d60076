// Package shellwords quotes words for a POSIX shell, and splits its own output.
package shellwords

import "strings"

// plain are the characters that no POSIX shell gives a meaning.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@"

// Join quotes words for a POSIX shell.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.Trim(w, plain) != "" {
			quoted[i] = Quote(w)
		}
	}
	return strings.Join(quoted, " ")
}

// Split splits the output of Join. It does not expand.
func Split(command string) []string {
	var words []string
	var word strings.Builder
	open := false
	var quote rune
	escaped := false
	for _, r := range command {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote == 0 && r == '\\':
			open, escaped = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			open, quote = true, r
		case quote == 0 && strings.ContainsRune(" \t\n", r):
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			open = true
			word.WriteRune(r)
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

// Quote returns one word in single quotes.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
