package scenario_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/scenario"
)

const examples = "../../examples"

// TestExamples plays the scenarios of every example. A workflow without one is no
// example, and one that a scenario does not reach in full is not shown in full.
func TestExamples(t *testing.T) {
	t.Parallel()
	var coverage scenario.Coverage
	tested := 0
	err := filepath.WalkDir(examples, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case strings.HasSuffix(path, ".test.yaml"):
			tested++
			for _, r := range open(t, path).Play(&coverage) {
				if !r.OK {
					t.Errorf("%s:%d: %s: step %d: %s: want %s, got %s", r.File, r.Line, r.Case, r.Step, r.Action, r.Expected, r.Actual)
				}
			}
		case filepath.Ext(path) == ".json":
			_, one := os.Stat(strings.TrimSuffix(path, ".json") + ".test.yaml")
			if one != nil && !strings.HasSuffix(path, "test-suite.json") { // tested with the one that invokes it
				t.Errorf("%s has no scenarios: %v", path, one)
			}
		}
		return nil
	})
	if err != nil || tested < 20 {
		t.Fatalf("%d scenario files: %v", tested, err)
	}
	for _, w := range coverage.Workflows() {
		for _, s := range append(w.States, w.Transitions...) {
			if !s.Reached {
				t.Errorf("%s: no scenario reaches %s", w.File, s.Name)
			}
		}
	}
}

// TestReadme: the README's example of the format is read as it is written there.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(examples + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```yaml\n")
	shown, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README shows no scenario file")
	}
	workflows := map[string]string{
		"deploy.json":     `{"id": "deploy", "initial": "testing", "states": {"testing": {"on": {"GO": "z"}}, "z": {"type": "final"}}}`,
		"test-suite.json": `{"id": "test-suite", "initial": "a", "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}}`,
		"policy.json":     `{"role": "agent", "default": "deny", "allow": [{"capability": "tool:Read"}]}`,
	}
	suite, problems := scenario.Parse(scenario.Source{Name: "readme.test.yaml", Text: []byte(shown)}, func(name string) (scenario.Source, error) {
		return scenario.Source{Name: name, Text: []byte(workflows[name])}, nil
	})
	if suite == nil || suite.Cases() != 1 {
		t.Fatalf("the README shows %v", problems)
	}
	if r := suite.Play(nil)[0]; r.OK || r.Step != 0 || !strings.Contains(r.Actual.String(), `"decision":"DENY","code":"POLICY_DENIED"`) {
		t.Errorf("the policy denies what the workflow does not, and the case ends %+v", r)
	}
}

// open reads a scenario file that must be right.
func open(t testing.TB, path string) *scenario.Suite {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	suite, problems := scenario.Parse(scenario.Source{Name: path, Text: text}, nextTo(path))
	for _, p := range problems {
		t.Error(p)
	}
	if suite == nil {
		t.FailNow()
	}
	return suite
}

// next to opens the files that a scenario file names.
func nextTo(path string) func(string) (scenario.Source, error) {
	return func(name string) (scenario.Source, error) {
		name = filepath.Join(filepath.Dir(path), name)
		text, err := os.ReadFile(name)
		return scenario.Source{Name: name, Text: text}, err
	}
}
