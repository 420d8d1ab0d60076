package toolcall_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func narrowedTo(t interface{ Fatal(...any) }, only ...string) []toolcall.Narrowed {
	var all []toolcall.Narrowed
	for n, src := range only {
		entries, _, problems := workflow.ReadNarrowing([]byte(src))
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		all = append(all, toolcall.Narrowed{Of: fmt.Sprintf("session %d", n), Only: entries})
	}
	return all
}

// openMachine has one state without restrictions.
func openMachine(t interface{ Fatal(...any) }) (*workflow.Machine, *workflow.View) {
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "states": {"a": {"on": {"DONE": "z"}}, "z": {"type": "final"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	at := (&workflow.Run{Workflow: "w", WorkflowVersion: 1, ID: "r", Status: workflow.Running, Lane: workflow.Lane{State: "a", Entry: 1}}).At("")
	return m, &at
}

// S22.24: every entry of every narrowing must hold, and doubt denies.
func TestDecideNarrowed(t *testing.T) {
	t.Parallel()
	m, at := openMachine(t)
	for _, row := range []struct {
		only, tool, qualified, input string
		allowed                      bool
		says                         string
	}{
		{`[{"tools": ["Read", "mcp__db__*"]}]`, "Read", "", `{"file_path": "a"}`, true, ""},
		{`[{"tools": ["Read", "mcp__db__*"]}]`, "mcp__db__query", "", `{}`, true, ""},
		{`[{"tools": ["Read", "mcp__db__*"]}]`, "query", "mcp__db__query", `{}`, true, ""},
		{`[{"tools": ["Read", "mcp__db__*"]}]`, "Write", "", `{"file_path": "a"}`, false, "no other tools than Read, mcp__db__*"},
		{`[{"tools": ["Read", "mcp__db__*"]}]`, "Read", "mcp__evil__Read", `{}`, false, ""},
		{`[{"tools": ["mcp__db__*"]}]`, "Bash", "mcp__db__Bash", `{"command": "ls"}`, false, ""}, // the full name does not stand for the client's own tool
		{`[{"tools": ["mcp__db__*"]}]`, "Write", "mcp__db__query", `{}`, false, ""},
		{`[{"tools": ["*"]}]`, "Write", "", `{"file_path": "a"}`, true, ""},
		{`[{"tools": ["Read"]}]`, "mcp__interlock__state_read", "", `{}`, true, ""}, // Interlock's own
		{`[{"tool": "mcp__db__query", "only": {"/region": "eu"}}]`, "mcp__db__query", "", `{"region": "eu"}`, true, ""},
		{`[{"tool": "mcp__db__query", "only": {"/region": "eu"}}]`, "mcp__db__list", "", `{}`, true, ""},
		{`[{"tool": "mcp__db__query", "only": {"/region": "eu"}}]`, "mcp__db__query", "", `{"region": "us"}`, false, `Its calls must meet: mcp__db__query {"/region":"eu"}`},
		{`[{"tool": "mcp__db__query", "only": {"/region": "eu"}}]`, "mcp__db__query", "", `{}`, false, "missing"},
		{`[{"tool": "mcp__db__query", "only": {"/region": "eu"}}]`, "mcp__db__query", "", `{"region": "eu", "Region": "us"}`, false, "region"},
		{`[{"capability": "*", "only": {"writes": {"within": "docs/**"}}}]`, "Write", "", `{"file_path": "docs/a.md", "content": ""}`, true, ""},
		{`[{"capability": "*", "only": {"writes": {"within": "docs/**"}}}]`, "Write", "", `{"file_path": "src/a.go", "content": ""}`, false, "writes"},
		{`[{"capability": "*", "only": {"writes": {"within": "docs/**"}}}]`, "mcp__x__unknown", "", `{}`, false, "writes"}, // not known
		{`[{"capability": "bash", "only": {"command": ["git log", "ls"]}}]`, "Bash", "", `{"command": "git push"}`, false, "command"},
		{`[{"tool": "mcp__db__query", "only": {"caller.name": "kim"}}]`, "mcp__db__query", "", `{}`, false, "facts that a call cannot change"},
	} {
		call := facet.InRun(m, at, toolcall.Call{Tool: row.tool, Input: []byte(row.input)})
		call.Qualified = row.qualified
		v, refused := toolcall.DecideNarrowed(m.State("a"), call, narrowedTo(t, row.only))
		message := v.Message(m, at)
		if refused == row.allowed || refused && v.Code != toolcall.CodeNarrowed || !strings.Contains(message, row.says) {
			t.Errorf("%s: %s %s: refused %v: %s", row.only, row.tool, row.input, refused, message)
		}
		if strings.Contains(message, "kim") {
			t.Errorf("the agent learns who may call: %s", message)
		}
		call.Facts = nil
		if _, refused := toolcall.DecideNarrowed(m.State("a"), call, narrowedTo(t, row.only)); strings.Contains(row.only, `"only"`) && !row.allowed && !refused {
			t.Errorf("%s: %s is allowed without facts", row.only, row.tool)
		}
	}
	if _, refused := toolcall.DecideNarrowed(m.State("a"), toolcall.Call{Tool: "Read"}, []toolcall.Narrowed{{Of: "session s"}}); !refused {
		t.Error("entries that cannot be read allow a call")
	}
}

// S22.24: a narrowing that is added, at any place, never allows more: a child's rights are a subset of its parent's.
func TestNarrowingNeverAllowsMore(t *testing.T) {
	t.Parallel()
	m, at := openMachine(t)
	entry := rapid.SampledFrom([]string{
		`{"tools": ["Read", "mcp__db__*"]}`, `{"tools": ["mcp__db__query"]}`, `{"tool": "mcp__db__query", "only": {"/region": "eu"}}`, `{"tool": "*", "only": {"/n": {"lte": 10}}}`,
		`{"capability": "*", "only": {"writes": {"within": "docs/**"}}}`, `{"capability": "bash", "only": {"command": ["ls"]}}`,
		`{"tool": "mcp__db__*", "only": {"not": {"/region": "us"}}}`, `{"tool": "mcp__db__*", "only": {"any": [{"/region": "eu"}, {"caller.name": "kim"}]}}`,
	})
	lists := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(entry, 1, 3), func(e []string) string { return "[" + strings.Join(e, ",") + "]" }), 0, 3)
	randtest.Check(t, func(rt *rapid.T) {
		before := narrowedTo(rt, lists.Draw(rt, "before")...)
		after := append(narrowedTo(rt, lists.Draw(rt, "added")...), before...)
		call := facet.InRun(m, at, toolcall.Call{
			Tool: rapid.SampledFrom([]string{"Read", "Write", "Bash", "mcp__db__query", "mcp__x__y"}).Draw(rt, "tool"),
			Input: []byte(rapid.SampledFrom([]string{
				`{}`, `{"region": "eu"}`, `{"region": "us", "n": 3}`, `{"n": 11}`, `{"file_path": "docs/a"}`, `{"file_path": "a", "n": 1}`, `{"command": "ls"}`, `{"command": "rm a"}`, `[`,
			}).Draw(rt, "input")),
		})
		_, was := toolcall.DecideNarrowed(m.State("a"), call, before)
		if _, is := toolcall.DecideNarrowed(m.State("a"), call, after); was && !is {
			rt.Fatalf("%s %s is allowed by more entries, and was not by fewer", call.Tool, call.Input)
		}
	})
}
