package brief

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// clip cuts a text to a number of bytes, at a character's boundary.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	const mark = "..."
	cut := max(size-len(mark), 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}

// list joins parts by commas within a number of bytes; those that do not fit are
// counted.
func list(parts []string, size int) string {
	const room = len(", and 1000000 more")
	if whole := strings.Join(parts, ", "); len(whole) <= size {
		return whole
	}
	var b strings.Builder
	for i, part := range parts {
		if b.Len()+len(", ")+len(part)+room > size {
			if i == 0 {
				return fmt.Sprintf("%d, too long to list", len(parts))
			}
			fmt.Fprintf(&b, ", and %d more", len(parts)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(part)
	}
	return b.String()
}

// nameSize bounds names in sentences, in bytes. All but those of deeply nested
// branches are shorter by contract.
const nameSize = 160

func name(s string) string { return clip(s, nameSize) }
