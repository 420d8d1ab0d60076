package show

import (
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/interlock-run/interlock/pkg/typeid"
)

// Style is how people are shown things: on a terminal, or in a file that is read later and
// elsewhere.
type Style struct{ terminal, color bool }

// styleOf returns the style of an output. color is auto, always or never.
func styleOf(out io.Writer, color string) Style {
	file, isFile := out.(*os.File)
	terminal := isFile && (isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd()))
	auto := terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return Style{terminal: terminal, color: color == "always" || color != "never" && auto}
}

// Time returns a moment to the second: on a terminal where the user is, elsewhere in UTC.
func (s Style) Time(t time.Time) string {
	if s.terminal {
		return t.Local().Format("2006-01-02 15:04:05 -07:00")
	}
	return t.UTC().Format(time.RFC3339)
}

// Colors as a terminal takes them. They all have the same length, which keeps columns straight.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[39m"
)

// colors are those of words that say how something stands.
var colors = map[string]string{
	"ALLOW": green, "GRANTED": green, "USED": green, "COMPLETED": green, "valid": green,
	"ASK": yellow, "PENDING": yellow, "AWAITING_APPROVAL": yellow, "PAUSED": yellow,
	"DENY": red, "REJECTED": red, "EXPIRED": red, "STALE": red, "FAILED": red, "CANCELLED": red, "BROKEN": red, "expired": red,
}

// Word returns a text whose first word says how something stands, in its color.
func (s Style) Word(text string) string {
	text = Text(text)
	if !s.color {
		return text
	}
	first, _, _ := strings.Cut(text, " ")
	color := colors[first]
	if color == "" {
		color = plain
	}
	return color + text + plain
}

// Sheet is a table that is written in a style.
type Sheet struct {
	*tabwriter.Writer
	Style
}

func newSheet(out io.Writer, style Style) *Sheet {
	return &Sheet{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), style}
}

// ID is a cell with an id. On a terminal it is shortened, as far as it stays the only one of
// its column.
type ID string

// Word is a cell with a Style.Word.
type Word string

// shortID is how many characters of an id are shown at least: those of its time, and enough
// that two of one millisecond differ.
const shortID = 14

// shorten shortens the ids of a column.
func shorten(ids []string) []string {
	size := shortID
	for ; size < typeid.Length; size++ {
		seen := map[string]string{}
		clash := false
		for _, id := range ids {
			begin := beginningOf(id, size)
			clash = clash || seen[begin] != "" && seen[begin] != id
			seen[begin] = id
		}
		if !clash {
			break
		}
	}
	short := make([]string, len(ids))
	for i, id := range ids {
		short[i] = beginningOf(id, size)
	}
	return short
}

// beginningOf returns the beginning of an id that was minted; others are left as they
// are.
func beginningOf(id string, size int) string {
	prefix, rest, found := strings.Cut(id, "_")
	if !found || len(rest) != typeid.Length {
		return id
	}
	return prefix + "_" + rest[:size]
}
