package verify_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const folder = "../../examples"

// example is a definition of the examples with its properties.
type example struct {
	name       string
	model      *verify.Model
	properties []workflow.Property
}

// examples are all workflows and processes of the examples. Those of a folder can invoke
// each other, and name its policies.
func examples(t testing.TB) []example {
	t.Helper()
	var all []example
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || document.KindOf(value(t, string(text))) == "policy" {
			return err
		}
		siblings, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.json"))
		if err != nil {
			return err
		}
		of := definition(t, value(t, string(text)))
		var policies []string
		var others []verify.Definition
		for _, sibling := range siblings {
			other, err := os.ReadFile(sibling)
			if err != nil {
				return err
			}
			switch v := value(t, string(other)); {
			case sibling == path:
			case document.KindOf(v) == "policy" && names(of, v):
				policies = append(policies, string(other))
			case document.KindOf(v) == "policy": // it would judge all, as if it were attached
			case !process.Is(v) && strings.Contains(string(text), `"invoke"`):
				others = append(others, definition(t, v))
			}
		}
		m := model(t, string(text), policies...)
		m.Others = others
		e := example{name: strings.TrimPrefix(path, folder+"/"), model: m, properties: m.Main.Machine.Definition().Properties}
		more, err := os.ReadFile(strings.TrimSuffix(path, ".json") + ".properties.yaml")
		if err != nil && len(e.properties) == 0 {
			t.Errorf("%s has no properties", path)
		}
		if err == nil {
			e.properties = append(e.properties, properties(t, m, string(more))...)
		}
		all = append(all, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 25 {
		t.Fatalf("only %d examples were found", len(all))
	}
	return all
}

// names reports a policy that a workflow names.
func names(d verify.Definition, policy document.Value) bool {
	name, _ := policy.Get("name")
	return d.Machine != nil && slices.Contains(d.Machine.Meta().Policies, name.Str())
}

// Every workflow of the examples has properties, and keeps them.
func TestExamplesKeepTheirProperties(t *testing.T) {
	t.Parallel()
	for _, e := range examples(t) {
		for _, r := range verify.Check(e.model, e.properties, verify.Options{}).Results {
			want := verify.Proved
			if r.Property.Running && e.model.Main.Machine.Enforcement() == workflow.WhileRunning {
				want = verify.ProvedRunning
			}
			if r.Verdict != want {
				text := ""
				if r.Counterexample != nil {
					text = strings.Join(r.Counterexample.Steps, "\n")
				}
				t.Errorf("%s: %s: %s: %s\n%s", e.name, r.Property.Name, r.Verdict, r.Reason, text)
			}
		}
	}
}
