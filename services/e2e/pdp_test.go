package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// TestDecisionPoint: `interlock up` asks a decision point, which can only restrict. Every answer that is no yes denies, and agents
// do not learn its URL; the log has what it said, and a recorded denial is no mismatch (S21.19).
func TestDecisionPoint(t *testing.T) {
	t.Parallel()
	var mode atomic.Value
	var asked, elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"decision": true}`) // the test sees that it was asked
	}))
	t.Cleanup(other.Close)
	point := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body) // an empty one is answered with 500
		w.Header().Set("Content-Type", "application/json")
		status, text := http.StatusOK, `{"decision": true}`
		switch said := mode.Load().(string); {
		case r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" || !strings.Contains(string(body), `"mcp__pay__refund"`):
			status = http.StatusInternalServerError
		case said == "late":
			<-r.Context().Done()
			return
		case said == "redirect":
			w.Header().Set("Location", other.URL)
			status = http.StatusTemporaryRedirect
		case said == "fault":
			status = http.StatusInternalServerError
		case said == "huge":
			text = `{"decision": true, "pad": "` + strings.Repeat("x", 1<<20) + `"}`
		case said != "yes":
			text = said
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the test sees the answer
	}))
	t.Cleanup(point.Close)

	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	operator, agent := w.as(t, auth.Operator), w.as(t, auth.Agent)
	policies := policyv1.NewPolicyServiceClient(w.dial(t, w.policies[0], w.tokens[auth.Operator]))
	must[*policyv1.RegisterPolicyResponse](t)(policies.RegisterPolicy(within(t), &policyv1.RegisterPolicyRequest{
		Name: "pay-outside", Definition: fmt.Appendf(nil, `{"role": "agent",
			"deny": [{"capability": "mcp:pay:refund", "ask_pdp": {"url": "%s/access/v1/evaluation", "timeout": "1s"}}, {"capability": "mcp:pay:drop"}],
			"ask": [{"capability": "mcp:pay:refund", "when": {"/amount": {"gt": 100}}}]}`, point.URL),
	}))
	operator.register(t, `{"id": "outside", "initial": "work", "meta": {"policy": ["pay-outside"], "capture_output": true},
		"states": {"work": {"allowed_tools": ["mcp__pay__refund", "mcp__pay__drop"], "on": {"DONE": "over"}}, "over": {"type": "final"}}}`)
	run := agent.start(t, "outside").GetRunId()
	ask := func(tool, input string, decision policyv1.Decision, code string, asks int32) {
		t.Helper()
		before := asked.Load()
		d := agent.checkInput(t, &policyv1.CheckToolCallRequest{RunId: run, Tool: tool, Input: []byte(input)}, decision, code)
		if n := asked.Load() - before; n != asks || strings.Contains(d.GetMessage(), point.URL) {
			t.Errorf("%v: asked %d times, want %d: %s", mode.Load(), n, asks, d.GetMessage())
		}
	}
	for _, row := range []struct{ said, code string }{
		{"yes", ""},
		{`{"decision": false}`, "POLICY_DENIED"},
		{"late", "POLICY_UNAVAILABLE"},
		{"garbage", "POLICY_UNAVAILABLE"},
		{"redirect", "POLICY_UNAVAILABLE"},
		{"fault", "POLICY_UNAVAILABLE"},
		{"huge", "POLICY_UNAVAILABLE"},
		{"", "POLICY_UNAVAILABLE"},
		{`{"decision": "true"}`, "POLICY_UNAVAILABLE"},
		{`{"decision": false, "decision": true}`, "POLICY_UNAVAILABLE"},
		{`{}`, "POLICY_UNAVAILABLE"},
	} {
		mode.Store(row.said)
		decision := deny
		if row.code == "" {
			decision = allow
		}
		ask("mcp__pay__refund", `{"amount": 5}`, decision, row.code, 1)
	}
	mode.Store("yes") // grants nothing
	ask("mcp__pay__refund", `{"amount": 500}`, asks, "APPROVAL_REQUIRED", 1)
	ask("mcp__pay__drop", `{}`, deny, "POLICY_DENIED", 0)
	ask("mcp__pay__other", `{}`, deny, "TOOL_NOT_ALLOWED", 0)
	point.Close()
	ask("mcp__pay__refund", `{"amount": 5}`, deny, "POLICY_UNAVAILABLE", 0)
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d questions went elsewhere", n)
	}
	log := w.send(t, http.MethodGet, "/v1/decisions?run_id="+run, w.tokens[auth.Operator], "").body
	for _, want := range []string{"pay-outside /deny/0: yes", "pay-outside /deny/0: no\"", "pay-outside /deny/0: no answer: "} {
		if !strings.Contains(log, want) || strings.Contains(log, point.URL) {
			t.Errorf("the log lacks %q, or has the URL: %s", want, log)
		}
	}
	out, err := exec.CommandContext(within(t), binary(t, "interlock"), "verify", "--run", run, "--data-dir", string(u.data), "--token", w.tokens[auth.Operator]).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "a decision point outside of Interlock decides") {
		t.Errorf("verify run: %v\n%s", err, out)
	}
}
