package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// TestGoClients walks with the Go clients of clients/goclients, which is a module of its own
// for the releases that it needs: over HTTP and stdio, in each protocol that they speak.
func TestGoClients(t *testing.T) {
	t.Parallel()
	clients := nodeModules(t) // for the server behind the gate
	program := filepath.Join(t.TempDir(), "goclients")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir, build.Env = filepath.Join(clients, "goclients"), append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	config := upstreams(t, clients, t.TempDir())
	u := startUp(t, "--mcp-config", config)
	for _, who := range []struct{ client, protocol string }{
		{"go-sdk", "2025-06-18"}, {"mcp-go", "2025-03-26"}, {"mcp-go", "2025-11-25"}, {"mcp-go", "2026-07-28"},
	} {
		session := who.client + "-" + who.protocol
		for _, way := range [][]string{
			{"http", u.http + "/mcp", u.tokens[auth.Agent], session},
			{"stdio", binary(t, "interlock"), "mcp", "--data-dir", string(u.data), "--session", session + "-stdio", "--mcp-config", config},
		} {
			t.Run(session+" over "+way[0], func(t *testing.T) {
				t.Parallel()
				run := exec.CommandContext(within(t), program, append([]string{who.client, who.protocol}, way...)...)
				run.Env = cleanEnv()
				if out, err := run.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
