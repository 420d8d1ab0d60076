package diagram

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// shown returns text with every character that cannot be seen replaced: control and
// format characters, and those that turn the direction of writing. Line ends become
// blanks.
func shown(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case !unicode.IsPrint(c):
			return unicode.ReplacementChar
		default:
			return c
		}
	}, text)
}

// columns returns how many columns of a terminal, or of a monospaced font, text takes.
func columns(text string) int {
	n := 0
	for _, c := range text {
		n += columnsOf(c)
	}
	return n
}

func columnsOf(c rune) int {
	if c < 0x300 {
		return 1
	}
	if unicode.In(c, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(c).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// shorten leaves both ends of a text that is wider than most columns, because
// names of one family differ at either.
func shorten(text string, most int) string {
	if columns(text) <= most {
		return text
	}
	runes := []rune(text)
	head, tail, left := 0, len(runes), most-1
	for turn := 0; left > 0 && head < tail; turn++ {
		if turn%3 < 2 { // twice as much of the beginning
			left -= columnsOf(runes[head])
			head++
		} else {
			left -= columnsOf(runes[tail-1])
			tail--
		}
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}

// clip leaves the beginning of a text that is wider than most columns.
func clip(text string, most int) string {
	if columns(text) <= most {
		return text
	}
	left := most - 1
	for i, c := range text {
		if left -= columnsOf(c); left < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// clipLines makes lines of text fit, at most that many of them, and says how many
// there are besides.
func clipLines(lines []string, most, wide int) []string {
	show := len(lines)
	if show > most {
		show = most - 1
	}
	clipped := make([]string, 0, show+1)
	for _, line := range lines[:show] {
		clipped = append(clipped, clip(shown(line), wide))
	}
	if hidden := len(lines) - show; hidden > 0 {
		clipped = append(clipped, fmt.Sprintf("and %d more", hidden))
	}
	return clipped
}
