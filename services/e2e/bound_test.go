package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestSessionToken: an agent with a token of its session acts there, and nowhere else,
// on every face.
func TestSessionToken(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	w.as(t, auth.Operator).register(t, bugfix)
	mint := func(args ...string) string {
		out, err := exec.CommandContext(within(t), binary(t, "interlock"),
			append([]string{"token", "mint", "--data-dir", string(u.data)}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	token := mint("--session", "mine")
	bound, free := w.with(t, 0, token), w.as(t, auth.Agent)
	mine := bound.start(t, "bugfix") // its session is the token's
	if mine.GetSessionId() != "mine" {
		t.Fatalf("the run is of session %q", mine.GetSessionId())
	}
	other := free.begin(t, &enginev1.StartRunRequest{Workflow: "bugfix", SessionId: "other"}).GetRunId()
	bound.expect(t, mine.GetRunId(), "Read", allow, "")
	free.expect(t, other, "Read", allow, "") // from now on the enforcer knows the run

	denied := func(what string, err error) {
		t.Helper()
		if reason := fault.ReasonOf(err); reason != fault.PermissionDenied && reason != fault.NotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := bound.policy.CheckToolCall(within(t), &policyv1.CheckToolCallRequest{RunId: other, Tool: "Read"})
	denied("a check in another's run", err)
	_, err = bound.policy.CheckToolCall(within(t), &policyv1.CheckToolCallRequest{SessionId: "other", Tool: "Read"})
	denied("a check in another session", err)
	_, err = bound.runs.TransitionRun(within(t), &enginev1.TransitionRunRequest{RunId: other, Event: "READY"})
	denied("a transition of another's run", err)
	_, err = bound.runs.StartRun(within(t), &enginev1.StartRunRequest{Workflow: "bugfix", SessionId: "other"})
	denied("a start in another session", err)
	_, err = bound.runs.GetRun(within(t), &enginev1.GetRunRequest{RunId: other})
	denied("another's run", err)
	_, err = bound.runs.CancelRun(within(t), &enginev1.CancelRunRequest{RunId: other})
	denied("the end of another's run", err)
	sessions := statev1.NewSessionServiceClient(w.dial(t, u.states[0], token))
	_, err = sessions.ListSessions(within(t), &statev1.ListSessionsRequest{Session: "other"})
	denied("another's tree", err)

	curl := func(path string, headers ...string) (status string) {
		args := []string{"-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Authorization: Bearer " + token}
		for _, h := range headers {
			args = append(args, "-H", h)
		}
		out, err := exec.CommandContext(within(t), "curl", append(args, "--max-time", "5", u.http+path)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for path, want := range map[string]string{
		"/v1/runs/" + mine.GetRunId(): "200", "/v1/events?subject=run.%3E": "403", "/v1/decisions": "403", "/v1/policies": "403", "/v1/approvals": "403",
	} {
		if got := curl(path); got != want {
			t.Errorf("GET %s is %s, want %s", path, got, want)
		}
	}
	if got := curl("/v1/runs/" + other); got != "403" && got != "404" {
		t.Errorf("GET of another's run is %s", got)
	}

	// An MCP client that names no session has the token's.
	text := mcpText(t, u.http, token, "get_state")
	if !strings.Contains(text, "planning") {
		t.Errorf("get_state answers %s", text)
	}
	if bad := mint("--session", "mine", "--ttl", "1s"); bad == token {
		t.Error("two tokens are the same")
	}
	forged := token[:len(token)-4] + "AAAA"
	_, err = w.with(t, 0, forged).runs.ListRuns(within(t), &enginev1.ListRunsRequest{})
	if fault.ReasonOf(err) != fault.Unauthenticated {
		t.Errorf("a forged token: %v", err)
	}
}

// mcpText calls an own tool over the stateless protocol and answers its text.
func mcpText(t *testing.T, base, token, tool string) string {
	t.Helper()
	body := must[[]byte](t)(json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
			"name": tool, "arguments": map[string]any{},
			"_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
				"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "t", "version": "1"},
				"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			},
		},
	}))
	out, err := exec.CommandContext(within(t), "curl", "-s", "--max-time", "10", base+"/mcp", "-H", "Authorization: Bearer "+token,
		"-H", "Content-Type: application/json", "-H", "Accept: application/json, text/event-stream",
		"-H", "Mcp-Protocol-Version: 2026-07-28", "-H", "Mcp-Method: tools/call", "-H", "Mcp-Name: "+tool, "-d", string(body)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
