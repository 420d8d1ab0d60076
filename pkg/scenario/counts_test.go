package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/scenario"
)

// TestEveryExpectationCounts spoils each expectation of each example, one at a
// time, and then the case must fail at that step: an expectation that always
// holds has no value as a test.
func TestEveryExpectationCounts(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, pattern := range []string{"/*.test.yaml", "/*/*.test.yaml"} {
		found, err := filepath.Glob(examples + pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	spoilt := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, problems := document.FromYAML(text)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", path, problems)
		}
		cases, _ := file.Get("cases")
		for i, c := range cases.Elements() {
			steps, _ := c.Get("steps")
			for j, step := range steps.Elements() {
				expect, _ := step.Get("expect")
				for key, want := range expect.Members() {
					spoilt++
					at := fmt.Sprintf("/cases/%d/steps/%d/expect/%s", i, j, key)
					changed := replaced(file, []any{"cases", i, "steps", j, "expect", key}, spoil(key, want))
					r := playJSON(t, path, changed)[i]
					if r.OK || r.Step != j || len(r.Different) != 1 || r.Different[0] != key {
						t.Errorf("%s%s: with another value the case ends %+v", path, at, r)
					}
				}
			}
		}
	}
	if spoilt < 200 {
		t.Errorf("only %d expectations were spoilt", spoilt)
	}
}

// spoil is a value of the same kind that does not hold.
func spoil(key string, want document.Value) document.Value {
	nobody := document.StringValue("nobody")
	switch {
	case key == "evidence": // names that are held or not
		var all []document.Member
		for name, held := range want.Members() {
			all = append(all, document.Member{Name: name, Value: document.BoolValue(!held.Bool())})
		}
		return document.ObjectValue(all)
	case key == "decision" && want.Str() == "ASK":
		return document.StringValue("DENY")
	case key == "decision":
		return document.StringValue("ASK")
	case key == "status" && want.Str() == "BLOCKED":
		return document.StringValue("FAILED")
	case key == "status":
		return document.StringValue("BLOCKED")
	}
	switch want.Kind() {
	case document.Bool:
		return document.BoolValue(!want.Bool())
	case document.Number:
		return document.NumberValue("77")
	case document.Array:
		var all []document.Value
		for _, e := range want.Elements() {
			all = append(all, e)
		}
		return document.ArrayValue(append(all, nobody))
	case document.Object:
		return document.MergeTop(want, document.ObjectValue([]document.Member{{Name: "nobody", Value: nobody}}))
	case document.Null:
		if key == "allowed_tools" {
			return document.ArrayValue(nil)
		}
	}
	return nobody
}

// replaced is v with another value at a path of names and places.
func replaced(v document.Value, path []any, with document.Value) document.Value {
	if len(path) == 0 {
		return with
	}
	switch at := path[0].(type) {
	case string:
		var members []document.Member
		for name, m := range v.Members() {
			if name == at {
				m = replaced(m, path[1:], with)
			}
			members = append(members, document.Member{Name: name, Value: m})
		}
		return document.ObjectValue(members)
	default:
		var elements []document.Value
		for i, e := range v.Elements() {
			if i == at {
				e = replaced(e, path[1:], with)
			}
			elements = append(elements, e)
		}
		return document.ArrayValue(elements)
	}
}

func playJSON(t *testing.T, path string, file document.Value) []scenario.Result {
	t.Helper()
	suite, problems := scenario.Parse(scenario.Source{Name: path + ".json", Text: file.AppendJSON(nil)}, nextTo(path))
	if suite == nil {
		t.Fatalf("%s: %v", path, problems)
	}
	return suite.Play(nil)
}
