package document

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

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
		"slug empty":           {`{"name":"S","slug":""}`, "EMPTY /slug"},
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

// TestKindOf: `interlock validate` distinguishes documents by shape.
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
		`{"name":"w","initial":"a","states":{"a":{"on":{"X":"b"}},"b":{"type":"final"}}}`: "workflow",
		`{"unrelated":1}`: "",
		`{"id":"w","initial":"a","slug":"x","states":{"a":{"on":{}}}}`:                                 "workflow",
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

// The four definitions that S12 is made from.
const (
	supportSession = `{
		"name": "Support Session State", "slug": "support-session-state",
		"description": "Tracks conversation context for customer support agents",
		"schema_definition": {
			"customer_id": {"type": "string"},
			"customer_name": {"type": "string"},
			"account_tier": {"type": "string", "enum": ["free", "starter", "pro", "enterprise"]},
			"ticket_ids": {"type": "array", "items": {"type": "string"}},
			"escalated": {"type": "boolean"},
			"sentiment_score": {"type": "number"}
		},
		"persistence": "session",
		"initial_values": {"ticket_ids": [], "escalated": false, "sentiment_score": 0.0},
		"tags": ["support", "session"]
	}`
	conversationContext = `{
		"name": "Conversation Context", "slug": "conversation-context", "persistence": "session",
		"schema_definition": {
			"messages_sent": {"type": "integer"},
			"topics_discussed": {"type": "array", "items": {"type": "string"}},
			"resolved": {"type": "boolean"}
		},
		"initial_values": {"messages_sent": 0, "topics_discussed": [], "resolved": false}
	}`
	userPreferences = `{
		"name": "User Preferences", "slug": "user-preferences", "persistence": "long_term",
		"schema_definition": {
			"preferred_language": {"type": "string"},
			"timezone": {"type": "string"},
			"notification_settings": {"type": "object", "properties": {"email": {"type": "boolean"}, "slack": {"type": "boolean"}}},
			"interaction_count": {"type": "integer"}
		},
		"initial_values": {
			"preferred_language": "en", "timezone": "UTC", "notification_settings": {"email": true, "slack": false}, "interaction_count": 0
		}
	}`
	wizardFlow = `{
		"name": "Wizard Flow State", "slug": "wizard-flow-state", "persistence": "session",
		"schema_definition": {
			"current_step": {"type": "integer"},
			"total_steps": {"type": "integer"},
			"completed_steps": {"type": "array", "items": {"type": "integer"}},
			"form_data": {"type": "object"}
		},
		"initial_values": {"current_step": 1, "total_steps": 5, "completed_steps": [], "form_data": {}}
	}`
)

func component(t testing.TB, src string) *Component {
	t.Helper()
	c, problems := ParseComponent([]byte(src))
	if c == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// TestStart: declared fields without an initial value are null and unset (S12.2).
func TestStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src         string
		persistence Persistence
		values      string
		unset       []string
	}{
		{
			supportSession, PersistSession,
			`{"customer_id":null,"customer_name":null,"account_tier":null,"ticket_ids":[],"escalated":false,"sentiment_score":0.0}`,
			[]string{"customer_id", "customer_name", "account_tier"},
		},
		{conversationContext, PersistSession, `{"messages_sent":0,"topics_discussed":[],"resolved":false}`, nil},
		{
			userPreferences, PersistLongTerm,
			`{"preferred_language":"en","timezone":"UTC","notification_settings":{"email":true,"slack":false},"interaction_count":0}`, nil,
		},
		{wizardFlow, PersistSession, `{"current_step":1,"total_steps":5,"completed_steps":[],"form_data":{}}`, nil},
		{`{"name":"S","slug":"s"}`, PersistSession, `{}`, nil},
	}
	for _, tt := range tests {
		c := component(t, tt.src)
		got := c.Start()
		if got.Values.String() != tt.values || !reflect.DeepEqual(got.Unset, tt.unset) || c.Persistence != tt.persistence {
			t.Errorf("%s (%s) starts as %s, unset %q", c.Name, c.Persistence, got.Values, got.Unset)
		}
		if again, problems := c.Check(got, got.Values); len(problems) > 0 || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: its first values are not valid: %v", c.Name, problems)
		}
	}
}

// TestConversation: a context goes through three executions (S12.3).
func TestConversation(t *testing.T) {
	t.Parallel()
	c := component(t, conversationContext)
	now := c.Start()
	for _, next := range []string{
		`{"messages_sent": 1, "topics_discussed": ["billing"], "resolved": false}`,
		`{"messages_sent": 2, "topics_discussed": ["billing", "dispute"], "resolved": false}`,
		`{"messages_sent": 3, "topics_discussed": ["billing", "dispute"], "resolved": true}`,
	} {
		after, problems := c.Check(now, must(t, next))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if !Equal(after.Values, must(t, next)) || after.Unset != nil {
			t.Errorf("after %s: %s, unset %q", next, after.Values, after.Unset)
		}
		now = after
	}
	if _, problems := c.Check(now, must(t, `{"messages_sent":"four","topics_discussed":["billing",5],"resolved":true}`)); codesAt(problems) != "SCHEMA_VIOLATION /messages_sent; SCHEMA_VIOLATION /topics_discussed/1" {
		t.Error(problems)
	}
}

// TestCheck covers replacements of the values of an instance.
func TestCheck(t *testing.T) {
	t.Parallel()
	const fields = `"a":{"type":"string"},"b":{"type":["integer","null"]},"c":{"type":"array"}`
	plain := `{` + fields + `}`
	whole := `{"type":"object","properties":{` + fields + `},"required":["a","c"]`
	tests := map[string]struct {
		definition    string
		before        string
		unset         []string
		values, after string
		stillUnset    []string
		want          string
	}{
		"nothing set":          {plain, `{"a":null,"b":null,"c":null}`, []string{"a", "b", "c"}, `{}`, `{"a":null,"b":null,"c":null}`, []string{"a", "b", "c"}, ""},
		"null while unset":     {plain, `{"a":null,"b":null,"c":null}`, []string{"a", "b", "c"}, `{"c":null,"a":"x"}`, `{"c":null,"a":"x","b":null}`, []string{"b", "c"}, ""},
		"first set, wrong":     {plain, `{"a":null,"b":null,"c":null}`, []string{"a", "b", "c"}, `{"a":1}`, "", nil, "SCHEMA_VIOLATION /a"},
		"null once set":        {plain, `{"a":"x","b":1,"c":[]}`, nil, `{"a":null,"b":1,"c":[]}`, "", nil, "SCHEMA_VIOLATION /a"},
		"null, if admitted":    {plain, `{"a":"x","b":1,"c":[]}`, nil, `{"a":"x","b":null,"c":[]}`, `{"a":"x","b":null,"c":[]}`, nil, ""},
		"left out once set":    {plain, `{"a":"x","b":1,"c":[]}`, nil, `{"b":2,"c":[]}`, "", nil, "REQUIRED /a"},
		"two left out":         {plain, `{"a":"x","b":1,"c":null}`, []string{"c"}, `{}`, "", nil, "REQUIRED /a; REQUIRED /b"},
		"undeclared":           {plain, `{"a":"x","b":1,"c":[]}`, nil, `{"a":"x","b":1,"c":[],"d":1}`, "", nil, "SCHEMA_VIOLATION /d"},
		"undeclared and wrong": {plain, `{"a":"x","b":1,"c":[]}`, nil, `{"a":5,"b":1,"c":[],"d":1,"e":null}`, "", nil, "SCHEMA_VIOLATION /a; SCHEMA_VIOLATION /d; SCHEMA_VIOLATION /e"},
		"not an object":        {plain, `{}`, nil, `[]`, "", nil, "TYPE "},
		"nothing before":       {plain, ``, nil, `{"a":"x"}`, `{"a":"x","b":null,"c":null}`, []string{"b", "c"}, ""},
		"field declared since": {plain, `{"a":"x"}`, nil, `{"a":"y"}`, `{"a":"y","b":null,"c":null}`, []string{"b", "c"}, ""},
		"no longer declared":   {plain, `{"a":"x","b":1,"c":[],"old":1}`, []string{"old2"}, `{"a":"y","b":1,"c":[]}`, `{"a":"y","b":1,"c":[]}`, nil, ""},

		"required, unset":        {whole + `}`, ``, nil, `{}`, `{"a":null,"b":null,"c":null}`, []string{"a", "b", "c"}, ""},
		"required, left out":     {whole + `}`, `{"a":"x","b":1,"c":[]}`, nil, `{"b":1,"c":[]}`, "", nil, "REQUIRED /a"},
		"open, undeclared":       {whole + `,"additionalProperties":true}`, ``, nil, `{"d":1}`, "", nil, "SCHEMA_VIOLATION /d"},
		"whole, null once set":   {whole + `}`, `{"a":"x","b":1,"c":[]}`, nil, `{"a":"x","b":1,"c":null}`, "", nil, "SCHEMA_VIOLATION /c"},
		"between fields":         {whole + `,"if":{"properties":{"b":{"const":1}}},"then":{"properties":{"c":{"minItems":1}}}}`, `{"a":"x","b":2,"c":[]}`, nil, `{"a":"x","b":1,"c":[]}`, "", nil, "SCHEMA_VIOLATION /c"},
		"between, unset":         {whole + `,"if":{"properties":{"b":{"const":1}}},"then":{"properties":{"c":{"minItems":1}}}}`, `{"a":"x","b":2,"c":null}`, []string{"c"}, `{"a":"x","b":1}`, `{"a":"x","b":1,"c":null}`, []string{"c"}, ""},
		"only library":           {whole + `,"unevaluatedProperties":false}`, `{"a":null,"b":2,"c":null}`, []string{"a", "c"}, `{"a":"x","b":1}`, `{"a":"x","b":1,"c":null}`, []string{"c"}, ""},
		"only library, wrong":    {whole + `,"unevaluatedProperties":false}`, `{"a":null,"b":2,"c":null}`, []string{"a", "c"}, `{"a":1,"b":1}`, "", nil, "SCHEMA_VIOLATION /a"},
		"null deeper is no such": {`{"a":{"type":"object","properties":{"a":{"type":"string"}}}}`, `{"a":null}`, []string{"a"}, `{"a":{"a":null}}`, "", nil, "SCHEMA_VIOLATION /a/a"},
		"false, unset":           {`{"a":false}`, `{"a":null}`, []string{"a"}, `{}`, `{"a":null}`, []string{"a"}, ""},
		"name with a slash":      {`{"a/b":{"type":"string"}}`, `{"a/b":"x"}`, nil, `{}`, "", nil, "REQUIRED /a~1b"},
		"numbers as written":     {`{"n":{"type":"number"}}`, `{"n":1}`, nil, `{"n":1.0}`, `{"n":1.0}`, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := component(t, `{"name":"S","slug":"s","schema_definition":`+tt.definition+`}`)
			before := Instance{Unset: tt.unset}
			if tt.before != "" {
				before.Values = must(t, tt.before)
			}
			after, problems := c.Check(before, must(t, tt.values))
			if got := codesAt(problems); got != tt.want {
				t.Fatalf("got %q, want %q: %v", got, tt.want, problems)
			}
			if tt.want != "" {
				if !after.Values.IsZero() || after.Unset != nil {
					t.Errorf("there is a result next to %v", problems)
				}
				return
			}
			if after.Values.String() != tt.after || !reflect.DeepEqual(after.Unset, tt.stillUnset) {
				t.Errorf("after: %s, unset %q", after.Values, after.Unset)
			}
		})
	}
	c := component(t, `{"name":"S","slug":"s","schema_definition":`+plain+`}`)
	if _, problems := c.Check(Instance{}, must(t, `{"A":1}`)); len(problems) != 1 || !strings.Contains(problems[0].Message, `did you mean "a"`) {
		t.Error(problems)
	}
}

// TestCheckKeeps: for any input, an instance keeps every declared field, and
// the set of unset fields only becomes smaller (S12.2).
func TestCheckKeeps(t *testing.T) {
	t.Parallel()
	c := component(t, supportSession)
	refused, accepted := 0, 0
	values := map[string]*rapid.Generator[string]{
		"customer_id":     rapid.SampledFrom([]string{"null", `"c1"`, "1"}),
		"customer_name":   rapid.SampledFrom([]string{"null", `"Ada"`}),
		"account_tier":    rapid.SampledFrom([]string{"null", `"pro"`, `"gold"`}),
		"ticket_ids":      rapid.SampledFrom([]string{"[]", `["t1"]`, `["t1","t2"]`, "null"}),
		"escalated":       rapid.SampledFrom([]string{"true", "false"}),
		"sentiment_score": rapid.SampledFrom([]string{"0.5", "-1"}),
	}
	randtest.Check(t, func(t *rapid.T) {
		now := c.Start()
		for range 8 {
			var members []Member
			for name := range now.Values.Members() {
				if rapid.IntRange(0, 19).Draw(t, "left out") > 0 {
					members = append(members, Member{name, must(t, values[name].Draw(t, name))})
				}
			}
			after, problems := c.Check(now, ObjectValue(members))
			if len(problems) > 0 {
				refused++
				continue
			}
			accepted++
			if after.Values.Len() != c.Initial.Len() {
				t.Fatalf("%s has lost fields", after.Values)
			}
			for name, v := range after.Values.Members() {
				isUnset, wasUnset := slices.Contains(after.Unset, name), slices.Contains(now.Unset, name)
				if isUnset && (!wasUnset || v.Kind() != Null) || v.Kind() == Null && !isUnset {
					t.Fatalf("%s: %s is unset: %v, was: %v", after.Values, name, isUnset, wasUnset)
				}
			}
			now = after
		}
	})
	if refused == 0 || accepted == 0 {
		t.Errorf("%d refused, %d accepted", refused, accepted)
	}
}
