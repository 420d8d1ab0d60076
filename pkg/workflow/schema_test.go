package workflow_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func compiledSchema(t *testing.T) *document.Schema {
	t.Helper()
	s, problems := document.CompileSchema(parse(t, string(workflow.Schema())))
	if s == nil {
		t.Fatal(problems)
	}
	return s
}

// unknownHint reports that Parse has warned of an unread field. The schema refuses it:
// editors would be silent otherwise.
func unknownHint(problems document.Problems) bool {
	return slices.ContainsFunc(problems, func(p document.Problem) bool { return p.Code == document.CodeUnknownHint })
}

// TestSchemaAcceptsValid: the schema accepts all that Parse accepts, but for fields that
// Parse warns of because they are unread (S1.7).
func TestSchemaAcceptsValid(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t)
	sources := map[string]string{"everything": everything, "ladder": string(ladder(20))}
	files, err := filepath.Glob("testdata/examples/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources[file] = string(src)
	}
	for _, row := range definitionCases(t, "workflow_valid.jsonl") {
		sources[row.ID] = row.JSON
	}
	for _, row := range validationRows(t) {
		if _, problems := workflow.Parse(row.changed.AppendJSON(nil)); !problems.HasErrors() && !unknownHint(problems) {
			sources[row.line] = row.changed.String()
		}
	}
	if len(sources) < 100 {
		t.Errorf("only %d valid documents", len(sources))
	}
	for name, src := range sources {
		if problems := s.Validate(parse(t, src)); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// beyondSchema are codes for rules that no schema can express: references, the graph,
// closeness of names, and meaning.
var beyondSchema = []string{
	"UNKNOWN_STATE", "UNKNOWN_EVENT", "UNKNOWN_GUARD", "UNKNOWN_EVIDENCE", "TOO_DEEP", "RETURN_OUTSIDE", "INITIAL_FINAL", "NO_FINAL", "INTERRUPT_FINAL", "INVOKE_CYCLE", "FORK_", "SAFE_NEXT_BYPASS",
	"GLOB", "COMMAND", "DEFAULT_NOT_LAST", "RESERVED", "NUMBER", "GUARD_VALUE", "NAME", "UNKNOWN_TOOL", "EFFECTS", "POINTER", "DEADLINE",
}

// TestSchemaRejectsInvalid: of the rows of validation.txt, the schema rejects
// all with wrong types, missing fields, ranges and enumerations.
func TestSchemaRejectsInvalid(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t)
	rejected := 0
	for _, row := range validationRows(t) {
		_, problems := workflow.Parse(row.changed.AppendJSON(nil))
		judged := false
		for _, p := range problems {
			if p.Severity != document.SeverityError {
				continue
			}
			judged = true
			if p.Code == document.CodeUnknownField && strings.Contains(p.Pointer, "/x-") {
				judged = false // a note that is close to a field
			}
			if p.Pointer == "/meta/approval" && p.Code == "CONFLICT" {
				judged = false // its numbers and people, taken together
			}
			if p.Pointer == "/meta/effect_deadline" && p.Code == "RANGE" {
				judged = false // how long a text of several units is
			}
			if strings.Contains(p.Pointer, "/after/") || strings.HasSuffix(p.Pointer, "/call_limit") || strings.Contains(p.Pointer, "window") || strings.HasPrefix(p.Pointer, "/freeze/") {
				judged = false // how long a text is, and names of windows, zones and events
			}
			for _, code := range beyondSchema {
				if strings.HasPrefix(p.Code, code) {
					judged = false
				}
			}
			if judged {
				break
			}
		}
		if !judged {
			continue
		}
		rejected++
		if len(s.Validate(row.changed)) == 0 {
			// A NUL in a variable, or a name that is only blank, is for Parse.
			if !strings.Contains(row.line, `\u0000y`) {
				t.Errorf("the schema accepts %s: %v", row.line, problems)
			}
		}
	}
	if rejected < 80 {
		t.Errorf("only %d rows were judged", rejected)
	}
}

// TestSchemaOfCalls: editors know the facets and operators of conditions in states, as in policies (S21.1).
func TestSchemaOfCalls(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t)
	for only, valid := range map[string]bool{
		`{"writes": ["src/**"], "/amount": {"lte": 100}}`:           true,
		`{"any": [{"git.force": false}, {"not": {"host": "a.b"}}]}`: true,
		`{"write": ["src/**"]}`:                                     false,
		`{"amount": 1}`:                                             false,
		`{"git.force": {"gt": true}}`:                               false,
		`{"/amount": {"at_most": 1}}`:                               false,
		`{}`:                                                        false,
	} {
		src := `{"id": "w", "initial": "a", "states": {"a": {"calls": [{"tool": "*", "only": ` + only + `}], "on": {"GO": "z"}}, "z": {"type": "final"}}}`
		if problems := s.Validate(parse(t, src)); len(problems) == 0 != valid {
			t.Errorf("%s: %v", only, problems)
		}
	}
}
