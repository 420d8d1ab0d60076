package document

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestPatchSuite runs the public suite of JSON Patch, github.com/json-patch/json-patch-tests
// (Apache-2.0).
func TestPatchSuite(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"tests.json", "spec_tests.json"} {
		src, err := os.ReadFile(filepath.Join("testdata", "json-patch-tests", file))
		if err != nil {
			t.Fatal(err)
		}
		var rows []suiteRow
		if err := json.Unmarshal(src, &rows); err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows, %v", file, len(rows), err)
		}
		for i, row := range rows {
			if !row.Disabled && row.Patch != nil {
				row.run(t, file, i)
			}
		}
	}
}

type suiteRow struct {
	Comment, Error       string
	Doc, Patch, Expected json.RawMessage
	Disabled             bool
}

func (row suiteRow) run(t *testing.T, file string, i int) {
	t.Helper()
	got, err := applyText(t, string(row.Doc), string(row.Patch), PatchLimits{})
	switch {
	case row.Error != "" && err == nil:
		t.Errorf("%s %d %s: %s should fail on %s, gave %s", file, i, row.Comment, row.Patch, row.Doc, got)
	case row.Error == "" && err != nil:
		t.Errorf("%s %d %s: %s on %s: %v", file, i, row.Comment, row.Patch, row.Doc, err)
	case row.Expected != nil && !Equal(got, must(t, string(row.Expected))):
		t.Errorf("%s %d %s: %s on %s: got %s, want %s", file, i, row.Comment, row.Patch, row.Doc, got, row.Expected)
	}
}
