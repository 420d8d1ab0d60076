package facet_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
)

// TestDescribedFiles judges the files of described tools (S21.11, S21.14): what the description or the call leaves
// out is in doubt, and a name may be that of a folder.
func TestDescribedFiles(t *testing.T) {
	t.Parallel()
	tools := facet.Tools{
		"mcp__docs__save": {Writes: []string{"/path", "/more/*"}, Reads: []string{}},
		"mcp__docs__scan": {Reads: []string{"/root"}, Closed: true},
		"mcp__docs__run":  {Command: "/line", Writes: []string{"/log"}},
		"mcp__docs__ping": {Hosts: []string{"/host"}},
	}
	for _, row := range []struct {
		tool, input, condition string
		restricts, requires    condition.Truth
	}{
		{"mcp__docs__save", `{"path": "/w/src/a.go"}`, `{"writes": ["src/**"]}`, condition.True, condition.True},
		{"mcp__docs__save", `{"path": "/w/src/a.go", "more": ["/w/docs/b.md"]}`, `{"writes": ["src/**"]}`, condition.True, condition.False},
		{"mcp__docs__save", `{"path": "src/../.env"}`, `{"writes": ["src/**"]}`, condition.Doubt, condition.False},
		{"mcp__docs__save", `{"path": "."}`, `{"writes": [".git/**"]}`, condition.True, condition.False},
		{"mcp__docs__save", `{}`, `{"writes": ["src/**"]}`, condition.Doubt, condition.Doubt},
		{"mcp__docs__save", `{"path": 5}`, `{"writes": ["src/**"]}`, condition.Doubt, condition.Doubt},
		{"mcp__docs__save", `{"path": "/w/src/a.go"}`, `{"reads": ["src/**"]}`, condition.False, condition.True},
		{"mcp__docs__scan", `{"root": "/w/src"}`, `{"reads": ["src/**"]}`, condition.True, condition.True},
		{"mcp__docs__scan", `{"root": "/w/src", "also": "etc"}`, `{"reads": ["src/**"]}`, condition.Doubt, condition.Doubt},
		{"mcp__docs__scan", `{"root": "/w/src"}`, `{"writes": ["src/**"]}`, condition.False, condition.True},
		{"mcp__docs__run", `{"line": "cp /w/a /w/src/b", "log": "/w/src/log"}`, `{"writes": ["src/**"]}`, condition.True, condition.True},
		{"mcp__docs__run", `{"line": "cp a b", "log": "/w/src/log"}`, `{"writes": ["src/**"]}`, condition.True, condition.False},
		{"mcp__docs__run", `{"log": "/w/src/log"}`, `{"writes": ["src/**"]}`, condition.True, condition.Doubt},
		{"mcp__docs__ping", `{"host": "a.com"}`, `{"writes": ["src/**"]}`, condition.Doubt, condition.Doubt},
		{"mcp__docs__new", `{"path": "/w/src/a.go"}`, `{"writes": ["src/**"]}`, condition.Doubt, condition.Doubt},
	} {
		call := facet.Of(facet.Subject{Tool: row.tool, Input: []byte(row.input), Tools: tools, Workspace: "/w", Folder: "/w", SessionDepth: -1})
		for stance, want := range map[condition.Stance]condition.Truth{condition.Restricts: row.restricts, condition.Requires: row.requires} {
			if got := read(t, row.condition, stance).Judge(call, stance); got != want {
				t.Errorf("%s %s: %s, stance %d: %v, want %v; %+v", row.tool, row.input, row.condition, stance, got, want, call.Facet(condition.Writes))
			}
		}
	}
}
