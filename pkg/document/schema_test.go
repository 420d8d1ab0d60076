package document

import (
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestSchemaNeverFetches: a reference that leads out of the document is refused,
// also where the file is there and a server answers, and neither is asked
// (S10.1).
func TestSchemaNeverFetches(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		fmt.Fprint(w, `{"type":"string"}`)
	}))
	t.Cleanup(func() {
		server.Close()
		close(asked)
		for path := range asked {
			t.Errorf("%s was fetched", path)
		}
	})
	folder := filepath.ToSlash(t.TempDir())
	if err := os.WriteFile(filepath.Join(folder, "there.json"), []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$vocabulary":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	file, remote := "file://"+folder+"/there.json", server.URL+"/there.json"
	base := "file://" + folder + "/"
	tests := map[string]string{
		"file":                        `{"$ref":"` + file + `"}`,
		"file and fragment":           `{"$ref":"` + file + `#/x"}`,
		"path":                        `{"$ref":"` + folder + `/there.json"}`,
		"relative":                    `{"$ref":"there.json"}`,
		"relative, up":                `{"$ref":"../there.json"}`,
		"http":                        `{"$ref":"` + remote + `"}`,
		"no scheme":                   `{"$ref":"` + strings.TrimPrefix(remote, "http:") + `"}`,
		"other scheme":                `{"$ref":"ftp://localhost/there.json"}`,
		"upper case":                  `{"$ref":"FILE://` + folder + `/there.json"}`,
		"metaschema":                  `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
		"deep":                        `{"properties":{"a":{"items":{"anyOf":[{"not":{"$ref":"` + file + `"}}]}}}}`,
		"never reached":               `{"$defs":{"a":{"$ref":"` + file + `"}}}`,
		"$id moves the base":          `{"$id":"` + base + `","$ref":"there.json"}`,
		"$id is the folder":           `{"$id":"` + base + `a.json","properties":{"a":{"$ref":"./there.json"}}}`,
		"nested $id":                  `{"properties":{"a":{"$id":"` + base + `","items":{"$ref":"there.json"}}}}`,
		"$id elsewhere has it":        `{"$id":"` + base + `","$ref":"there.json","$defs":{"a":{"$id":"sub/","$defs":{"b":{"$id":"there.json"}}}}}`,
		"$id is the server":           `{"$id":"` + server.URL + `/","$ref":"there.json"}`,
		"$id of the file itself":      `{"$id":"` + base + `other.json","$defs":{"a":{"$id":"x","$ref":"../` + filepath.Base(folder) + `/there.json"}}}`,
		"draft-07 id":                 `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"` + base + `","properties":{"a":{"$ref":"there.json"}}}`,
		"draft-04 id":                 `{"id":"` + file + `","$ref":"` + file + `"}`,
		"place without keyword":       `{"parts":{"a":{"$ref":"` + file + `"}},"$ref":"#/parts/a"}`,
		"place without, $id":          `{"parts":{"a":{"$id":"` + base + `","$ref":"there.json"}},"$ref":"#/parts/a"}`,
		"$schema":                     `{"$schema":"` + file + `"}`,
		"$schema, server":             `{"$schema":"` + remote + `"}`,
		"$schema, old":                `{"$schema":"http://json-schema.org/draft-04/schema#"}`,
		"nested $schema":              `{"$defs":{"a":{"$id":"urn:a","$schema":"` + file + `"}}}`,
		"$schema without keyword":     `{"parts":{"a":{"$id":"urn:a","$schema":"` + file + `"}},"$ref":"#/parts/a"}`,
		"$schema, old, nested":        `{"parts":{"a":{"$id":"urn:a","$schema":"http://json-schema.org/draft-06/schema#"}},"$ref":"#/parts/a"}`,
		"$dynamicRef":                 `{"$dynamicRef":"` + file + `#n"}`,
		"$dynamicRef, relative":       `{"$id":"` + base + `","$dynamicRef":"there.json#n"}`,
		"$recursiveRef":               `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"` + file + `"}`,
		"percent-encoded":             `{"$ref":"file:%2F%2F` + folder + `/there.json"}`,
		"fragment that is not a name": `{"$ref":"#nowhere"}`,
		"pointer to nothing":          `{"$ref":"#/$defs/nowhere"}`,
		"bad URL":                     `{"$ref":"http://[::1"}`,
		"bad $id":                     `{"$id":"http://[::1","$ref":"#"}`,
	}
	for name, src := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, problems := CompileSchema(must(t, src))
			if s != nil || len(problems) == 0 {
				t.Fatal("was compiled")
			}
			for _, p := range problems {
				if p.Code != CodeRemoteRef && p.Code != CodeBadSchema || p.Message == "" {
					t.Errorf("got %v", p)
				}
			}
		})
	}
}

// TestSchemaInside: references inside the document work, however they are
// written.
func TestSchemaInside(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"pointer":            `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`,
		"encoded pointer":    `{"$ref":"#/$defs/a%20~1%25","$defs":{"a /%":{"type":"string"}}}`,
		"anchor":             `{"$ref":"#x","$defs":{"a":{"$anchor":"x","type":"string"}}}`,
		"id":                 `{"$ref":"urn:x","$defs":{"a":{"$id":"urn:x","type":"string"}}}`,
		"id and pointer":     `{"$ref":"urn:x#/$defs/y","$defs":{"a":{"$id":"urn:x","$defs":{"y":{"type":"string"}}}}}`,
		"id of a file":       `{"$id":"file:///a/b.json","$ref":"c.json","$defs":{"a":{"$id":"c.json","type":"string"}}}`,
		"without keyword":    `{"parts":[{"type":"string"}],"$ref":"#/parts/0"}`,
		"draft-07 anchor":    `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$id":"#x","type":"string"}},"allOf":[{"$ref":"#x"}]}`,
		"dynamic":            `{"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x","type":"string"}}}`,
		"dynamic, bundled":   `{"$id":"urn:a","$ref":"urn:l","$defs":{"t":{"$dynamicAnchor":"t","type":"string"},"l":{"$id":"urn:l","$dynamicRef":"#t","$defs":{"any":{"$dynamicAnchor":"t"}}}}}`,
		"dynamic name, at %": `{"$dynamicRef":"#x","$defs":{"a % /~":{"$dynamicAnchor":"x","type":"string"}}}`,
	} {
		s, problems := CompileSchema(must(t, src))
		if s == nil {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if ps := s.Validate(StringValue("x")); len(ps) > 0 {
			t.Errorf("%s: %v", name, ps)
		}
		if ps := s.Validate(NumberValue("1")); codesAt(ps) != "SCHEMA_VIOLATION " {
			t.Errorf("%s: %v", name, ps)
		}
	}
}

// TestSchemaErrors: problems of a schema are reported with their places.
func TestSchemaErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"properties":{"a b/c%":{"type":"strin"}}}`:                "BAD_SCHEMA /properties/a b~1c%/type",
		`{"parts":{"a b":{"type":"strin"}},"$ref":"#/parts/a%20b"}`: "BAD_SCHEMA /parts/a b/type",
		`{"properties":{"a":{"pattern":"("},"b":{"pattern":")"}}}`:  "BAD_SCHEMA /properties/a/pattern; BAD_SCHEMA /properties/b/pattern",
		`{"patternProperties":{"a/(":{}}}`:                          "BAD_SCHEMA /patternProperties/a~1(",
		`{"parts":{"a":{"pattern":"(?=x)"}},"$ref":"#/parts/a"}`:    "BAD_SCHEMA /parts/a/pattern",
		`{"$ref":5}`:             "BAD_SCHEMA /$ref",
		`{"minLength":-1}`:       "BAD_SCHEMA /minLength",
		`{"maxItems":1.5}`:       "BAD_SCHEMA /maxItems",
		`{"required":["a","a"]}`: "BAD_SCHEMA /required",
		`{"multipleOf":0}`:       "BAD_SCHEMA /multipleOf",
		`{"$defs":{"a":{"$id":"urn:x"},"b":{"$id":"urn:x"}}}`: "BAD_SCHEMA ",
		`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`: "BAD_SCHEMA ",
		`5`:    "BAD_SCHEMA ",
		`null`: "BAD_SCHEMA ",
		`[]`:   "BAD_SCHEMA ",
	}
	for src, want := range tests {
		if s, problems := CompileSchema(must(t, src)); s != nil || codesAt(problems) != want {
			t.Errorf("%s: got %v, want %s", src, problems, want)
		}
	}
	if s, problems := CompileSchema(Value{}); s != nil || len(problems) == 0 {
		t.Error("nothing is a schema")
	}
}

// TestValidatePlaces: a violation is at the value that is wrong.
func TestValidatePlaces(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ schema, doc, want string }{
		"recursive":       {`{"type":"object","properties":{"child":{"$ref":"#"},"n":{"type":"integer"}},"additionalProperties":false}`, `{"child":{"child":{"n":1.5,"m":1}}}`, "SCHEMA_VIOLATION /child/child; SCHEMA_VIOLATION /child/child/n"},
		"names":           {`{"additionalProperties":{"propertyNames":{"pattern":"^[a-z]"}}}`, `{"a":{"B":1},"b":{"x":1},"c":{"1":1}}`, "SCHEMA_VIOLATION /a; SCHEMA_VIOLATION /c"},
		"names, not":      {`{"additionalProperties":{"not":{"propertyNames":{"maxLength":1}}}}`, `{"a":{"B":1},"b":{"xx":1}}`, "SCHEMA_VIOLATION /a"},
		"segments":        {`{"additionalProperties":{"type":"string"}}`, `{"a/b":1,"~":1}`, "SCHEMA_VIOLATION /a~1b; SCHEMA_VIOLATION /~0"},
		"same said twice": {`{"allOf":[{"type":"string"},{"type":"string"}]}`, `1`, "SCHEMA_VIOLATION "},
		"nothing":         {`{"type":"null"}`, `null`, ""},
	}
	for name, tt := range tests {
		s, problems := CompileSchema(must(t, tt.schema))
		if s == nil {
			t.Fatal(problems)
		}
		for range 10 { // the library goes through maps
			if ps := s.Validate(must(t, tt.doc)); codesAt(ps) != tt.want {
				t.Errorf("%s: got %v, want %s", name, ps, tt.want)
			}
		}
	}
	s, _ := CompileSchema(must(t, `{"propertyNames":{"pattern":"^[a-z]+$"}}`))
	if ps := s.Validate(must(t, `{"A":1}`)); len(ps) != 1 || !strings.HasPrefix(ps[0].Message, `the name "A" is not allowed: `) {
		t.Error(ps)
	}
	if ps := s.Validate(Value{}); len(ps) > 0 {
		t.Error(ps)
	}
}

// TestFirstPlace: of a document that is too large to explain as a whole, the
// first violation is still said at its place.
func TestFirstPlace(t *testing.T) {
	t.Parallel()
	s, problems := CompileSchema(must(t, `{"properties":{"a~":{"items":{"allOf":[{"items":{"properties":{"b":{"enum":["x","y"]}}}}]}}}}`))
	if s == nil {
		t.Fatal(problems)
	}
	v := must(t, `{"a~":[`+repeated(100_000, `[{}]`)+`,[{},{"b":"z"}]]}`)
	if ps := s.Validate(v); codesAt(ps) != "SCHEMA_VIOLATION /a~0/100000/1/b" || !strings.Contains(ps[0].Message, "'x', 'y'") {
		t.Error(ps)
	}
}

// TestIsMultipleOf compares with exact rationals.
func TestIsMultipleOf(t *testing.T) {
	t.Parallel()
	digits := rapid.OneOf(rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?(e-?[0-9]{1,2})?`), rapid.StringMatching(`-?[1-9][0-9]{0,40}(e-?[0-9]{1,3})?`))
	multiples := 0
	randtest.Check(t, func(t *rapid.T) {
		n, m := digits.Draw(t, "n"), digits.Draw(t, "m")
		a, ok := new(big.Rat).SetString(n)
		b, ok2 := new(big.Rat).SetString(m)
		if !ok || !ok2 || b.Sign() == 0 {
			return
		}
		if rapid.Bool().Draw(t, "make it one") {
			a.Mul(b, big.NewRat(rapid.Int64().Draw(t, "times"), 1))
			places, _ := a.FloatPrec()
			n = a.FloatString(places)
		}
		want := new(big.Rat).Quo(a, b).IsInt()
		if want {
			multiples++
		}
		if got := normalise(n).isMultipleOf(normalise(m)); got != want {
			t.Fatalf("%s is a multiple of %s: got %v, want %v", n, m, got, want)
		}
	})
	if multiples == 0 {
		t.Error("no multiple was drawn")
	}
}

// TestNumberLimits: every finite float64 is a number here, its exact expansion
// too; a number that makes other readers work hard is refused.
func TestNumberLimits(t *testing.T) {
	t.Parallel()
	smallest := new(big.Float).SetPrec(2000).SetMantExp(big.NewFloat(1), -1074)
	for _, good := range []string{"5e-324", "1.7976931348623157e308", smallest.Text('f', 1074), "1e-1000", "1" + strings.Repeat("0", 308), "0e1000"} {
		if NumberValue(good).IsZero() {
			t.Errorf("%.40s is refused", good)
		}
	}
	for _, bad := range []string{"1e-1001", "0e1001", "1e309", "0." + strings.Repeat("1", 1100), "-1" + strings.Repeat("0", 400), "1e-1000000"} {
		if !NumberValue(bad).IsZero() {
			t.Errorf("%.40s is admitted", bad)
		}
	}
}

// TestEveryKeywordIsKnown: a version of the library that compiles a keyword that
// nodes do not know must not go unnoticed.
func TestEveryKeywordIsKnown(t *testing.T) {
	t.Parallel()
	known := strings.Fields(`DraftVersion Location Bool ID Ref Anchor RecursiveRef RecursiveAnchor DynamicRef DynamicAnchor Types Enum Const
		Not AllOf AnyOf OneOf If Then Else Format MaxProperties MinProperties Required PropertyNames Properties PatternProperties
		AdditionalProperties Dependencies DependentRequired DependentSchemas UnevaluatedProperties MinItems MaxItems UniqueItems Contains
		MinContains MaxContains Items AdditionalItems PrefixItems Items2020 UnevaluatedItems MinLength MaxLength Pattern ContentEncoding
		ContentMediaType ContentSchema Maximum Minimum ExclusiveMaximum ExclusiveMinimum MultipleOf Extensions
		Title Description Default Comment ReadOnly WriteOnly Examples Deprecated`)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[jsonschema.Schema]()) {
		if field.IsExported() && !slices.Contains(known, field.Name) {
			t.Errorf("translation does not know %s", field.Name)
		}
	}
}

// FuzzValidate: for any schema and value we give the library's answer, as long as
// that is bounded.
func FuzzValidate(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"]}`, `{"a":1}`},
		{`{"prefixItems":[{"const":1}],"items":{"enum":["a",null]},"uniqueItems":true,"contains":{"type":"null"}}`, `[1,"a",null]`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"format":"date"}],"additionalItems":{"multipleOf":0.1}}`, `["2026-11-21",0.3]`},
		{`{"$defs":{"n":{"anyOf":[{"type":"null"},{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["x"]}]}},"$ref":"#/$defs/n"}`, `{"x":1,"c":null}`},
		{`{"if":{"minProperties":2},"then":{"propertyNames":{"pattern":"^a"}},"else":{"dependentRequired":{"a":["b"]}}}`, `{"a":1,"ab":2}`},
		{`{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}},"unevaluatedProperties":false}`, `{"a":{"b":1}}`},
		{`{"patternProperties":{"^x":{"exclusiveMaximum":5}},"additionalProperties":{"oneOf":[{"maxLength":1},{"not":{}}]}}`, `{"x":4,"y":"z"}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, doc string) {
		sv, problem := Parse([]byte(schema), Limits{Bytes: 4096})
		if problem != nil {
			return
		}
		v, problem := Parse([]byte(doc), Limits{Bytes: 4096})
		if problem != nil {
			return
		}
		s, problems := CompileSchema(sv)
		if (s == nil) != problems.HasErrors() {
			t.Fatalf("%s: schema %v, %v", schema, s, problems)
		}
		if s == nil {
			return
		}
		got := s.Validate(v)
		if codesAt(got) == "TOO_LARGE " || !affordable(s.root, v, maxLibrarySteps) {
			return
		}
		if want := libraryValid(s, v); (len(got) == 0) != want {
			t.Fatalf("schema %s\nvalue %s\nlibrary valid: %v, ours: %v", schema, doc, want, got)
		}
	})
}
