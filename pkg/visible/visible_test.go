package visible_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/visible"
)

func TestText(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"nothing":                {"", ""},
		"plain":                  {"rm -rf /tmp/x <b>&", "rm -rf /tmp/x <b>&"},
		"other scripts":          {"Größe 東京 שלום नमस्ते 👍", "Größe 東京 שלום नमस्ते 👍"},
		"decomposed":             {"e\u0301", "e\u0301"},
		"terminal escape":        {"\x1b[2K\x1b]0;x\x07", "⟦U+001B⟧[2K⟦U+001B⟧]0;x⟦U+0007⟧"},
		"C1 escape":              {"\u009b31m", "⟦U+009B⟧31m"},
		"delete":                 {"a\x7f", "a⟦U+007F⟧"},
		"carriage return":        {"safe\rrm", "safe⟦U+000D⟧rm"},
		"line feed":              {"a\nb", "a⟦U+000A⟧b"},
		"tab":                    {"a\tb", "a⟦U+0009⟧b"},
		"right to left override": {"a\u202egpj.exe", "a⟦U+202E⟧gpj.exe"},
		"isolates":               {"\u2066a\u2069", "⟦U+2066⟧a⟦U+2069⟧"},
		"right to left mark":     {"a\u200fb\u061c", "a⟦U+200F⟧b⟦U+061C⟧"},
		"zero width":             {"a\u200bb\u200dc\ufeff", "a⟦U+200B⟧b⟦U+200D⟧c⟦U+FEFF⟧"},
		"soft hyphen":            {"pay\u00adpal", "pay⟦U+00AD⟧pal"},
		"tags":                   {"a\U000e0041", "a⟦U+E0041⟧"},
		"variation selectors":    {"a\ufe0f\U000e0100", "a⟦U+FE0F⟧⟦U+E0100⟧"},
		"fillers":                {"\u3164\u115f\u2800\u034f", "⟦U+3164⟧⟦U+115F⟧⟦U+2800⟧⟦U+034F⟧"},
		"other blanks":           {"a\u00a0b\u3000c\u2028", "a⟦U+00A0⟧b⟦U+3000⟧c⟦U+2028⟧"},
		"private and unassigned": {"\ue000\uffff", "⟦U+E000⟧⟦U+FFFF⟧"},
		"struck out":             {"n\u0336o\u0338", "n⟦U+0336⟧o⟦U+0338⟧"},
		"enclosed":               {"1\u20e3", "1⟦U+20E3⟧"},
		"a mark on nothing":      {"\u0301a", "⟦U+0301⟧a"},
		"a mark on a quote":      {"\"\u0301", "\"⟦U+0301⟧"},
		"a mark on a code":       {"\u200b\u0301", "⟦U+200B⟧⟦U+0301⟧"},
		"many marks":             {"a\u0301\u0301\u0301\u0301\u0301b\u0301", "a\u0301\u0301\u0301\u0301⟦U+0301⟧b\u0301"},
		"no UTF-8":               {"a\xff\xe2\x82", "a⟦0xFF⟧⟦0xE2⟧⟦0x82⟧"},
		"the replacement":        {"\ufffd", "\ufffd"},
		"what poses as a code":   {"⟦U+202E⟧", "⟦U+27E6⟧U+202E⟧"},
	} {
		if got := visible.Text(tc.in, false); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got, want := visible.Text("a\n\u0301\tb\r\n\v", true), "a\n⟦U+0301⟧\tb⟦U+000D⟧\n⟦U+000B⟧"; got != want {
		t.Errorf("several lines: %q, want %q", got, want)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"plain":     {"{\n  \"a\": 1.10\n}", "{\n  \"a\": 1.10\n}"},
		"override":  {"{\"a\u202e\":\"\u200b\"}", `{"a\u202e":"\u200b"}`},
		"astral":    {"\"\U000e0041\"", `"\udb40\udc41"`},
		"written":   {`"\u202e"`, `"\u202e"`},
		"return":    {"[1,\r\n2]", "[1, \n2]"},
		"no UTF-8":  {"\"\xff\"", "\"\ufffd\""},
		"no JSON":   {"\x1b[1m", `\u001b[1m`},
		"the codes": {`"⟦"`, `"⟦"`},
	} {
		if got := visible.JSON(tc.in); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// hidden are characters that must not come through, after any others.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Variation_Selector, r)
}

// FuzzText: no hidden character comes through, and the shown text identifies the original.
func FuzzText(f *testing.F) {
	f.Add("a\u202e\x1b[0m\xff⟦U+0041⟧\n\t\r\u0301\u0301", true)
	f.Fuzz(func(t *testing.T, s string, multiline bool) {
		got := visible.Text(s, multiline)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, hidden) {
			t.Errorf("%q became %q", s, got)
		}
		if !multiline && strings.ContainsAny(got, "\n\t") {
			t.Errorf("%q became the lines %q", s, got)
		}
		if back := meant(t, got); back != s {
			t.Errorf("%q became %q, which stands for %q", s, got, back)
		}
	})
}

// meant returns the meaning of a shown text.
func meant(t *testing.T, shown string) string {
	t.Helper()
	var b strings.Builder
	for rest := shown; rest != ""; {
		before, after, coded := strings.Cut(rest, "⟦")
		b.WriteString(before)
		if !coded {
			break
		}
		code, after, closed := strings.Cut(after, "⟧")
		digits, isRune := strings.CutPrefix(code, "U+")
		digits = strings.TrimPrefix(digits, "0x")
		var n rune
		for _, d := range digits {
			at := strings.IndexRune("0123456789ABCDEF", d)
			if at < 0 || !closed {
				t.Fatalf("%q holds a code that is none", shown)
			}
			n = n<<4 | rune(at)
		}
		if isRune {
			b.WriteRune(n)
		} else {
			b.WriteByte(byte(n))
		}
		rest = after
	}
	return b.String()
}

// FuzzJSON: no hidden character comes through, and JSON stays the same document.
func FuzzJSON(f *testing.F) {
	f.Add("{\"a\u202e\": [\"\u200b\U000e0041\", 1.10], \"\\u202e\": \"\\\\\"}")
	f.Add("[1,\r\n\t\"e\u0301\u0301\"]")
	f.Fuzz(func(t *testing.T, s string) {
		got := visible.JSON(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, hidden) {
			t.Errorf("%q became %q", s, got)
		}
		before, problem := document.Parse([]byte(s), document.Limits{})
		if problem != nil {
			return
		}
		after, problem := document.Parse([]byte(got), document.Limits{Bytes: 7*len(got) + 1})
		if problem != nil || document.Digest(after) != document.Digest(before) {
			t.Errorf("%q became %q: %v", s, got, problem)
		}
	})
}
