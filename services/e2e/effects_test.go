package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// S16.2, S16.3, S16.4: over REST, on any replica, a run enters a state that demands it only
// while the outcome of every call is known; an unreported call becomes UNKNOWN, and people
// settle it.
func unknownEffects(t *testing.T, w *world) {
	definition := strings.Replace(string(must[[]byte](t)(os.ReadFile("../../examples/language/unknown-effects.json"))),
		`"effect_deadline": "10m"`, `"effect_deadline": "1s"`, 1)
	c := w.as(t, auth.Agent)
	c.register(t, definition)
	id := c.start(t, "unknown-effects").GetRunId()
	agent, approver := w.tokens[auth.Agent], w.tokens[auth.Approver]
	call := func(name string) {
		t.Helper()
		body := `{"tool":"mcp__ci__deploy","input":{"to":"prod"},"call_id":"` + name + `"}`
		if got := w.send(t, http.MethodPost, "/v1/runs/"+id+"/check", agent, body); got.field("decision") != "ALLOW" {
			t.Fatalf("the call: %v", got)
		}
	}
	move := func(want string) {
		t.Helper()
		got := w.send(t, http.MethodPost, "/v1/runs/"+id+"/transition", agent, `{"event":"DEPLOYED"}`)
		if !strings.Contains(got.body, want) {
			t.Errorf("%s is not in %s", want, got.body)
		}
	}
	call("d1")
	move(`call \"d1\" (mcp__ci__deploy)`)
	eventually(t, "the call is unknown", func() error {
		got := w.send(t, http.MethodGet, "/v1/runs/"+id+"/calls", agent, "")
		if !strings.Contains(got.body, `"unknown":true`) {
			return fmt.Errorf("the calls are %v", got)
		}
		return nil
	})
	move("is UNKNOWN since")
	must[*policyv1.ReportToolCallResponse](t)(c.policy.ReportToolCall(t.Context(), &policyv1.ReportToolCallRequest{
		RunId: id, CallId: "d1", Tool: "mcp__ci__deploy", Ok: true,
	}))
	move("is UNKNOWN since") // it was the agent's own late word
	settle := "/v1/runs/" + id + "/calls/d1/settle"
	if got := w.send(t, http.MethodPost, settle, agent, `{"outcome":"ok"}`); got.status != http.StatusForbidden {
		t.Errorf("an agent settles its own call: %v", got)
	}
	if got := w.send(t, http.MethodPost, settle, approver, `{"outcome":"not_executed","note":"looked"}`); got.status != http.StatusOK {
		t.Errorf("an approver cannot settle it: %v", got)
	}
	move("verifying")
	if got := w.send(t, http.MethodPost, "/v1/runs/"+id+"/calls/x/settle", approver, `{"outcome":"ok"}`); got.status != http.StatusNotFound {
		t.Errorf("settling no call: %v", got)
	}
}
