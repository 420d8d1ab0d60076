package pathglob

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold makes one text of all names that a file system without case takes for one.
func fold(s string) string { return strings.Map(foldRune, norm.NFC.String(s)) }

// foldRune returns the smallest of the characters that differ from r only in case.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}
