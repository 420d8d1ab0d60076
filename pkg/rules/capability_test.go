package rules_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestCapabilityOf covers S7.1.
func TestCapabilityOf(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{
		"Bash": "bash", "bash": "bash", "shell": "bash", "local_shell": "bash", "exec_command": "bash", "PowerShell": "bash",
		"run_in_terminal":               "bash",
		"Read":                          "tool:Read",
		"resend-email":                  "tool:resend-email",
		"mcp__filesystem__write_file":   "mcp:filesystem:write_file",
		"mcp__my-server__a:b":           "mcp:my-server:a:b",
		"mcp__my__fs__delete":           "mcp:my:fs__delete",
		"mcp__desktop__execute_command": "mcp:desktop:execute_command",
		"mcp__filesystem":               "tool:mcp__filesystem",
		"mcp____write_file":             "tool:mcp____write_file",
		"mcp__filesystem__":             "tool:mcp__filesystem__",
		"MCP__filesystem__write_file":   "tool:MCP__filesystem__write_file",
		"filesystem__write_file":        "tool:filesystem__write_file",
		"mcp:filesystem:write_file":     "tool:mcp:filesystem:write_file",
		"Bashful":                       "tool:Bashful",
	} {
		if got := rules.CapabilityOf(tool); got != want {
			t.Errorf("%s is %s, not %s", tool, got, want)
		}
	}
}

// TestPatterns covers which capabilities a pattern matches (S7.1).
func TestPatterns(t *testing.T) {
	t.Parallel()
	for pattern, tools := range map[string]struct{ matches, not []string }{
		"*":     {[]string{"Bash", "Read", "mcp__fs__read"}, nil},
		"bash":  {[]string{"Bash", "shell", "mcp__desktop__execute_command"}, []string{"Bashful", "Read", "mcp__bash__read"}},
		"bash*": {[]string{"Bash", "mcp__desktop__bash"}, []string{"bashful", "Read"}},
		"mcp":   {[]string{"mcp__fs__read", "mcp__x__y"}, []string{"Bash", "mcp", "mcp__fs"}},
		"mcp:*": {[]string{"mcp__fs__read", "mcp__x__y"}, []string{"Bash", "mcpx", "mcp__fs"}},
		"mcp*":  {[]string{"mcp__fs__read"}, []string{"mcp", "mcpx"}},
		"mcp:filesystem": {
			[]string{"mcp__filesystem__write_file", "mcp__filesystem__x"},
			[]string{"mcp__filesystem2__write_file", "mcp__files__write_file", "mcp__filesystem-x__y", "filesystem"},
		},
		"mcp:filesystem:*":          {[]string{"mcp__filesystem__write_file"}, []string{"mcp__filesystem2__write_file", "mcp__file__system"}},
		"mcp:filesystem*":           {[]string{"mcp__filesystem__write_file", "mcp__filesystem2__write_file"}, []string{"mcp__file__system"}},
		"mcp:filesystem:write_file": {[]string{"mcp__filesystem__write_file"}, []string{"mcp__filesystem__write_files", "mcp__filesystem__write", "mcp__Filesystem__write_file", "write_file"}},
		"mcp:filesystem:write_*":    {[]string{"mcp__filesystem__write_file", "mcp__filesystem__write_"}, []string{"mcp__filesystem__write"}},
		"mcp:k8s:pods":              {[]string{"mcp__k8s__pods", "mcp__k8s__pods.delete", "mcp__k8s__pods:delete"}, []string{"mcp__k8s__pods_delete", "mcp__k8s__pod"}},
		"mcp:my:fs__delete":         {[]string{"mcp__my__fs__delete"}, []string{"mcp__my__fs"}},
		"tool":                      {[]string{"Read", "mcp__fs"}, []string{"Bash", "mcp__fs__read"}},
		"tool:Read":                 {[]string{"Read"}, []string{"read", "ReadMany", "mcp__x__Read"}},
		"tool:Web*":                 {[]string{"WebFetch", "Web"}, []string{"We", "webfetch"}},
		"tool:größe":                {[]string{"größe"}, []string{"größen", "gr"}},
	} {
		set := compile(t, `{"role": "agent", "meta": {"tools": ["größe"]}, "deny": [{"capability": "`+pattern+`"}]}`)
		for _, tool := range tools.matches {
			if v := set.Decide(rules.Call{Tool: tool}, nil); v.Code != toolcall.CodePolicyDenied {
				t.Errorf("%s does not match %s", pattern, tool)
			}
		}
		for _, tool := range tools.not {
			if v := set.Decide(rules.Call{Tool: tool}, nil); v.Decision != toolcall.Allow {
				t.Errorf("%s matches %s", pattern, tool)
			}
		}
	}
}

// A caller that knows the kind of a tool says so: a gate knows the server of a tool that
// is called by its plain name, and a state may name its shell.
func TestGivenCapability(t *testing.T) {
	t.Parallel()
	set := compile(t, `{"role": "agent", "deny": [{"capability": "mcp:filesystem"}, {"capability": "bash"}]}`)
	for name, call := range map[string]rules.Call{
		"plain name":      {Tool: "write_file", Capability: "mcp:filesystem:write_file"},
		"own name":        {Tool: "transition", Capability: "mcp:filesystem:transition"},
		"the state's own": {Tool: "RunIt", Shell: true},
		"shell of others": {Tool: "execute_command", Capability: "mcp:desktop:execute_command"},
		"no name":         {Capability: "bash"},
		"a long name":     {Tool: "x", Capability: "mcp:filesystem:" + string(make([]byte, 600))},
	} {
		if v := set.Decide(call, nil); v.Code != toolcall.CodePolicyDenied {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := set.Decide(rules.Call{Tool: "write_file"}, nil); v.Decision != toolcall.Allow {
		t.Errorf("the plain name alone: %+v", v)
	}
}
