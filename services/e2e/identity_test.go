package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// S22.1: the record of a call says who made it and how it came, whatever face it came by, and still does when the session, its
// agent and the sessions above it are gone.
func TestDecisionsKeepWhoMadeTheCall(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	i.post(auth.Operator, "/v1/agents", `{"name": "fixer", "model_ref": "m", "instructions": "Fix."}`)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "lead"}`)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "kid", "parent_session_name": "lead", "agent": "fixer"}`)
	i.as(t, auth.Operator).register(t, bugfix)
	kid := i.mint("--session", "kid")
	run := i.with(t, 0, string(kid)).start(t, "bugfix").GetRunId()

	i.post(kid, "/v1/runs/"+run+"/check", `{"tool": "Read", "call_id": "by-rest"}`)
	must[*policyv1.CheckToolCallResponse](t)(i.with(t, 0, string(kid)).policy.CheckToolCall(within(t), &policyv1.CheckToolCallRequest{RunId: run, Tool: "Read", CallId: "by-grpc"}))
	i.post(kid, "/v1/hook", `{"hook_event_name": "PreToolUse", "session_id": "kid", "tool_name": "Read", "tool_use_id": "by-hook", "tool_input": {"file_path": "a"}}`)

	i.post(auth.Operator, "/v1/sessions/lead/stop", `{"end": true}`)
	i.post(auth.Operator, "/v1/sessions/kid/stop", `{"end": true}`)
	for _, path := range []string{"/v1/sessions/lead?cascade=true", "/v1/agents/fixer"} {
		if got := i.do(auth.Operator, http.MethodDelete, path, ""); got.status >= http.StatusMultipleChoices {
			t.Fatalf("%s: %v", path, got)
		}
	}
	found := map[string]bool{}
	for _, r := range i.decisionsOf(run) {
		id := r.Identity
		if id == nil {
			t.Fatalf("call %s has no identity", r.CallID)
		}
		found[id.Via] = true
		if id.Principal != "kid" || id.Role != "agent" || id.Token != "session" || id.Agent != "fixer" || id.AgentVersion != 1 ||
			id.RootSession != "lead" || fmt.Sprint(id.Lineage) != "[lead kid]" || id.Human != nil {
			t.Errorf("call %s: %+v", r.CallID, id)
		}
	}
	if fmt.Sprint(found) != "map[grpc:true hook:true rest:true]" {
		t.Errorf("calls came by %v", found)
	}
}

func (i *isolation) decisionsOf(run string) []jsonview.DecisionRecord {
	i.Helper()
	var list struct {
		Decisions []jsonview.DecisionRecord `json:"decisions"`
	}
	got := i.do(auth.Operator, http.MethodGet, "/v1/decisions?run_id="+run, "")
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || len(list.Decisions) == 0 {
		i.Fatalf("%v: %v", err, got)
	}
	return list.Decisions
}

// S22.2: a caller learns who it is to the server.
func TestWhoAmI(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "lead"}`)
	kid := i.mint("--session", "lead/kid", "--name", "bot")
	for _, row := range []struct {
		as    auth.Role
		query string
		want  []string
	}{
		{auth.Operator, "", []string{`"principal":"operator"`, `"role":"operator"`, `"namespace":"default"`, `"via":"rest"`, `changes policies`}},
		{auth.Observer, "?session=lead", []string{`"session_id":"lead"`, `"lineage":["lead"]`, `"may":"It reads`}},
		{kid, "", []string{`"principal":"bot"`, `"token":"session"`, `"session_id":"lead/kid"`, `"lineage":["lead","lead/kid"]`, `"namespaces":["default"]`, `in the session lead/kid only`}},
	} {
		got := i.do(row.as, http.MethodGet, "/v1/whoami"+row.query, "")
		for _, want := range row.want {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s%s: no %s in %v", row.as, row.query, want, got)
			}
		}
		if strings.Contains(got.body, `"human"`) {
			t.Errorf("nobody is known: %v", got)
		}
	}
	if got := i.do(kid, http.MethodGet, "/v1/whoami?session=other", ""); got.status != http.StatusForbidden {
		t.Errorf("in another session: %v", got)
	}
}
