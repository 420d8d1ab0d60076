package attack

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/services/internal/packs"
)

// openWorkflow is the workflow that a pack without one is attacked in.
const openWorkflow = `{"id": "open", "initial": "working", "meta": {"enforcement": "always"}, "states": {"working": {"on": {"DONE": "done"}}, "done": {"type": "final"}}}`

// question returns the model and the properties of a pack with the default values of its parameters.
func question(t *testing.T, p *packs.Pack) *verify.Question {
	t.Helper()
	files, err := p.Render(nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func(v document.Value, problems document.Problems) document.Value {
		if problems.HasErrors() {
			t.Fatal(problems.Err())
		}
		return v
	}
	members := map[string]document.Value{"workflow": read(document.ParseAll([]byte(openWorkflow), document.Limits{}))}
	for _, f := range files {
		switch f.Kind {
		case packs.Workflow:
			members["workflow"] = read(document.ParseAll(f.Text, document.Limits{}))
		case packs.Policy:
			members["policies"] = document.ArrayValue([]document.Value{read(document.ParseAll(f.Text, document.Limits{}))})
		case packs.Properties:
			members["properties"] = read(document.FromYAML(f.Text))
		default:
		}
	}
	var list []document.Member
	for name, v := range members {
		list = append(list, document.Member{Name: name, Value: v})
	}
	q, problems := verify.ParseQuestion(document.ObjectValue(list))
	if q == nil {
		t.Fatal(problems.Err())
	}
	return q
}

// TestPacks: no outcome that the properties of a pack exclude occurs under attack.
func TestPacks(t *testing.T) {
	t.Parallel()
	all, err := packs.List()
	if err != nil || len(all) < 16 {
		t.Fatalf("%d packs: %v", len(all), err)
	}
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			q := question(t, p)
			a, err := New(t.Context(), Config{Model: q.Model, Properties: q.Properties, Seed: 7, Seeds: 1, Steps: steps, Dir: scratch(t)})
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range r.Found {
				f := &r.Found[i]
				t.Errorf("seed %d: %s, %s: %s\n  %s", f.Seed, f.Kind, f.Class, f.What, strings.Join(f.Lines, "\n  "))
			}
			if r.Schedules != 1 || r.Denied == 0 {
				t.Errorf("the attack was none: %+v", r.Counts)
			}
		})
	}
}
