package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// isolation is a server with a policy on a session, and its faces.
type isolation struct {
	*testing.T
	*world
	up *together
}

func newIsolation(t *testing.T, args ...string) *isolation {
	t.Helper()
	u := startUp(t, args...)
	i := &isolation{t, &world{shape: &u.shape, namespace: "default"}, u}
	i.post(auth.Operator, "/v1/policies", `{"name": "p", "role": "agent", "deny": [{"capability": "tool:Write"}]}`)
	return i
}

// token is that of a role, or a text that is a token.
func (i *isolation) token(of auth.Role) string {
	if token, ok := i.tokens[of]; ok {
		return token
	}
	return string(of)
}

func (i *isolation) do(as auth.Role, method, path, body string) reply {
	i.Helper()
	return i.send(i.T, method, path, i.token(as), body)
}

func (i *isolation) post(as auth.Role, path, body string) {
	i.Helper()
	if got := i.do(as, http.MethodPost, path, body); got.status >= http.StatusMultipleChoices {
		i.Fatalf("POST %s %s: %v", path, body, got)
	}
}

func (i *isolation) mint(args ...string) auth.Role {
	i.Helper()
	out, err := exec.CommandContext(within(i.T), binary(i.T, "interlock"),
		append([]string{"token", "mint", "--key", i.up.data.TokenKey(), "--data-dir", string(i.up.data)}, args...)...).Output()
	if err != nil {
		i.Fatal(err)
	}
	return auth.Role(strings.TrimSpace(string(out)))
}

// denied asks for a call of Write in a session on several faces, and reports those that let it pass.
func (i *isolation) denied(as auth.Role, session string) {
	i.Helper()
	d, err := i.with(i.T, 0, i.token(as)).policy.CheckToolCall(within(i.T), &policyv1.CheckToolCallRequest{SessionId: session, Tool: "Write"})
	if err != nil || d.GetDecision() != policyv1.Decision_DECISION_DENY {
		i.Errorf("%s over gRPC: %v, %v", session, d, err)
	}
	for path, body := range map[string]string{
		"/v1/hook":              `{"hook_event_name": "PreToolUse", "session_id": %q, "tool_name": "Write", "tool_use_id": "t1", "tool_input": {"file_path": "a", "content": ""}}`,
		"/access/v1/evaluation": `{"subject": {"type": "session", "id": %q}, "action": {"name": "tools/call"}, "resource": {"type": "tool", "id": "Write"}}`,
	} {
		got := i.do(as, http.MethodPost, path, fmt.Sprintf(body, session))
		if said := strings.ToLower(got.body); !strings.Contains(said, "deny") && !strings.Contains(said, `"decision":false`) && !strings.Contains(said, `"decision": false`) {
			i.Errorf("%s over %s: %v", session, path, got)
		}
	}
}

// S7.9: a session whose token names it below another one is there, for any creation.
func TestAChildStaysInItsTree(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	i.do(auth.Operator, http.MethodPut, "/v1/policies/p/attachments/session/alice", "")
	child, other := i.mint("--session", "alice/x"), i.mint("--session", "bob", "--parent", "alice")
	i.denied(child, "alice/x") // before any of them exists
	i.denied(other, "bob")
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "alice"}`)
	for token, name := range map[auth.Role]string{child: "alice/x", other: "bob"} {
		got := i.do(token, http.MethodPost, "/v1/sessions", fmt.Sprintf(`{"session_name": %q}`, name))
		if !strings.Contains(got.body, `"parent_session_name":"alice"`) {
			t.Errorf("%s is created as %v", name, got)
		}
		i.denied(token, name)
	}
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "alice/root"}`) // an operator places it elsewhere
	i.denied(i.mint("--session", "alice/root"), "alice/root")
}

// S11.6: after the answer to a stop with end, and to a deletion, every face denies.
func TestEndedSessionsAreDenied(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "s"}`)
	token := i.mint("--session", "s")
	i.post(auth.Operator, "/v1/sessions/s/stop", `{"end": true}`)
	i.denied(token, "s")
	i.denied(auth.Agent, "s")
	if got := i.do(token, http.MethodPost, "/v1/workflows", bugfix); got.status >= http.StatusBadRequest {
		t.Fatal(got)
	}
	if got := i.do(token, http.MethodPost, "/v1/runs", `{"workflow": "bugfix", "session_id": "s"}`); !strings.Contains(got.body, "SESSION_ENDED") {
		t.Errorf("a run begins: %v", got)
	}
	if got := i.do(auth.Operator, http.MethodDelete, "/v1/sessions/s", ""); got.status >= http.StatusBadRequest {
		t.Fatal(got)
	}
	i.denied(token, "s")
}

// S11.6: an agent's transitions end with its session, for any timer that holds its run.
func TestEndedSessionsMoveNoRuns(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	i.as(t, auth.Operator).register(t, bugfix)
	for n := range 5 {
		name := fmt.Sprintf("s%d", n)
		i.post(auth.Operator, "/v1/sessions", fmt.Sprintf(`{"session_name": %q}`, name))
		token := i.mint("--session", name)
		run := i.with(t, 0, string(token)).start(t, "bugfix").GetRunId()
		i.post(auth.Operator, "/v1/sessions/"+name+"/stop", `{"end": true}`)
		if got := i.do(token, http.MethodPost, "/v1/runs/"+run+"/transition", `{"event": "READY"}`); !strings.Contains(got.body, "SESSION_ENDED") && !strings.Contains(got.body, "PAUSED") {
			t.Errorf("a run moves: %v", got)
		}
		i.denied(token, name)
	}
}

// S7.10: the agent's policy holds for a session that was created over REST; a policy that does not
// exist is warned of and starts no session.
func TestNamedPolicies(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	i.post(auth.Operator, "/v1/agents", `{"name": "sum", "policy": "p"}`)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "s", "agent": "sum"}`)
	i.denied(auth.Agent, "s")
	i.denied(i.mint("--session", "s/below"), "s/below")
	if got := i.do(auth.Operator, http.MethodDelete, "/v1/agents/sum", ""); got.status >= http.StatusBadRequest {
		t.Fatal(got)
	}
	i.denied(auth.Agent, "s")
	i.post(auth.Operator, "/v1/agents", `{"name": "lost", "policy": "gone"}`)
	if got := i.do(auth.Operator, http.MethodPost, "/v1/sessions", `{"session_name": "l", "agent": "lost"}`); !strings.Contains(got.body, `interlock policy put`) {
		t.Errorf("a session of an agent without its policy: %v", got)
	}
	const definition = `{"id": "w", "initial": "a", "meta": {"policy": "gone"}, "states": {"a": {"on": {"END": "z"}}, "z": {"type": "final"}}}`
	if got := i.do(auth.Operator, http.MethodPost, "/v1/workflows", definition); !strings.Contains(got.body, "POLICY_UNKNOWN") {
		t.Errorf("registered without a warning: %v", got)
	}
	if got := i.do(auth.Operator, http.MethodPost, "/v1/runs", `{"workflow": "w"}`); got.status < http.StatusBadRequest || !strings.Contains(got.body, `gone`) {
		t.Errorf("a run starts: %v", got)
	}
	i.post(auth.Operator, "/v1/workflows", `{"id": "outer", "initial": "a", "states": {
		"a": {"on": {"GO": {"invoke": "w", "on_complete": "z", "on_fail": "z"}, "END": "z"}}, "z": {"type": "final"}}}`)
	outer, _ := i.do(auth.Operator, http.MethodPost, "/v1/runs", `{"workflow": "outer"}`).field("run_id").(string)
	if got := i.do(auth.Operator, http.MethodPost, "/v1/runs/"+outer+"/transition", `{"event": "GO"}`); got.status < http.StatusBadRequest || !strings.Contains(got.body, `gone`) {
		t.Errorf("an invoked run starts: %v", got)
	}
	i.post(auth.Operator, "/v1/policies", `{"name": "gone", "role": "agent"}`)
	if got := i.do(auth.Operator, http.MethodPost, "/v1/runs/"+outer+"/transition", `{"event": "GO"}`); got.field("accepted") != true || !strings.Contains(got.body, `"workflow":"w"`) {
		t.Errorf("with the policy: %v", got)
	}
}

// TestSessionsJustRegistered: a session that acted before it was registered is one of its tree as soon as it
// is.
func TestSessionsJustRegistered(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "boss"}`)
	i.post(auth.Operator, "/v1/workflows", `{"id": "w", "initial": "a", "states": {
		"a": {"on": {"GO": {"fork": {"branches": {"one": {"initial": "b", "terminal": "c"}, "two": {"initial": "d", "terminal": "e"}}, "join": "all", "on_complete": "z"}}}},
		"b": {"on": {"END": "c"}}, "c": {"type": "final"}, "d": {"on": {"END": "e"}}, "e": {"type": "final"}, "z": {"type": "final"}}}`)
	run, _ := i.do(auth.Operator, http.MethodPost, "/v1/runs", `{"workflow": "w", "session_id": "boss"}`).field("run_id").(string)
	i.post(auth.Operator, "/v1/runs/"+run+"/transition", `{"event": "GO"}`)
	kid := i.mint("--session", "kid")
	take := func() reply {
		return i.do(kid, http.MethodPost, "/v1/runs", `{"workflow": "w", "run_id": "`+run+`", "branch": "one", "session_id": "kid"}`)
	}
	if got := take(); got.status < http.StatusBadRequest {
		t.Fatalf("a session of no tree takes a branch: %v", got)
	}
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "kid", "parent_session_name": "boss"}`)
	if got := take(); got.status != http.StatusOK {
		t.Errorf("a session below does not: %v", got)
	}
}
