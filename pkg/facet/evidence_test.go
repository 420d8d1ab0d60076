package facet_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestChangesOfEvidence: S21.17. Which calls leave evidence of a folder as it is, by the files that they write.
func TestChangesOfEvidence(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a",
		"evidence": {"tested": {"tool": "Bash", "command": "go test", "after": {"change": {"writes": ["src/**", "go.mod"]}}}},
		"guards": {"g": {"evidence": "tested"}},
		"states": {"a": {"on": {"GO": {"target": "b", "guard": "g"}}}, "b": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	run := m.Start(workflow.StartParams{ID: "run", Workspace: "/repo"}, "x", time.Time{}).Run
	at := run.At("")
	bash := func(line string) string {
		data, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, c := range []struct {
		tool, input string
		spared      bool
	}{
		{"Edit", `{"file_path": "/repo/docs/a.md", "old_string": "a", "new_string": "b"}`, true},
		{"Edit", `{"file_path": "docs/../docs/a.md", "old_string": "a", "new_string": "b"}`, false},
		{"Edit", `{"file_path": "src/a.go", "old_string": "a", "new_string": "b"}`, false},
		{"Edit", `{"file_path": "docs/../src/a.go", "old_string": "a", "new_string": "b"}`, false},
		{"Edit", `{"file_path": "/repo/src/a.go", "old_string": "a", "new_string": "b"}`, false},
		{"Write", `{"file_path": "go.mod", "content": "x"}`, false},
		{"Write", `{}`, false},
		{"Write", `{"file_path": 5, "content": "x"}`, false},
		{"Write", `{"file_path": "docs/a", "file_path": "src/a", "content": "x"}`, false},
		{"Bash", bash("echo x > docs/a"), true},
		{"Bash", bash("echo x > src/a"), false},
		{"Bash", bash("echo x > $F"), false},
		{"Bash", bash("cd src && echo x > a"), false},
		{"Bash", bash("rm -rf src"), false},
		{"Bash", bash("rm -rf ."), false},
		{"Bash", bash("mv docs/a src/a"), false},
		{"Bash", bash("make"), false},
		{"Bash", bash("sh -c 'echo x > src/a'"), false},
		{"Bash", bash("git checkout ."), false},
		{"mcp__fs__write", `{"path": "docs/a"}`, false},
	} {
		call := facet.InRun(m, &at, toolcall.Call{Tool: c.tool, Input: []byte(c.input)})
		n := toolcall.MeaningOf(m, []*workflow.Machine{m}, &at, call, "")
		if got := slices.Contains(n.Spares, m.Evidence()[0].SparedBy()); got != c.spared || !n.Voids {
			t.Errorf("%s %s: spared %v, want %v: %+v", c.tool, c.input, got, c.spared, n)
		}
	}
}
