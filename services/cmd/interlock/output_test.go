package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/interlock-run/interlock/pkg/fault"
)

func TestYAMLShape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`: "[]\n", `{}`: "{}\n", `7`: "7\n", `"x"`: "x\n", `null`: "null\n",
		`{"a":1,"b":{"c":[],"d":{}},"e":[1,[2,3],{"f":null,"g":[true]},[]]}`: `a: 1
b:
  c: []
  d: {}
e:
- 1
- - 2
  - 3
- f: null
  g:
  - true
- []
`,
		`[{"a":{"b":1}},{}]`:                          "- a:\n    b: 1\n- {}\n",
		`{"big":9007199254740993,"e":1e400,"d":0.10}`: "big: 9007199254740993\ne: 1e400\nd: 0.10\n",
	} {
		got, err := toYAML([]byte(text))
		if err != nil || strings.TrimPrefix(string(got), " ") != want {
			t.Errorf("%s: %v, got\n%s", text, err, got)
		}
	}
}

// FuzzYAML: a reader of YAML sees what a reader of JSON sees.
func FuzzYAML(f *testing.F) {
	f.Add([]byte(`{"a": [1, {"b": "no"}, []], "": {"c": "x: y"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := jsontext.NewDecoder(bytes.NewReader(text)) // strict
		if _, err := d.ReadValue(); err != nil || len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
			return
		}
		out, err := toYAML(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var want, got any
		if json.Unmarshal(text, &want) != nil {
			return // a number beyond float64
		}
		if err := yaml.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		// Numbers are of other types there; TestYAMLShape has those.
		if !strings.ContainsAny(string(text), "0123456789") && !cmp.Equal(want, got) {
			t.Errorf("%q became %q", text, out)
		}
	})
}

// TestYAMLMeansWhatJSONMeans: text that looks like something else stays text.
func TestYAMLMeansWhatJSONMeans(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "yes", "no", "on", "true", "null", "~", "1", "1.0", "0x1f", "0o7", "1e3", ".inf", "NaN", "2020-01-01", "12:30:00",
		"a: b", "# x", "- a", "[a]", "{a}", "&a", "*a", "!a", "%a", "@a", "`a", "'a'", `"a"`, "a\nb", "a\n", "\n", "\ta", "a ", "|", ">", "?", "=", "<<",
		"\x1b[31m", "\x7f", "\u0085", "\u2028", "é", "日本", "a'b", `a\b`, "---", "...",
	} {
		value := map[string]any{"k": text, "list": []any{text}}
		var out bytes.Buffer
		if err := (formatFlag{Format: "yaml"}).print(&out, value, nil); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got map[string]any
		if err := yaml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Errorf("%q: %v in\n%s", text, err, &out)
			continue
		}
		if diff := cmp.Diff(value, got); diff != "" {
			t.Errorf("%q in\n%s\n%s", text, &out, diff)
		}
	}
}

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
			if err := (formatFlag{Format: format}).print(&out, value, nil); err != nil {
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
	err := (formatFlag{Format: "table"}).print(&out, value, func(w *tabwriter.Writer) { fmt.Fprint(w, "a\tb\nlong\tc\n") })
	if err != nil || out.String() != "a     b\nlong  c\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 日本": "plain é 日本", "\x1b[2J": "⟦U+001B⟧[2J", "a\tb\nc\r": "a b c⟦U+000D⟧", "\x00\x7f": "⟦U+0000⟧⟦U+007F⟧", "\u009b31m": "⟦U+009B⟧31m",
		"\u202eevil": "⟦U+202E⟧evil", "\u2066\u200f": "⟦U+2066⟧⟦U+200F⟧",
	} {
		if got := visible(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b]0;title\x07\u202e\u009b")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range visible(text) {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%U in %q", r, visible(text))
			}
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"own":         {errors.New("read: \x1b"), "read: ⟦U+001B⟧"},
		"service":     {fault.New(fault.NotFound, "no run \"x\"").GRPCStatus().Err(), `no run "x"`},
		"wrapped":     {fmt.Errorf("more: %w", fault.New(fault.NotFound, "no run").GRPCStatus().Err()), "no run"},
		"store":       {fault.New(fault.Unavailable, "the store is away").GRPCStatus().Err(), "the store is away"},
		"transport":   {status.Error(codes.Unavailable, "dial tcp 10.0.0.1:1"), "the server cannot be reached: is `interlock up` running? --server names another one"},
		"internal":    {status.Error(codes.Unknown, "secret"), fault.From(status.Error(codes.Unknown, "secret")).Message},
		"violation":   {fault.New(fault.InvalidRequest, "bad").Violate("/a", "TYPE", "must be text").GRPCStatus().Err(), "bad\n  /a: must be text"},
		"no pointer":  {fault.New(fault.InvalidRequest, "bad").Violate("", "TYPE", "must be text").GRPCStatus().Err(), "bad\n  must be text"},
		"credentials": {status.Error(codes.Unauthenticated, "x"), "--token or INTERLOCK_TOKEN"},
	} {
		if got := explain(tc.err); !strings.Contains(got, tc.want) || (name != "credentials" && got != tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("/opt/my tools/interlock", "it's", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, s := range []string{a, b, c} {
			if strings.ToValidUTF8(s, "") != s {
				t.Skip() // not text
			}
		}
		want := []string{a, b, c}
		if got := splitWords(shellJoin(want)); !cmp.Equal(got, want) {
			t.Errorf("%q became %q", want, got)
		}
	})
}

// FuzzJSONFile: reading a file's members and writing them back changes blanks
// only.
func FuzzJSONFile(f *testing.F) {
	f.Add([]byte(`{"a": [1, {"b": "\u00e9"}], "c": {}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := members(text, '{')
		if err != nil {
			return
		}
		again := write(all, '{', "  ", 0)
		if !json.Valid(text) || !same(text, again) {
			t.Errorf("%q became %q", text, again)
		}
	})
}
