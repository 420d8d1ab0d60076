package toolname_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/internal/puretest"
	"github.com/interlock-run/interlock/pkg/toolname"
)

func TestFault(t *testing.T) {
	t.Parallel()
	names := toolname.With([]string{"Pay", "bash2", "Reed"})
	for name, want := range map[string]struct{ grants, restricts string }{
		"Bash": {}, "write_file": {}, "transition": {}, "LS": {}, "": {},
		"Pay": {}, "Reed": {}, "bash2": {}, "bash*": {}, "*": {}, "mcp__fs__x": {}, "mcp__fs__x__y": {},
		"bash":                    {`did you mean "Bash"`, `did you mean "Bash"`},
		"Bsh":                     {`did you mean "Bash"`, `did you mean "Bash"`},
		"Bashh":                   {`did you mean "Bash"`, `did you mean "Bash"`},
		"Bahs":                    {`did you mean "Bash"`, `did you mean "Bash"`},
		"aBsh":                    {`did you mean "Bash"`, `did you mean "Bash"`},
		"ebfetch":                 {`did you mean "WebFetch"`, `did you mean "WebFetch"`},
		"pay":                     {`did you mean "Pay"`, `did you mean "Pay"`},
		"ls":                      {`did you mean "LS"`, `did you mean "LS"`},
		"x":                       {"", "may have no effect"},
		"Lx":                      {"", "may have no effect"},
		"Deploy":                  {"", "may have no effect"},
		"Baash2x":                 {"", "may have no effect"},
		"mcp__fs":                 {"", "write mcp__fs__*"},
		"mcp__fs__":               {"", "write mcp__fs__*"},
		"MCP__fs__x":              {`did you mean "mcp__fs__x"`, `did you mean "mcp__fs__x"`},
		"@client":                 {"", "allows a group of tools"},
		"@clients":                {`the only group of tools is "@client"`, `the only group of tools is "@client"`},
		strings.Repeat("x", 1000): {"", "may have no effect"},
	} {
		for position, want := range map[toolname.Position]string{toolname.Grants: want.grants, toolname.Restricts: want.restricts} {
			got := names.Fault(name, position)
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%q at %d: %q, want %q", name, position, got, want)
			}
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	v, problems := document.ParseAll([]byte(`{"tools": ["Pay", "", "a b", "x*", "Pay", 5]}`), document.Limits{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	var report document.Report
	meta, _ := report.Object(v, nil, "meta")
	if got := toolname.Read(meta, 10); len(got) != 5 || got[0] != "Pay" {
		t.Errorf("read %q", got)
	}
	var got []string
	for _, p := range report.Problems() {
		got = append(got, p.Code+" "+p.Pointer)
	}
	if want := "EMPTY /tools/1, NAME /tools/2, NAME /tools/3, DUPLICATE_ITEM /tools/4, TYPE /tools/5"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"Read": true, "read": true, "BASH": true, "write_file": true, "Transition": true, "Reed": false, "": false} {
		if got := toolname.Known(name); got != want {
			t.Errorf("Known(%q) = %t", name, got)
		}
	}
}

// TestPure holds the package to its level: no I/O, no clock, no chance.
func TestPure(t *testing.T) {
	t.Parallel()
	puretest.Check(t)
}

// TestCovers covers which capabilities a pattern matches (S7.1).
func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, capability string
		want                bool
	}{
		{"*", "bash", true},
		{"bash", "bash", true},
		{"mcp:fs", "mcp:fs:read", true},
		{"mcp:fs:re*", "mcp:fs:read", true},
		{"tool:a", "tool:a.b", true},
		{"mcp:fs", "mcp:fs2:read", false},
		{"mcp:fs:re", "mcp:fs:read", false},
		{"tool:Read", "tool:Reader", false},
		{"bash", "tool:bash", false},
	} {
		if got := toolname.Covers(c.pattern, c.capability); got != c.want {
			t.Errorf("%s covers %s: %v", c.pattern, c.capability, got)
		}
	}
}
