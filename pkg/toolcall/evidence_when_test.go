package toolcall_test

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// given are facts of a call: its input, and the files that it writes; of nil they are not known.
type given struct {
	input  []byte
	writes []string
}

func (g given) Input() (document.Value, bool) {
	v, problem := document.Parse(g.input, document.Limits{})
	return v, problem == nil
}

func (g given) Facet(condition.Facet) condition.Set {
	if g.writes == nil {
		return condition.Unknown("it is opaque")
	}
	return condition.KnownSet(g.writes...)
}

// TestEvidenceWithConditions: S21.17. A call gives evidence only if its condition is true for it, is then alone the
// author's check, and leaves evidence with a change as it is only if that condition is false.
func TestEvidenceWithConditions(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a",
		"evidence": {
			"ci": {"tool": "mcp__ci__status", "when": {"/ref": "main"}},
			"go": {"tool": "Bash", "command": "./check.sh", "when": {"not": {"/description": "x"}}, "after": {"change": {"writes": ["src/**"]}}},
			"lint": {"tool": "Bash", "command": "./lint.sh", "after": {"change": {"writes": ["src/**"]}}}},
		"guards": {"g": {"all": [{"evidence": "ci"}, {"evidence": "go"}, {"evidence": "lint"}]}},
		"states": {"a": {"on": {"GO": {"target": "b", "guard": "g"}}}, "b": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	run := m.Start(workflow.StartParams{ID: "run"}, "x", time.Time{}).Run
	at := run.At("")
	for _, c := range []struct {
		tool, input string
		writes      []string
		noFacts     bool
		gives       []string
		voids       bool
		spares      bool
	}{
		{tool: "mcp__ci__status", input: `{"ref": "main"}`, gives: []string{"ci"}},
		{tool: "mcp__ci__status", input: `{"ref": "other"}`, voids: true},
		{tool: "mcp__ci__status", input: `{}`, voids: true},
		{tool: "mcp__ci__status", input: `{"ref": "main", "Ref": "other"}`, voids: true},
		{tool: "mcp__ci__status", input: `{"ref": ["main"]}`, voids: true},
		{tool: "mcp__ci__status", input: `{"ref": "main"}`, noFacts: true, voids: true},
		{tool: "Bash", input: `{"command": "./check.sh", "description": "y"}`, gives: []string{"go"}},
		{tool: "Bash", input: `{"command": "./check.sh", "description": "x"}`, voids: true},
		{tool: "Bash", input: `{"command": "./check.sh"}`, voids: true},
		{tool: "Bash", input: `{"command": "./lint.sh"}`, gives: []string{"lint"}},
		{tool: "Edit", input: `{}`, writes: []string{"docs/a"}, voids: true, spares: true},
		{tool: "Edit", input: `{}`, writes: []string{"docs/a", "src/a"}, voids: true},
		{tool: "Edit", input: `{}`, writes: []string{}, voids: true, spares: true},
		{tool: "Edit", input: `{}`, voids: true},
		{tool: "Edit", input: `{}`, writes: []string{"docs/a"}, noFacts: true, voids: true},
		{tool: "Read", input: `{}`, writes: []string{}},
	} {
		call := toolcall.Call{Tool: c.tool, Input: []byte(c.input), Facts: given{[]byte(c.input), c.writes}}
		if c.noFacts {
			call.Facts = nil
		}
		n := toolcall.MeaningOf(m, []*workflow.Machine{m}, &at, call, "")
		if !slices.Equal(n.Gives, c.gives) || n.Voids != c.voids || (len(n.Spares) == 1) != c.spares {
			t.Errorf("%s %s writes %q: %+v", c.tool, c.input, c.writes, n)
		}
	}
}
