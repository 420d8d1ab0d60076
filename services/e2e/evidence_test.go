package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

const provenFix = `{
	"id": "proven", "initial": "fixing",
	"states": {
		"fixing": {"allowed_tools": ["Read", "Edit", "Bash"], "on": {"DONE": {"target": "shipping", "guard": "green"}}},
		"shipping": {"allowed_tools": ["Bash"], "allowed_commands": ["git push"], "on": {"PUSHED": "done"}},
		"done": {"type": "final"}
	},
	"evidence": {"tests": {"tool": "Bash", "command": "go test ./...", "exact": true, "after": "edit"}},
	"guards": {"green": {"evidence": "tests"}}
}`

// TestEvidenceOfHooks: S14.1, S14.2 and S14.5 as Claude Code does it, by its hook alone.
func TestEvidenceOfHooks(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	c := w.as(t, auth.Agent)
	w.as(t, auth.Operator).register(t, provenFix)
	run := w.as(t, auth.Operator).begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: "/repo"})
	h := &hooked{t: t, up: u, cwd: "/repo"}

	wantMissing(t, c, run.GetRunId(), "needs a successful `go test ./...` after any edit")
	h.call("e1", "Edit", map[string]any{"file_path": "/repo/main.go", "old_string": "a", "new_string": "b"}, "PostToolUse")
	h.call("t1", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUseFailure")
	wantMissing(t, c, run.GetRunId(), "main.go")
	for id, command := range map[string]string{
		"t2": "go test ./... || true", "t3": "go test ./... | tail -1", "t4": "go test ./... -run None", "t5": "! go test ./...", "t6": "go test ./... &",
	} {
		h.call(id, "Bash", map[string]any{"command": command}, "PostToolUse")
		wantMissing(t, c, run.GetRunId(), "go test ./...")
	}
	h.call("t7", "Bash", map[string]any{"command": "go test ./...", "run_in_background": true}, "PostToolUse")
	wantMissing(t, c, run.GetRunId(), "go test ./...")
	h.cwd = "/repo/other"
	h.call("t8", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantMissing(t, c, run.GetRunId(), "go test ./...")
	h.cwd = "/repo"

	h.call("t9", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantHeld(t, c, run.GetRunId(), true)
	h.call("r1", "Bash", map[string]any{"command": "git status"}, "PostToolUse") // which only reads
	wantHeld(t, c, run.GetRunId(), true)
	h.call("w1", "Bash", map[string]any{"command": "sed -i s/a/b/ main.go"}, "PostToolUse")
	wantMissing(t, c, run.GetRunId(), "sed -i s/a/b/ main.go")

	// The tests begin, an edit is allowed, the tests end: they were not of that edit.
	h.before("t10", "Bash", map[string]any{"command": "go test ./..."})
	h.before("e2", "Edit", map[string]any{"file_path": "/repo/late.go", "old_string": "a", "new_string": "b"})
	h.after("t10", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantMissing(t, c, run.GetRunId(), "late.go")
	// An edit that is under way when the tests begin may come after them.
	h.before("t11", "Bash", map[string]any{"command": "go test ./..."})
	h.after("e2", "Edit", map[string]any{"file_path": "/repo/late.go", "old_string": "a", "new_string": "b"}, "PostToolUse")
	h.after("t11", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	wantMissing(t, c, run.GetRunId(), "late.go")

	h.call("t12", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	if moved := c.moveSession(t, "conversation", "DONE"); moved.GetState() != "shipping" {
		t.Errorf("the run is in %s", moved.GetState())
	}
}

// TestEvidenceWhileCallsAreOpen: S14.1 and S14.6 by the hook: a call that is not proved to read voids the tests, and
// those that run while it may be at work give no evidence.
func TestEvidenceWhileCallsAreOpen(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	c := w.as(t, auth.Agent)
	w.as(t, auth.Operator).register(t, strings.Replace(provenFix, `"allowed_tools": ["Read", "Edit", "Bash"], `, "", 1))
	run := w.as(t, auth.Operator).begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: "/repo"}).GetRunId()
	h := &hooked{t: t, up: u, cwd: "/repo"}
	tested := func(id string) { h.call(id, "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse") }
	edit := map[string]any{"file_path": "/repo/main.go", "old_string": "a", "new_string": "b"}

	h.before("e1", "Edit", edit)
	tested("t1")
	wantMissing(t, c, run, "may still change files")
	h.after("e1", "Edit", edit, "PostToolUse")
	wantMissing(t, c, run, "main.go")
	tested("t2")
	wantHeld(t, c, run, true)
	for i, call := range []struct {
		tool  string
		input map[string]any
	}{
		{"mcp__db__migrate", map[string]any{}},
		{"Skill", map[string]any{"skill": "x"}},
		{"Bash", map[string]any{"command": "mamba run x"}},
		{"Bash", map[string]any{"command": "git --git-dir=evil status"}},
	} {
		h.call(fmt.Sprint("x", i), call.tool, call.input, "PostToolUse")
		wantMissing(t, c, run, "voided by")
		tested(fmt.Sprint("xt", i))
		wantHeld(t, c, run, true)
	}
	h.call("r1", "TodoWrite", map[string]any{"todos": []any{}}, "PostToolUse")
	h.call("r2", "Task", map[string]any{"prompt": "x"}, "PostToolUse")
	wantHeld(t, c, run, true)
	h.call("b1", "Bash", map[string]any{"command": "./gen", "run_in_background": true}, "PostToolUse")
	tested("t3")
	wantMissing(t, c, run, "background programs")
	settle := "/v1/runs/" + run + "/calls/b1/settle"
	if got := w.send(t, http.MethodPost, settle, w.tokens[auth.Agent], `{"outcome":"ok"}`); got.status != http.StatusForbidden {
		t.Errorf("an agent settles its own call: %v", got)
	}
	if got := w.send(t, http.MethodPost, settle, w.tokens[auth.Approver], `{"outcome":"ok"}`); got.status != http.StatusOK {
		t.Errorf("an approver cannot settle it: %v", got)
	}
	wantMissing(t, c, run, "voided by")
	tested("t4")
	if moved := c.moveSession(t, "conversation", "DONE"); moved.GetState() != "shipping" {
		t.Errorf("the run is in %s", moved.GetState())
	}
}

// TestNotExecutedCallsVoidNothing: S14.6 by REST and by the CLI, for an edit that was allowed after the
// tests: over REST, by the hook, and claimed by its agent.
func TestNotExecutedCallsVoidNothing(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	c := w.as(t, auth.Agent)
	w.as(t, auth.Operator).register(t, provenFix)
	run := w.as(t, auth.Operator).begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "conversation", Workspace: "/repo"}).GetRunId()
	h := &hooked{t: t, up: u, cwd: "/repo"}
	byREST := func(id, outcome string) {
		t.Helper()
		if got := w.send(t, http.MethodPost, "/v1/runs/"+run+"/calls/"+id+"/settle", w.tokens[auth.Approver], `{"outcome":"`+outcome+`"}`); got.status != http.StatusOK {
			t.Errorf("settling %s answers %v", id, got)
		}
	}
	byCLI := func(id, outcome string) {
		t.Helper()
		cmd := exec.CommandContext(within(t), binary(t, "interlock"), "call", "settle", run, id, "--outcome", outcome)
		cmd.Env = append(cleanEnv(), "INTERLOCK_DATA="+string(u.data), "INTERLOCK_TOKEN="+w.tokens[auth.Operator])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("settling %s: %v\n%s", id, err, out)
		}
	}
	edit := map[string]any{"file_path": "/repo/main.go", "old_string": "a", "new_string": "b"}
	const input = `"input":{"file_path":"/repo/main.go","old_string":"a","new_string":"b"}`
	rest := func(id, path, more string) {
		t.Helper()
		body := `{"tool":"Edit","call_id":"` + id + `",` + more + `}`
		if got := w.send(t, http.MethodPost, "/v1/runs/"+run+path, w.tokens[auth.Agent], body); got.status != http.StatusOK {
			t.Errorf("%s of %s answers %v", path, id, got)
		}
	}
	h.call("t1", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	for id, settle := range map[string]func(id, outcome string){"e1": byREST, "e2": byCLI} {
		rest(id, "/check", input)
		wantMissing(t, c, run, "may still change files")
		settle(id, "not_executed")
		wantHeld(t, c, run, true)
		h.before("h"+id, "Edit", edit)
		wantMissing(t, c, run, "may still change files")
		settle("h"+id, "not_executed")
		wantHeld(t, c, run, true)
	}
	rest("e3", "/check", input)
	rest("e3", "/report", `"ok":true`)
	wantMissing(t, c, run, "may still change files")
	byCLI("e3", "not_executed")
	wantHeld(t, c, run, true)
	rest("e4", "/check", input)
	byCLI("e4", "failed")
	wantMissing(t, c, run, "voided by")

	// The check of the recorded run accepts evidence that is satisfied because of a settled call.
	h.call("t2", "Bash", map[string]any{"command": "go test ./..."}, "PostToolUse")
	h.before("e5", "Edit", edit)
	byREST("e5", "not_executed")
	c.moveSession(t, "conversation", "DONE")
	cmd := exec.CommandContext(within(t), binary(t, "interlock"), "verify", "--run", run)
	cmd.Env = append(cleanEnv(), "INTERLOCK_DATA="+string(u.data), "INTERLOCK_TOKEN="+w.tokens[auth.Operator])
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "conforms") || !strings.Contains(string(out), "evidence is taken as it was recorded") {
		t.Errorf("verify of the run: %v\n%s", err, out)
	}
}

// TestEvidenceCannotBeClaimed: S14.4, an agent's token gives no evidence, over any face, with any
// else it sends; that of the runtime does.
func TestEvidenceCannotBeClaimed(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	c := w.as(t, auth.Agent)
	w.as(t, auth.Operator).register(t, provenFix)
	run := c.begin(t, &enginev1.StartRunRequest{Workflow: "proven", SessionId: "forger"}).GetRunId()
	agent := w.tokens[auth.Agent]
	check := func(id string) {
		t.Helper()
		got := w.send(t, http.MethodPost, "/v1/runs/"+run+"/check", agent, `{"tool":"Bash","input":{"command":"go test ./..."},"call_id":"`+id+`"}`)
		if got.field("decision") != "ALLOW" {
			t.Fatalf("the check answers %v", got)
		}
	}
	report := `{"tool":"Bash","ok":true,"call_id":"%s","output":"ok"}`
	check("c1")
	if got := w.send(t, http.MethodPost, "/v1/runs/"+run+"/report", agent, fmt.Sprintf(report, "c1")); got.status != http.StatusOK || got.field("evidence") != nil {
		t.Errorf("an agent's report answers %v", got)
	}
	wantMissing(t, c, run, "came from the agent itself")
	// Its own token does not make a report count, and neither does an unknown one.
	for id, witness := range map[string]string{"c2": agent, "c3": "ilk_forged", "c4": w.tokens[auth.Observer]} {
		check(id)
		req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, w.http+"/v1/runs/"+run+"/report", strings.NewReader(fmt.Sprintf(report, id))))
		req.Header.Set("Authorization", "Bearer "+agent)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Interlock-Witness", "Bearer "+witness)
		if got := w.roundTrip(t, req); got.status != http.StatusOK {
			t.Fatalf("the report answers %v", got)
		}
		wantMissing(t, c, run, "came from the agent itself")
	}
	check("c5")
	must[*policyv1.ReportToolCallResponse](t)(c.policy.ReportToolCall(within(t), &policyv1.ReportToolCallRequest{RunId: run, CallId: "c5", Tool: "Bash", Ok: true}))
	wantMissing(t, c, run, "came from the agent itself")
	// A hook event without the witness is the agent's word too.
	check("c6")
	event := `{"session_id":"forger","hook_event_name":"PostToolUse","cwd":"","tool_name":"Bash","tool_input":{"command":"go test ./..."},"tool_use_id":"c6","tool_response":"ok"}`
	if got := w.send(t, http.MethodPost, "/v1/hook", agent, event); got.status != http.StatusOK {
		t.Fatalf("the hook answers %v", got)
	}
	wantMissing(t, c, run, "came from the agent itself")
	// A report of a call that was never allowed gives no evidence, also when the runtime makes it.
	runtime := w.as(t, auth.Runtime)
	must[*policyv1.ReportToolCallResponse](t)(runtime.policy.ReportToolCall(within(t), &policyv1.ReportToolCallRequest{RunId: run, CallId: "never", Tool: "Bash", Ok: true}))
	wantHeld(t, c, run, false)

	check("c7")
	shown := must[*policyv1.ReportToolCallResponse](t)(runtime.policy.ReportToolCall(within(t), &policyv1.ReportToolCallRequest{RunId: run, CallId: "c7", Tool: "Bash", Ok: true}))
	if len(shown.GetEvidence()) != 1 || shown.GetEvidence()[0] != "tests" {
		t.Errorf("the runtime's report gives %v", shown.GetEvidence())
	}
	wantHeld(t, c, run, true)
}

const shipWhenGreen = `{
	"id": "ship", "initial": "waiting",
	"states": {
		"waiting": {"allowed_tools": ["mcp__behind__status", "Read"], "on": {"GREEN": {"target": "done", "guard": "ci"}}},
		"done": {"type": "final"}
	},
	"evidence": {"ci": {"tool": "mcp__behind__status", "output": {"pointer": "/conclusion", "op": "eq", "value": "success"}, "max_age": "1h"}},
	"guards": {"ci": {"evidence": "ci"}}
}`

// TestEvidenceOfTheGate: S14.1, the answer of a real upstream server through the gate.
func TestEvidenceOfTheGate(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	var mu sync.Mutex
	conclusion := "failure"
	b.server.AddTool(&sdk.Tool{Name: "status", Description: "CI", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			mu.Lock()
			defer mu.Unlock()
			return &sdk.CallToolResult{
				Content:           []sdk.Content{&sdk.TextContent{Text: "see the structured content"}},
				StructuredContent: map[string]any{"conclusion": conclusion},
			}, nil
		})
	u := startUp(t, "--upstream", "behind="+b.url)
	w := &world{shape: &u.shape, namespace: "default"}
	c := w.as(t, auth.Agent)
	w.as(t, auth.Operator).register(t, shipWhenGreen)
	run := c.begin(t, &enginev1.StartRunRequest{Workflow: "ship", SessionId: "s"}).GetRunId()
	client := w.connect(t, "s")
	ask := func() {
		t.Helper()
		got := must[*sdk.CallToolResult](t)(client.CallTool(within(t), &sdk.CallToolParams{Name: "mcp__behind__status", Arguments: map[string]any{}}))
		if got.IsError {
			t.Fatalf("the tool answers %+v", got.Content)
		}
	}
	ask()
	wantHeld(t, c, run, false)
	mu.Lock()
	conclusion = "success"
	mu.Unlock()
	ask()
	wantHeld(t, c, run, true)
	state := must[*sdk.CallToolResult](t)(client.CallTool(within(t), &sdk.CallToolParams{Name: "get_state", Arguments: map[string]any{}}))
	text, _ := state.Content[0].(*sdk.TextContent)
	if text == nil || !strings.Contains(text.Text, "ci: held since") {
		t.Errorf("get_state says %+v", state.Content)
	}
	if moved := c.moveSession(t, "s", "GREEN"); moved.GetState() != "done" {
		t.Errorf("the run is in %s", moved.GetState())
	}
}

func evidenceOf(t testing.TB, c *caller, run string) *enginev1.Evidence {
	t.Helper()
	got := must[*enginev1.GetRunResponse](t)(c.runs.GetRun(within(t), &enginev1.GetRunRequest{RunId: run}))
	if len(got.GetRun().GetEvidence()) != 1 {
		t.Fatalf("the run shows %v", got.GetRun().GetEvidence())
	}
	return got.GetRun().GetEvidence()[0]
}

func wantHeld(t testing.TB, c *caller, run string, want bool) {
	t.Helper()
	if e := evidenceOf(t, c, run); e.GetHeld() != want {
		t.Errorf("the evidence is %v", e)
	}
}

// wantMissing wants the guard of DONE to fail, and to say these words.
func wantMissing(t testing.TB, c *caller, run, words string) {
	t.Helper()
	e := evidenceOf(t, c, run)
	if e.GetHeld() || !strings.Contains(e.GetMissing(), words) {
		t.Errorf("the evidence is %v, want it to say %q", e, words)
	}
	resp := must[*enginev1.TransitionRunResponse](t)(c.runs.TransitionRun(within(t), &enginev1.TransitionRunRequest{RunId: run, Event: "DONE"}))
	rejected := resp.GetRejection()
	if resp.GetAccepted() || rejected.GetCode() != enginev1.RejectionCode_REJECTION_CODE_GUARD_FAILED || len(rejected.GetGuards()) != 1 ||
		rejected.GetGuards()[0].GetCode() != "EVIDENCE_MISSING" || !strings.Contains(rejected.GetMessage(), words) {
		t.Errorf("DONE answers %v, want words %q", resp, words)
	}
}

// hooked is a session of Claude Code as its hook sees it.
type hooked struct {
	t   *testing.T
	up  *together
	cwd string
	// response is the answer of tools; a line of output by default.
	response map[string]any
}

func (h *hooked) event(id, name, tool string, input map[string]any) string {
	h.t.Helper()
	event := map[string]any{
		"session_id": "conversation", "hook_event_name": name, "cwd": h.cwd, "tool_name": tool, "tool_input": input, "tool_use_id": id,
	}
	if name == "PostToolUse" {
		event["tool_response"] = map[string]any{"stdout": "ok"}
		if h.response != nil {
			event["tool_response"] = h.response
		}
	}
	cmd := exec.CommandContext(within(h.t), binary(h.t, "interlock"), "hook", "--data-dir", string(h.up.data))
	cmd.Env = cleanEnv()
	cmd.Stdin = bytes.NewReader(must[[]byte](h.t)(json.Marshal(event)))
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s of %s: %v: %s", name, id, err, out)
	}
	return string(out)
}

func (h *hooked) before(id, tool string, input map[string]any) {
	h.t.Helper()
	if out := h.event(id, "PreToolUse", tool, input); strings.Contains(out, `"deny"`) {
		h.t.Fatalf("%s is denied: %s", id, out)
	}
}

func (h *hooked) after(id, tool string, input map[string]any, name string) {
	h.t.Helper()
	h.event(id, name, tool, input)
}

func (h *hooked) call(id, tool string, input map[string]any, name string) {
	h.t.Helper()
	h.before(id, tool, input)
	h.after(id, tool, input, name)
}
