package check_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// TestDecisionPoint: a decision point can only restrict. Its yes leaves the answer as it was; its no, and no answer, deny
// (S21.19).
func TestDecisionPoint(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body) // an empty one is answered as no
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(string(body), "break"):
			_, _ = io.WriteString(w, `{"decision": tru`) // the test sees the answer
		default:
			fmt.Fprintf(w, `{"decision": %t}`, strings.Contains(string(body), "good"))
		}
	}))
	t.Cleanup(server.Close)
	s := stage.New(t, stage.Open)
	s.Put(t, "p", fmt.Sprintf(`{"role": "agent", "meta": {"tools": ["Mail"]},
		"deny": [
			{"capability": "tool:Write", "ask_pdp": {"url": %q, "timeout": "1s"}},
			{"capability": "tool:Mail", "when": {"/to": {"exists": true}}, "ask_pdp": {"url": %[1]q, "timeout": "1s"}},
			{"capability": "tool:Mail", "when": {"/to": "never good"}}],
		"ask": [{"capability": "tool:Mail"}]}`, server.URL), policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	for i, row := range []struct {
		tool, input string
		dry         bool
		decision    toolcall.Decision
		code        toolcall.Code
		says        string
		asks        int32
		kept        string // in the record
	}{
		{"Read", `{}`, false, toolcall.Allow, "", "", 0, ""},
		{"Write", `{"file_path": "good", "content": ""}`, false, toolcall.Allow, "", "", 1, `: yes"`},
		{"Write", `{"file_path": "bad", "content": ""}`, false, toolcall.Deny, toolcall.CodePolicyDenied, "unless a decision point agrees, and it does not", 1, `: no"`},
		{"Write", `{"file_path": "break good", "content": ""}`, false, toolcall.Deny, toolcall.CodePolicyUnavailable, "gave no answer", 1, `: no answer: a text`},
		{"Write", `{"file_path": "bad", "content": ""}`, true, toolcall.Allow, "", "was not asked about it", 0, ""},
		{"Mail", `{"to": "good"}`, false, toolcall.Ask, toolcall.CodeApprovalRequired, "", 1, `: yes"`},
		{"Mail", `{"to": "bad"}`, false, toolcall.Deny, toolcall.CodePolicyDenied, "/deny/1", 1, `: no"`},
		{"Mail", `{}`, false, toolcall.Deny, toolcall.CodeCallUnclear, "/deny/2", 0, ""},                    // it is in doubt
		{"Mail", `{"to": "never good"}`, false, toolcall.Deny, toolcall.CodePolicyDenied, "/deny/2", 0, ""}, // it is denied in any case
	} {
		before := asked.Load()
		id := fmt.Sprint("call ", i)
		if row.dry {
			id = ""
		}
		d := stage.Ask(t, a, check.Request{Tool: row.tool, Input: []byte(row.input), DryRun: row.dry, CallID: id})
		if d.Verdict.Decision != row.decision || d.Verdict.Code != row.code || !strings.Contains(d.Message, row.says) {
			t.Errorf("%s %s: %s %s: %s", row.tool, row.input, d.Verdict.Decision, d.Verdict.Code, d.Message)
		}
		if n := asked.Load() - before; n != row.asks {
			t.Errorf("%s %s: asked %d times, want %d", row.tool, row.input, n, row.asks)
		}
		if strings.Contains(d.Message, server.URL) {
			t.Errorf("the agent learns the URL: %s", d.Message)
		}
		if row.dry {
			continue
		}
		logged, err := a.Log.Get(t.Context(), "default", decisionlog.CallQuery{RunID: "run_1", CallID: id})
		if err != nil || logged.Code != row.code {
			t.Fatalf("%s %s is logged as %v, %v", row.tool, row.input, logged, err)
		}
		if got := string(logged.Facts); strings.Contains(got, `"ask_pdp"`) != (row.asks > 0) || !strings.Contains(got, row.kept) {
			t.Errorf("%s %s is logged with the facts %s", row.tool, row.input, got)
		}
	}
}

// TestShadowsAskNoPoint: a shadow uses an answer that the enforced policy got, and says which point was not asked (S21.19).
func TestShadowsAskNoPoint(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"decision": false}`) // the test sees the answer
	}))
	t.Cleanup(server.Close)
	policy := func(tool string) string {
		return fmt.Sprintf(`{"role": "agent", "deny": [{"capability": "tool:%s", "ask_pdp": {"url": %q, "timeout": "1s"}}]}`, tool, server.URL)
	}
	s := stage.New(t, stage.Open)
	s.Put(t, "p", policy("Write"), policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	s.Put(t, "p", policy("*"), policystore.Indexed{Live: 1, Shadow: 2, Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	d := stage.Ask(t, a, check.Request{Tool: "Write", CallID: "1"})
	stage.Expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied)
	if len(d.Shadows) > 0 || asked.Load() != 1 {
		t.Errorf("asked %d times: %+v", asked.Load(), d.Shadows)
	}
	d = stage.Ask(t, a, check.Request{Tool: "Read", CallID: "2"})
	stage.Expect(t, d, toolcall.Allow, "")
	if len(d.Shadows) != 1 || d.Shadows[0].Decision != toolcall.Allow || !strings.Contains(d.Shadows[0].Message, "was not asked about it") || asked.Load() != 1 {
		t.Errorf("asked %d times: %+v", asked.Load(), d.Shadows)
	}
}
