package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func comparison(t *testing.T, before, after string) workflow.Comparison {
	t.Helper()
	read := func(text string) (*workflow.Definition, document.Value) {
		doc, problem := document.Parse([]byte(text), document.Limits{})
		if problem != nil {
			t.Fatal(problem)
		}
		def, problems := workflow.ParseValue(doc)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		return def, doc
	}
	old, oldDoc := read(before)
	now, nowDoc := read(after)
	return workflow.Compare(old, now, oldDoc, nowDoc)
}

// told writes a comparison down, a fact a line.
func told(c *workflow.Comparison) string {
	var b strings.Builder
	fields := func(fields []workflow.FieldChange) {
		for _, f := range fields {
			fmt.Fprintf(&b, "%s: %s -> %s\n", f.Pointer, f.Before, f.After)
		}
	}
	for i := range c.States {
		s := &c.States[i]
		fmt.Fprintf(&b, "%s %s\n", s.Change, s.State)
		for _, l := range []struct {
			what string
			list []string
		}{{"+tool", s.ToolsGained}, {"-tool", s.ToolsLost}, {"+command", s.CommandsGained}, {"-command", s.CommandsLost}} {
			for _, one := range l.list {
				fmt.Fprintf(&b, "%s %s\n", l.what, one)
			}
		}
		for _, e := range s.EventsAdded {
			fmt.Fprintf(&b, "+event %s\n", e.LegalEvent)
		}
		for _, e := range s.EventsRemoved {
			fmt.Fprintf(&b, "-event %s\n", e.LegalEvent)
		}
		for _, e := range s.EventsChanged {
			fmt.Fprintf(&b, "event %s => %s\n", e.Before.LegalEvent, e.After.LegalEvent)
		}
		fields(s.Fields)
	}
	fields(c.Fields)
	return b.String()
}

func TestCompare(t *testing.T) {
	t.Parallel()
	c := comparison(t, `{"id": "w", "initial": "plan", "context": {"n": 1, "old": true}, "guards": {"ok": {"field": "n", "op": "exists"}}, "states": {
		"plan": {"allowed_tools": ["Read", "Bash"], "allowed_commands": ["git"], "max_iterations": 5, "on": {"GO": "work", "OLD": "done"}},
		"work": {"on": {"DONE": "done", "ASIDE": "aside"}}, "aside": {"on": {"BACK": "work"}}, "same": {"on": {"END": "done"}},
		"done": {"type": "final"}}}`,
		`{"id": "w", "initial": "plan", "context": {"n": 2}, "guards": {"ok": {"field": "n", "op": "gt", "value": 0}}, "states": {
		"plan": {"allowed_tools": ["Read", "Grep", "Bash"], "allowed_commands": ["git status", "ls"], "max_iterations": 7, "instructions": "Plan.",
			"on": {"GO": {"target": "work", "guard": "ok", "requires_approval": true}, "NEW": "done"}},
		"work": {"disallowed_tools": ["Write"], "on": {"DONE": "done"}}, "same": {"on": {"END": "done"}}, "check": {"allowed_tools": [], "on": {"OK": "done"}},
		"done": {"type": "final"}}}`)
	want := `changed plan
+tool Grep
+command ls
-command git
+event NEW -> done
-event OLD -> done
event GO -> work => GO -> work (guarded by ok; requires approval)
/states/plan/max_iterations: 5 -> 7
/states/plan/instructions: null -> "Plan."
changed work
-tool Write
-event ASIDE -> aside
added check
+command *
+event OK -> done
removed aside
-tool *
-command *
-event BACK -> work
/context/n: 1 -> 2
/context/old: true -> null
/guards/ok/op: "exists" -> "gt"
/guards/ok/value: null -> 0
`
	if diff := cmp.Diff(want, told(&c)); diff != "" {
		t.Error(diff)
	}
	if c.Same() {
		t.Error("they are the same")
	}
}

// TestComparedTools compares the meaning of states, not their text (S3.1).
func TestComparedTools(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ before, after, gained, lost string }{
		{``, `"allowed_tools": ["Read"],`, "", "*"},
		{`"allowed_tools": ["Read"],`, ``, "*", ""},
		{`"allowed_tools": [],`, `"allowed_tools": ["Read", "Grep"],`, "Read Grep", ""},
		{`"allowed_tools": ["Read", "Grep"],`, `"allowed_tools": ["Grep", "Read"],`, "", ""},
		{`"allowed_tools": ["mcp__git__*"],`, `"allowed_tools": ["mcp__git__log"],`, "", "mcp__git__*"},
		{`"allowed_tools": ["mcp__git__log"],`, `"allowed_tools": ["mcp__git__*"],`, "mcp__git__*", ""},
		{`"allowed_tools": ["mcp__git__log", "mcp__git__*"],`, `"allowed_tools": ["mcp__git__*"],`, "", ""},
		{`"disallowed_tools": ["Bash"],`, ``, "Bash", ""},
		{``, `"disallowed_tools": ["Bash"],`, "", "Bash"},
		{`"allowed_tools": ["Bash", "Read"],`, `"allowed_tools": ["Bash", "Read"], "disallowed_tools": ["Bash"],`, "", "Bash"},
		{`"allowed_tools": ["Read"], "disallowed_tools": ["Bash"],`, `"allowed_tools": ["Read"],`, "", ""},
		{`"disallowed_tools": ["mcp__git__*"],`, `"disallowed_tools": ["mcp__git__push"],`, "mcp__git__*", ""},
		{`"allowed_tools": ["@client", "Read"],`, `"allowed_tools": ["Read"],`, "", "@client"},
	} {
		def := func(tools string) string {
			return `{"id": "w", "initial": "a", "states": {"a": {` + tools + ` "on": {"GO": "done"}}, "done": {"type": "final"}}}`
		}
		c := comparison(t, def(tc.before), def(tc.after))
		var gained, lost string
		for _, s := range c.States {
			gained, lost = strings.Join(s.ToolsGained, " "), strings.Join(s.ToolsLost, " ")
		}
		if gained != tc.gained || lost != tc.lost {
			t.Errorf("from %s to %s gained %q and lost %q, want %q and %q", tc.before, tc.after, gained, lost, tc.gained, tc.lost)
		}
		if c.Same() != (tc.before == tc.after) {
			t.Errorf("from %s to %s: same is %t", tc.before, tc.after, c.Same())
		}
	}
}

// TestComparedCommands compares entries as they match (R2).
func TestComparedCommands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ before, after, gained, lost string }{
		{``, `"allowed_commands": ["git"],`, "", "*"},
		{`"allowed_commands": ["git"],`, `"allowed_commands": ["git", "git status"],`, "", ""},
		{`"allowed_commands": ["git status"],`, `"allowed_commands": ["git"],`, "git", ""},
		{`"allowed_commands": ["git"],`, `"allowed_commands": ["gitk"],`, "gitk", "git"},
		{`"allowed_commands": ["git"],`, `"allowed_commands": ["git *"],`, "git *", "git"},
		{`"allowed_commands": ["@inert"],`, `"allowed_commands": [],`, "", "@inert"},
	} {
		def := func(commands string) string {
			return `{"id": "w", "initial": "a", "states": {"a": {` + commands + ` "on": {"GO": "done"}}, "done": {"type": "final"}}}`
		}
		c := comparison(t, def(tc.before), def(tc.after))
		s := c.States[0]
		if gained, lost := strings.Join(s.CommandsGained, " "), strings.Join(s.CommandsLost, " "); gained != tc.gained || lost != tc.lost {
			t.Errorf("from %s to %s gained %q and lost %q, want %q and %q", tc.before, tc.after, gained, lost, tc.gained, tc.lost)
		}
	}
}
