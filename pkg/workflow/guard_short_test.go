package workflow_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestShortGuards: S21.17. A guard in the short form passes only where its condition is true; doubt
// does not pass, under "not" either.
func TestShortGuards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		guard, context string
		passes         bool
		says           string
	}{
		{`{"/coverage": {"gte": 80}}`, `{"coverage": 80}`, true, ""},
		{`{"/coverage": {"gte": 80}}`, `{"coverage": 79.9}`, false, "but /coverage is 79.9"},
		{`{"/coverage": {"gte": 80}}`, `{}`, false, "/coverage, which is missing"},
		{`{"/coverage": {"gte": 80}}`, `{"coverage": "90"}`, false, "which is the text"},
		{`{"/coverage": {"gte": 80}}`, `{"coverage": null}`, false, "/coverage"},
		{`{"/coverage": {"gte": 80}}`, `{"coverage": 90, "Coverage": 10}`, false, `"Coverage" next to it`},
		{`{"/coverage": {"gte": 80}}`, `{"/coverage": 90}`, false, "missing"},
		{`{"/a/0/b": "x"}`, `{"a": [{"b": "x"}]}`, true, ""},
		{`{"/a/0/b": "x"}`, `{"a": [{"b": "y"}]}`, false, `is "y"`},
		{`{"/a~1b": 1}`, `{"a/b": 1}`, true, ""},
		{`{"/list/*": {"lt": 5}}`, `{"list": [1, 2]}`, true, ""},
		{`{"/list/*": {"lt": 5}}`, `{"list": [1, 9]}`, false, "9"},
		{`{"/list/*": {"lt": 5}}`, `{"list": []}`, false, "of which there is none"},
		{`{"/region": ["eu", "us"]}`, `{"region": "us"}`, true, ""},
		{`{"/region": {"neq": "eu"}}`, `{"region": "us"}`, true, ""},
		{`{"/region": {"neq": "eu"}}`, `{}`, false, "missing"},
		// The two spellings of one sentence are one in the short form; those of the long form differ (S2.5).
		{`{"not": {"/region": "eu"}}`, `{"region": "us"}`, true, ""},
		{`{"not": {"/region": "eu"}}`, `{"region": "eu"}`, false, "does not pass when this holds"},
		{`{"not": {"/region": "eu"}}`, `{}`, false, "missing"},
		{`{"not": {"/region": "eu"}}`, `{"region": 5}`, false, "number"},
		{`{"not": {"not": {"/region": "eu"}}}`, `{}`, false, "missing"},
		{`{"/x": 1, "not": {"/region": "eu"}}`, `{"x": 1}`, false, "missing"},
		{`{"not": {"field": "region", "op": "eq", "value": "eu"}}`, `{}`, true, ""},
		{`{"not": {"/list/*": "eu"}}`, `{"list": ["us", "eu"]}`, false, "does not pass"},
		{`{"not": {"/list/*": "eu"}}`, `{"list": ["us", "uk"]}`, true, ""},
		{`{"not": {"all": [{"/list/*": "eu"}, {"field": "n", "op": "exists"}]}}`, `{"n": 1, "list": ["us", "eu"]}`, false, "does not pass"},
		// Doubt is joined with other guards as in conditions.
		{`{"all": [{"/x": 1}, {"field": "y", "op": "eq", "value": 1}]}`, `{"x": 1, "y": 1}`, true, ""},
		{`{"all": [{"/x": 1}, {"field": "y", "op": "eq", "value": 1}]}`, `{"y": 1}`, false, "missing"},
		{`{"any": [{"/x": 1}, {"field": "y", "op": "eq", "value": 1}]}`, `{"y": 1}`, true, ""},
		{`{"any": [{"/x": 1}, {"field": "y", "op": "eq", "value": 1}]}`, `{"y": 2}`, false, "either"},
		{`{"not": {"any": [{"/x": 1}, {"field": "y", "op": "eq", "value": 1}]}}`, `{"y": 2}`, false, "missing"},
		{`{"not": {"any": [{"/x": 1}, {"field": "y", "op": "eq", "value": 1}]}}`, `{"x": 2, "y": 2}`, true, ""},
		{`{"not": {"all": [{"/x": 1}, {"field": "y", "op": "eq", "value": 1}]}}`, `{"y": 2}`, true, ""},
		{`{"not": {"all": [{"/x": 1}, {"field": "y", "op": "eq", "value": 1}]}}`, `{"y": 1}`, false, "missing"},
		{`{"/x": {"exists": true}}`, `{"x": 1}`, true, ""},
		{`{"/x": {"exists": true}}`, `{"x": null}`, false, ""},
		{`{"/x": {"not_exists": true}}`, `{}`, true, ""},
		{`{"/x": {"not_exists": true}}`, `{"X": 1}`, false, `"X" next to it`},
		{`{"/x": {"or": 1, "lt": 5}}`, `{}`, true, ""},
	} {
		def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "context": {}, "guards": {"g": ` + c.guard + `},
			"states": {"a": {"on": {"GO": {"target": "b", "guard": "g"}}}, "b": {"type": "final"}}}`))
		if problems.HasErrors() {
			t.Errorf("%s: %v", c.guard, problems)
			continue
		}
		passed, result := passes(t, def.Guards[0], value(t, c.context))
		if passed != c.passes || result.Passed != passed {
			t.Errorf("%s of %s passes: %v, want %v: %s", c.guard, c.context, passed, c.passes, result)
		}
		if !passed && !strings.Contains(result.String(), c.says) {
			t.Errorf("%s of %s: %s, want %q", c.guard, c.context, result, c.says)
		}
	}
}

// TestShortGuardsSayNothing: the requirement of a guard names no value of the context, since events have it
// (S2.7, S21.17).
func TestShortGuardsSayNothing(t *testing.T) {
	t.Parallel()
	def, _ := workflow.Parse([]byte(`{"id": "w", "initial": "a", "guards": {"g": {"/token": "right"}},
		"states": {"a": {"on": {"GO": {"target": "b", "guard": "g"}}}, "b": {"type": "final"}}}`))
	_, result := passes(t, def.Guards[0], value(t, `{"token": "secret"}`))
	if strings.Contains(result.Need, "secret") || !strings.Contains(result.Need, `{"/token":"right"}`) {
		t.Error(result.Need)
	}
}

// TestShortGuardsAreClaims: keys that a guard in the short form reads are not for agents to set at the
// start (S21.17), and rights behind such a guard rest on claims.
func TestShortGuardsAreClaims(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "guards": {"g": {"/done/x": true}},
		"states": {"a": {"allowed_tools": ["Read"], "on": {"GO": {"target": "b", "guard": "g"}}},
			"b": {"allowed_tools": ["Edit"], "on": {"END": "c"}}, "c": {"type": "final"}}}`))
	if problems.HasErrors() || !strings.Contains(codes(problems), "CLAIMED_RIGHTS") {
		t.Errorf("%v", problems)
	}
	claims := workflow.Compile(def, 1).Claims(value(t, `{"done": {"x": true}, "other": 1}`))
	if len(claims) != 1 || claims[0] != "done" {
		t.Errorf("%v", claims)
	}
}
