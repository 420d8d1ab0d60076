package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// secrets are texts that must be in no log.
type secrets struct{ fed []string }

// one is a secret that was in no log yet.
func (s *secrets) one() string {
	text := fmt.Sprintf("hunter%04dsecret", len(s.fed))
	s.fed = append(s.fed, text)
	return text
}

// settings are those of a server that log most, and have secrets themselves: of webhooks, of
// servers behind the gate. Neither can be reached.
func (s *secrets) settings(t *testing.T) (env, gateway, approval []string) {
	t.Helper()
	folder := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	away := freeAddresses(t, 2)
	servers := must[[]byte](t)(json.Marshal(map[string]any{"mcpServers": map[string]any{"behind": map[string]any{
		"url": "http://" + away[0] + "/mcp?key=" + s.one(), "headers": map[string]string{"Authorization": "Bearer " + s.one()},
	}}}))
	return []string{"INTERLOCK_LOG_LEVEL=debug"},
		[]string{"--mcp-config", write("mcp.json", string(servers))},
		[]string{"--webhook", "http://" + away[1] + "/hooks/" + s.one(), "--webhook-secret-file", write("webhook", s.one())}
}

// feed sends secrets into all inputs, in requests that succeed and in those that fail.
func (s *secrets) feed(t *testing.T, w *world) {
	t.Helper()
	post := func(token, path, body string) string {
		t.Helper()
		req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, w.http+path, strings.NewReader(body)))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp := must[*http.Response](t)(http.DefaultClient.Do(req))
		defer resp.Body.Close()
		return string(must[[]byte](t)(io.ReadAll(resp.Body)))
	}
	operator, agent := w.tokens[auth.Operator], w.tokens[auth.Agent]
	registered := post(operator, "/v1/workflows", `{"id": "w", "initial": "a", "meta": {"capture_output": true, "approval_mode": "ui"}, "states": {
		"a": {"allowed_tools": ["Bash"], "allowed_commands": ["ls"], "instructions": "`+s.one()+`", "on": {"GO": {"target": "z", "requires_approval": true}}},
		"z": {"type": "final"}}}`)
	if strings.Contains(registered, "status") {
		t.Fatalf("not registered: %s", registered)
	}
	post(operator, "/v1/policies", `{"name": "p", "role": "agent", "ask": [{"capability": "shell:rm"}]}`)
	var run struct {
		ID string `json:"run_id"`
	}
	answer := post(agent, "/v1/runs", `{"workflow": "w", "session_id": "s", "context": {"password": "`+s.one()+`"}}`)
	if err := json.Unmarshal([]byte(answer), &run); err != nil || run.ID == "" {
		t.Fatalf("no run: %s", answer)
	}
	for _, body := range []string{
		`{"tool": "Bash", "input": {"command": "ls ` + s.one() + `"}, "call_id": "c1"}`,
		`{"tool": "Bash", "input": {"command": "curl --password ` + s.one() + `"}}`,
		`{"tool": "Bash", "input": {"command": "` + s.one() + ` $(("}}`,
		`{"tool": "Bash", "input": "` + s.one(),
		`{"tool": "Bash", "input": {"a": "` + s.one() + `", "a": 1}}`,
	} {
		post(agent, "/v1/runs/"+run.ID+"/check", body)
	}
	post(agent, "/v1/runs/"+run.ID+"/report", `{"call_id": "c1", "tool": "Bash", "ok": true, "output": "`+s.one()+`"}`)
	post(agent, "/v1/runs/"+run.ID+"/transition", `{"event": "GO", "data": {"note": "`+s.one()+`"}}`)
	post(agent, "/v1/runs/"+run.ID+"/transition", `{"event": "`+s.one()+`"}`)
	post(agent, "/v1/workflows", `{"id": "x", "initial": "`+s.one()+`", "states": {}}`)
	post(agent, "/v1/workflows", `{"id": "`+s.one())
	post(agent, "/v1/runs", `{"context": "`+strings.Repeat(s.one(), 1<<17)+`"}`)
	post(s.one(), "/v1/runs", `{}`)
	for _, hook := range []string{
		`{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls ` + s.one() + `"}, "tool_use_id": "t"}`,
		`{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": "` + s.one() + `"}`,
		`{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "` + s.one() + `"}`,
		`{"hook_event_name": "` + s.one(),
	} {
		post(agent, "/v1/hook", hook)
	}
	client := w.connectAs(t, "s", "2025-11-25", bearing{agent})
	for _, tool := range []string{"transition", "get_state", "mcp__behind__look", "state_patch", "nothing"} {
		_, _ = client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"event": s.one(), "patch": s.one()}})
	}
	post(agent, "/mcp?session=s", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "`+s.one())
	for _, args := range [][]string{
		{"schema", "register", "--file", s.file(t, `{"type": "object", "properties": {"a": {"const": "`+s.one()+`"}}}`), "--name", "n"},
		{"approval", "list", "--status", "PENDING"},
	} {
		cmd := exec.CommandContext(within(t), binary(t, "interlock"), append(args, "--server", w.http)...)
		cmd.Env = w.operatorEnv()
		_ = cmd.Run() // whether it succeeds makes no difference
	}
}

func (s *secrets) file(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// absent compares the logs of processes, and the spans that they have exported, with the
// secrets.
func (s *secrets) absent(t *testing.T, tokens map[auth.Role]string, o *otlp, processes ...*process) {
	t.Helper()
	all := s.fed
	for _, token := range tokens {
		all = append(all, token)
	}
	for _, p := range processes {
		for line := range strings.Lines(p.log.String()) {
			for _, secret := range all {
				if strings.Contains(line, secret) {
					t.Errorf("%s logs %s: %.500s", p.name, secret, line)
				}
			}
			var entry map[string]any
			if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &entry) != nil {
				t.Errorf("%s logs what is not JSON: %s", p.name, line)
			}
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	exported := 0
	for _, spans := range o.spans {
		for _, span := range spans {
			exported++
			for _, secret := range all {
				if strings.Contains(span.String(), secret) {
					t.Errorf("%s exports %s: %s", span.service, secret, span)
				}
			}
		}
	}
	if exported < 20 {
		t.Errorf("only %d spans are exported", exported)
	}
}

// lines are those of a message, of all processes.
func logged(message string, processes ...*process) (lines []map[string]any) {
	for _, p := range processes {
		for line := range strings.Lines(p.log.String()) {
			var entry map[string]any
			if json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == message {
				lines = append(lines, entry)
			}
		}
	}
	return lines
}

// For any request and any failure, no log and no trace has payloads, tokens or secrets of
// the settings.
func TestLogsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		s, o := &secrets{}, startCollector(t)
		env, gateway, approval := s.settings(t)
		u := &together{shape: shape{name: "up", env: append(env, o.env()...)}, data: datadir.Dir(t.TempDir()), args: append(gateway, approval...)}
		u.restart(t)
		s.feed(t, &world{shape: &u.shape, namespace: "default"})
		eventually(t, "the webhook is tried", func() error {
			if len(logged("a webhook did not accept a message, which will be sent again", u.process)) == 0 {
				return fmt.Errorf("the log is\n%s", u.process.log.tail(2000))
			}
			return nil
		})
		u.process.drain(t)
		s.absent(t, u.tokens, o, u.process)
	})
	t.Run("separate, without a store", func(t *testing.T) {
		t.Parallel()
		s, o := &secrets{}, startCollector(t)
		env, gateway, _ := s.settings(t)
		password := s.one()
		redis := redistest.Start(t, "--requirepass", password)
		p := startSeparateIn(t, append(env, o.env()...), []string{"--store", strings.Replace(redis.URL(), "://", "://:"+password+"@", 1)}, gateway...)
		w := &world{shape: &p.shape, namespace: "default"}
		s.feed(t, w)
		all := append(append(append(append(p.state, p.engine...), p.policy...), p.approval...), p.gateway)
		redis.Kill()
		p.natsServer.Stop()
		d := denied(t, w, "Bash", s.one())
		// A denial for want of the store is logged, with its subject.
		eventually(t, "the denial is logged", func() error {
			for _, line := range logged("tool call denied: no decision could be made durable", p.policy...) {
				if line["call_id"] == "lost" && line["run_id"] == d && line["trace_id"] != nil && line["level"] == "ERROR" {
					return nil
				}
			}
			return fmt.Errorf("the log is\n%s", p.policy[0].log.tail(2000))
		})
		for _, one := range all {
			one.drain(t)
		}
		s.absent(t, p.tokens, o, all...)
	})
}

// denied checks a call that cannot be decided, and returns the run.
func denied(t *testing.T, w *world, tool, secret string) (run string) {
	t.Helper()
	run = "run_01jd3k0c7qf3ta3bfa1m2y8x9n"
	body := must[[]byte](t)(json.Marshal(map[string]any{"tool": tool, "input": map[string]any{"command": secret}, "call_id": "lost"}))
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, w.http+"/v1/runs/"+run+"/check", bytes.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+w.tokens[auth.Agent])
	req.Header.Set("Content-Type", "application/json")
	resp := must[*http.Response](t)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	if answer := string(must[[]byte](t)(io.ReadAll(resp.Body))); !strings.Contains(answer, `"DENY"`) {
		t.Errorf("without a store: %s", answer)
	}
	return run
}
