package workflow_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// definitionCase is a row of a table in testdata/cases: a definition, and its problems.
type definitionCase struct {
	ID           string
	Kind         string
	JSON         string
	Severity     document.Severity
	Ambiguous    bool
	Why          string
	ExpectErrors []struct{ Code, Pointer string } `json:"expect_errors"`
}

// contradicted are rows that S1 and S3 decide otherwise.
var contradicted = map[string]string{
	"wf-078": "a trailing * is a prefix wildcard (S3.1)",
}

func definitionCases(t *testing.T, file string) []definitionCase {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "cases", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []definitionCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var row definitionCase
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		rows = append(rows, row)
	}
	return rows
}

func validate(kind string, src []byte) document.Problems {
	var problems document.Problems
	switch kind {
	case "process":
		_, problems = process.Parse(src)
	case "state_component":
		_, problems = document.ParseComponent(src)
	default:
		_, problems = workflow.Parse(src)
	}
	return problems
}

func TestInvalidDefinitions(t *testing.T) {
	t.Parallel()
	for _, row := range definitionCases(t, "workflow_invalid.jsonl") {
		t.Run(row.ID, func(t *testing.T) {
			t.Parallel()
			problems := validate(row.Kind, []byte(row.JSON))
			if why, ok := contradicted[row.ID]; ok {
				if problems.HasErrors() {
					t.Errorf("%s, but got %v", why, problems)
				}
				return
			}
			for _, want := range row.ExpectErrors {
				if !reported(problems, want.Code, want.Pointer, row.Severity) && !reported(problems, want.Code, want.Pointer, "") {
					t.Errorf("%s (ambiguous: %v): want %s at %s, got %v", row.Why, row.Ambiguous, want.Code, want.Pointer, problems)
				}
			}
			v, _ := document.ParseAll([]byte(row.JSON), document.Limits{})
			kind := map[string]string{"workflow": "workflow", "process": "process", "state_component": "component"}[row.Kind]
			if got := document.KindOf(v); v.Kind() == document.Object && got != kind {
				t.Errorf("told %s for a %s", got, kind)
			}
		})
	}
}

// reported reports whether problems have the code at the pointer; severity ""
// admits any.
func reported(problems document.Problems, code, pointer string, severity document.Severity) bool {
	for _, p := range problems {
		if p.Code == code && p.Pointer == pointer && (severity == "" || p.Severity == severity) {
			return true
		}
	}
	return false
}

func TestValidDefinitions(t *testing.T) {
	t.Parallel()
	for _, row := range definitionCases(t, "workflow_valid.jsonl") {
		t.Run(row.ID, func(t *testing.T) {
			t.Parallel()
			if problems := validate(row.Kind, []byte(row.JSON)); problems.HasErrors() {
				t.Errorf("%s: %v", row.Why, problems)
			}
		})
	}
}
