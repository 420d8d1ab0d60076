package e2e

import (
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
			append([]string{"token", "mint", "--key", u.data.TokenKey(), "--data-dir", string(u.data)}, args...)...).Output()
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
	if said := w.ownTool(t, ask{token: token}, "", "get_state", nil); !strings.Contains(said.text, "planning") {
		t.Errorf("get_state answers %+v", said)
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
