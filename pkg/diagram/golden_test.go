package diagram_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/diagram"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/workflow"
)

var update = flag.Bool("update", false, "rewrite the drawings in testdata")

// TestGolden draws the definitions in testdata. Review the changes of -update:
// people see these pictures.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d := parse(t, string(src))
			for format, draw := range map[string]func() string{"mmd": d.Mermaid, "dot": d.DOT, "svg": d.SVG} {
				name := strings.TrimSuffix(file, "json") + format
				got := draw()
				if *update {
					if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s differs; look at it and run with -update:\n%s", name, diff)
				}
				if again := draw(); again != got {
					t.Errorf("%s is drawn differently each time", name)
				}
			}
		})
	}
}

// parse reads a valid workflow or process.
func parse(t testing.TB, src string) *diagram.Diagram {
	t.Helper()
	v, problem := document.Parse([]byte(src), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	if document.KindOf(v) == "process" {
		def, problems := process.ParseValue(v)
		if def == nil {
			t.Fatal(problems)
		}
		return diagram.Process(def)
	}
	def, problems := workflow.ParseValue(v)
	if def == nil {
		t.Fatal(problems)
	}
	return diagram.Workflow(def)
}

// workflowOf completes states (JSON members) to a workflow.
func workflowOf(states, more string) string {
	return `{"id":"w","initial":"a","guards":{"g":{"field":"f","op":"eq","value":1},"h":{"field":"f","op":"exists"}},` + more +
		`"states":{` + states + `,"done":{"type":"final"},"failed":{"type":"final"}}}`
}
