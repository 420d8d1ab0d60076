package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDeployGate runs the process of the documentation, with its policy, through a
// real MCP client against `interlock up` (S7, S8).
func TestDeployGate(t *testing.T) {
	t.Parallel()
	clients := nodeModules(t)
	files := t.TempDir()
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	config := filepath.Join(t.TempDir(), "mcp.json")
	data := must[[]byte](t)(json.Marshal(map[string]map[string]server{"mcpServers": {
		"filesystem": {"node", []string{
			filepath.Join(clients, "node_modules", "@modelcontextprotocol", "server-filesystem", "dist", "index.js"), files,
		}},
		"shell": {"node", []string{filepath.Join(clients, "shell-server.mjs")}},
	}}))
	if err := os.WriteFile(config, data, 0o600); err != nil {
		t.Fatal(err)
	}
	u := startUp(t, "--mcp-config", config)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	node := exec.CommandContext(ctx, "node", "--test", "--test-force-exit", "--test-reporter=spec", "deploy-gate.mjs")
	node.Dir = clients
	node.Env = append(cleanEnv(),
		"E2E_HTTP="+u.http, "E2E_GRPC="+u.engines[0], "E2E_NATS="+u.nats.URL, "E2E_TOKENS="+u.tokensFile,
		"E2E_DATA="+string(u.data), "E2E_INTERLOCK="+binary(t, "interlock"), "E2E_FILES="+files)
	if out, err := node.CombinedOutput(); err != nil {
		t.Errorf("deploy-gate.mjs: %v\n%s", err, out)
	}
}
