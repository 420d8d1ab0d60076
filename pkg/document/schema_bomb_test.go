package document

import (
	"fmt"
	"strings"
	"testing"
)

// joined writes n texts with commas between them.
func joined(n int, text func(int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(text(i))
	}
	return b.String()
}

func repeated(n int, text string) string { return joined(n, func(int) string { return text }) }

// filled is a list of about a MiB.
func filled(element string) string {
	return "[" + repeated((1<<20-2)/(len(element)+1), element) + "]"
}

// treeLists are n different lists, all the same to the library's hash.
func treeLists(n int) string {
	return "[" + joined(n, func(i int) string {
		return "[" + joined(17, func(bit int) string {
			if i>>bit&1 == 1 {
				return "[[],[]]"
			}
			return "[[[]]]"
		}) + "]"
	}) + "]"
}

// TestSchemaRefused: a schema that is costly to compile, or to apply to any
// value, is refused when it is registered.
func TestSchemaRefused(t *testing.T) {
	t.Parallel()
	draft7 := `"$schema":"http://json-schema.org/draft-07/schema#",`
	property := func(format string) string {
		return joined(2400, func(i int) string { return fmt.Sprintf(format, i, i) })
	}
	wide := "^x{1000}y{1000}z{1000}x{1000}y{1000}z{1000}x{1000}y{1000}z{1000}x{1000}"
	tests := map[string]struct{ schema, want, message string }{
		"many booleans": {`{"properties":{` + joined(5001, func(i int) string { return fmt.Sprintf(`"p%d":true`, i) }) + `}}`, "BAD_SCHEMA ", "$defs"},
		"many subschemas": {
			`{"properties":{` + joined(5001, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`, "BAD_SCHEMA ", "make it smaller",
		},
		"many values":         {`{"enum":[` + repeated(50_001, "1") + `]}`, "BAD_SCHEMA ", "50000 values"},
		"subschemas anywhere": {`{"components":[` + repeated(1001, `{"type":"string"}`) + `],"$ref":"#/components/0"}`, "BAD_SCHEMA /components", "make it shorter"},
		"lists to compare":    {`{` + draft7 + `"enum":` + `[` + joined(1001, func(i int) string { return fmt.Sprintf(`[%d]`, i) }) + `]` + `}`, "BAD_SCHEMA /enum", "make it shorter"},
		"references elsewhere": {
			`{"components":{` + property(`"p%d":{"type":"string","x":%d}`) + `},"properties":{` + property(`"p%d":{"$ref":"#/components/p%d"}`) + `}}`,
			"BAD_SCHEMA ", "$defs",
		},
		"references from elsewhere": {
			`{"components":{` + joined(2400, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/components/p%d"}`, i, i+1) }) +
				`},"$ref":"#/components/p0"}`,
			"BAD_SCHEMA ", "$defs",
		},
		"chain of references": {
			`{"$defs":{` + joined(100, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/p%d"}`, i, i+1) }) + `,"p100":{}},"$ref":"#/$defs/p0"}`,
			"BAD_SCHEMA ", "shorten the chain",
		},
		"doubling": {
			`{"$defs":{` + joined(30, func(i int) string {
				return fmt.Sprintf(`"p%d":{"allOf":[{"$ref":"#/$defs/p%d"},{"$ref":"#/$defs/p%d"}]}`, i, i+1, i+1)
			}) + `,"p30":{"type":"string"}},"$ref":"#/$defs/p0"}`,
			"BAD_SCHEMA ", "make it simpler",
		},
		"doubling below": {
			`{"$defs":{` + joined(20, func(i int) string {
				return fmt.Sprintf(`"p%d":{"anyOf":[{"$ref":"#/$defs/p%d"},{"$ref":"#/$defs/p%d"}]}`, i, i+1, i+1)
			}) + `,"p20":{}},"items":{"items":{"$ref":"#/$defs/p0"}}}`,
			"BAD_SCHEMA ", "make it simpler",
		},
		"leads to itself":           {`{"$ref":"#"}`, "BAD_SCHEMA ", "properties"},
		"leads to itself by others": {`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/y"}]},"y":{"not":{"$ref":"#/$defs/x"}}}}`, "BAD_SCHEMA /$defs/x", "properties"},
		"leads to itself if there":  {`{"dependentSchemas":{"a":{"if":{"$ref":"#"}}}}`, "BAD_SCHEMA ", "properties"},
		"pattern":                   {`{"properties":{"a":{"pattern":"` + wide + `"}}}`, "BAD_SCHEMA /properties/a/pattern", "smaller counts"},
		"pattern of names":          {`{` + draft7 + `"patternProperties":{"` + wide + `":{}}}`, "BAD_SCHEMA /patternProperties/" + wide, "smaller counts"},
		"pattern text":              {`{"pattern":"` + strings.Repeat("a", 10_000) + `"}`, "BAD_SCHEMA /pattern", "shorter"},
		"patterns together":         {`{"allOf":[` + joined(100, func(i int) string { return fmt.Sprintf(`{"pattern":"x{1000}y{1000}%d"}`, i) }) + `]}`, "", "simpler"},
		"bad patterns":              {`{"allOf":[` + joined(900, func(i int) string { return fmt.Sprintf(`{"pattern":"%s%d"}`, wide, i) }) + `]}`, "", ""},
		"huge count":                {`{"properties":{"a":{"minLength":18446744073709551616}}}`, "BAD_SCHEMA /properties/a/minLength", "beyond 64 bits"},
		"number":                    {`{"multipleOf":1e-1000001}`, "NUMBER /multipleOf", ""},
		"recursion to nobody knows": {
			`{"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{"a":{"$id":"urn:x","$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}}}`,
			"BAD_SCHEMA /properties/a/items", "$ref",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, problems := ParseAll([]byte(tt.schema), Limits{})
			if len(problems) == 0 {
				var s *Schema
				if s, problems = CompileSchema(v); s != nil {
					t.Fatal("was compiled")
				}
			}
			if got := codesAt(problems); tt.want != "" && got != tt.want {
				t.Errorf("got %q, want %q: %.300v", got, tt.want, problems)
			}
			if len(problems) == 0 || !strings.Contains(problems[0].Message, tt.message) {
				t.Errorf("%.300v does not say %q", problems, tt.message)
			}
		})
	}
	// Deeper than a parser lets it be.
	deep := ObjectValue(nil)
	for range 100 {
		deep = ObjectValue([]Member{{"not", deep}})
	}
	if _, problems := CompileSchema(deep); codesAt(problems) != "TOO_DEEP /not" {
		t.Error(problems)
	}
}

// TestSchemaLargeIsFine: a large schema that is no bomb is compiled.
func TestSchemaLargeIsFine(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"properties": `{"properties":{` + joined(4900, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`,
		"enum":       `{"enum":[` + joined(49_000, func(i int) string { return fmt.Sprint(i) }) + `]}`,
		"branches":   `{"oneOf":[` + joined(1000, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}`,
		"ring": `{"$defs":{` + joined(1000, func(i int) string { return fmt.Sprintf(`"p%d":{"items":{"$ref":"#/$defs/p%d"}}`, i, (i+1)%1000) }) +
			`},"$ref":"#/$defs/p0"}`,
		"deep":                 strings.Repeat(`{"items":`, 60) + `{}` + strings.Repeat(`}`, 60),
		"references elsewhere": `{"components":{"a":{"properties":{"b":{"$ref":"#/components/a"}}}},"$ref":"#/components/a"}`,
	} {
		if s, problems := CompileSchema(must(t, schema)); len(problems) > 0 || s.size < len(schema) {
			t.Errorf("%s: %.300v", name, problems)
		}
	}
}

// threeWays describes the child c in three branches, as unions of nodes do:
// a validator that follows each branch looks at a child 3^depth times.
const threeWays = `"$defs":{"n":{"anyOf":[
	{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["x"]},
	{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["y"]},
	{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["z"]}]}}`

func nested(n int, open, middle string) string {
	return strings.Repeat(open, n) + middle + strings.Repeat("}", n)
}

// TestValidateBombs: for any combination of schema and value, the time is
// bounded; the answer is right, or it is TOO_LARGE.
func TestValidateBombs(t *testing.T) {
	t.Parallel()
	digits := "3" + strings.Repeat("0", 250) + "." + strings.Repeat("3", 700)
	names := `{` + joined(80_000, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }) + `}`
	slow := `"^(a?){500}(a?){500}$"`
	texts := joined(40_000, func(i int) string { return fmt.Sprintf(`"v%d"`, i) })
	tests := map[string]struct{ schema, doc, want string }{
		"three ways":                {`{` + threeWays + `,"$ref":"#/$defs/n"}`, nested(60, `{"z":1,"c":`, `{"z":1}`), ""},
		"three ways, not valid":     {`{` + threeWays + `,"$ref":"#/$defs/n"}`, nested(60, `{"z":1,"c":`, `{"c":{}}`), "SCHEMA_VIOLATION "},
		"three ways, library":       {`{` + threeWays + `,"$ref":"#/$defs/n","unevaluatedItems":false}`, nested(60, `{"z":1,"c":`, `{"z":1}`), "TOO_LARGE "},
		"three ways, shallow":       {`{` + threeWays + `,"$ref":"#/$defs/n","unevaluatedItems":false}`, nested(4, `{"z":1,"c":`, `{"z":1}`), ""},
		"anyOf of ten":              {`{"items":{"anyOf":[` + repeated(9, `{"type":"string"}`) + `,{"type":"integer"}]}}`, filled("1"), ""},
		"anyOf of a thousand":       {`{"items":{"anyOf":[` + repeated(999, `{"type":"string"}`) + `,{"type":"integer"}]}}`, filled("1"), "TOO_LARGE "},
		"anyOf, library":            {`{"unevaluatedItems":false,"items":{"anyOf":[` + repeated(9, `{"type":"string"}`) + `]}}`, filled("1"), "TOO_LARGE "},
		"all wrong":                 {`{"items":{"type":"string"}}`, filled("1"), "SCHEMA_VIOLATION /0"},
		"large enum":                {`{"items":{"enum":[` + texts + `]}}`, filled(`"v39999"`), ""},
		"large enum, all wrong":     {`{"items":{"enum":[` + texts + `]}}`, filled(`"w"`), "SCHEMA_VIOLATION /0"},
		"large enum, library":       {`{"unevaluatedItems":false,"items":{"enum":[` + texts + `]}}`, filled(`"v39999"`), "TOO_LARGE "},
		"many constants":            {`{"anyOf":[` + repeated(900, `{"const":[0]}`) + `]}`, filled("1"), "TOO_LARGE "},
		"unique numbers":            {`{"uniqueItems":true}`, `[` + joined(150_000, func(i int) string { return fmt.Sprint(i) }) + `]`, ""},
		"unique, but two":           {`{"uniqueItems":true}`, `[` + joined(100_000, func(i int) string { return fmt.Sprint(i) }) + `,7e0]`, "SCHEMA_VIOLATION "},
		"unique, made to collide":   {`{"uniqueItems":true}`, treeLists(7000), ""},
		"colliding, not valid":      {`{"uniqueItems":true,"maxItems":3}`, treeLists(7000), "SCHEMA_VIOLATION "},
		"colliding, many times":     {`{"allOf":[` + repeated(900, `{"uniqueItems":true}`) + `]}`, treeLists(7000), "TOO_LARGE "},
		"colliding, library":        {`{"uniqueItems":true,"unevaluatedItems":{}}`, treeLists(7000), "TOO_LARGE "},
		"small exponents":           {`{"items":{"multipleOf":1e-999,"minimum":-1e300,"type":"number"}}`, filled("1e-999"), ""},
		"small exponents, integers": {`{"items":{"type":"integer","multipleOf":1e-300}}`, filled("1e-999"), "SCHEMA_VIOLATION /0"},
		"large exponents":           {`{"items":{"multipleOf":3e-999,"maximum":1.6e308}}`, filled("1.5e308"), ""},
		"many digits":               {`{"items":{"multipleOf":1e-999,"minimum":0}}`, filled(digits), ""},
		"divided many times":        {`{"items":{"allOf":[` + repeated(900, `{"multipleOf":3e-999}`) + `]}}`, filled("1.5e308"), "TOO_LARGE "},
		"exponents, library":        {`{"unevaluatedItems":false,"items":{"multipleOf":1e-999}}`, filled("1e-999"), "TOO_LARGE "},
		"slow pattern":              {`{"pattern":` + slow + `}`, `"` + strings.Repeat("a", 1<<20-10) + `"`, "TOO_LARGE "},
		"slow pattern, often":       {`{"items":{"allOf":[` + repeated(90, `{"pattern":`+slow+`}`) + `]}}`, filled(`"aaaaaaaaaa"`), "TOO_LARGE "},
		"slow pattern, library":     {`{"unevaluatedItems":false,"items":{"pattern":` + slow + `}}`, filled(`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`), "TOO_LARGE "},
		"plain pattern":             {`{"pattern":"^[a-z]+$"}`, `"` + strings.Repeat("a", 1<<20-10) + `"`, ""},
		"pattern of names":          {`{"propertyNames":{"pattern":` + slow + `}}`, names, "SCHEMA_VIOLATION "},
		"patterns and names":        {`{"patternProperties":{` + joined(900, func(i int) string { return fmt.Sprintf(`"^x%d":{}`, i) }) + `}}`, names, "TOO_LARGE "},
		"required and objects":      {`{"items":{"anyOf":[{"required":[` + texts + `]},true]}}`, filled(`{"v0":1}`), "TOO_LARGE "},
		"nested contains":           {`{"contains":{"$ref":"#"}}`, filled(`[[[[1]]]]`), ""},
		"deep below not":            {`{"not":{"properties":{"c":{"$ref":"#"}},"required":["x"]}}`, nested(60, `{"c":`, `1`), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, problems := CompileSchema(must(t, tt.schema))
			if s == nil {
				t.Fatal(problems)
			}
			problems = s.Validate(must(t, tt.doc))
			if got := codesAt(problems); got != tt.want {
				t.Errorf("got %.200q, want %q: %.400v", got, tt.want, problems)
			}
		})
	}
}

// TestCheckerSteps: branches that describe the same child do not multiply.
func TestCheckerSteps(t *testing.T) {
	t.Parallel()
	s, problems := CompileSchema(must(t, `{`+threeWays+`,"$ref":"#/$defs/n"}`))
	if s == nil {
		t.Fatal(problems)
	}
	for _, doc := range []string{nested(60, `{"z":1,"c":`, `{"z":1}`), nested(60, `{"z":1,"c":`, `{"c":{}}`), nested(60, `{"c":`, `{"z":1}`)} {
		c := newChecker()
		c.valid(s.root, must(t, doc))
		if steps := maxSteps - c.left; steps > 2*rememberAfter {
			t.Errorf("%d steps for 60 levels", steps)
		}
	}
	// The memory is bounded, and so are the steps when it is not enough.
	c := newChecker()
	if c.valid(s.root, Value{}); len(c.known) != 0 {
		t.Errorf("remembers %d of nothing", len(c.known))
	}
}

// TestMessagesAreBounded: a document may be wrong in many places, in many words.
func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ schema, doc, message string }{
		"enum":       {`{"items":{"enum":[` + joined(40_000, func(i int) string { return fmt.Sprint(i) }) + `]}}`, `["a","b"]`, "one of the 40000 values"},
		"required":   {`{"required":[` + joined(40_000, func(i int) string { return fmt.Sprintf(`"v%d"`, i) }) + `]}`, `{}`, "missing properties 'v0', 'v1', 'v10'"},
		"additional": {`{"additionalProperties":false}`, `{` + joined(9_000, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }) + `}`, "additional properties 'k0', 'k1', 'k10'"},
		"places":     {`{"items":{"type":"string"}}`, `[` + repeated(20_000, "1") + `]`, "more than 1000 problems"},
		"too many":   {`{"items":{"type":"string"}}`, filled("1"), "got number, want string"},
		"closed":     {`{"items":{"additionalProperties":false}}`, filled(`{"a":1}`), "additional properties 'a' not allowed"},
		"no words":   {`{` + threeWays + `,"$ref":"#/$defs/n"}`, nested(60, `{"c":`, `{}`), `does not match "anyOf"`},
		"regex":      {`{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`, `"x{1000}y{1000}z{1000}x{1000}y{1000}z{1000}x{1000}y{1000}z{1000}x{1000}"`, "smaller counts"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, problems := CompileSchema(must(t, tt.schema))
			if s == nil {
				t.Fatal(problems)
			}
			problems = s.Validate(must(t, tt.doc))
			if len(problems) == 0 || len(problems) > maxProblems+1 || !strings.Contains(problems[0].Message, tt.message) {
				t.Errorf("got %.500v", problems)
			}
			for _, p := range problems {
				if len(p.Message) > 300 {
					t.Errorf("%d bytes of message: %s", len(p.Message), p.Message)
				}
			}
		})
	}
}
