package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// TestClients runs the Node clients of clients/ against `interlock up`: the MCP
// SDKs and the inspector, with real MCP servers behind the gate, gRPC and NATS.
func TestClients(t *testing.T) {
	t.Parallel()
	clients := nodeModules(t)
	files := t.TempDir()
	u := startUp(t, "--mcp-config", upstreams(t, clients, files))
	tests, err := filepath.Glob(filepath.Join(clients, "*.test.mjs"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests in %s: %v", clients, err)
	}
	for _, file := range tests {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".test.mjs"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			node := exec.CommandContext(ctx, "node", "--test", "--test-force-exit", "--test-reporter=spec", file)
			node.Dir = clients
			node.Env = append(cleanEnv(),
				"E2E_HTTP="+u.http, "E2E_GRPC="+u.engines[0], "E2E_NATS="+u.nats.URL, "E2E_TOKENS="+u.tokensFile,
				"E2E_DATA="+string(u.data), "E2E_INTERLOCK="+binary(t, "interlock"), "E2E_FILES="+files)
			out, err := node.CombinedOutput()
			if err != nil {
				t.Errorf("node --test %s: %v\n%s", filepath.Base(file), err, out)
			}
		})
	}
}

// nodeModules returns the folder of the Node clients, with their modules
// installed.
func nodeModules(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs Node clients on a server, which go test -short does not")
	}
	dir := must[string](t)(filepath.Abs("clients"))
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("there is no node here; install Node 20 and npm: apt-get install -y nodejs npm")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); errors.Is(err, os.ErrNotExist) {
		t.Fatal("the Node clients are not installed: run `npm ci` in services/e2e/clients, or `make test`")
	}
	return dir
}

// upstreams writes the configuration of two MCP servers: one for a folder, one
// with a bit of everything.
func upstreams(t *testing.T, clients, files string) string {
	t.Helper()
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	at := func(name string) string {
		return filepath.Join(clients, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	}
	data := must[[]byte](t)(json.Marshal(map[string]map[string]server{"mcpServers": {
		"files":      {"node", []string{at("server-filesystem"), files}},
		"everything": {"node", []string{at("server-everything")}},
	}}))
	config := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(config, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// TestCurl walks with curl, the first tool of most users, against the edge of
// the separate services.
func TestCurl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("there is no curl here; install it: apt-get install -y curl")
	}
	s := startSeparate(t)
	w := &world{shape: &s.shape, namespace: "default"}
	curl := func(args ...string) string {
		t.Helper()
		args = append([]string{"-sS", "--max-time", "30", "-H", "Authorization: Bearer " + w.tokens[auth.Agent]}, args...)
		out, err := exec.CommandContext(t.Context(), "curl", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("curl: %v\n%s", err, out)
		}
		return string(out)
	}
	json := []string{"-H", "Content-Type: application/json", "-d"}
	post := func(path, body string) reply {
		t.Helper()
		return reply{body: curl(append(json, body, w.http+path)...)}
	}
	post("/v1/workflows", bugfix)
	id, _ := post("/v1/runs", `{"workflow":"bugfix"}`).field("run_id").(string)
	if got := post("/v1/runs/"+id+"/check", `{"tool":"Edit","input":{}}`); got.field("decision") != "DENY" || got.code() != "TOOL_NOT_ALLOWED" {
		t.Errorf("the check answers %v", got)
	}
	if got := post("/v1/runs/"+id+"/transition", `{"event":"READY"}`); got.field("accepted") != true {
		t.Errorf("the transition answers %v", got)
	}
	if got := post("/v1/runs/"+id+"/check", `{"tool":"Edit","input":{}}`); got.field("decision") != "ALLOW" {
		t.Errorf("the check answers %v", got)
	}
	if got := curl(w.http + "/v1/runs/" + id + "/history"); strings.Count(got, `"run_version"`) != 2 {
		t.Errorf("the history is %s", got)
	}
	if got := curl("-o", "/dev/null", "-w", "%{http_code} %{content_type}", w.http+"/v1/runs/run_none"); got != "404 application/problem+json" {
		t.Errorf("an unknown run answers %s", got)
	}
	if got := curl("-I", "-o", "/dev/null", "-w", "%{http_code}", w.http+"/v1/runs/"+id); got != "200" {
		t.Errorf("HEAD answers %s", got)
	}
	if got := curl("-o", "/dev/null", "-w", "%{http_code}", w.http+"/openapi.json"); got != "200" {
		t.Errorf("the OpenAPI document answers %s", got)
	}
}
