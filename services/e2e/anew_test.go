package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// provenOrFailed can fail, for any acts of the agent.
var provenOrFailed = strings.NewReplacer(
	`"allowed_tools": ["Read", "Edit", "Bash"], "on": {`, `"on": {"GIVE_UP": "failed", `,
	`"done": {"type": "final"}`, `"done": {"type": "final"}, "failed": {"type": "final", "outcome": "failure"}`,
).Replace(provenFix)

// TestWorkspaceOfASession: S14.7 by REST, gRPC and MCP: an agent that has failed starts the same workflow
// again, and no other workspace is that of the new run.
func TestWorkspaceOfASession(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	agent, operator := w.as(t, auth.Agent), w.as(t, auth.Operator)
	operator.register(t, provenOrFailed)
	operator.begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: "/repo"})
	h := &hooked{t: t, up: u, cwd: "/other"}
	for _, folder := range []string{"/other", "/repo/sub", "/", "/repo/../other", "other", "/REPO", "/repo\\"} {
		agent.moveSession(t, "conversation", "GIVE_UP")
		_, err := agent.runs.StartRun(within(t), &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: folder})
		if fault.ReasonOf(err) != fault.PermissionDenied || !strings.Contains(err.Error(), `works in "/repo"`) {
			t.Errorf("a run in %s: %v", folder, err)
		}
		body := fmt.Sprintf(`{"workflow":"proven","session_id":"conversation","workspace":%q}`, folder)
		if got := w.send(t, http.MethodPost, "/v1/runs", w.tokens[auth.Agent], body); got.status != http.StatusForbidden {
			t.Errorf("a run in %s, by REST: %v", folder, got)
		}
		client := w.connectAs(t, "conversation&workspace="+strings.NewReplacer("/", "%2F", "\\", "%5C").Replace(folder), "2025-06-18", bearing{w.tokens[auth.Agent]})
		if got := must[*sdk.CallToolResult](t)(client.CallTool(within(t), &sdk.CallToolParams{Name: "load_workflow", Arguments: map[string]any{"name": "proven"}})); !got.IsError {
			t.Errorf("a run in %s, by MCP: %+v", folder, got.Content)
		}
		agent.begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation"})
	}
	for _, folder := range []string{"", "/repo", "/repo/", "/repo/./", "/repo/x/.."} {
		agent.moveSession(t, "conversation", "GIVE_UP")
		run := agent.begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: folder})
		if run.GetWorkspace() != "/repo" || run.GetWorkspaceClaimed() {
			t.Errorf("%q: the run is in %q, claimed %t", folder, run.GetWorkspace(), run.GetWorkspaceClaimed())
		}
	}
	agent.moveSession(t, "conversation", "GIVE_UP")
	run := agent.begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation"}).GetRunId()
	h.call("t1", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantHeld(t, agent, run, false)
	h.cwd = "/repo"
	h.call("t2", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantHeld(t, agent, run, true)
	operator.moveSession(t, "conversation", "GIVE_UP")
	if run := operator.begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: "/other"}); run.GetWorkspace() != "/other" {
		t.Errorf("an operator's run is in %q", run.GetWorkspace())
	}
}

// TestClaimedWorkspace: S14.7 for the first run of a session. A command in a folder that only the agent
// has named gives no evidence, in that run and in the next ones.
func TestClaimedWorkspace(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	agent := w.as(t, auth.Agent)
	w.as(t, auth.Operator).register(t, provenOrFailed)
	h := &hooked{t: t, up: u, cwd: "/other"}
	for i := range 2 {
		run := agent.begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: "/other"})
		if !run.GetWorkspaceClaimed() {
			t.Errorf("the run is %v", run)
		}
		h.call(fmt.Sprint("t", i), "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
		wantMissing(t, agent, run.GetRunId(), "the agent itself has named the workspace")
		agent.moveSession(t, "conversation", "GIVE_UP")
	}
	vouched := w.as(t, auth.Runtime).begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: "/repo"})
	if vouched.GetWorkspaceClaimed() || vouched.GetWorkspace() != "/repo" {
		t.Errorf("the runtime's run is %v", vouched)
	}
	h.cwd = "/repo"
	h.call("t3", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantHeld(t, agent, vouched.GetRunId(), true)
}

// TestOpenCallsOutliveTheirRun: S14.8 by the hook: calls that an agent has left open are open in its next run.
func TestOpenCallsOutliveTheirRun(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	agent, operator := w.as(t, auth.Agent), w.as(t, auth.Operator)
	operator.register(t, provenOrFailed)
	operator.begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: "/repo"})
	h := &hooked{t: t, up: u, cwd: "/repo"}
	edit := map[string]any{"file_path": "/repo/main.go", "old_string": "a", "new_string": "b"}
	h.before("e1", "Edit", edit)
	h.response = map[string]any{"stdout": "", "backgroundTaskId": "task1"}
	h.call("b1", "Bash", map[string]any{"command": "./gen", "run_in_background": true}, "PostToolUse")
	h.response = nil
	var run string
	for range 3 { // also over runs without calls
		agent.moveSession(t, "conversation", "GIVE_UP")
		run = agent.begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation"}).GetRunId()
	}
	h.call("t1", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantMissing(t, agent, run, "background programs")
	h.response = map[string]any{"retrieval_status": "success", "task": map[string]any{"task_id": "task1", "status": "completed"}}
	h.call("o1", "TaskOutput", map[string]any{"task_id": "task1"}, "PostToolUse")
	h.response = nil
	h.call("t2", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantMissing(t, agent, run, "which was allowed at") // the edit
	h.after("e1", "Edit", edit, "PostToolUse")
	wantMissing(t, agent, run, "main.go")
	h.call("t3", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantHeld(t, agent, run, true)
}

// TestSameWorkflowAgain: S2.9 by REST: after a failure, an agent starts no version that only agents have
// registered since.
func TestSameWorkflowAgain(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	agent, operator := w.as(t, auth.Agent), w.as(t, auth.Operator)
	const strict = `{"id": "own", "initial": "a", "states": {"a": {"allowed_tools": ["Read"], "on": {"FAIL": "y"}}, "y": {"type": "final", "outcome": "failure"}}}`
	lax := strings.Replace(strict, `["Read"]`, `["Read", "Edit"]`, 1)
	begin := func(want int) {
		t.Helper()
		got := w.send(t, http.MethodPost, "/v1/runs", w.tokens[auth.Agent], `{"workflow":"own","session_id":"s"}`)
		if got.status != want || want != http.StatusCreated && !strings.Contains(fmt.Sprint(got), "register the text of version 1 again") {
			t.Errorf("it answers %v, want %d", got, want)
		}
	}
	agent.register(t, strict)
	begin(http.StatusCreated)
	agent.register(t, lax)
	agent.moveSession(t, "s", "FAIL")
	begin(http.StatusConflict)
	agent.register(t, strict)
	begin(http.StatusCreated)
	agent.moveSession(t, "s", "FAIL")
	agent.register(t, lax)
	operator.register(t, lax) // which changes only who answers for it
	begin(http.StatusCreated)
}
