package show

import (
	"bytes"
	"fmt"
	"testing"
	"unicode"
)

func TestPrintIsDeterministic(t *testing.T) {
	t.Parallel()
	value := map[string]any{}
	for i := range 20 {
		value[fmt.Sprint("key", i)] = i
	}
	for _, format := range []string{"json", "yaml"} {
		var first bytes.Buffer
		for range 10 {
			var out bytes.Buffer
			if err := (Printer{Output: format}).Print(&out, value, nil); err != nil {
				t.Fatal(err)
			}
			if first.Len() == 0 {
				first = out
			} else if first.String() != out.String() {
				t.Fatalf("%s:\n%s\n%s", format, &first, &out)
			}
		}
	}
	var out bytes.Buffer
	err := (Printer{Output: "table"}).Print(&out, value, func(w *Sheet) { fmt.Fprint(w, "a\tb\nlong\tc\n") })
	if err != nil || out.String() != "a     b\nlong  c\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 日本": "plain é 日本", "\x1b[2J": "⟦U+001B⟧[2J", "a\tb\nc\r": "a b c⟦U+000D⟧", "\x00\x7f": "⟦U+0000⟧⟦U+007F⟧", "\u009b31m": "⟦U+009B⟧31m",
		"\u202eevil": "⟦U+202E⟧evil", "\u2066\u200f": "⟦U+2066⟧⟦U+200F⟧",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b]0;title\x07\u202e\u009b")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range Text(text) {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%U in %q", r, Text(text))
			}
		}
	})
}
