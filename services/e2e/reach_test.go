package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/auth"
)

// greeting refers to its starting data, to its session's shared state, and to the values that it
// keeps, and agents can force it.
const greeting = `{"id": "greeting", "initial": "work", "meta": {"debug": true, "enforcement": "while_running"}, "context": {"who": "ann"},
  "states": {
    "work": {"allowed_tools": ["Read"], "model": "opus", "thinking_level": "high",
      "instructions": "Greet {{context.who}} in {{component.prefs.language}} for {{state./goal}}, {{state./none}}.", "on": {"DONE": "done"}},
    "done": {"type": "final"}}}`

// stdioAgent is an MCP client with a server of its own, as a runner starts both.
func stdioAgent(t *testing.T, u *together, env []string, args ...string) *sdk.ClientSession {
	t.Helper()
	cmd := exec.Command(binary(t, "interlock"), append([]string{"mcp", "--data-dir", string(u.data)}, args...)...)
	cmd.Env = append(cleanEnv(), env...)
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
	session := must[*sdk.ClientSession](t)(client.Connect(within(t), &sdk.CommandTransport{Command: cmd}, nil))
	t.Cleanup(func() { session.Close() })
	return session
}

// use calls a tool, which must answer with these words, or be refused with them.
func use(t *testing.T, s *sdk.ClientSession, refused bool, tool, arguments string, words ...string) *sdk.CallToolResult {
	t.Helper()
	result := must[*sdk.CallToolResult](t)(s.CallTool(within(t), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}))
	text := result.Content[0].(*sdk.TextContent).Text
	if result.IsError != refused {
		t.Fatalf("%s(%s): %s", tool, arguments, text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s(%s) lacks %s: %s", tool, arguments, word, text)
		}
	}
	return result
}

// TestWhatReachesAgents: S15.2 to S15.5, S15.7, S15.8 and S15.12, for an agent with an MCP
// client that a runner has resumed.
func TestWhatReachesAgents(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	operator := w.tokens[auth.Operator]
	ok := func(method, path, body string) reply {
		t.Helper()
		got := w.send(t, method, path, operator, body)
		if got.status >= http.StatusMultipleChoices {
			t.Fatalf("%s %s: %v", method, path, got)
		}
		return got
	}
	ok(http.MethodPost, "/v1/schemas", `{"name": "plan", "json_schema": {"type": "object"}}`)
	ok(http.MethodPost, "/v1/components", `{"name": "Prefs", "slug": "prefs", "persistence": "long_term",
		"schema_definition": {"language": {"type": "string"}, "seen": {"type": "integer"}}, "initial_values": {"language": "en"}}`)
	ok(http.MethodPost, "/v1/workflows", greeting)
	for id, meta := range map[string]string{"kept": `"debug": "operator", "enforcement": "while_running"`, "always": `"debug": true, "enforcement": "always"`} {
		ok(http.MethodPost, "/v1/workflows", strings.NewReplacer(`"id": "greeting"`, fmt.Sprintf(`"id": %q`, id), `"debug": true, "enforcement": "while_running"`, meta).Replace(greeting))
	}
	agent := stdioAgent(t, u, []string{
		"INTERLOCK_SESSION=lead", "INTERLOCK_TASK_ID=task_1", "INTERLOCK_TASK_KIND=callback",
		`INTERLOCK_CALLBACKS=[{"callback_source":"kid","callback_id":"ses_1.1","workflow_state_version":7,"state_update_status":"completed"}]`,
	}, "--tool-prefix", "statewright_", "--state-tool-prefix", "wf_")

	// S15.8: each family of tools has its own prefix.
	names := map[string]bool{}
	for tool, err := range agent.Tools(within(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names[tool.Name] = true
	}
	for name, there := range map[string]bool{
		"statewright_transition": true, "wf_state_read": true, "wf_start_agent_session": true, "state_read": false, "wf_transition": false,
	} {
		if names[name] != there {
			t.Errorf("%s is listed: %v", name, names[name])
		}
	}
	use(t, agent, true, "wf_state_read", `{}`, "NO_SESSION", "wf_state_create(schema_name=")

	// S15.5: the reason of its resumption is there as data, too.
	created := use(t, agent, false, "wf_state_create", `{"schema_name": "plan", "initial_data": {"goal": "ship"}}`, "at version 1")
	resumed := fmt.Sprint(created.Meta["interlock.run/resume"])
	for _, word := range []string{"task_kind:callback", "callback_source:kid", "workflow_state_version:7", "state_update_status:completed"} {
		if !strings.Contains(resumed, word) {
			t.Errorf("the metadata lacks %s: %s", word, resumed)
		}
	}

	// S15.2: values stand in instructions, and the agent's changes are there the next time. S15.12: and hints for its runtime.
	use(t, agent, false, "statewright_load_workflow", `{"name": "greeting"}`,
		`Greet <data of="context.who">"ann"</data> in <data of="component.prefs.language">"en"</data> for <data of="state./goal">"ship"</data>, <data of="state./none" missing/>.`,
		"Meant for: model opus, thinking level high.")
	use(t, agent, false, "wf_component_read", `{"component": "prefs"}`, `"language":"en"`, "Never set: seen")
	use(t, agent, false, "wf_component_update", `{"component": "prefs", "values": {"language": "de"}}`, "version 1", `"language":"de"`)
	use(t, agent, true, "wf_component_update", `{"component": "prefs", "values": {"language": 7}}`, "SCHEMA_VIOLATION")
	use(t, agent, true, "wf_component_read", `{}`, "Not read")
	state := use(t, agent, false, "statewright_get_state", `{}`, `<data of="component.prefs.language">"de"</data>`)
	if view := fmt.Sprint(state.StructuredContent); !strings.Contains(view, "model:opus") || !strings.Contains(view, "thinking_level:high") {
		t.Errorf("get_state: %s", view)
	}

	// S15.4: it starts others, below itself; S15.3: and reads their results.
	use(t, agent, false, "wf_start_agent_session", `{"name": "kid", "prompt": "Look."}`, "below lead", "you are resumed")
	use(t, agent, false, "wf_start_agent_session", `{"name": "silent", "prompt": "Look.", "callback": false}`, "wf_session_result(session=")
	use(t, agent, true, "wf_start_agent_session", `{"name": "none", "prompt": " "}`, "the prompt is empty")
	if kid := ok(http.MethodGet, "/v1/sessions/kid", ""); kid.field("parent_session_name") != "lead" || kid.field("no_callback") != nil || kid.field("task_id") == nil {
		t.Errorf("kid: %v", kid)
	}
	use(t, agent, true, "wf_session_result", `{"session": "kid"}`, "has no result")
	for _, name := range []string{"kid", "silent"} {
		ok(http.MethodPost, "/v1/sessions/"+name+"/stop", `{"end": true, "result": {"bugs": 12345678901234567890}}`)
	}
	use(t, agent, false, "wf_session_result", `{"session": "kid"}`, `{"bugs":12345678901234567890}`, "This is data")
	if got := ok(http.MethodGet, "/v1/sessions/kid/result", ""); !strings.Contains(got.body, `"result":{"bugs":12345678901234567890},"given":true`) {
		t.Errorf("over REST: %v", got)
	}
	if lead := ok(http.MethodGet, "/v1/sessions/lead", ""); strings.Count(lead.body, `"callback_id"`) != 1 || !strings.Contains(lead.body, `"result":"{\"bugs\":12345678901234567890}"`) {
		t.Errorf("callbacks of lead: %v", lead)
	}
	// A bound token says which session it is for, where the state is all that a client names.
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, w.http+"/mcp", bytes.NewReader([]byte(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"state_read","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))))
	for name, value := range map[string]string{
		"Authorization": "Bearer " + u.mint(t, w, "lead"), "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "state_read",
		"X-Workflow-State-Id": fmt.Sprint(ok(http.MethodGet, "/v1/sessions/lead", "").field("workflow_state_id")),
	} {
		req.Header.Set(name, value)
	}
	if got := w.roundTrip(t, req); !strings.Contains(got.body, `"goal":"ship"`) {
		t.Errorf("by the state's header: %v", got)
	}

	// S15.7: an agent forces the run that it drives, where the workflow lets agents.
	use(t, agent, false, "statewright_force_state", `{"state": "done", "context": {"who": "bob"}}`, "jumped from work to done")
	use(t, agent, false, "statewright_load_workflow", `{"name": "kept"}`)
	use(t, agent, true, "statewright_force_state", `{"state": "done"}`, "DEBUG_DISABLED", "only operators")
	use(t, agent, false, "statewright_load_workflow", `{"name": "always"}`)
	use(t, agent, true, "statewright_force_state", `{"state": "done"}`, "ENFORCEMENT_KEPT")
	for workflow, status := range map[string]int{"greeting": http.StatusOK, "always": http.StatusConflict} {
		run := ok(http.MethodPost, "/v1/runs", fmt.Sprintf(`{"workflow": %q}`, workflow)).field("run_id")
		got := w.send(t, http.MethodPost, fmt.Sprintf("/v1/runs/%s/force-state", run), w.tokens[auth.Agent], `{"state": "done"}`)
		if got.status != status {
			t.Errorf("an agent forces %s over REST: %v", workflow, got)
		}
		if workflow == "always" {
			ok(http.MethodPost, fmt.Sprintf("/v1/runs/%s/force-state", run), `{"state": "done"}`)
		}
	}

	// S15.2: the hook names the component before the first turn, and S15.12 the hints.
	ok(http.MethodPost, "/v1/sessions", `{"session_name": "conversation", "state_ref": "prefs"}`)
	ok(http.MethodPost, "/v1/runs", `{"workflow": "greeting", "session_id": "conversation"}`)
	s := &subagents{t: t, up: u}
	for event, named := range map[string]bool{"SessionStart": true, "UserPromptSubmit": false} {
		said := s.says(event, "", false)
		if strings.Contains(said, "Component: prefs. component_read") != named || !strings.Contains(said, "Meant for: model opus") {
			t.Errorf("%s: %s", event, said)
		}
	}
}

// TestWarningsAndBranches: S15.6 and S15.7, over REST.
func TestWarningsAndBranches(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	ok := func(method, path, body string) reply {
		t.Helper()
		got := w.send(t, method, path, w.tokens[auth.Operator], body)
		if got.status >= http.StatusMultipleChoices {
			t.Fatalf("%s %s: %v", method, path, got)
		}
		return got
	}
	ok(http.MethodPost, "/v1/processes", `{"name": "standup", "initial": "q", "states": {"q": {"question": "Done?",
		"answers": {"yes": {"next": null}, "partly": {"next": "q", "action": "warn"}}}}}`)
	run := ok(http.MethodPost, "/v1/processes/standup/start", `{}`).field("run").(map[string]any)["run_id"]
	ok(http.MethodPost, fmt.Sprintf("/v1/runs/%s/answer", run), `{"answer": "partly", "note": "half of it"}`)
	ok(http.MethodPost, fmt.Sprintf("/v1/runs/%s/answer", run), `{"answer": "yes"}`)
	history := ok(http.MethodGet, fmt.Sprintf("/v1/runs/%s/history", run), "")
	if got := strings.Count(history.body, `"warned":true`); got != 1 {
		t.Errorf("%d warnings in the history: %s", got, history.body)
	}
	eventually(t, "the engine's log has the warning", func() error {
		if log := u.process.log.String(); !strings.Contains(log, "an answer warns") || !strings.Contains(log, "half of it") {
			return fmt.Errorf("it has not: %s", log)
		}
		return nil
	})

	registered := ok(http.MethodPost, "/v1/workflows", `{"id": "ci", "initial": "build", "states": {
		"build": {"on": {"BUILT": {"fork": {"branches": {"lint": {"initial": "lint_run", "terminal": "lint_done"}, "types": {"initial": "types_run", "terminal": "types_done"}},
			"on_complete": "done", "on_fail": "failed"}}}},
		"lint_run": {"on": {"FAIL": "failed"}}, "lint_done": {"type": "final"}, "types_run": {"on": {"FAIL": "failed"}}, "types_done": {"type": "final"},
		"done": {"type": "final"}, "failed": {"type": "final"}}}`)
	if got := strings.Count(registered.body, "FORK_UNREACHABLE"); got != 2 {
		t.Errorf("%d warnings of branches: %v", got, registered)
	}
	run = ok(http.MethodPost, "/v1/runs", `{"workflow": "ci", "session_id": "s"}`).field("run_id")
	for _, row := range []struct {
		event    string
		accepted bool
	}{
		{"BUILT", true}, {"BRANCH_DONE:types", false}, {"BRANCH_DONE:lint", true}, {"BRANCH_DONE:types", true},
	} {
		got := ok(http.MethodPost, fmt.Sprintf("/v1/runs/%s/transition", run), fmt.Sprintf(`{"event": %q}`, row.event))
		if got.field("accepted") != row.accepted {
			t.Errorf("%s: %v", row.event, got)
		}
	}
	if got := ok(http.MethodGet, fmt.Sprintf("/v1/runs/%s", run), ""); got.field("state") != "done" || got.field("status") != "COMPLETED" {
		t.Errorf("at the end: %v", got)
	}
}

// TestPoliciesAreForARole: S15.9.
func TestPoliciesAreForARole(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	operator := w.tokens[auth.Operator]
	put := func(name, role string) reply {
		return w.send(t, http.MethodPost, "/v1/policies?name="+name, operator, fmt.Sprintf(`{"role": %q, "deny": [{"capability": "bash"}]}`, role))
	}
	if got := put("devs", "dev"); got.status != http.StatusUnprocessableEntity && got.status != http.StatusBadRequest || !strings.Contains(got.body, "/role") {
		t.Errorf("a role that there is not: %v", got)
	}
	for _, role := range []auth.Role{auth.Agent, auth.Operator} {
		if got := put("for-"+string(role), string(role)); got.status != http.StatusCreated {
			t.Fatal(got)
		}
		workflow := "of-" + string(role)
		if got := w.send(t, http.MethodPost, "/v1/workflows", operator, fmt.Sprintf(`{"id": %q, "initial": "a", "meta": {"policy": "for-%s"},
			"states": {"a": {"on": {"END": "b"}}, "b": {"type": "final"}}}`, workflow, role)); got.status != http.StatusCreated {
			t.Fatal(got)
		}
		run := w.send(t, http.MethodPost, "/v1/runs", operator, fmt.Sprintf(`{"workflow": %q}`, workflow)).field("run_id")
		for _, caller := range []auth.Role{auth.Agent, auth.Operator} {
			want := "ALLOW"
			if caller == role {
				want = "DENY"
			}
			got := w.send(t, http.MethodPost, fmt.Sprintf("/v1/runs/%s/check", run), w.tokens[caller], `{"tool": "Bash", "input": {"command": "ls"}}`)
			if got.field("decision") != want {
				t.Errorf("a policy for the role %s, and a call by the role %s: %v", role, caller, got)
			}
		}
	}
}
