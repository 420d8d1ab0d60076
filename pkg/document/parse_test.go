package document

import (
	"strings"
	"testing"
)

// codesAt renders problems as "CODE pointer" for comparison.
func codesAt(ps Problems) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Code+" "+p.Pointer)
	}
	return strings.Join(out, "; ")
}

// TestParseAll covers S1.1 and the codes of the text in S1.3.
func TestParseAll(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := map[string]struct {
		src  string
		want string
	}{
		"object":                     {`{"a": [1, 2.50, "x", null, true]}`, ""},
		"scalar":                     {` 1 `, ""},
		"empty":                      {``, "JSON_SYNTAX "},
		"blank":                      {" \n", "JSON_SYNTAX "},
		"trailing data":              {`{}{}`, "JSON_SYNTAX "},
		"trailing garbage":           {`{} x`, "JSON_SYNTAX "},
		"trailing comma":             {`{"a":1,}`, "JSON_SYNTAX "},
		"comment":                    {`{"a":1} // c`, "JSON_SYNTAX "},
		"single quotes":              {`{'a':1}`, "JSON_SYNTAX "},
		"NaN":                        {`{"a":NaN}`, "JSON_SYNTAX "},
		"leading zero":               {`{"a":01}`, "JSON_SYNTAX "},
		"plus":                       {`{"a":+1}`, "JSON_SYNTAX "},
		"truncated":                  {`{"a":`, "JSON_SYNTAX "},
		"BOM":                        {"\xef\xbb\xbf{}", "JSON_SYNTAX "},
		"NUL after":                  {"{}\x00", "JSON_SYNTAX "},
		"raw newline in string":      {"{\"a\":\"x\ny\"}", "JSON_SYNTAX "},
		"number as key":              {`{1:2}`, "JSON_SYNTAX "},
		"bad UTF-8 in a string":      {"{\"a\":\"\xff\"}", "UTF8 /a"},
		"bad UTF-8 in a key":         {"{\"a\":{\"\xff\":1}}", "UTF8 /a"},
		"bad UTF-8 twice":            {"[\"\xff\",\"\xc0\x80\"]", "UTF8 /0; UTF8 /1"},
		"lone surrogate":             {`{"id":"\ud800"}`, "UTF8 /id"},
		"surrogate pair":             {`"\ud83d\ude00"`, ""},
		"bad UTF-8 outside a string": {"{}\xff", "JSON_SYNTAX "},
		"duplicate":                  {`{"a":1,"a":2}`, "DUPLICATE_KEY /a"},
		"duplicate after unescaping": {`{"s":{"a":1,"\u0061":2}}`, "DUPLICATE_KEY /s/a"},
		"duplicate in a big object": {
			`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"a":1,"j":2}`,
			"DUPLICATE_KEY /a; DUPLICATE_KEY /j",
		},
		"duplicate key with slash":     {`{"a/b":1,"a/b":2}`, "DUPLICATE_KEY /a~1b"},
		"several kinds":                {`{"a":1e999,"b":{"c":1,"c":2}}`, "NUMBER /a; DUPLICATE_KEY /b/c"},
		"overflow":                     {`{"g":{"v":1e999}}`, "NUMBER /g/v"},
		"negative overflow":            {`-1e400`, "NUMBER "},
		"absurd exponent":              {`1e-99999999999999999999`, "NUMBER "},
		"largest float":                {`1.7976931348623157e308`, ""},
		"underflow is small, not bad":  {`1e-400`, ""},
		"64 levels":                    {deep(64), ""},
		"65 levels":                    {deep(65), "TOO_DEEP ; TOO_DEEP /0"},
		"deep in a field":              {`{"context":{"x":` + deep(63) + `}}`, "TOO_DEEP ; TOO_DEEP /context"},
		"a hundred thousand brackets":  {strings.Repeat("[", 100_000), "TOO_DEEP ; TOO_DEEP /0"},
		"too large":                    {`"` + strings.Repeat("x", DefaultBytes) + `"`, "TOO_LARGE "},
		"duplicate and bad syntax":     {`{"a":1,"a":2,}`, "DUPLICATE_KEY /a; JSON_SYNTAX "},
		"empty key":                    {`{"":1,"":2}`, "DUPLICATE_KEY /"},
		"more problems than we report": {`[` + strings.Repeat("1e999,", 2000) + `0]`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := ParseAll([]byte(tt.src), Limits{})
			if strings.HasPrefix(name, "more problems") {
				if len(problems) != maxProblems+1 || !strings.Contains(codesAt(problems), CodeTooMany) {
					t.Fatalf("got %d problems, want %d and TOO_MANY", len(problems), maxProblems)
				}
				return
			}
			sorted := codesAt(problems)
			if name == "duplicate and bad syntax" {
				// The document comes first in the order of pointers.
				tt.want = "JSON_SYNTAX ; DUPLICATE_KEY /a"
			}
			if sorted != tt.want {
				t.Errorf("got %q, want %q: %v", sorted, tt.want, problems)
			}
			for _, p := range problems {
				if p.Message == "" || p.Severity != SeverityError {
					t.Errorf("problem without message or severity: %+v", p)
				}
			}
		})
	}
}

// TestParseKeeps holds S10.4: numbers as written, keys in order.
func TestParseKeeps(t *testing.T) {
	t.Parallel()
	const src = `{"z":9007199254740993,"a":[1.0,1e2,-0,0.1000],"s":"\u00e9\n","n":null,"e":{},"l":[]}`
	const want = `{"z":9007199254740993,"a":[1.0,1e2,-0,0.1000],"s":"é\n","n":null,"e":{},"l":[]}`
	v, problem := Parse([]byte(src), Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	if got := v.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestParseFirstOfDuplicates: the value next to the problems has the first.
func TestParseFirstOfDuplicates(t *testing.T) {
	t.Parallel()
	v, problems := ParseAll([]byte(`{"a":1,"a":2}`), Limits{})
	if !problems.HasErrors() || v.String() != `{"a":1}` {
		t.Errorf("got %s with %v", v, problems)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `[1,"\ud83d\ude00",1.50,{"a":{"b":null}}]`, `{"a":1,"a":2}`, "\"\xff\"", `1e999`, `[[[`, `"\ud800"`, "[\"\xc0\x80\", ]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, problems := ParseAll(src, Limits{})
		if len(problems) > 0 {
			return
		}
		again, problem := Parse(v.AppendJSON(nil), Limits{Bytes: 8 << 20})
		if problem != nil {
			t.Fatalf("our own JSON does not parse: %v", problem)
		}
		if !Equal(v, again) || Digest(v) != Digest(again) {
			t.Fatalf("%s became %s", v, again)
		}
		canonical, problem := Parse(Canonical(v), Limits{Bytes: 8 << 20})
		if problem != nil || !Equal(v, canonical) {
			t.Fatalf("canonical form of %s is %s: %v", v, Canonical(v), problem)
		}
	})
}
