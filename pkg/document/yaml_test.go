package document

import (
	"strings"
	"testing"
)

// TestFromYAML holds S1.1: YAML is accepted wherever JSON is, as the part of it
// that means one thing.
func TestFromYAML(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ src, want string }{
		"map":              {"a: 1\nb: [x, \"y\", 'z']\nc:\n  d: null\n  e: ~\n  f:\n", `{"a":1,"b":["x","y","z"],"c":{"d":null,"e":null,"f":null}}`},
		"on is a string":   {"on:\n  NO: done\n  yes: a\n  Off: b\n", `{"on":{"NO":"done","yes":"a","Off":"b"}}`},
		"yes is a string":  {"a: yes\nb: no\nc: off\nd: y\n", `{"a":"yes","b":"no","c":"off","d":"y"}`},
		"booleans":         {"a: true\nb: False\n", `{"a":true,"b":false}`},
		"dates":            {"a: 2026-01-01\n2026-01-02: b\n", `{"a":"2026-01-01","2026-01-02":"b"}`},
		"numbers":          {"[1, 1.50, -2e3, 12345678901234567890123]", `[1,1.50,-2e3,12345678901234567890123]`},
		"quoted numbers":   {"a: \"1\"\n\"2\": b\n", `{"a":"1","2":"b"}`},
		"tagged":           {"a: !!str 5\n", `{"a":"5"}`},
		"block text":       {"a: |\n  x\n  y\nb: >-\n  x\n  y\n", `{"a":"x\ny\n","b":"x y"}`},
		"anchors":          {"a: &x {k: [1]}\nb: *x\n", `{"a":{"k":[1]},"b":{"k":[1]}}`},
		"JSON":             {`{"a": [1, {"b": "c"}], "d": "\u00e9"}`, `{"a":[1,{"b":"c"}],"d":"é"}`},
		"comment":          {"# x\na: 1 # y\n", `{"a":1}`},
		"document start":   {"---\na: 1\n", `{"a":1}`},
		"order is kept":    {"z: 1\na: 2\n", `{"z":1,"a":2}`},
		"version is text":  {"v: 1.2.3\n", `{"v":"1.2.3"}`},
		"empty containers": {"a: {}\nb: []\n", `{"a":{},"b":[]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, problems := FromYAML([]byte(tt.src))
			if len(problems) > 0 || v.String() != tt.want {
				t.Errorf("got %s, want %s: %v", v, tt.want, problems)
			}
		})
	}
}

func TestFromYAMLProblems(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for _, c := range "bcdefg" {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ",") + "]\n"
	}
	tests := map[string]struct{ src, want string }{
		"empty":              {"", "JSON_SYNTAX "},
		"bad syntax":         {"a: [1\n", "JSON_SYNTAX "},
		"tabs":               {"a:\n\tb: 1\n", "JSON_SYNTAX "},
		"two documents":      {"a: 1\n---\nb: 2\n", "JSON_SYNTAX "},
		"unknown anchor":     {"a: *x\n", "JSON_SYNTAX "},
		"duplicate":          {"a: 1\nb:\n  c: 1\n  c: 2\n", "DUPLICATE_KEY /b/c"},
		"duplicate quoted":   {"a: 1\n\"a\": 2\n", "DUPLICATE_KEY /a"},
		"two duplicates":     {"a: 1\na: 2\nb: 1\nb: 2\n", "DUPLICATE_KEY /a; DUPLICATE_KEY /b"},
		"number as key":      {"1: a\n", "TYPE /1"},
		"true as key":        {"true: a\n", "TYPE /true"},
		"null as key":        {"~: a\n", "TYPE /~0"},
		"list as key":        {"[a]: b\n", "TYPE /"},
		"merge key":          {"a: &x {k: 1}\nb:\n  <<: *x\n", "TYPE /b/<<"},
		"hexadecimal":        {"a: 0x10\n", "NUMBER /a"},
		"octal":              {"a: 0777\n", "NUMBER /a"},
		"underscores":        {"a: 1_000\n", "NUMBER /a"},
		"point first":        {"a: .5\n", "NUMBER /a"},
		"infinity":           {"a: .inf\nb: .nan\n", "NUMBER /a; NUMBER /b"},
		"overflow":           {"a: 1e999\n", "NUMBER /a"},
		"binary":             {"a: !!binary aGk=\n", "TYPE /a"},
		"own tag":            {"a: !thing {b: 1}\n", "TYPE /a"},
		"set":                {"a: !!set {b}\n", "TYPE /a"},
		"bomb":               {bomb, "TOO_LARGE "},
		"itself":             {"a: &a [*a]\n", "TOO_DEEP "},
		"flow nesting":       {strings.Repeat("[", 65) + strings.Repeat("]", 65), "TOO_DEEP "},
		"much flow nesting":  {strings.Repeat("[", 500_000), "TOO_DEEP "},
		"much block nesting": {strings.Repeat("- ", 400_000), "TOO_DEEP "},
		"much key nesting":   {strings.Repeat("? ", 400_000), "TOO_DEEP "},
		"too large":          {"a: " + strings.Repeat("x", DefaultBytes), "TOO_LARGE "},
		"control characters": {"a: \x01\n", "UTF8 "},
		"bad UTF-8":          {"a: \xff\xfe\xfd\n", "UTF8 "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := FromYAML([]byte(tt.src))
			if got := codesAt(problems); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, problems)
			}
		})
	}
}

func TestFromYAMLTabs(t *testing.T) {
	t.Parallel()
	_, problems := FromYAML([]byte("a:\n\tb: 1\n"))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "no tabs before a key: write spaces") {
		t.Errorf("got %v", problems)
	}
}

func FuzzFromYAML(f *testing.F) {
	for _, s := range []string{"a: 1", "- x\n- {y: [1]}", "a: &b [1]\nc: *b", "? a\n: b", "a: |\n  x", "<<: {a: 1}", "a: *a", "{", "---\n...\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, problems := FromYAML(src)
		if len(problems) > 0 {
			return
		}
		text := v.AppendJSON(nil)
		if again, problem := Parse(text, Limits{Bytes: 8 << 20}); problem != nil || !Equal(v, again) {
			t.Fatalf("%s became %s as JSON: %v", v, again, problem)
		}
		if strings.ContainsAny(string(text), "\u0085\u2028\u2029\ufeff\u007f") {
			return // YAML folds these where JSON keeps them
		}
		if again, more := FromYAML(text); len(more) == 0 && !Equal(v, again) {
			t.Fatalf("%s became %s as YAML", v, again)
		}
	})
}

// A short text whose aliases stand for a large one is refused before it is built.
func TestYAMLAliasesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	src := "a: &a \"" + strings.Repeat("x", 100_000) + "\"\nb: [" + strings.TrimSuffix(strings.Repeat("*a, ", 2000), ", ") + "]\n"
	_, problems := FromYAML([]byte(src))
	if len(problems) != 1 || problems[0].Code != CodeTooLarge {
		t.Errorf("%d bytes that mean 200 MB: %v", len(src), problems)
	}
}
