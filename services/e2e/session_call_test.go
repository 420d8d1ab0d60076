package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// S22.40: a call is checked and reported by its session over REST, with a run and without one, and recorded as calls of runs are.
func TestCallsOfSessionsOverREST(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	ask := func(as auth.Role, path, body string, want ...string) reply {
		t.Helper()
		got := i.do(as, http.MethodPost, path, body)
		for _, part := range want {
			if !strings.Contains(got.body, part) {
				t.Errorf("POST %s %s: no %s in %v", path, body, part, got)
			}
		}
		return got
	}
	if got := ask(auth.Operator, "/v1/check", `{"session": "idle", "tool": "Read"}`); got.status != http.StatusNotFound {
		t.Errorf("nothing judges it: %v", got)
	}
	i.post(auth.Operator, "/v1/policies?name=careful", `{"role": "agent", "name": "careful", "deny": [{"capability": "tool:Write"}]}`)
	i.post(auth.Operator, "/v1/policies/careful/attachments", `{"to": [{"kind": "everyone", "id": ""}]}`)
	kid := i.mint("--session", "idle")

	if got := ask(kid, "/v1/check", `{"session": "idle", "tool": "Read", "call_id": "r1"}`, `"decision":"ALLOW"`, `"call_id":"r1"`); strings.Contains(got.body, "run_id") {
		t.Errorf("it drives no run: %v", got)
	}
	ask(kid, "/v1/check", `{"session": "idle", "tool": "Read", "call_id": "r1"}`, `"decision":"ALLOW"`)
	if got := ask(kid, "/v1/check", `{"session": "idle", "tool": "Grep", "call_id": "r1"}`); got.status != http.StatusConflict {
		t.Errorf("another call with its id: %v", got)
	}
	ask(kid, "/v1/check", `{"session": "idle", "tool": "Write", "call_id": "w1"}`, `"decision":"DENY"`, `"code":"POLICY_DENIED"`)
	ask(kid, "/v1/report", `{"session": "idle", "tool": "Read", "call_id": "r1", "ok": true}`, `{"accounted":true}`)
	if got := ask(kid, "/v1/check", `{"session": "other", "tool": "Read"}`); got.status != http.StatusForbidden {
		t.Errorf("the session of another: %v", got)
	}
	got := i.do(auth.Operator, http.MethodGet, "/v1/decisions?session_id=idle", "")
	for _, want := range []string{`"call_id":"r1"`, `"call_id":"w1"`, `"via":"rest"`, `"lineage":["idle"]`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the log lacks %s: %v", want, got)
		}
	}
	if n := strings.Count(got.body, `"call_id":"r1"`); n != 1 {
		t.Errorf("the repeated call is recorded %d times", n)
	}

	i.as(t, auth.Operator).register(t, bugfix)
	i.post(kid, "/v1/runs", `{"workflow": "bugfix", "session_id": "idle"}`)
	ask(kid, "/v1/check", `{"session": "idle", "tool": "Read", "call_id": "r2"}`, `"decision":"ALLOW"`, `"run_id":"run_`, `"state":"`)
	ask(kid, "/v1/report", `{"session": "idle", "tool": "Read", "call_id": "r2", "ok": true}`, `"run":{"run_id":"run_`, `"accounted":true`)
}
