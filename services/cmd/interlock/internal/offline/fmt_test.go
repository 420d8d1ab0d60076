package offline

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestFormatLosesNothing: the formatted text is the same document with the same
// tokens, and formatting it again has no effect.
func TestFormatLosesNothing(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		src := "{" + strings.Join(drawMembers(t, 4), ",") + "}"
		once, problems := Format([]byte(src))
		if problems != nil {
			t.Fatalf("%s: %v", src, problems)
		}
		before, _ := document.Parse([]byte(src), document.Limits{})
		after, problem := document.Parse(once, document.Limits{})
		if problem != nil || !document.Equal(before, after) {
			t.Fatalf("%s became\n%s: %v", src, once, problem)
		}
		if got, want := tokens(t, once), tokens(t, []byte(src)); !slices.Equal(got, want) {
			t.Fatalf("tokens %q became %q", want, got)
		}
		twice, _ := Format(once)
		if !bytes.Equal(once, twice) {
			t.Fatalf("formatted again,\n%s became\n%s", once, twice)
		}
		for line := range strings.Lines(string(once)) {
			// Only text that cannot be split may be longer.
			if text := strings.TrimSuffix(line, "\n"); len([]rune(text)) > formatWidth && strings.Contains(strings.Trim(text, " ,"), ", ") && !strings.Contains(text, longText) {
				t.Fatalf("a line of %d columns: %s", len([]rune(text)), text)
			}
			if strings.HasSuffix(line, " \n") {
				t.Fatalf("blanks at the end of %q", line)
			}
		}
	})
}

const longText = "a text with, many commas, that is as long as it takes, and then some, for a line of its own, to be too long"

// drawMembers makes members with names that are known somewhere, and others.
func drawMembers(t *rapid.T, depth int) []string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"$schema", "id", "initial", "context", "meta", "states", "guards", "interrupts", "type", "outcome", "allowed_tools", "on", "fork",
		"branches", "target", "guard", "field", "op", "value", "evidence", "all", "tool", "command", "trigger", "file_pattern", "safe_next", "env", "x-y", "description", "a/b", "ä",
		"with \"quotes\"", "\u2028",
	}), 0, 7, rapid.ID).Draw(t, "names")
	members := make([]string, len(names))
	for i, n := range names {
		quoted, _ := jsontext.AppendQuote(nil, n)
		if rapid.Bool().Draw(t, "escaped") {
			quoted = escapeAll(n)
		}
		members[i] = blank(t) + string(quoted) + blank(t) + ":" + blank(t) + drawValue(t, depth-1) + blank(t)
	}
	return members
}

func drawValue(t *rapid.T, depth int) string {
	kinds := 6
	if depth <= 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"0", "-0", "1.0", "1e2", "1E+2", "9007199254740993", "0.1000000000000000055511151231257827"}).Draw(t, "number")
	case 1:
		return rapid.SampledFrom([]string{"true", "false", "null", "[]", "{}", "[ ]"}).Draw(t, "word")
	case 2:
		return string(escapeAll(rapid.String().Draw(t, "text")))
	case 3:
		return rapid.SampledFrom([]string{`"final"`, `"a\/b"`, `"\u00e9"`, `"é"`, `"` + longText + `"`}).Draw(t, "text")
	case 4:
		n := rapid.IntRange(0, 12).Draw(t, "length")
		elements := make([]string, n)
		for i := range elements {
			elements[i] = blank(t) + drawValue(t, depth-1) + blank(t)
		}
		return "[" + strings.Join(elements, ",") + "]"
	default:
		return "{" + strings.Join(drawMembers(t, depth), ",") + "}"
	}
}

func blank(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t", "\r\n", "  "}).Draw(t, "blank")
}

// escapeAll writes every character of a text in hexadecimal.
func escapeAll(text string) []byte {
	var b bytes.Buffer
	b.WriteByte('"')
	for _, c := range text {
		if c > 0xffff {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\u%04X`, c)
		}
	}
	b.WriteByte('"')
	return b.Bytes()
}

// tokens are a document's tokens as written, sorted.
func tokens(t *rapid.T, src []byte) []string {
	d := jsontext.NewDecoder(bytes.NewReader(src))
	var all []string
	for {
		switch d.PeekKind() {
		case '{', '}', '[', ']':
			token, err := d.ReadToken()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, token.String())
		case 0:
			slices.Sort(all)
			return all
		default:
			value, err := d.ReadValue()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(value))
		}
	}
}
