package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// TestLinksOnStdio: on stdio the target of a link counts, too (S13). The policy service gets the
// real names, with a run and without.
func TestLinksOnStdio(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace, data := filepath.Join(root, "shop"), filepath.Join(root, "gate")
	for _, folder := range []string{workspace, data, filepath.Join(workspace, ".claude")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"mc": filepath.Join(workspace, ".mcp.json"), "toks": filepath.Join(data, "tokens.json"), "cl": ".claude", "plain": "README.md",
	} {
		if err := os.Symlink(to, filepath.Join(workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, bound := range []bool{true, false} {
		p := newPlane()
		p.states["testing"] = planeState{}
		session := ""
		if bound {
			p.start("s1")
			session = "s1"
		}
		fs := upstreamtest.NewBackend(t)
		for _, tool := range []string{"read_file", "write_file"} {
			fs.Add(tool, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
			})
		}
		s := server(t, p, func(c *Config) {
			c.Upstreams, c.AllowUnbound = []upstream.Server{fs.As("fs")}, true
			c.Stdio = caller.Identity{Binding: caller.Binding{SessionID: session}, Workspace: workspace}
			c.Places = toolcall.Places{Data: []string{data}}
		})
		const prefix = "mcp__fs__"
		client := overStdio(t, s, "2025-06-18", nil)
		for _, tt := range []struct{ tool, input, real string }{
			{"write_file", `{"path": "mc"}`, filepath.Join(workspace, ".mcp.json")},
			{"write_file", `{"path": "cl/settings.json"}`, filepath.Join(workspace, ".claude/settings.json")},
			{"read_file", `{"path": "toks"}`, filepath.Join(data, "tokens.json")},
			{"read_file", `{"uri": "file://` + workspace + `/tok%73"}`, filepath.Join(data, "tokens.json")},
		} {
			result := call(t, client, prefix+tt.tool, tt.input)
			if !result.IsError || !strings.Contains(textOf(result), "SELF_PROTECTED") {
				t.Errorf("bound %t: %s %s is answered %s", bound, tt.tool, tt.input, textOf(result))
			}
			var asked map[string]string
			last := p.checks[len(p.checks)-1]
			if err := json.Unmarshal(last.GetInput(), &asked); err != nil || asked["path"]+asked["uri"] != tt.real {
				t.Errorf("bound %t: %s %s is judged as %s", bound, tt.tool, tt.input, last.GetInput())
			}
		}
		if n := fs.Called(); len(n) != 0 {
			t.Errorf("bound %t: upstream was called: %v", bound, n)
		}
		for _, input := range []string{`{"path": "plain"}`, `{"path": "a.txt"}`} {
			if result := call(t, client, prefix+"write_file", input); result.IsError {
				t.Errorf("bound %t: %s is answered %s", bound, input, textOf(result))
			}
		}
	}
}
