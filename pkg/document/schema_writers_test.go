package document_test

import (
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

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

// Changes that touch a list of writers, by the keyword that leads to it (S18.2).
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
		{"moved there, the same value", flat, `{"verdict":1,"log":1}`, `[{"op":"move","from":"/log","path":"/verdict"}]`, "/verdict"},
		{"moved over the whole document", flat, `{"verdict":1,"log":{"verdict":1}}`, `[{"op":"move","from":"/log","path":""}]`, "/verdict"},
		{"moved to itself", flat, `{"verdict":1}`, `[{"op":"move","from":"/verdict","path":"/verdict"}]`, ""},
		{"moved away and back", flat, `{"verdict":1}`, `[{"op":"move","from":"/verdict","path":"/log"},{"op":"move","from":"/log","path":"/verdict"}]`, "/verdict"},
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
		{"moved within the list", items, `{"l":[{"v":1},{"v":1}]}`, `[{"op":"move","from":"/l/0","path":"/l/-"}]`, "/l/0/v"},
		{"moved where nothing is guarded", items, `{"l":[{},{},{"v":1}]}`, `[{"op":"move","from":"/l/0","path":"/l/1"}]`, ""},
		{"moved into another element", items, `{"l":[{"v":1},{},{"w":1}]}`, `[{"op":"move","from":"/l/2/w","path":"/l/1/v"}]`, "/l/1/v"},
		{"moved out before it", items, `{"l":[1,{"v":1}]}`, `[{"op":"move","from":"/l/0","path":"/x"}]`, "/l/0/v"},
		{"moved out behind it", items, `{"l":[{"v":1},1]}`, `[{"op":"move","from":"/l/1","path":"/x"}]`, ""},
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

// A schema without lists costs no work, and reports so.
func TestUnrestricted(t *testing.T) {
	s := writersSchema(t, `{"properties":{"v":{"enum":[{"x-interlock-writers":1}]}}}`)
	if touched, ok := s.Touched(value(t, `{}`), value(t, `{"v":1}`), nil); s.Restricted() || touched != nil || !ok {
		t.Errorf("touches %v", touched)
	}
}

// Lists that are malformed, or that would have no effect, are refused with their place
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
		{`{"X-Interlock-Writers":[]}`, "/X-Interlock-Writers", "not known"},
		{`{"x_interlock_writers":[]}`, "/x_interlock_writers", "not known"},
		{`{"x-interlock":[]}`, "/x-interlock", "not known"},
		{
			`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$ref":"#/definitions/b","properties":{"w":{"x-interlock-writers":[]}}},"b":{}},"properties":{"a":{"$ref":"#/definitions/a"}}}`,
			"/definitions/a/properties/w/x-interlock-writers", "applies to no value",
		},
		{`{"$defs":{"a":{"then":{"x-interlock-writers":[]}}},"$ref":"#/$defs/a"}`, "/$defs/a/then/x-interlock-writers", "applies to no value"},
		{`{"properties":{"$defs":{"properties":{"x":{"then":{"x-interlock-writers":[]}}}}}}`, "/properties/$defs/properties/x/then/x-interlock-writers", "applies to no value"},
		{`{"contentSchema":{"x-interlock-writers":[]}}`, "/contentSchema/x-interlock-writers", "applies to no value"},
	} {
		s, problems := document.CompileSchema(value(t, c.schema))
		if s != nil || len(problems) == 0 || problems[0].Pointer != c.pointer || !strings.Contains(problems[0].Message, c.says) {
			t.Errorf("%.80s: %v, want %s: ...%s...", c.schema, problems, c.pointer, c.says)
		}
	}
}

// An unreferenced definition may have lists: it is there for other schemas.
func TestWritersOfASpareDefinition(t *testing.T) {
	for _, text := range []string{
		`{"$defs":{"v":{"x-interlock-writers":[]}}}`,
		`{"$defs":{"v":{"properties":{"w":{"then":{"x-interlock-writers":[]}}}}}}`,
		`{"properties":{"a":{"definitions":{"v":{"x-interlock-writers":[]}}}}}`,
	} {
		if s := writersSchema(t, text); s.Restricted() {
			t.Errorf("%s restricts something", text)
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

// For any patch, a list is touched when the value at its place differs: the patch
// and the comparison of documents agree, where the patch writes no value twice (S18.2).
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
	if len(problems) == 0 || problems[0].Pointer != "/schema_definition" || !strings.Contains(problems[0].Message, "has no effect") {
		t.Errorf("%v", problems)
	}
}

// TestTouchedByOperation: an operation touches the values that differ by it, and those at, above
// and within the place that it writes or takes away (S18.2). An independent model of that
// compares whole documents.
func TestTouchedByOperation(t *testing.T) {
	t.Parallel()
	const schema = `{"$defs":{"n":{
		"properties":{
			"a":{"allOf":[{"x-interlock-writers":["session:a"]},{"$ref":"#/$defs/n"}]},
			"0":{"x-interlock-writers":["session:0"]},
			"n":{"x-interlock-writers":["session:n"],"items":{"x-interlock-writers":["session:ni"]}}},
		"prefixItems":[{"$ref":"#/$defs/n"},{"x-interlock-writers":["session:1"],"$ref":"#/$defs/n"}],
		"items":{"properties":{"b":{"x-interlock-writers":["session:b"]},"m":{"$ref":"#/$defs/n"}}}}},
		"$ref":"#/$defs/n"}`
	s := writersSchema(t, schema)
	lists := func(before, after document.Value, patch *document.Patch) map[string]bool {
		touched, ok := s.Touched(before, after, patch)
		if !ok {
			t.Fatal("gave up")
		}
		found := map[string]bool{}
		for _, r := range touched {
			found[r.Writers[0].Name] = true
		}
		return found
	}
	randtest.Check(t, func(t *rapid.T) {
		doc := parsed(t, rapid.SampledFrom([]string{
			`{"a": [1, {"b": []}, [2, 3]], "0": {"x": 1, "y": {"z": null}}, "e": {}}`,
			`[{"b": 1}, {"b": 1}, {"b": 1, "m": {"n": [7, 7]}}, {}, {}]`,
			`{"a": {"a": {"n": [1, 1]}, "0": 1}, "n": [], "e": [{"n": 1}, {"n": 1}]}`,
		}).Draw(t, "document"))
		model := written(doc, 1)
		op := drawOperation(t, doc, &model, 2)
		if op == "" {
			return
		}
		patch, _ := document.ParsePatch([]byte("["+op+"]"), document.PatchLimits{})
		after, failed := patch.Apply(doc, document.PatchLimits{})
		if failed != nil {
			t.Fatalf("%s on %s: %v", op, doc, failed)
		}
		got := lists(doc, after, patch)
		o := parsed(t, op)
		path, _ := o.Get("path")
		at := path.Str()
		if holder, isEnd := strings.CutSuffix(at, "/-"); isEnd {
			list, _ := document.Lookup(after, holder)
			at = holder + "/" + strconv.Itoa(list.Len()-1)
		}
		want := lists(doc, after, nil)
		place := func(v document.Value, pointer string) {
			if _, found := document.Lookup(v, pointer); found {
				gone, _ := document.ParsePatch(fmt.Appendf(nil, `[{"op":"replace","path":%q,"value":"another"}]`, pointer), document.PatchLimits{})
				other, _ := gone.Apply(v, document.PatchLimits{})
				maps.Copy(want, lists(v, other, nil))
			}
		}
		from, moved := o.Get("from")
		if kind, _ := o.Get("op"); kind.Str() != "move" {
			moved = false
		}
		if !moved {
			place(doc, at)
		} else {
			place(doc, from.Str())
		}
		if kind, _ := o.Get("op"); kind.Str() != "remove" {
			place(after, at)
		}
		for name := range want {
			if !got[name] {
				t.Fatalf("%s on %s touches %v, and not %q", op, doc, got, name)
			}
		}
		for name := range got {
			if !want[name] && !moved { // a move in two halves may touch more for a moment
				t.Fatalf("%s on %s touches %q next to %v", op, doc, name, want)
			}
		}
	})
}

// A patch is judged at the cost of applying it: its documents between are neither copied
// nor kept.
func TestManyOperationsOnALargeList(t *testing.T) {
	doc := value(t, `{"v":1,"l":[`+strings.TrimSuffix(strings.Repeat("0,", 100_000), ",")+`]}`)
	patch, problems := document.ParsePatch([]byte(`[`+strings.TrimSuffix(strings.Repeat(`{"op":"add","path":"/l/-","value":0},{"op":"move","from":"/l/1","path":"/l/0"},`, 500), ",")+`]`), document.PatchLimits{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	s := writersSchema(t, `{"properties":{"v":{"x-interlock-writers":[]}}}`)
	for name, judge := range map[string]func(){
		"who may write it": func() {
			if touched, ok := s.Touched(doc, document.Value{}, patch); len(touched) > 0 || !ok {
				t.Errorf("touches %v, %t", touched, ok)
			}
		},
		"who wrote it": func() {
			w, _ := document.NewWriters(doc, []string{"/v"}, 10)
			trail, err := document.NewReplay(doc).Do(patch)
			if wrote := w.Undo(trail); len(wrote) > 0 || err != nil {
				t.Errorf("wrote %v, %v", wrote, err)
			}
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		judge()
		runtime.ReadMemStats(&after)
		// One copy of the list takes 3 MB, and one for each operation 3 GB.
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
			t.Errorf("%s takes %d MB", name, took)
		}
	}
}
