package document_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

func value(t *testing.T, text string) document.Value {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatalf("%s: %v", text, problem)
	}
	return v
}

func writersSchema(t *testing.T, text string) *document.Schema {
	t.Helper()
	s, problems := document.CompileSchema(value(t, text))
	if problems.HasErrors() {
		t.Fatalf("%s: %v", text, problems)
	}
	return s
}

// touchedBy returns "pointer list" of each restriction that a change touches. A change that
// is a list is a patch, else the document afterwards.
func touchedBy(t *testing.T, s *document.Schema, before, change string) string {
	t.Helper()
	old, after := value(t, before), value(t, change)
	var patch *document.Patch
	if strings.HasPrefix(change, `[{"op"`) {
		var problems document.Problems
		if patch, problems = document.ParsePatch([]byte(change), document.PatchLimits{}); problems.HasErrors() {
			t.Fatal(problems)
		}
		var failed *document.PatchError
		if after, failed = patch.Apply(old, document.PatchLimits{}); failed != nil {
			t.Fatal(failed)
		}
	}
	touched, ok := s.Touched(old, after, patch)
	if !ok {
		t.Fatal("gave up")
	}
	var all []string
	for _, r := range touched {
		all = append(all, r.Pointer)
	}
	return strings.Join(all, " ")
}

// What touches a list of writers, by the keyword that leads to it (S18.2).
func TestTouched(t *testing.T) {
	const (
		flat  = `{"properties":{"verdict":{"x-interlock-writers":["role:operator"]},"log":{}}}`
		deep  = `{"properties":{"a":{"properties":{"v":{"x-interlock-writers":[]}}}}}`
		outer = `{"properties":{"a":{"x-interlock-writers":[]}}}`
		items = `{"properties":{"l":{"items":{"properties":{"v":{"x-interlock-writers":[]}}}}}}`
		tuple = `{"properties":{"l":{"prefixItems":[{},{"x-interlock-writers":[]}],"items":{}}}}`
	)
	for _, c := range []struct{ name, schema, before, change, want string }{
		{"another member", flat, `{}`, `[{"op":"add","path":"/log","value":1}]`, ""},
		{"added", flat, `{}`, `[{"op":"add","path":"/verdict","value":1}]`, "/verdict"},
		{"null is a value", flat, `{}`, `[{"op":"add","path":"/verdict","value":null}]`, "/verdict"},
		{"written as it was", flat, `{"verdict":1}`, `[{"op":"replace","path":"/verdict","value":1}]`, "/verdict"},
		{"removed", flat, `{"verdict":1}`, `[{"op":"remove","path":"/verdict"}]`, "/verdict"},
		{"moved away", flat, `{"verdict":1}`, `[{"op":"move","from":"/verdict","path":"/log"}]`, "/verdict"},
		{"moved there", flat, `{"log":1}`, `[{"op":"move","from":"/log","path":"/verdict"}]`, "/verdict"},
		{"copied from: only read", flat, `{"verdict":1}`, `[{"op":"copy","from":"/verdict","path":"/log"}]`, ""},
		{"copied there", flat, `{"log":1}`, `[{"op":"copy","from":"/log","path":"/verdict"}]`, "/verdict"},
		{"tested: only read", flat, `{"verdict":1}`, `[{"op":"test","path":"/verdict","value":1}]`, ""},
		{"there and back", flat, `{"verdict":1}`, `[{"op":"replace","path":"/verdict","value":2},{"op":"replace","path":"/verdict","value":1}]`, "/verdict"},
		{"the whole document by an operation", flat, `{"verdict":1}`, `[{"op":"replace","path":"","value":{"verdict":1}}]`, "/verdict"},
		{"the whole document, verdict as it was", flat, `{"verdict":1.0,"log":1}`, `{"log":2,"verdict":1}`, ""},
		{"the whole document, verdict differs", flat, `{"verdict":1}`, `{"verdict":2}`, "/verdict"},
		{"the whole document, verdict gone", flat, `{"verdict":1}`, `{}`, "/verdict"},
		{"escaped name", `{"properties":{"a/b":{"x-interlock-writers":[]}}}`, `{}`, `[{"op":"add","path":"/a~1b","value":1}]`, "/a~1b"},

		{"a parent replaced", deep, `{"a":{"v":1,"w":1}}`, `[{"op":"replace","path":"/a","value":{"v":1,"w":2}}]`, "/a/v"},
		{"a parent replaced by a text", deep, `{"a":{"v":1}}`, `[{"op":"replace","path":"/a","value":"x"}]`, "/a/v"},
		{"a parent removed", deep, `{"a":{"v":1}}`, `[{"op":"remove","path":"/a"}]`, "/a/v"},
		{"a parent moved", deep, `{"a":{"v":1}}`, `[{"op":"move","from":"/a","path":"/b"}]`, "/a/v"},
		{"a parent that lacks it", deep, `{"a":{"w":1}}`, `[{"op":"replace","path":"/a","value":{"w":2}}]`, ""},
		{"beneath", outer, `{"a":{"b":{"c":1}}}`, `[{"op":"replace","path":"/a/b/c","value":2}]`, "/a"},
		{"beneath, as it was", outer, `{"a":{"b":{"c":1}}}`, `[{"op":"replace","path":"/a/b/c","value":1}]`, "/a"},
		{"beneath, in the whole document", outer, `{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":2}}}`, "/a"},

		{"appended without it", items, `{"l":[{"v":1}]}`, `[{"op":"add","path":"/l/-","value":{"w":1}}]`, ""},
		{"appended with it", items, `{"l":[{"v":1}]}`, `[{"op":"add","path":"/l/-","value":{"v":1}}]`, "/l/1/v"},
		{"inserted before it", items, `{"l":[{"v":1}]}`, `[{"op":"add","path":"/l/0","value":{}}]`, "/l/0/v"},
		{"removed before it", items, `{"l":[{},{"v":1}]}`, `[{"op":"remove","path":"/l/0"}]`, "/l/0/v"},
		{"another element", items, `{"l":[{"w":1},{"v":1}]}`, `[{"op":"replace","path":"/l/0/w","value":2}]`, ""},
		{"shifted under a tuple", tuple, `{"l":[1,2,3]}`, `[{"op":"remove","path":"/l/0"}]`, "/l/1"},
		{"behind a tuple", tuple, `{"l":[1,2,3]}`, `[{"op":"replace","path":"/l/2","value":4}]`, ""},
		{"draft-07 tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{},{"x-interlock-writers":[]}]}`, `[1,2]`, `[{"op":"replace","path":"/1","value":3}]`, "/1"},

		{"additionalProperties", `{"properties":{"a":{}},"additionalProperties":{"x-interlock-writers":[]}}`, `{}`, `{"b":1}`, "/b"},
		{"not additional", `{"properties":{"a":{}},"additionalProperties":{"x-interlock-writers":[]}}`, `{}`, `{"a":1}`, ""},
		{"patternProperties", `{"patternProperties":{"^v_":{"x-interlock-writers":[]}}}`, `{}`, `{"v_1":1}`, "/v_1"},
		{"no such pattern", `{"patternProperties":{"^v_":{"x-interlock-writers":[]}}}`, `{}`, `{"w":1}`, ""},
		{"unevaluated: any doubt", `{"properties":{"a":{}},"unevaluatedProperties":{"x-interlock-writers":[]}}`, `{}`, `{"a":1}`, "/a"},
		{"names of properties", `{"propertyNames":{"x-interlock-writers":[]}}`, `{}`, `{"a":1}`, "/a"},
		{"$ref", `{"properties":{"v":{"$ref":"#/$defs/v"}},"$defs":{"v":{"x-interlock-writers":[]}}}`, `{}`, `{"v":1}`, "/v"},
		{"$ref, and its sibling", `{"properties":{"v":{"$ref":"#/$defs/v","x-interlock-writers":[]}},"$defs":{"v":true}}`, `{}`, `{"v":1}`, "/v"},
		{"draft-07 ignores siblings of $ref, this not", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"v":{"$ref":"#/definitions/v","x-interlock-writers":[]}},"definitions":{"v":true}}`, `{}`, `{"v":1}`, "/v"},
		{"$ref to what is no schema", `{"properties":{"v":{"$ref":"#/x/v"}},"x":{"v":{"x-interlock-writers":[]}}}`, `{}`, `{"v":1}`, "/v"},
		{"below an $id", `{"properties":{"v":{"$id":"urn:v","properties":{"w":{"x-interlock-writers":[]}}}}}`, `{}`, `{"v":{"w":1}}`, "/v/w"},
		{"recursive", `{"$defs":{"n":{"properties":{"v":{"x-interlock-writers":[]},"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, `{"next":{"next":{}}}`, `{"next":{"next":{"v":1}}}`, "/next/next/v"},
		{"dynamic", `{"$dynamicAnchor":"n","properties":{"v":{"x-interlock-writers":[]},"next":{"$dynamicRef":"#n"}}}`, `{"next":{}}`, `{"next":{"v":1}}`, "/next/v"},
		{"allOf", `{"allOf":[{"properties":{"v":{"x-interlock-writers":[]}}},true]}`, `{}`, `{"v":1}`, "/v"},
		{"anyOf, whichever applies", `{"anyOf":[{"properties":{"v":{"x-interlock-writers":[]}},"required":["w"]},true]}`, `{}`, `{"v":1}`, "/v"},
		{"oneOf", `{"oneOf":[{"properties":{"v":{"x-interlock-writers":[]}},"required":["w"]},{}]}`, `{}`, `{"v":1}`, "/v"},
		{"not", `{"not":{"required":["w"],"properties":{"v":{"x-interlock-writers":[]}}}}`, `{}`, `{"v":1}`, "/v"},
		{"if, then, else", `{"if":{"properties":{"a":{"x-interlock-writers":[]}}},"then":{"properties":{"b":{"x-interlock-writers":[]}}},"else":{"properties":{"c":{"x-interlock-writers":[]}}}}`, `{}`, `{"a":1,"b":1,"c":1}`, "/a /b /c"},
		{"dependentSchemas", `{"dependentSchemas":{"w":{"properties":{"v":{"x-interlock-writers":[]}}}}}`, `{}`, `{"v":1}`, "/v"},
		{"contains", `{"contains":{"properties":{"v":{"x-interlock-writers":[]}}}}`, `[{}]`, `[{"v":1}]`, "/0/v"},
		{"several lists on one place", `{"allOf":[{"properties":{"v":{"x-interlock-writers":["role:agent"]}}},{"properties":{"v":{"x-interlock-writers":["role:operator"]}}}]}`, `{}`, `{"v":1}`, "/v /v"},
		{"the document itself", `{"x-interlock-writers":[]}`, `{}`, `{"a":1}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := writersSchema(t, c.schema)
			got := touchedBy(t, s, c.before, c.change)
			if c.name == "the document itself" {
				if touched, _ := s.Touched(value(t, c.before), value(t, c.change), nil); len(touched) != 1 || touched[0].Pointer != "" {
					t.Errorf("touched %v", touched)
				}
				return
			}
			if got != c.want {
				t.Errorf("touches %q, want %q", got, c.want)
			}
			if s.Restricted() != (len(s.Restrictions()) > 0) {
				t.Error("it restricts something, and does not tell what")
			}
		})
	}
}

// A schema without lists costs nothing, and says so.
func TestUnrestricted(t *testing.T) {
	s := writersSchema(t, `{"properties":{"v":{"enum":[{"x-interlock-writers":1}]}}}`)
	if touched, ok := s.Touched(value(t, `{}`), value(t, `{"v":1}`), nil); s.Restricted() || touched != nil || !ok {
		t.Errorf("touches %v", touched)
	}
}

// Lists that are malformed, or that would protect nothing, are refused with their place
// (S18.1).
func TestMalformedWriters(t *testing.T) {
	for _, c := range []struct{ schema, pointer, says string }{
		{`{"x-interlock-writers":"role:agent"}`, "/x-interlock-writers", "must be a list"},
		{`{"properties":{"v":{"x-interlock-writers":[1]}}}`, "/properties/v/x-interlock-writers/0", "is a text"},
		{`{"x-interlock-writers":["agent"]}`, "/x-interlock-writers/0", "names no writer"},
		{`{"x-interlock-writers":["role:agent","team:x"]}`, "/x-interlock-writers/1", "names no writer"},
		{`{"x-interlock-writers":["session:"]}`, "/x-interlock-writers/0", "lacks a name"},
		{`{"x-interlock-writers":["state: a"]}`, "/x-interlock-writers/0", "lacks a name"},
		{`{"x-interlock-writers":["role:approver"]}`, "/x-interlock-writers/0", "cannot change a state"},
		{`{"x-interlock-writers":["source:agent"]}`, "/x-interlock-writers/0", "source:human"},
		{`{"x-interlock-writers":["state:*"]}`, "/x-interlock-writers/0", "in full"},
		{`{"x-interlock-writers":["session:` + strings.Repeat("x", 300) + `"]}`, "/x-interlock-writers/0", "longer"},
		{`{"x-interlock-writers":[` + strings.TrimSuffix(strings.Repeat(`"role:agent",`, 65), ",") + `]}`, "/x-interlock-writers", "the limit is 64"},
		{`{"x-interlock-writer":[]}`, "/x-interlock-writer", "not known"},
		{`{"$defs":{"unused":{"x-interlock-writers":{}}}}`, "/$defs/unused/x-interlock-writers", "must be a list"},
		{`{"properties":{"v":{"$ref":"#/x"}},"x":{"x-interlock-writers":0}}`, "/x/x-interlock-writers", "must be a list"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependentSchemas":{"a":{"x-interlock-writers":[]}}}`, "/dependentSchemas/a/x-interlock-writers", "applies to no value"},
		{`{"contentSchema":{"x-interlock-writers":[]}}`, "/contentSchema/x-interlock-writers", "applies to no value"},
	} {
		s, problems := document.CompileSchema(value(t, c.schema))
		if s != nil || len(problems) == 0 || problems[0].Pointer != c.pointer || !strings.Contains(problems[0].Message, c.says) {
			t.Errorf("%.80s: %v, want %s: ...%s...", c.schema, problems, c.pointer, c.says)
		}
	}
}

func TestWriterRules(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true},
		{"a", "ab", false},
		{"a*", "ab", true},
		{"*", "x", true},
		{"*", "", false},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false},
		{"a*a", "a", false},
		{"*-r", "x-r", true},
		{"*b*b", "ab", false},
		{"r-*", "R-1", false},
	} {
		if got := (document.WriterRule{Kind: document.BySession, Name: c.pattern}).Matches(c.name); got != c.want {
			t.Errorf("%q matches %q: %t", c.pattern, c.name, got)
		}
	}
	// The roles that a list can name are those that exist and may change a state.
	for _, role := range auth.Roles() {
		_, problems := document.CompileSchema(value(t, `{"x-interlock-writers":["role:`+string(role)+`"]}`))
		if may := role != auth.Approver && role != auth.Observer; may == problems.HasErrors() {
			t.Errorf("role %s: %v", role, problems)
		}
	}
}

// Whatever a patch does, a list is touched when the value at its place differs: the patch
// and the comparison of documents agree, where the patch writes nothing twice (S18.2).
func TestTouchedProperty(t *testing.T) {
	s := writersSchema(t, `{"$defs":{"n":{"properties":{"v":{"x-interlock-writers":[]},"next":{"$ref":"#/$defs/n"}},"patternProperties":{"^l":{"items":{"$ref":"#/$defs/n"}}}}},"$ref":"#/$defs/n"}`)
	rnd := randtest.New(t, 18)
	var draw func(depth int) string
	draw = func(depth int) string {
		if depth == 0 {
			return strconv.Itoa(rnd.IntN(3))
		}
		var members []string
		for _, name := range []string{"v", "w", "next"} {
			if rnd.IntN(2) == 0 {
				members = append(members, `"`+name+`":`+draw(depth-1))
			}
		}
		if rnd.IntN(2) == 0 {
			members = append(members, `"l":[`+draw(depth-1)+`,`+draw(depth-1)+`]`)
		}
		return `{` + strings.Join(members, ",") + `}`
	}
	count := 0
	for range 3000 {
		a, b := value(t, draw(3)), value(t, draw(3))
		byDiff, ok1 := s.Touched(a, b, nil)
		byPatch, ok2 := s.Touched(a, b, document.Diff(a, b))
		if !ok1 || !ok2 {
			t.Fatal("gave up")
		}
		if len(byDiff) > len(byPatch) {
			t.Fatalf("%s -> %s: the patch %s touches %v, and %v differs", a, b, document.Diff(a, b), byPatch, byDiff)
		}
		count += len(byDiff)
	}
	if count < 100 {
		t.Errorf("only %d changes touch anything", count)
	}
}

// A component has no writers: a list there is refused instead of ignored (S18.1).
func TestComponentRefusesWriters(t *testing.T) {
	_, problems := document.ParseComponent([]byte(`{"slug":"c","name":"C","schema_definition":{"v":{"type":"string","x-interlock-writers":[]}}}`))
	if len(problems) == 0 || problems[0].Pointer != "/schema_definition" || !strings.Contains(problems[0].Message, "protects nothing") {
		t.Errorf("%v", problems)
	}
}

// Which lists every change of a value touches, by where it is.
func TestWritersAt(t *testing.T) {
	t.Parallel()
	s := writersSchema(t, `{"x-interlock-writers":["role:agent"],"properties":{
		"verdict":{"allOf":[{"x-interlock-writers":["source:human"]},{"$ref":"#/$defs/own"}],"properties":{"by":{"x-interlock-writers":["role:operator"]}}},
		"list":{"prefixItems":[{"x-interlock-writers":["state:first"]}],"items":{"x-interlock-writers":["state:rest"]}}},
		"patternProperties":{"^v":{"x-interlock-writers":[]}},"additionalProperties":{"x-interlock-writers":["session:a*"]},
		"$defs":{"own":{"anyOf":[{"x-interlock-writers":["session:b"]},{}]}}}`)
	for pointer, want := range map[string]string{
		"":            `[role:agent]`,
		"/verdict":    `[role:agent] [] [session:b] [source:human]`,
		"/verdict/by": `[role:agent] [] [role:operator] [session:b] [source:human]`,
		"/other":      `[role:agent] [session:a*]`,
		"/other/deep": `[role:agent] [session:a*]`,
		"/list/0":     `[role:agent] [state:first]`,
		"/list/7":     `[role:agent] [state:rest]`,
		"no pointer":  ``,
	} {
		var all []string
		for _, r := range s.WritersAt(pointer) {
			all = append(all, fmt.Sprint(r.Writers))
		}
		if len(all) > 1 {
			slices.Sort(all[1:])
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("%s: %s, want %s", pointer, got, want)
		}
	}
}

// A value that a place can never have, as far as that is certain.
func TestAdmits(t *testing.T) {
	t.Parallel()
	s := writersSchema(t, `{"type":"object","properties":{
		"verdict":{"enum":["pending","passed"]},"text":{"type":"string"},"maybe":{"anyOf":[{"const":1},{"const":2}]},
		"list":{"type":"array","items":{"type":"integer"}},"one":{"type":"object","properties":{"0":{"type":"null"}}},
		"chosen":{"if":{"const":1},"then":false},"both":{"items":{"type":"integer"}}},
		"allOf":[{"properties":{"extra":{"$ref":"#/$defs/extra"}}}],"additionalProperties":{"type":"object","additionalProperties":false},
		"$defs":{"extra":{"minimum":3}}}`)
	for _, c := range []struct {
		pointer, value string
		want           bool
	}{
		{"/verdict", `"passed"`, true},
		{"/verdict", `"approved"`, false},
		{"/text/inner", `1`, false},
		{"/maybe", `3`, false},
		{"/maybe", `2`, true},
		{"/list/4", `1`, true},
		{"/list/4", `"x"`, false},
		{"/list/x", `1`, false},
		{"/one/0", `1`, false},
		{"/both/0", `"x"`, true}, // an object may stand there
		{"/chosen", `1`, false},
		{"/extra", `2`, false},
		{"/unknown", `1`, false},
		{"/unknown", `{}`, true},
		{"/unknown/deep", `1`, false},
		{"", `{}`, true},
	} {
		if got := s.Admits(c.pointer, value(t, c.value)); got != c.want {
			t.Errorf("%s %s: %t", c.pointer, c.value, got)
		}
	}
}
