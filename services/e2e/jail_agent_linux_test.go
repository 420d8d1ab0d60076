package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// shipped is plan -> edit -> ship. ship needs tests of the files as they are.
const shipped = `{"id": "shipped", "initial": "plan", "guards": {"tested": {"evidence": "tests"}},
	"evidence": {"tests": {"tool": "Bash", "command": "sh tests.sh", "after": "edit"}},
	"states": {
		"plan": {"allowed_tools": ["Read", "Bash"], "on": {"PLANNED": "edit"}},
		"edit": {"allowed_tools": ["Read", "Edit", "Write", "Bash"], "on": {"SHIP": {"target": "ship", "guard": "tested"}}},
		"ship": {"allowed_tools": ["Read", "Bash"], "on": {"SHIPPED": "done"}},
		"done": {"type": "final"}}}`

// TestClaudeCodeInJails: S20. Claude Code itself, from the plan to the end, with each of its lines in the jail of its state.
func TestClaudeCodeInJails(t *testing.T) {
	t.Parallel()
	claude := claudeCode(t)
	j := startInJails(t)
	j.operator.register(t, shipped)
	interlock := binary(t, "interlock")
	setUp := exec.CommandContext(within(t), interlock, "init", "claude-code", "--yes", "--binary", interlock, "--data-dir", string(j.u.data), "--workflow", "shipped", j.dir)
	setUp.Env = append(cleanEnv(), "XDG_STATE_HOME="+t.TempDir())
	if out, err := setUp.CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	write := func(name string) string {
		return fmt.Sprintf(`python3 -c 'open(%q, "w").write("x"); print("wrote")'`, name)
	}
	script := []struct {
		line, event string
		reads       []string // of the result
		there       string   // a file that is there afterwards
		gone        string   // and one that is not
	}{
		{line: write("planned.txt"), reads: []string{"wrote", "discarded"}, gone: "planned.txt"},
		{line: "./unknown; echo $?", reads: []string{"127"}},
		{event: "SHIP", reads: []string{"PLANNED"}},
		{event: "PLANNED", reads: []string{"edit"}},
		{line: write("edited.txt"), reads: []string{"wrote"}, there: "edited.txt"},
		{event: "SHIP", reads: []string{"tests"}},
		{line: "sh tests.sh", reads: []string{"tested"}},
		{event: "SHIP", reads: []string{"ship"}},
		{line: write("shipped.txt"), reads: []string{"wrote"}, gone: "shipped.txt"},
	}
	model := &scriptedModel{}
	for _, step := range script {
		call := modelCall{"Bash", map[string]string{"command": step.line, "description": "Does a step"}}
		if step.event != "" {
			call = modelCall{"mcp__interlock__transition", map[string]string{"event": step.event}}
		}
		model.calls = append(model.calls, call)
	}
	server := httptest.NewServer(model)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := exec.CommandContext(ctx, claude, "-p", "go", "--allowedTools", "Bash(python3:*),Bash(mkdir:*),Bash(sh:*),mcp__interlock__transition", "--mcp-config", ".mcp.json", "--strict-mcp-config")
	run.Dir = j.dir
	run.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=none", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("claude: %v\n%s\n%s", err, out, strings.Join(model.results, "\n"))
	}
	if len(model.results) != len(script) {
		t.Fatalf("%d results of %d: %v\n%s", len(model.results), len(script), model.results, out)
	}
	for i, step := range script {
		for _, words := range step.reads {
			if !strings.Contains(model.results[i], words) {
				t.Errorf("step %d, %s%s: the agent reads %s", i, step.line, step.event, model.results[i])
			}
		}
		if step.gone != "" {
			j.gone(step.gone)
		}
		if step.there != "" {
			if _, err := os.Stat(filepath.Join(j.dir, step.there)); err != nil {
				t.Error(err)
			}
		}
	}
}

// scriptedModel is a model that makes one call after the other, and keeps their results.
type scriptedModel struct {
	mu      sync.Mutex
	calls   []modelCall
	results []string
	asked   int
}

// id is that of the next call.
func (m *scriptedModel) id() string { return fmt.Sprint("toolu_", len(m.results)) }

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		return
	}
	var request struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []any `json:"tools"`
	}
	_ = json.Unmarshal(body.Bytes(), &request) // an unreadable request gets the answer to a title
	one := &oneToolCall{result: "none"}
	for _, message := range request.Messages {
		var blocks []struct {
			Type    string          `json:"type"`
			ID      string          `json:"tool_use_id"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(message.Content, &blocks) // a text has no results
		for _, block := range blocks {
			if block.Type == "tool_result" && block.ID == m.id() {
				m.results = append(m.results, string(block.Content))
			}
		}
	}
	m.asked++
	if n := len(m.results); n < len(m.calls) && m.asked < 3*len(m.calls) {
		one.result, one.modelCall, one.id = "", m.calls[n], m.id()
	}
	one.answer(w, len(request.Tools) > 0)
}
