package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// TestConformance runs the official suite of MCP against servers directly and behind the
// gate: a test that passes directly passes behind it, except those in docs/mcp.md, with the reasons.
func TestConformance(t *testing.T) {
	t.Parallel()
	clients := nodeModules(t)
	reference := filepath.Join(t.TempDir(), "reference")
	// It is the SDK's own, which implements the suite's requirements for servers.
	build := exec.Command("go", "build", "-o", reference, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	excused := excusedChecks(t)
	for _, test := range []struct {
		name         string
		requirements string
		// least is how many checks the server passes, so that this looks in the right place.
		least int
		serve func(t *testing.T, port string) *exec.Cmd
	}{
		{"the reference server", "2025-11-25", 60, func(_ *testing.T, port string) *exec.Cmd {
			return exec.Command(reference, "-http", "127.0.0.1:"+port, "-stateless=false")
		}},
		{"the stateless reference server", "2026-07-28", 100, func(_ *testing.T, port string) *exec.Cmd {
			return exec.Command(reference, "-http", "127.0.0.1:"+port)
		}},
		{"server-everything", "2025-11-25", 15, func(_ *testing.T, port string) *exec.Cmd {
			cmd := exec.Command("node", filepath.Join(clients, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"), "streamableHttp")
			cmd.Env = append(cleanEnv(), "PORT="+port)
			return cmd
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := startOther(t, test.serve)
			direct := conformance(t, clients, server, test.requirements)
			gated := conformance(t, clients, gateBefore(t, server), test.requirements)
			passed := 0
			for _, check := range slices.Sorted(maps.Keys(direct)) {
				if direct[check] != "" {
					continue
				}
				passed++
				why, there := gated[check]
				if (why != "" || !there) && !excused[check] {
					t.Errorf("%s passes directly, and not behind the gate: %s", check, why)
				}
			}
			if passed < test.least {
				t.Errorf("only %d checks pass directly", passed)
			}
		})
	}
}

// startOther starts a server on a free port, and returns the address of its endpoint.
func startOther(t *testing.T, serve func(t *testing.T, port string) *exec.Cmd) string {
	t.Helper()
	lis := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	_, port, _ := net.SplitHostPort(lis.Addr().String())
	lis.Close()
	cmd := serve(t, port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	at := "http://localhost:" + port + "/mcp"
	eventually(t, "the server listens", func() error {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err
	})
	return at
}

// gateBefore starts the gate before a server, whose tools and prompts keep their names. The
// suite has no token: the front adds one.
func gateBefore(t *testing.T, server string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "mcp.json")
	text := must[[]byte](t)(json.Marshal(map[string]any{"mcpServers": map[string]any{"other": map[string]any{"url": server, "plain": true}}}))
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	u := startUp(t, "--mcp-config", config, "--allow-unbound")
	target := must[*url.URL](t)(url.Parse(u.http))
	front := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.URL.RawQuery = "session=conformance"
		r.Out.Header.Set("Authorization", "Bearer "+u.tokens[auth.Agent])
		// A ReverseProxy that sends a body on while it reads it breaks off answers that
		// come early, once in some thousand.
		if body, _ := io.ReadAll(r.In.Body); len(body) > 0 {
			r.Out.Body = io.NopCloser(bytes.NewReader(body))
		}
	}}
	web := httptest.NewServer(front)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return strings.Replace(web.URL, "127.0.0.1", "localhost", 1) + "/mcp"
}

// conformance runs the suite and returns each check, scenario/id, with why it failed; empty
// for passed.
func conformance(t *testing.T, clients, server, requirements string) map[string]string {
	t.Helper()
	results := t.TempDir()
	suite := exec.CommandContext(within(t), "node", "--import", filepath.Join(clients, "node20.mjs"),
		filepath.Join(clients, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", server, "--requirements", requirements, "-o", results)
	suite.Env = cleanEnv()
	out, _ := suite.CombinedOutput() // it fails when a check does
	checks := map[string]string{}
	stamp := regexp.MustCompile(`^server-|-\d{4}-\d\d-\d\dT.*$`)
	err := filepath.WalkDir(results, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(file) != "checks.json" {
			return err
		}
		var list []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(file)), &list); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		scenario := stamp.ReplaceAllString(filepath.Base(filepath.Dir(file)), "")
		for _, check := range list {
			name := scenario + "/" + check.ID
			switch check.Status {
			case "SUCCESS":
				checks[name] += ""
			case "FAILURE":
				checks[name] += strings.TrimSpace("failed: " + check.ErrorMessage)
			}
		}
		return nil
	})
	if err != nil || len(checks) == 0 {
		t.Fatalf("the suite has no results: %v\n%s", err, out)
	}
	return checks
}

// excusedChecks are those of the table in docs/mcp.md.
func excusedChecks(t *testing.T) map[string]bool {
	t.Helper()
	_, section, found := strings.Cut(string(must[[]byte](t)(os.ReadFile("../../docs/mcp.md"))), "\n### Conformance\n")
	if !found {
		t.Fatal("docs/mcp.md has no section Conformance")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	excused := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.TrimSpace(cells[2]) == "" {
			continue // no row with a reason
		}
		for _, check := range regexp.MustCompile("`([^`]+/[^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			excused[check[1]] = true
		}
	}
	return excused
}
