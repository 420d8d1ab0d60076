package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	gocmp "github.com/google/go-cmp/cmp"
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

// FuzzYAML: readers of YAML and of JSON see the same values.
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
		if !strings.ContainsAny(string(text), "0123456789") && !gocmp.Equal(want, got) {
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
		if err := (Printer{Output: "yaml"}).Print(&out, value, nil); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got map[string]any
		if err := yaml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Errorf("%q: %v in\n%s", text, err, &out)
			continue
		}
		if diff := gocmp.Diff(value, got); diff != "" {
			t.Errorf("%q in\n%s\n%s", text, &out, diff)
		}
	}
}
