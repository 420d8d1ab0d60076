package bus

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	t.Parallel()
	if got := Clip("short"); got != "short" {
		t.Errorf("short text became %q", got)
	}
	long := Clip(strings.Repeat("\u00e9", maxText))
	if len(long) > maxText+3 || !utf8.ValidString(long) || !strings.HasSuffix(long, "...") {
		t.Errorf("%d bytes, valid %t", len(long), utf8.ValidString(long))
	}
}

func TestClipAllBoundsTheWholeList(t *testing.T) {
	t.Parallel()
	few := []string{"a.go", "b.go"}
	if got := ClipAll(few); len(got) != 2 || &got[0] != &few[0] {
		t.Errorf("a short list became %q", got)
	}
	many, long, both := make([]string, 200_000), []string{strings.Repeat("x", 10<<20), "b.go"}, []string{}
	for i := range many {
		many[i] = "file.go"
	}
	for range 1000 {
		both = append(both, strings.Repeat("x", maxText))
	}
	for name, texts := range map[string][]string{"many": many, "long": long, "both": both} {
		size := 0
		for _, text := range ClipAll(texts) {
			size += len(text)
		}
		if size > 2*maxTexts || size == 0 {
			t.Errorf("%s: %d bytes are left", name, size)
		}
	}
}
