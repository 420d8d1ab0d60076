package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
)

// TestSchemaKnowsConditions: editors complete the facets and operators that conditions have, and no
// others.
func TestSchemaKnowsConditions(t *testing.T) {
	t.Parallel()
	type object struct {
		Ref        string            `json:"$ref"`
		Properties map[string]object `json:"properties"`
		AnyOf      []object          `json:"anyOf"`
	}
	var schema struct {
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(rules.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	operators := map[string]bool{}
	of := func(ref string) map[string]object {
		for _, form := range schema.Defs[strings.TrimPrefix(ref, "#/$defs/")].AnyOf {
			if form.Properties != nil {
				return form.Properties
			}
		}
		t.Fatalf("%s has no operators", ref)
		return nil
	}
	for name := range of("#/$defs/ofPointer") {
		operators[name] = true
	}
	for name := range of("#/$defs/ofPattern") {
		operators[name] = true
	}
	keys := map[string]map[string]object{"/a": of("#/$defs/ofPointer")}
	for key, matcher := range schema.Defs["callCondition"].Properties {
		if key != "all" && key != "any" && key != "not" {
			keys[key] = of(matcher.Ref)
		}
	}
	for _, facet := range condition.Facets() {
		if keys[string(facet)] == nil {
			t.Errorf("the schema lacks the facet %s", facet)
		}
	}
	for key, has := range keys {
		for operator := range operators {
			if _, listed := has[operator]; listed == refusesOperator(key, operator) {
				t.Errorf("%s with %q: the schema lists it: %v", key, operator, listed)
			}
		}
	}
}

// refusesOperator reports a key that has not the operator, or does not exist.
func refusesOperator(key, operator string) bool {
	member := func(name string, v document.Value) document.Value {
		return document.ObjectValue([]document.Member{{Name: name, Value: v}})
	}
	var r document.Report
	condition.Read(&r, member(key, member(operator, document.NullValue())), nil, condition.Use{Windows: []string{"w"}})
	for _, p := range r.Problems() {
		if strings.Contains(p.Message, "no operator") || p.Pointer == document.Pointer(key) && p.Code == document.CodeUnknownField {
			return true
		}
	}
	return false
}
