// Package visible shows text of other parties as it is: no character in it hides, moves
// the cursor, reorders its surroundings, or poses as another part.
//
// It is pure. It changes how text looks to a person and must never be used on text
// that a program reads; quoting for HTML or a shell is still to be done.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s with every character that does not show as itself replaced by its code
// point, such as ⟦U+202E⟧: control characters, with them those that begin escapes of
// terminals, bidirectional and other format characters, characters without width, blanks
// other than the space, and unassigned code points. A byte that is not UTF-8 is shown as
// ⟦0xFF⟧. With multiline, line feeds and tabs stay.
//
// Different texts look different: the bracket ⟦ itself is shown as ⟦U+27E6⟧.
func Text(s string, multiline bool) string {
	var b strings.Builder
	b.Grow(len(s))
	var seen marks
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], replacement):
			seen = marks{}
			fmt.Fprintf(&b, "⟦0x%02X⟧", s[i])
		case multiline && (r == '\n' || r == '\t'):
			seen = marks{}
			b.WriteRune(r)
		case r == '⟦' || !seen.shows(r):
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// replacement is how U+FFFD is written, to which invalid UTF-8 decodes, too.
const replacement = string(utf8.RuneError)

// JSON returns JSON text with every such character replaced by its escape in JSON, such
// as \u202e. It is the same document, so it can be shown, copied and sent back. Line
// feeds and tabs between its parts stay. Other text comes out harmless, without meaning.
func JSON(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var seen marks
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			seen = marks{}
			b.WriteRune(r)
		case r == '\r': // between parts of JSON it is a blank, and nowhere else
			b.WriteByte(' ')
		case seen.shows(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// maxMarks is how many marks one character may carry: more would cover the lines
// above and below.
const maxMarks = 4

// marks counts the marks on the character before.
type marks struct {
	base  bool // there is a character that carries marks
	count int
}

// shows reports whether a character shows as itself after those before it.
func (m *marks) shows(r rune) bool {
	switch {
	case !unicode.IsPrint(r) || unicode.In(r, unseen, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		*m = marks{}
		return false
	case !unicode.IsMark(r):
		*m = marks{base: unicode.In(r, unicode.L, unicode.N, unicode.S)}
		return true
	case !m.base || m.count == maxMarks || unicode.In(r, unicode.Me, overlays):
		return false
	default:
		m.count++
		return true
	}
}

// unseen are characters that are invisible, though their class says otherwise.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}, // the empty Braille pattern
	R32: []unicode.Range32{
		{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1}, // a filler
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}, // the musical null notehead
	},
}

// overlays are marks that strike out their base character.
var overlays = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0334, Hi: 0x0338, Stride: 1},
		{Lo: 0x20D2, Hi: 0x20D3, Stride: 1},
		{Lo: 0x20D8, Hi: 0x20DA, Stride: 1},
		{Lo: 0x20E5, Hi: 0x20E6, Stride: 1},
		{Lo: 0x20EA, Hi: 0x20EB, Stride: 1},
	},
}
