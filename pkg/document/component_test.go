package document

import "testing"

// TestParseComponent covers S12.1, S12.2 and the codes of schemas (S1.3).
func TestParseComponent(t *testing.T) {
	t.Parallel()
	with := func(fields string) string { return `{"name":"S","slug":"s",` + fields + `}` }
	schema := func(s string) string { return with(`"schema_definition":` + s) }
	tests := map[string]struct{ src, want string }{
		"smallest":             {`{"name":"S","slug":"s"}`, ""},
		"not an object":        {`[]`, "TYPE "},
		"nothing":              {`{}`, "REQUIRED /name; REQUIRED /slug"},
		"name empty":           {`{"name":"","slug":"s"}`, "EMPTY /name"},
		"name is a number":     {`{"name":1,"slug":"s"}`, "TYPE /name"},
		"slug empty":           {`{"name":"S","slug":""}`, "EMPTY /slug; NAME /slug"},
		"slug upper case":      {`{"name":"S","slug":"My-State"}`, "NAME /slug"},
		"slug with a blank":    {`{"name":"S","slug":"a b"}`, "NAME /slug"},
		"slug with underscore": {`{"name":"S","slug":"a_b"}`, "NAME /slug"},
		"slug null":            {`{"name":"S","slug":null}`, "TYPE /slug"},
		"persistence":          {with(`"persistence":"long_term"`), ""},
		"persistence unknown":  {with(`"persistence":"forever"`), "ENUM /persistence"},
		"persistence null":     {with(`"persistence":null`), "TYPE /persistence"},
		"tags":                 {with(`"tags":["a","b"]`), ""},
		"tags wrong":           {with(`"tags":["a",1]`), "TYPE /tags/1"},
		"tags a string":        {with(`"tags":"a"`), "TYPE /tags"},
		"description wrong":    {with(`"description":1`), "TYPE /description"},
		"near miss":            {with(`"persistnce":"none"`), "UNKNOWN_FIELD /persistnce"},
		"hint":                 {with(`"team":"x"`), "UNKNOWN_HINT /team"},

		"schema is a list":           {schema(`[]`), "TYPE /schema_definition"},
		"schema null":                {schema(`null`), "TYPE /schema_definition"},
		"field's schema is a string": {schema(`{"a":"string"}`), "BAD_SCHEMA /schema_definition/a"},
		"type unknown":               {schema(`{"a":{"type":"strin"}}`), "BAD_SCHEMA /schema_definition/a/type"},
		"type a number":              {schema(`{"a":{"type":5}}`), "BAD_SCHEMA /schema_definition/a/type"},
		"deeper":                     {schema(`{"a":{"type":"object","properties":{"b":{"minimum":"1"}}}}`), "BAD_SCHEMA /schema_definition/a/properties/b/minimum"},
		"bad pattern":                {schema(`{"a":{"pattern":"("}}`), "BAD_SCHEMA /schema_definition/a/pattern"},
		"enum empty is legal":        {schema(`{"a":{"enum":[]}}`), ""},
		"boolean schema":             {schema(`{"a":true}`), ""},
		"field called type":          {schema(`{"type":{"type":"string"}}`), ""},
		"remote ref":                 {schema(`{"a":{"$ref":"http://169.254.169.254/x.json"}}`), "REMOTE_REF /schema_definition/a/$ref"},
		"file ref":                   {schema(`{"a":{"$ref":"file:///etc/passwd"}}`), "REMOTE_REF /schema_definition/a/$ref"},
		"relative ref":               {schema(`{"a":{"$ref":"other.json#/x"}}`), "REMOTE_REF /schema_definition/a/$ref"},
		"deep remote ref":            {schema(`{"a":{"items":{"anyOf":[{"$ref":"https://x.y/z"}]}}}`), "REMOTE_REF /schema_definition/a/items/anyOf/0/$ref"},
		"remote dynamic ref":         {schema(`{"a":{"$dynamicRef":"https://x.y/z#q"}}`), "REMOTE_REF /schema_definition/a/$dynamicRef"},
		"ref that is a number":       {schema(`{"a":{"$ref":5}}`), "BAD_SCHEMA /schema_definition/a/$ref"},
		"ref in data":                {schema(`{"a":{"const":{"$ref":"http://x/"},"examples":[{"$ref":"http://x/"}]}}`), ""},
		"field called $ref":          {schema(`{"type":"object","properties":{"$ref":{"type":"string"}}}`), ""},
		"unknown metaschema":         {schema(`{"type":"object","$schema":"https://evil.example/meta"}`), "REMOTE_REF /schema_definition/$schema"},
		"draft-07":                   {schema(`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/x"}}}`), ""},
		"local ref":                  {schema(`{"type":"object","$defs":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/x"}}}`), ""},
		"own id":                     {schema(`{"type":"object","$defs":{"x":{"$id":"urn:x","type":"string"}},"properties":{"a":{"$ref":"urn:x"}}}`), ""},
		"dangling ref":               {schema(`{"type":"object","properties":{"a":{"$ref":"#/$defs/nope"}}}`), "BAD_SCHEMA /schema_definition/$defs/nope"},

		"initial value violates":  {with(`"schema_definition":{"a":{"type":"string"}},"initial_values":{"a":5}`), "SCHEMA_VIOLATION /initial_values/a"},
		"deeper violation":        {with(`"schema_definition":{"a":{"type":"array","items":{"type":"integer"}}},"initial_values":{"a":[1,"x",2.5]}`), "SCHEMA_VIOLATION /initial_values/a/1; SCHEMA_VIOLATION /initial_values/a/2"},
		"two violations":          {with(`"schema_definition":{"a":{"type":"string"},"b":{"enum":["x"]}},"initial_values":{"a":5,"b":"y"}`), "SCHEMA_VIOLATION /initial_values/a; SCHEMA_VIOLATION /initial_values/b"},
		"undeclared":              {with(`"schema_definition":{"a":{"type":"string"}},"initial_values":{"b":5}`), "SCHEMA_VIOLATION /initial_values/b"},
		"undeclared, no schema":   {with(`"initial_values":{"b":5}`), "SCHEMA_VIOLATION /initial_values/b"},
		"null is not yet set":     {with(`"schema_definition":{"a":{"type":"string"}},"initial_values":{"a":null}`), ""},
		"unset":                   {with(`"schema_definition":{"a":{"type":"string"},"b":{"type":"array"}},"initial_values":{"b":[]}`), ""},
		"initial values a list":   {with(`"initial_values":[]`), "TYPE /initial_values"},
		"initial values null":     {with(`"initial_values":null`), "TYPE /initial_values"},
		"initial values empty":    {with(`"initial_values":{}`), ""},
		"whole schema":            {with(`"schema_definition":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"initial_values":{}`), ""},
		"whole schema, violation": {with(`"schema_definition":{"type":"object","properties":{"a":{"type":"string"}}},"initial_values":{"a":1}`), "SCHEMA_VIOLATION /initial_values/a"},
		"whole schema, undeclared": {
			with(`"schema_definition":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false},"initial_values":{"z":1}`),
			"SCHEMA_VIOLATION /initial_values/z",
		},
		"big number stays exact": {with(`"schema_definition":{"a":{"const":9007199254740993}},"initial_values":{"a":9007199254740992}`), "SCHEMA_VIOLATION /initial_values/a"},
		"syntax":                 {`{"name":`, "JSON_SYNTAX "},
		"duplicate key":          {`{"name":"S","slug":"s","slug":"t"}`, "DUPLICATE_KEY /slug"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, problems := ParseComponent([]byte(tt.src))
			if got := codesAt(problems); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, problems)
			}
			if (c == nil) != problems.HasErrors() {
				t.Errorf("component %v with %v", c, problems)
			}
		})
	}
}

// TestComponentFields reads the example of a support session.
func TestComponentFields(t *testing.T) {
	t.Parallel()
	c := component(t, supportSession)
	if c.Persistence != PersistSession || c.Slug != "support-session-state" || len(c.Tags) != 2 {
		t.Errorf("read %+v", c)
	}
	if ps := c.Compiled.Validate(must(t, `{"customer_id":"x","escalated":"no"}`)); codesAt(ps) != "SCHEMA_VIOLATION /escalated" {
		t.Errorf("got %v", ps)
	}
}

// TestKindOf: `interlock validate` tells documents apart by shape.
func TestKindOf(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"id":"w","initial":"a","states":{"a":{"on":{"X":"b"}},"b":{"type":"final"}}}`: "workflow",
		`{"initial":"a","states":{"a":{"on":{}}}}`:                                      "workflow",
		`{"id":"w","initial":"a"}`:                                                      "workflow",
		`{"id":"w"}`:                                                                    "workflow",
		`{"states":{}}`:                                                                 "workflow",
		`{"states":[]}`:                                                                 "workflow",
		`{"name":"w","initial":"a","context":{},"states":{"a":{"on":{"X":"b"}}}}`:                "workflow",
		`{"name":"p","initial":"q","states":{"q":{"question":"?","answers":{}}}}`:                "process",
		`{"id":"proc_01","name":"p","initial":"q","states":{"q":{"question":"?","answers":{}}}}`: "process",
		`{"name":"p","initial":"q","states":{}}`:                                                 "process",
		`{"initial":"q","states":{"q":{"question":"?"}}}`:                                        "process",
		`{"role":"agent","allow":[]}`:                                                            "policy",
		`{"deny":[{"capability":"bash"}]}`:                                                       "policy",
		`{"name":"S","slug":"s"}`:                                                                "component",
		`{"name":"S","schema_definition":{}}`:                                                    "component",
		`{}`:                                                                                     "",
		`[]`:                                                                                     "",
		`"workflow"`:                                                                             "",
		`{"unrelated":1}`:                                                                        "",
		`{"id":"w","initial":"a","slug":"x","states":{"a":{"on":{}}}}`:                           "workflow",
		`{"id":"w","initial":"a","states":{"a":{"allowed_tools":[],"question":"?","on":{"X":"a"}}}}`:   "workflow",
		`{"name":"p","policy":{"role":"agent"},"initial":"q","states":{"q":{"question":"?"}}}`:         "process",
		`{"id":"w","initial":"a","allow":[],"states":{"a":{"allowed_tools":["Read"],"on":{"X":"a"}}}}`: "workflow",
	}
	for src, want := range tests {
		if got := KindOf(must(t, src)); got != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
	if got := KindOf(Value{}); got != "" {
		t.Errorf("missing is a %q", got)
	}
}
