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

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// costly is a session of Claude Code whose transcript grows.
type costly struct {
	t          *testing.T
	up         *together
	session    string
	transcript string
	calls      int
}

// says adds a message to the transcript, as Claude Code writes it: one line per block, each
// with the usage of the message.
func (c *costly) says(id, model string, output int, tool string) {
	c.t.Helper()
	file := must[*os.File](c.t)(os.OpenFile(c.transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	defer file.Close()
	for _, block := range []string{`{"type":"text","text":"I look."}`, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":%q,"input":{"command":"ls"}}`, id, tool)} {
		fmt.Fprintf(file, `{"type":"assistant","sessionId":%q,"message":{"id":%q,"model":%q,"role":"assistant","content":[%s],"usage":{"input_tokens":0,"output_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}`+"\n",
			c.session, id, model, block, output)
	}
	fmt.Fprintln(file, `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"ok"}]}}`)
}

// before is the hook's answer to a call of a tool.
func (c *costly) before(tool string, args ...string) (stdout, stderr string) {
	c.t.Helper()
	c.calls++
	cmd := exec.CommandContext(within(c.t), binary(c.t, "interlock"), append([]string{"hook", "--data-dir", string(c.up.data)}, args...)...)
	cmd.Env = cleanEnv()
	cmd.Stdin = bytes.NewReader(must[[]byte](c.t)(json.Marshal(map[string]any{
		"session_id": c.session, "transcript_path": c.transcript, "hook_event_name": "PreToolUse", "cwd": "/repo", "tool_name": tool,
		"tool_input": map[string]any{"command": "ls"}, "tool_use_id": fmt.Sprint("call", c.calls),
	})))
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	_ = cmd.Run() // its exit code is for the agent's client
	return out.String(), told.String()
}

func (c *costly) allowed(tool string, args ...string) {
	c.t.Helper()
	if out, told := c.before(tool, args...); strings.Contains(out, `"deny"`) || told != "" {
		c.t.Fatalf("%s: %s %s", tool, out, told)
	}
}

func (c *costly) denied(tool, words string) {
	c.t.Helper()
	if out, told := c.before(tool); !strings.Contains(out, `"deny"`) || !strings.Contains(out, words) {
		c.t.Fatalf("%s: %s %s; want a denial with %q", tool, out, told, words)
	}
}

func (c *costly) budget(text string) {
	c.t.Helper()
	w := &world{shape: &c.up.shape, namespace: "default"}
	policies := policyv1.NewPolicyServiceClient(w.dial(c.t, w.policies[0], w.tokens[auth.Operator]))
	must[*policyv1.RegisterPolicyResponse](c.t)(policies.RegisterPolicy(within(c.t), &policyv1.RegisterPolicyRequest{Name: "spending", Definition: []byte(text)}))
	must[*policyv1.AttachPolicyResponse](c.t)(policies.AttachPolicy(within(c.t), &policyv1.AttachPolicyRequest{
		Name: "spending", To: []*policyv1.Attachment{{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_ROLE, Id: "agent"}},
	}))
}

// used is the output of `interlock policy usage` for the session.
func (c *costly) used() string {
	c.t.Helper()
	cmd := exec.CommandContext(within(c.t), binary(c.t, "interlock"), "policy", "usage", "spending", "--session", c.session)
	cmd.Env = append(cleanEnv(), "INTERLOCK_DATA="+string(c.up.data), "INTERLOCK_TOKEN="+c.up.tokens[auth.Operator])
	return string(must[[]byte](c.t)(cmd.CombinedOutput()))
}

func newCostly(t *testing.T, up *together, session string) *costly {
	t.Helper()
	return &costly{t: t, up: up, session: session, transcript: filepath.Join(t.TempDir(), session+".jsonl")}
}

// S15.1: budgets hold for an agent of which Interlock sees only hooks: the costs of its
// messages are read from its transcript, each once.
func TestBudgetsHoldUnderHooks(t *testing.T) {
	t.Parallel()
	up := startUp(t)
	c := newCostly(t, up, "conversation")
	c.budget(`{"role": "agent", "session_budget_usd": 1, "allow": [{"capability": "bash", "budget_limit": {"max_usd": 0.5, "period": "monthly"}}]}`)
	c.allowed("Read") // there is no transcript yet
	c.says("msg_1", "claude-sonnet-4-5", 20_000, "Bash")
	c.allowed("Bash")
	if got := c.used(); strings.Count(got, "0.3 USD") != 2 {
		t.Fatalf("used\n%s", got)
	}
	c.allowed("Bash") // no new message
	if got := c.used(); strings.Count(got, "0.3 USD") != 2 {
		t.Fatalf("used\n%s", got)
	}
	// The position is lost, as when the data folder is put back: the server has the earlier costs.
	if err := os.RemoveAll(filepath.Join(string(up.data), "costs")); err != nil {
		t.Fatal(err)
	}
	c.says("msg_2", "claude-sonnet-4-5", 20_000, "Bash")
	c.denied("Bash", "/allow/0/budget_limit")
	c.allowed("Read")
	if got := c.used(); strings.Count(got, "0.6 USD") != 2 {
		t.Fatalf("used\n%s", got)
	}
	c.says("msg_3", "claude-sonnet-4-5", 40_000, "Read")
	c.denied("Read", "/session_budget_usd")

	// Another session has a budget of its own; a model without a price is reported once.
	other := newCostly(t, up, "other")
	other.says("msg_4", "unheard-of", 9_000_000, "Read")
	if out, told := other.before("Read"); strings.Contains(out, `"deny"`) || !strings.Contains(told, "unheard-of") {
		t.Errorf("%s, %s", out, told)
	}
	other.allowed("Read")
	prices := filepath.Join(t.TempDir(), "prices.json")
	table := `{"as_of": "2026-11-25", "currency": "USD", "per_tokens": 1000000, "models": [{"prefix": "unheard", "input": 1, "output": 1}]}`
	if err := os.WriteFile(prices, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	other.says("msg_5", "unheard-of", 250_000, "Read")
	other.allowed("Read", "--prices", prices)
	if got := other.used(); !strings.Contains(got, "0.25 USD") {
		t.Errorf("used\n%s", got)
	}
	if _, told := other.before("Read", "--prices", c.transcript); !strings.Contains(told, "price table") {
		t.Errorf("a table that is none: %s", told)
	}
}

// S15.1: the metrics of Claude Code count as its transcript does; the larger of the two is
// the cost of the session.
func TestMetricsOfClientsCount(t *testing.T) {
	t.Parallel()
	up := startUp(t)
	c := newCostly(t, up, "metered")
	c.budget(`{"role": "agent", "session_budget_usd": 1}`)
	export := func(form, token, dollars string, at int) int {
		t.Helper()
		body := fmt.Appendf(nil, `{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "claude_code.cost.usage", "unit": "USD", "sum": {
			"aggregationTemporality": 1, "isMonotonic": true, "dataPoints": [{"startTimeUnixNano": "%d", "timeUnixNano": "%d", "asDouble": %s, "attributes": [
			{"key": "session.id", "value": {"stringValue": "metered"}}, {"key": "model", "value": {"stringValue": "claude-sonnet-4-5"}}]}]}}]}]}]}`, at, at+1, dollars)
		if form == "application/x-protobuf" {
			req := &collector.ExportMetricsServiceRequest{}
			if err := protojson.Unmarshal(body, req); err != nil {
				t.Fatal(err)
			}
			body = must[[]byte](t)(proto.Marshal(req))
		}
		req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, up.http+"/v1/metrics", bytes.NewReader(body)))
		req.Header.Set("Content-Type", form)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp := must[*http.Response](t)(http.DefaultClient.Do(req))
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	agent := up.tokens[auth.Agent]
	if got := export("application/json", "", "9", 1); got != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got)
	}
	for range 2 { // exporters repeat unanswered data
		if got := export("application/x-protobuf", agent, "0.25", 1); got != http.StatusOK {
			t.Fatalf("protobuf: %d", got)
		}
	}
	c.says("msg_1", "claude-sonnet-4-5", 20_000, "Read")
	c.allowed("Read")
	if got := c.used(); !strings.Contains(got, "0.3 USD") { // not 0.55
		t.Fatalf("used\n%s", got)
	}
	if got := export("application/json", agent, "0.8", 2); got != http.StatusOK {
		t.Fatalf("JSON: %d", got)
	}
	if got := c.used(); !strings.Contains(got, "1.05 USD") {
		t.Fatalf("used\n%s", got)
	}
	c.denied("Read", "/session_budget_usd")
}
