package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// findingsSchema is of the state that the subagents of a conversation share.
const findingsSchema = `{"type": "object", "additionalProperties": false,
  "required": ["findings"], "properties": {"findings": {"type": "array", "items": {"type": "string"}}}}`

// reading allows only Read.
const reading = `{"id": "reading-only", "initial": "reading",
  "states": {"reading": {"allowed_tools": ["Read"], "on": {"DONE": "done"}}, "done": {"type": "final"}}}`

// TestSubagentsReportToTheSharedState: the two-phase completion as Claude Code does
// it, by hooks alone (S11.2): who stops without a report is sent back three times.
func TestSubagentsReportToTheSharedState(t *testing.T) {
	t.Parallel()
	clients := nodeModules(t)
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	store := w.stateStore(t)
	store.register(t, "findings", findingsSchema)
	s := &subagents{t: t, up: u, client: startWalker(t, clients)}

	// No session shares a state yet.
	for _, event := range []string{"SubagentStart", "SubagentStop"} {
		s.silent(event, "early", false)
	}
	s.silent("Stop", "", false)
	s.silent("UserPromptSubmit", "", false)
	s.tells("early", "state_read", nil, true, "NO_SESSION", `There is no session "conversation"`)
	s.tells("", "state_create", map[string]any{"schema_name": "findings", "initial_data": map[string]any{"findings": []string{}}}, false, "at version 1")

	// One that never reports.
	s.silent("SubagentStart", "lazy", false)
	child := store.session(t, "conversation/lazy")
	if child.GetParentSessionName() != "conversation" || child.GetWorkflowStateId() == "" {
		t.Fatalf("the subagent's session is %v", child)
	}
	s.sentBack("lazy", false, "## Required: Update Workflow State", `{"findings":[]}`, "state_patch", "version 1")
	s.sentBack("lazy", true, "attempt 2 of 3")
	s.sentBack("lazy", true, "attempt 3 of 3", "NOW")
	s.silent("SubagentStop", "lazy", true)
	store.wantSession(t, "conversation/lazy", ended, statev1.StateUpdateStatus_STATE_UPDATE_STATUS_FAILED)

	// One that does when it is asked to. Its earlier writes were no report.
	s.tells("diligent", "state_patch", patchOf("/findings/-", "a first thought"), false, "at version 2")
	s.sentBack("diligent", false, "a first thought")
	s.tells("diligent", "state_patch", patchOf("/findings/0/text", "wrong"), true, "PATCH_FAILED", "state_read")
	s.tells("diligent", "state_patch", patchOf("/findings/-", 7), true, "SCHEMA_VIOLATION", "/findings/1", "version 2")
	s.tells("diligent", "state_patch", patchOf("/findings/-", "a bug"), false, "at version 3")
	store.wantSession(t, "conversation/diligent", atWork, statev1.StateUpdateStatus_STATE_UPDATE_STATUS_COMPLETED)
	s.silent("SubagentStop", "diligent", true)
	store.wantSession(t, "conversation/diligent", ended, statev1.StateUpdateStatus_STATE_UPDATE_STATUS_COMPLETED)

	// Its parent is called back for both, in one resumption to come, and works on.
	store.wantCallbacks(t, "conversation", map[string]statev1.StateUpdateStatus{
		"conversation/lazy":     statev1.StateUpdateStatus_STATE_UPDATE_STATUS_FAILED,
		"conversation/diligent": statev1.StateUpdateStatus_STATE_UPDATE_STATUS_COMPLETED,
	})
	s.silent("Stop", "", false)
	s.silent("UserPromptSubmit", "", false)
	store.wantSession(t, "conversation", atWork, statev1.StateUpdateStatus_STATE_UPDATE_STATUS_SKIPPED)

	// A subagent that is started again reports again.
	s.silent("SubagentStart", "diligent", false)
	s.sentBack("diligent", false, "a bug")
	s.tells("diligent", "state_update", map[string]any{"data": map[string]any{"findings": []string{"two bugs"}}}, false, "at version 4")
	s.silent("SubagentStop", "diligent", true)
}

// TestStateToolsAreNeverGated: by hooks neither, in any state (S3).
func TestStateToolsAreNeverGated(t *testing.T) {
	t.Parallel()
	clients := nodeModules(t)
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	store := w.stateStore(t)
	store.register(t, "findings", findingsSchema)
	c := w.as(t, auth.Agent)
	c.register(t, reading)
	run := c.begin(t, &enginev1.StartRunRequest{Workflow: "reading-only", SessionId: "conversation"})
	s := &subagents{t: t, up: u, client: startWalker(t, clients)}
	s.judged("", "Edit", "deny")
	for _, tool := range []string{"state_create", "state_read", "state_update", "state_patch", "state_schema"} {
		s.judged("", "mcp__interlock__"+tool, "allow")
		s.judged("sub-1", "mcp__interlock__"+tool, "allow")
		s.judged("", "mcp__evil__"+tool, "deny")
	}
	s.tells("", "state_create", map[string]any{"schema_name": "findings", "initial_data": map[string]any{"findings": []string{}}}, false, "at version 1")
	if run = c.get(t, run.GetRunId()); run.GetUsage().GetIterations() != 0 {
		t.Errorf("own tools were counted: %v", run)
	}
}

func patchOf(path string, value any) map[string]any {
	return map[string]any{"operations": []map[string]any{{"op": "add", "path": path, "value": value}}}
}

// says is the hook's answer to an event that is about no tool.
func (s *subagents) says(event, agent string, again bool) string {
	s.t.Helper()
	fields := map[string]any{"session_id": "conversation", "hook_event_name": event, "cwd": "/repo"}
	if agent != "" {
		fields["agent_id"], fields["agent_type"] = agent, "general-purpose"
	}
	if again {
		fields["stop_hook_active"] = true
	}
	cmd := exec.Command(binary(s.t, "interlock"), "hook", "--data-dir", string(s.up.data))
	cmd.Env = cleanEnv()
	cmd.Stdin = bytes.NewReader(must[[]byte](s.t)(json.Marshal(fields)))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		s.t.Fatalf("hook %s of %q: %v: %s", event, agent, err, exit.Stderr)
	}
	return string(bytes.TrimSpace(out))
}

func (s *subagents) silent(event, agent string, again bool) {
	s.t.Helper()
	if said := s.says(event, agent, again); said != "" {
		s.t.Errorf("%s of %q: %s", event, agent, said)
	}
}

// sentBack wants a subagent's stop refused with these words.
func (s *subagents) sentBack(agent string, again bool, words ...string) {
	s.t.Helper()
	said := s.says("SubagentStop", agent, again)
	var answer struct{ Decision, Reason string }
	if err := json.Unmarshal([]byte(said), &answer); err != nil || answer.Decision != "block" {
		s.t.Fatalf("the stop of %s: %q, %v", agent, said, err)
	}
	for _, word := range words {
		if !strings.Contains(answer.Reason, word) {
			s.t.Errorf("the stop of %s does not mention %s: %s", agent, word, answer.Reason)
		}
	}
}

// tells calls a tool as an agent and wants these words of its answer.
func (s *subagents) tells(agent, tool string, input map[string]any, refused bool, words ...string) {
	s.t.Helper()
	said := s.own(agent, tool, input)
	if said.IsError != refused {
		s.t.Fatalf("%s of %q: %+v", tool, agent, said)
	}
	for _, word := range words {
		if !strings.Contains(said.Text, word) {
			s.t.Errorf("%s of %q does not mention %s: %s", tool, agent, word, said.Text)
		}
	}
}

const (
	atWork = statev1.SessionStatus_SESSION_STATUS_RUNNING
	ended  = statev1.SessionStatus_SESSION_STATUS_ENDED
)

// stateStore is an operator's view of the state-store.
type stateStore struct {
	schemas  statev1.SchemaServiceClient
	sessions statev1.SessionServiceClient
	tasks    statev1.TaskServiceClient
}

func (w *world) stateStore(t testing.TB) *stateStore {
	t.Helper()
	conn := w.dial(t, w.states[0], w.tokens[auth.Operator])
	return &stateStore{statev1.NewSchemaServiceClient(conn), statev1.NewSessionServiceClient(conn), statev1.NewTaskServiceClient(conn)}
}

func (s *stateStore) register(t testing.TB, name, schema string) {
	t.Helper()
	must[*statev1.RegisterSchemaResponse](t)(s.schemas.RegisterSchema(within(t), &statev1.RegisterSchemaRequest{Name: name, JsonSchema: []byte(schema)}))
}

func (s *stateStore) session(t testing.TB, name string) *statev1.Session {
	t.Helper()
	return must[*statev1.GetSessionResponse](t)(s.sessions.GetSession(within(t), &statev1.GetSessionRequest{SessionId: name})).GetSession()
}

func (s *stateStore) wantSession(t testing.TB, name string, status statev1.SessionStatus, report statev1.StateUpdateStatus) {
	t.Helper()
	if got := s.session(t, name); got.GetStatus() != status || got.GetStateUpdateStatus() != report {
		t.Errorf("%s is %s, %s; want %s, %s", name, got.GetStatus(), got.GetStateUpdateStatus(), status, report)
	}
}

// wantCallbacks wants one task that is ready to call a session back for children.
func (s *stateStore) wantCallbacks(t testing.TB, name string, want map[string]statev1.StateUpdateStatus) {
	t.Helper()
	tasks := must[*statev1.ListTasksResponse](t)(s.tasks.ListTasks(within(t), &statev1.ListTasksRequest{Filter: "session=" + name})).GetTasks()
	if len(tasks) != 1 || tasks[0].GetKind() != statev1.TaskKind_TASK_KIND_CALLBACK || tasks[0].GetStatus() != statev1.TaskStatus_TASK_STATUS_READY {
		t.Fatalf("tasks of %s: %v", name, tasks)
	}
	callbacks := s.session(t, name).GetCallbacks()
	if len(callbacks) != len(want) {
		t.Errorf("callbacks of %s: %v", name, callbacks)
	}
	for _, cb := range callbacks {
		if got, ok := want[cb.GetSessionName()]; !ok || got != cb.GetStateUpdateStatus() {
			t.Errorf("%s has called back: %v", cb.GetSessionName(), cb)
		}
	}
}
