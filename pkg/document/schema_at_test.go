package document_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

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
