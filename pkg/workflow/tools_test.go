package workflow_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// tools compiles a state with these lists; allowed nil is omitted.
func tools(allowed, disallowed []string) *workflow.StateView {
	return workflow.Compile(&workflow.Definition{ID: "w", States: []workflow.State{{
		Name: "a", ToolsRestricted: allowed != nil, AllowedTools: allowed, DisallowedTools: disallowed,
	}}}, 1).State("a")
}

// TestToolLists: S3.1 and S1.5.
func TestToolLists(t *testing.T) {
	t.Parallel()
	const yes, no, never = workflow.ToolAllowed, workflow.ToolNotListed, workflow.ToolDisallowed
	for _, c := range []struct {
		name                string
		allowed, disallowed []string
		want                map[string]workflow.ToolRule
	}{
		{"omitted", nil, nil, map[string]workflow.ToolRule{"Read": yes, "mcp__a__b": yes, "*": yes}},
		{"none", []string{}, nil, map[string]workflow.ToolRule{"Read": no, "": no, "*": no}},
		{"exact", []string{"Read", "mcp__fs__read_file"}, nil, map[string]workflow.ToolRule{
			"Read": yes, "mcp__fs__read_file": yes,
			"read": no, "READ": no, "Read ": no, " Read": no, "Reads": no, "Rea": no, "../Read": no, "Read\x00": no,
			"R\u0435ad": no, "Re\u0301ad": no, "Read\u200b": no, "*": no, "Read*": no,
			"read_file": no, "mcp__fs__write_file": no, "mcp__fs__*": no, "mcp__fs__read_file_x": no, "mcp__other__read_file": no,
		}},
		{"wildcard", []string{"mcp__fs__*", "Task"}, nil, map[string]workflow.ToolRule{
			"mcp__fs__read": yes, "mcp__fs__": yes, "mcp__fs__*": yes, "Task": yes,
			"mcp__fs": no, "mcp__fs2__read": no, "MCP__fs__read": no, "xmcp__fs__read": no, "Tasks": no,
		}},
		{"resources and prompts go with the tools of their server", []string{"mcp__fs__read_file", "mcp__docs__resource:docs:*"}, []string{"mcp__fs__resource:file:///etc/*"}, map[string]workflow.ToolRule{
			"mcp__fs__resource:file:///a": yes, "mcp__fs__prompt:review": yes, "mcp__docs__resource:docs://a": yes, "mcp__docs__prompt:any": no,
			"mcp__docs__resource:other://a":        no,
			"mcp__fs__resource:file:///etc/passwd": never, "mcp__fs__resources": no, "mcp__fs__write_file": no,
			"mcp__web__resource:http://a": no, "mcp__web__prompt:review": no, "resource:file:///a": no, "mcp__prompt:x": no,
		}},
		{"named resources are the only ones", []string{"mcp__fs__read_file", "mcp__fs__resource:file:///a/*"}, nil, map[string]workflow.ToolRule{
			"mcp__fs__resource:file:///a/b": yes, "mcp__fs__resource:file:///b": no, "mcp__fs__prompt:review": yes, "mcp__fs__read_file": yes,
		}},
		{"the client's own", []string{"Read", "@client"}, []string{"Agent", "Task*"}, map[string]workflow.ToolRule{
			"Read": yes, "TodoWrite": yes, "AskUserQuestion": yes, "ToolSearch": yes, "BashOutput": yes, "Agent": never, "TaskList": never,
			"Bash": no, "Skill": no, "@client": no, "KillShell": no, "todowrite": no,
		}},
		{"star inside is a character", []string{"mcp__*__read"}, nil, map[string]workflow.ToolRule{"mcp__fs__read": no, "mcp__*__read": yes}},
		{"everything", []string{"*"}, nil, map[string]workflow.ToolRule{"Read": yes, "anything": yes}},
		{"disallowed wins", []string{"Read", "Bash", "mcp__fs__*"}, []string{"Bash", "mcp__fs__write*"}, map[string]workflow.ToolRule{
			"Read": yes, "Bash": never, "mcp__fs__read": yes, "mcp__fs__write_file": never, "mcp__fs__write": never, "Edit": no,
		}},
		{"disallowed alone", nil, []string{"Bash", "Web*"}, map[string]workflow.ToolRule{
			"Bash": never, "bash": yes, "WebFetch": never, "Web": never, "We": yes,
		}},
		{"exact allowed under a disallowed prefix", []string{"mcp__fs__read"}, []string{"mcp__*"}, map[string]workflow.ToolRule{"mcp__fs__read": never}},
		{"disallowed everything", []string{"Read"}, []string{"*"}, map[string]workflow.ToolRule{"Read": never, "x": never}},
	} {
		s := tools(c.allowed, c.disallowed)
		for tool, want := range c.want {
			if got := s.Tool(tool); got != want {
				t.Errorf("%s: %q is %d, want %d", c.name, tool, got, want)
			}
		}
	}
}

// TestToolListsAgainstPlainReading compares the tables with the rule read word
// by word.
func TestToolListsAgainstPlainReading(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab*_]{0,4}`)
		lists := rapid.SliceOfN(name, 0, 6)
		allowed, disallowed, tool := lists.Draw(t, "allowed"), lists.Draw(t, "disallowed"), name.Draw(t, "tool")
		if rapid.Bool().Draw(t, "omitted") {
			allowed = nil
		}
		want := workflow.ToolNotListed
		switch {
		case slices.ContainsFunc(disallowed, covers(tool)):
			want = workflow.ToolDisallowed
		case allowed == nil || slices.ContainsFunc(allowed, covers(tool)):
			want = workflow.ToolAllowed
		}
		if got := tools(allowed, disallowed).Tool(tool); got != want {
			t.Fatalf("%q is %d, want %d", tool, got, want)
		}
	})
}

func covers(tool string) func(string) bool {
	return func(entry string) bool {
		if prefix, wild := strings.CutSuffix(entry, "*"); wild {
			return strings.HasPrefix(tool, prefix)
		}
		return entry == tool
	}
}
