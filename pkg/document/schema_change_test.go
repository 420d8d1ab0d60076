package document

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// libraryValid returns the library's verdict on a value, the judge of all here.
func libraryValid(s *Schema, v Value) bool { return s.root.source.Validate(toAny(v)) == nil }

// coverage counts the cases that a property has met. Some must occur for the
// property to say anything.
type coverage struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *coverage) add(what ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	for _, w := range what {
		c.seen[w]++
	}
}

// missing lists the cases that were never met.
func (c *coverage) missing(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(w string) bool { return c.seen[w] > 0 })
}

// keywordsOf lists the keywords of a schema, wherever they are.
func keywordsOf(schema Value) []string {
	names := map[string]bool{}
	walk(schema, func(v Value) {
		for name := range v.Members() {
			names[name] = true
		}
	})
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// causes are the keywords that a change must have been refused for.
var causes = []string{
	"false", "type", "const", "enum", "minLength", "maxLength", "pattern", "format",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minProperties", "maxProperties", "required", "propertyNames", "additionalProperties", "dependentRequired",
	"minItems", "maxItems", "uniqueItems", "contains", "maxContains", "anyOf", "oneOf", "not",
}

// TestValidateChange: of random schemas of every draft, valid values and changes
// of them that share the unchanged parts, Validate and ValidateChange give the
// library's answers, in the same words (S10.2).
func TestValidateChange(t *testing.T) {
	t.Parallel()
	var wanted []string
	for _, w := range slices.Concat(drafts, []string{"skipped some", "looked at all", "library only", "anyOf", "oneOf", "not", "if", "$ref", "contains"}) {
		wanted = append(wanted, w+" valid", w+" invalid")
	}
	for _, c := range causes {
		wanted = append(wanted, "refused for "+c)
	}
	var met coverage
	randtest.Check(t, func(t *rapid.T) {
		for range 3 {
			checkChanges(t, &met)
		}
	})
	if missing := met.missing(wanted); len(missing) > 0 {
		t.Fatalf("never met: %q; met: %v", missing, met.seen)
	}
}

// checkChanges draws one schema, and values and changes for it.
func checkChanges(t *rapid.T, met *coverage) {
	schema, d := drawSchema(t)
	s, problems := CompileSchema(schema)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", schema, problems)
	}
	keywords := keywordsOf(schema)
	for range 6 {
		old := d.fitting(schema, 5)
		if !checkValidate(t, s, schema, old) {
			continue
		}
		for range 6 {
			v := d.changed(old, schema, 4)
			if d.chance(30) {
				v = d.changed(v, schema, 4)
			}
			valid := checkValidate(t, s, schema, v)
			if got, want := s.ValidateChange(old, v), s.Validate(v); !reflect.DeepEqual(got, want) {
				t.Fatalf("schema %s\nold %s\nnew %s\nchange: %v\nwhole: %v", schema, old, v, got, want)
			}
			outcome := " invalid"
			if valid {
				outcome = " valid"
			}
			way, cause := wayOf(s, old, v)
			met.add(d.draft+outcome, way+outcome, "refused for "+cause)
			for _, k := range keywords {
				met.add(k + outcome)
			}
		}
	}
}

// wayOf returns how a change was checked, by its steps, and for
// which keyword it was refused.
func wayOf(s *Schema, old, v Value) (way, cause string) {
	if s.libraryOnly {
		return "library only", ""
	}
	whole, change := newChecker(), newChecker()
	whole.valid(s.root, v)
	if !change.change(s.root, old, v) {
		cause = change.keyword
	}
	if change.left > whole.left {
		return "skipped some", cause
	}
	return "looked at all", cause
}

func checkValidate(t *rapid.T, s *Schema, schema, v Value) bool {
	want := libraryValid(s, v)
	if got := s.Validate(v); (len(got) == 0) != want {
		t.Fatalf("schema %s\nvalue %s\nlibrary valid: %v, ours: %v", schema, v, want, got)
	}
	return want
}

// TestValidateChangeTraps are changes whose effect is away from their place.
func TestValidateChangeTraps(t *testing.T) {
	t.Parallel()
	draft7 := `"$schema":"http://json-schema.org/draft-07/schema#",`
	tests := map[string]struct {
		schema, old, patch string
		valid              bool
	}{
		"required removed":          {`{"properties":{"a":{},"b":{}},"required":["a"]}`, `{"a":1,"b":2}`, `[{"op":"remove","path":"/a"}]`, false},
		"other removed":             {`{"properties":{"a":{},"b":{}},"required":["a"]}`, `{"a":1,"b":2}`, `[{"op":"remove","path":"/b"}]`, true},
		"required renamed":          {`{"required":["a"]}`, `{"a":1}`, `[{"op":"move","from":"/a","path":"/b"}]`, false},
		"closed, new key":           {`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1}`, `[{"op":"add","path":"/b","value":1}]`, false},
		"closed, known key":         {`{"properties":{"a":{},"b":{}},"additionalProperties":false}`, `{"a":1}`, `[{"op":"add","path":"/b","value":1}]`, true},
		"moved to another key":      {`{"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`, `{"a":"x"}`, `[{"op":"move","from":"/a","path":"/b"}]`, false},
		"object moved":              {`{"properties":{"a":{"required":["x"]},"b":{"required":["y"]}}}`, `{"a":{"x":1}}`, `[{"op":"copy","from":"/a","path":"/b"}]`, false},
		"pattern next to property":  {`{"properties":{"ab":{"type":"integer"}},"patternProperties":{"b$":{"maximum":5}}}`, `{"ab":1}`, `[{"op":"replace","path":"/ab","value":6}]`, false},
		"two patterns":              {`{"patternProperties":{"^a":{"type":"integer"},"b$":{"maximum":5}}}`, `{"ab":1}`, `[{"op":"replace","path":"/ab","value":6}]`, false},
		"pattern, not additional":   {`{"patternProperties":{"^a":true},"additionalProperties":false}`, `{}`, `[{"op":"add","path":"/ab","value":6}]`, true},
		"append beyond maxItems":    {`{"properties":{"l":{"maxItems":2}}}`, `{"l":[1,2]}`, `[{"op":"add","path":"/l/-","value":3}]`, false},
		"removed below minItems":    {`{"properties":{"l":{"minItems":2}}}`, `{"l":[1,2]}`, `[{"op":"remove","path":"/l/0"}]`, false},
		"removed below min":         {`{"minProperties":2}`, `{"a":1,"b":2}`, `[{"op":"remove","path":"/a"}]`, false},
		"shifted out of prefix":     {`{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `[1,"a","b"]`, `[{"op":"add","path":"/0","value":2}]`, false},
		"shifted into prefix":       {`{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `[1,"a","b"]`, `[{"op":"remove","path":"/0"}]`, false},
		"shifted within the rest":   {`{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `[1,"a","b"]`, `[{"op":"remove","path":"/1"}]`, true},
		"shifted objects":           {`{"prefixItems":[{"required":["x"]},{"required":["y"]}]}`, `[{"x":1},{"y":1},{}]`, `[{"op":"add","path":"/0","value":{"x":2}}]`, false},
		"shifted far":               {`{"prefixItems":[{},{},{},{"type":"string"}]}`, `[{},[1],[2],"s",[3]]`, `[{"op":"remove","path":"/0"}]`, false},
		"shifted two":               {`{"prefixItems":[{},{},{},{"type":"array"}]}`, `[[0],[1],[2],[3],"s"]`, `[{"op":"add","path":"/0","value":[]},{"op":"add","path":"/0","value":[]}]`, true},
		"shifted, draft-07":         {`{` + draft7 + `"items":[{"type":"integer"}],"additionalItems":{"type":"string"}}`, `[1,"a"]`, `[{"op":"remove","path":"/0"}]`, false},
		"one too many, draft-07":    {`{` + draft7 + `"items":[{}],"additionalItems":false}`, `[1]`, `[{"op":"add","path":"/0","value":1}]`, false},
		"one too many":              {`{"prefixItems":[{}],"items":false}`, `[1]`, `[{"op":"add","path":"/0","value":1}]`, false},
		"appended twin":             {`{"uniqueItems":true}`, `[{"a":1,"b":[2]}]`, `[{"op":"add","path":"/-","value":{"b":[2.0],"a":1}}]`, false},
		"changed into a twin":       {`{"items":{"uniqueItems":true}}`, `[[[1],[2]]]`, `[{"op":"replace","path":"/0/1/0","value":1}]`, false},
		"deep below uniqueItems":    {`{"uniqueItems":true}`, `[{"a":{"b":1}},{"a":{"b":2}}]`, `[{"op":"replace","path":"/1/a/b","value":1.0}]`, false},
		"enum of objects":           {`{"properties":{"a":{"enum":[{"x":1,"y":[2]},{"x":2}]}}}`, `{"a":{"x":1,"y":[2]}}`, `[{"op":"replace","path":"/a/y/0","value":3}]`, false},
		"enum of objects, kept":     {`{"properties":{"a":{"enum":[{"x":1},{"x":2}]}}}`, `{"a":{"x":1}}`, `[{"op":"replace","path":"/a/x","value":2.0}]`, true},
		"const object":              {`{"const":{"a":{"b":1}}}`, `{"a":{"b":1}}`, `[{"op":"replace","path":"/a/b","value":2}]`, false},
		"anyOf around":              {`{"anyOf":[{"properties":{"a":{"const":1},"b":{"const":1}}},{"properties":{"a":{"const":2},"b":{"const":2}}}]}`, `{"a":1,"b":1}`, `[{"op":"replace","path":"/a","value":2}]`, false},
		"anyOf, other branch":       {`{"anyOf":[{"properties":{"a":{"const":1}}},{"properties":{"a":{"const":2}}}]}`, `{"a":1}`, `[{"op":"replace","path":"/a","value":2}]`, true},
		"anyOf far around":          {`{"anyOf":[{"required":["q"]},{"properties":{"a":{"items":{"type":"integer"}}}}]}`, `{"a":[1]}`, `[{"op":"add","path":"/a/-","value":"x"}]`, false},
		"oneOf, both":               {`{"oneOf":[{"properties":{"a":{"minimum":5}}},{"properties":{"b":{"minimum":5}}}]}`, `{"a":1,"b":7}`, `[{"op":"replace","path":"/a","value":9}]`, false},
		"not":                       {`{"not":{"properties":{"a":{"properties":{"b":{"const":1}}}},"required":["a"]}}`, `{"a":{"b":2}}`, `[{"op":"replace","path":"/a/b","value":1}]`, false},
		"if a sibling":              {`{"if":{"properties":{"s":{"const":"done"}}},"then":{"required":["r"]}}`, `{"s":"open"}`, `[{"op":"replace","path":"/s","value":"done"}]`, false},
		"then, on its sibling":      {`{"if":{"properties":{"s":{"const":"done"}}},"then":{"properties":{"r":{"type":"string"}}}}`, `{"s":"done","r":"x"}`, `[{"op":"replace","path":"/r","value":1}]`, false},
		"else":                      {`{"if":{"properties":{"s":{"const":1}}},"else":{"properties":{"t":{"properties":{"u":{"const":1}}}}}}`, `{"s":1,"t":{"u":2}}`, `[{"op":"replace","path":"/s","value":2}]`, false},
		"if alone":                  {`{"if":{"properties":{"s":{"const":1}}}}`, `{"s":1}`, `[{"op":"replace","path":"/s","value":2}]`, true},
		"dependentRequired":         {`{"dependentRequired":{"a":["b"]}}`, `{"b":1}`, `[{"op":"move","from":"/b","path":"/a"}]`, false},
		"dependent removed":         {`{"dependentRequired":{"a":["b"]}}`, `{"a":1,"b":1}`, `[{"op":"remove","path":"/b"}]`, false},
		"dependentSchemas":          {`{"dependentSchemas":{"a":{"properties":{"b":{"type":"string"}}}}}`, `{"b":1}`, `[{"op":"add","path":"/a","value":1}]`, false},
		"dependencies":              {`{` + draft7 + `"dependencies":{"a":["b"],"c":{"maxProperties":1}}}`, `{"d":1}`, `[{"op":"add","path":"/c","value":1}]`, false},
		"propertyNames":             {`{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"a":1}`, `[{"op":"add","path":"/B","value":1}]`, false},
		"contains, last one gone":   {`{"contains":{"const":1}}`, `[0,1]`, `[{"op":"remove","path":"/1"}]`, false},
		"contains, changed inside":  {`{"contains":{"required":["a"]}}`, `[{"a":1}]`, `[{"op":"remove","path":"/0/a"}]`, false},
		"maxContains":               {`{"contains":{"const":1},"maxContains":1}`, `[0,1]`, `[{"op":"replace","path":"/0","value":1}]`, false},
		"minContains 0":             {`{"contains":{"const":1},"minContains":0}`, `[1]`, `[{"op":"remove","path":"/0"}]`, true},
		"recursive, deep inside":    {`{"properties":{"c":{"items":{"$ref":"#"}},"n":{"type":"integer"}}}`, `{"c":[{"c":[{"n":1}]}]}`, `[{"op":"replace","path":"/c/0/c/0/n","value":"x"}]`, false},
		"recursive, grown":          {`{"properties":{"c":{"items":{"$ref":"#"}},"n":{"type":"integer"}},"additionalProperties":false}`, `{"c":[{"n":1}]}`, `[{"op":"add","path":"/c/0/c","value":[{"n":2},{"n":3}]}]`, true},
		"ref with siblings":         {`{"$defs":{"s":{"type":"object"}},"properties":{"a":{"$ref":"#/$defs/s","required":["x"]}}}`, `{"a":{"x":1}}`, `[{"op":"remove","path":"/a/x"}]`, false},
		"ref's siblings, draft-07":  {`{` + draft7 + `"definitions":{"s":{"type":"object"}},"properties":{"a":{"$ref":"#/definitions/s","required":["x"]}}}`, `{"a":{"x":1}}`, `[{"op":"remove","path":"/a/x"}]`, true},
		"ref and if, draft-07":      {`{` + draft7 + `"definitions":{"s":{"type":"object"}},"properties":{"a":{"$ref":"#/definitions/s","if":{"maxProperties":0},"then":false}}}`, `{"a":{"x":1}}`, `[{"op":"remove","path":"/a/x"}]`, true},
		"unevaluatedProperties":     {`{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1}`, `[{"op":"add","path":"/b","value":1}]`, false},
		"unevaluated by a sibling":  {`{"anyOf":[{"properties":{"k":{"const":1},"a":{}}},{"properties":{"k":{"const":2}}}],"unevaluatedProperties":false}`, `{"k":1,"a":1}`, `[{"op":"replace","path":"/k","value":2}]`, false},
		"unevaluatedItems":          {`{"prefixItems":[{}],"unevaluatedItems":false}`, `[1]`, `[{"op":"add","path":"/-","value":1}]`, false},
		"dynamic reference":         {`{"$dynamicAnchor":"n","properties":{"c":{"$dynamicRef":"#n"},"v":{"type":"integer"}}}`, `{"c":{"v":1}}`, `[{"op":"replace","path":"/c/v","value":"x"}]`, false},
		"recursive reference":       {`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"c":{"$recursiveRef":"#"},"v":{"type":"integer"}}}`, `{"c":{"v":1}}`, `[{"op":"replace","path":"/c/v","value":"x"}]`, false},
		"kind of the root":          {`{"type":"object"}`, `{}`, `[{"op":"replace","path":"","value":[]}]`, false},
		"object into list":          {`{"properties":{"a":{"items":{"type":"string"},"required":["x"]}}}`, `{"a":{"x":1}}`, `[{"op":"replace","path":"/a","value":[1]}]`, false},
		"list into object":          {`{"properties":{"a":{"items":{"type":"string"},"required":["x"]}}}`, `{"a":["s"]}`, `[{"op":"replace","path":"/a","value":{}}]`, false},
		"schema false":              {`{"properties":{"a":false}}`, `{}`, `[{"op":"add","path":"/a","value":null}]`, false},
		"only the text of a number": {`{"type":"integer"}`, `1`, `[{"op":"replace","path":"","value":1.0}]`, true},
		"emptied":                   {`{"properties":{"a":{"minProperties":1}}}`, `{"a":{"b":1}}`, `[{"op":"remove","path":"/a/b"}]`, false},
		"filled":                    {`{"properties":{"a":{"maxItems":0}}}`, `{"a":[]}`, `[{"op":"add","path":"/a/0","value":1}]`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, problems := CompileSchema(must(t, tt.schema))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			old := must(t, tt.old)
			if ps := s.Validate(old); len(ps) > 0 {
				t.Fatal(ps)
			}
			v, err := applyText(t, tt.old, tt.patch, PatchLimits{})
			if err != nil {
				t.Fatal(err)
			}
			patch, _ := ParsePatch([]byte(tt.patch), PatchLimits{})
			shared, patchErr := patch.Apply(old, PatchLimits{})
			if patchErr != nil {
				t.Fatal(patchErr)
			}
			got, want := s.ValidateChange(old, shared), s.Validate(v)
			if !reflect.DeepEqual(got, want) || (len(got) == 0) != tt.valid || libraryValid(s, v) != tt.valid {
				t.Errorf("change: %v, whole: %v, want valid %v", got, want, tt.valid)
			}
		})
	}
}

// TestValidateChangeCost: the checked part follows the change, not the document.
func TestValidateChangeCost(t *testing.T) {
	t.Parallel()
	s := workflowStateSchema(t)
	small, large := workflowState(t, 5), workflowState(t, 1000)
	steps := func(doc Value) int {
		changed := withTask(doc, 3, "running")
		c := newChecker()
		if !c.change(s.root, doc, changed) {
			t.Fatal(s.Validate(changed))
		}
		return maxSteps - c.left
	}
	// One step for each sixteen elements of the list is for looking which changed.
	if a, b := steps(small), steps(large); b > a+1000/16+1 {
		t.Errorf("a change takes %d steps in a small document, %d in a large one", a, b)
	}
	if ps := s.ValidateChange(large, withTask(large, 3, "sleeping")); codesAt(ps) != "SCHEMA_VIOLATION /tasks/3/status" {
		t.Error(ps)
	}
	if ps := s.ValidateChange(large, large); ps != nil {
		t.Error(ps)
	}
}

// workflowStateSchema is the example schema of a workflow state (S10.1).
func workflowStateSchema(t testing.TB) *Schema {
	t.Helper()
	s, problems := CompileSchema(must(t, `{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"type": "object",
		"required": ["status", "tasks"],
		"properties": {
			"status": {"type": "string", "enum": ["pending", "in_progress", "review", "completed", "failed"]},
			"tasks": {
				"type": "array",
				"items": {
					"type": "object",
					"required": ["name", "status"],
					"properties": {
						"name": {"type": "string"},
						"status": {"type": "string", "enum": ["pending", "running", "done", "failed"]},
						"result": {"type": "string"},
						"assigned_to": {"type": "string"}
					}
				}
			},
			"summary": {"type": "string"},
			"metadata": {"type": "object"}
		}
	}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

// workflowState is a state with that many tasks, some 100 bytes each.
func workflowState(t testing.TB, tasks int) Value {
	t.Helper()
	var list []byte
	for i := range tasks {
		if i > 0 {
			list = append(list, ',')
		}
		list = fmt.Appendf(list, `{"name":"review module %d","status":"done","result":"no findings in this part","assigned_to":"agent-%d"}`, i, i%7)
	}
	return must(t, `{"tasks":[`+string(list)+`],"status":"in_progress","summary":"half way","metadata":{"owner":"root","priority":3}}`)
}

// withTask returns doc with the status of one task set, sharing the rest.
func withTask(doc Value, i int, status string) Value {
	tasks, _ := doc.Get("tasks")
	elements := append([]Value(nil), tasks.tree.elements...)
	elements[i] = MergeTop(elements[i], ObjectValue([]Member{{"status", StringValue(status)}}))
	return MergeTop(doc, ObjectValue([]Member{{"tasks", ArrayValue(elements)}}))
}

func benchmarkChange(b *testing.B, tasks int) {
	s, doc := workflowStateSchema(b), workflowState(b, tasks)
	changed := withTask(doc, tasks/2, "running")
	b.Run("change", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ps := s.ValidateChange(doc, changed); len(ps) > 0 {
				b.Fatal(ps)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ps := s.Validate(changed); len(ps) > 0 {
				b.Fatal(ps)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !libraryValid(s, changed) {
				b.Fatal("not valid")
			}
		}
	})
	text := fmt.Appendf(nil, `[{"op":"replace","path":"/tasks/%d/status","value":"running"}]`, tasks/2)
	b.Run("patch and change", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			patch, problems := ParsePatch(text, PatchLimits{})
			if len(problems) > 0 {
				b.Fatal(problems)
			}
			v, err := patch.Apply(doc, PatchLimits{})
			if err != nil {
				b.Fatal(err)
			}
			if ps := s.ValidateChange(doc, v); len(ps) > 0 {
				b.Fatal(ps)
			}
		}
	})
}

func BenchmarkValidate1KB(b *testing.B)   { benchmarkChange(b, 9) }
func BenchmarkValidate100KB(b *testing.B) { benchmarkChange(b, 950) }
