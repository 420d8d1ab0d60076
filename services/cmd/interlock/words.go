package main

import (
	"bufio"
	"fmt"
	"strings"
)

// plain are the characters that no POSIX shell gives a meaning.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@"

// shellJoin quotes words for a POSIX shell.
func shellJoin(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.Trim(w, plain) != "" {
			quoted[i] = shellQuote(w)
		}
	}
	return strings.Join(quoted, " ")
}

// splitWords splits what shellJoin joined. It expands nothing.
func splitWords(command string) []string {
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

// confirmed asks on standard input.
func confirmed(question string, io streams) bool {
	fmt.Fprint(io.out, question+" [y/N] ")
	line, err := bufio.NewReader(io.in).ReadString('\n')
	if err != nil && line == "" {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	default:
		return false
	}
}
