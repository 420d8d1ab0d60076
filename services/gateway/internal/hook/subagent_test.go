package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

var (
	linting = &enginev1.Run{
		RunId: "run_1", Workflow: "bugfix", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, State: "linting", Branch: "lint",
		Rules: &enginev1.StateRules{LegalEvents: []*enginev1.LegalEvent{{Event: "CLEAN", Targets: []string{"linted"}}}},
	}
	allowed = &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, ToolsRestricted: true, State: "linting"}

	getAgent    = &enginev1.GetRunRequest{SessionId: "s"}
	getSubagent = &enginev1.GetRunRequest{SessionId: "s/a1"}
)

// TestSubagentsAreJudgedInTheirBranch: one with a branch in that alone, any other
// like its agent (S5.3).
func TestSubagentsAreJudgedInTheirBranch(t *testing.T) {
	t.Parallel()
	check := func(session string) proto.Message {
		return &policyv1.CheckToolCallRequest{SessionId: session, Tool: "Edit", Input: []byte(`{"file_path":"/w/a"}`), CallId: "c1", Folder: "/w"}
	}
	report := &policyv1.ReportToolCallRequest{
		RunId: "run_asked", CallId: "c1", Tool: "Edit", Ok: true, FilesChanged: []string{"/w/a"},
	}
	start := &enginev1.StartRunRequest{Workflow: "bugfix", SessionId: "s", Workspace: "/w", IdempotencyKey: "hook-autostart"}
	for name, tc := range map[string]struct {
		event    string
		run, sub *enginev1.Run
		workflow string
		want     []proto.Message
	}{
		"call in the branch":         {"PreToolUse", planning, linting, "bugfix", []proto.Message{getSubagent, check("s/a1")}},
		"call without a branch":      {"PreToolUse", planning, nil, "bugfix", []proto.Message{getSubagent, getAgent, check("s")}},
		"call without any run":       {"PreToolUse", nil, nil, "", []proto.Message{getSubagent, getAgent, check("s")}},
		"call that starts the agent": {"PreToolUse", nil, nil, "bugfix", []proto.Message{getSubagent, getAgent, start, &enginev1.GetRunRequest{RunId: "run_1"}, check("s")}},
		"result in the branch":       {"PostToolUse", planning, linting, "", []proto.Message{getSubagent, report}},
		"result without a branch":    {"PostToolUse", planning, nil, "", []proto.Message{getSubagent, getAgent, report}},
		"start in the branch":        {"SubagentStart", planning, linting, "", []proto.Message{getSubagent}},
	} {
		s := &services{run: tc.run, sub: tc.sub, started: planning, decision: allowed}
		a := s.handle(strings.Replace(preTool, `"PreToolUse"`, `"`+tc.event+`","agent_id":"a1","agent_type":"general-purpose"`, 1), hook.Options{Workflow: tc.workflow})
		if a.Exit != 0 {
			t.Errorf("%s: %+v", name, a)
		}
		s.wantAsked(t, tc.want...)
	}
	// What cannot be looked up is not taken for the agent's.
	s := &services{run: planning, getErr: fault.New(fault.Unavailable, "the store is away").GRPCStatus().Err()}
	wantBlock(t, "store", s.handle(strings.Replace(preTool, `{`, `{"agent_id":"a1",`, 1), hook.Options{}), "the store is away")
	s.wantAsked(t, getSubagent)
}

// TestOwnToolsNameTheSubagent: only the hook says which subagent calls.
func TestOwnToolsNameTheSubagent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		agentID, tool, input string
		want                 string // updatedInput; empty for none
	}{
		"subagent":                         {"a1", "mcp__interlock__transition", `{"event":"GO","data":{"n":9007199254740993}}`, `{"agent":"a1","data":{"n":9007199254740993},"event":"GO"}`},
		"subagent that binds a branch":     {"a1", "mcp__interlock__load_workflow", `{"name":"ci","branch":"lint"}`, `{"agent":"a1","branch":"lint","name":"ci"}`},
		"subagent without arguments":       {"a1", "mcp__interlock__get_state", ``, `{"agent":"a1"}`},
		"subagent with null":               {"a1", "mcp__interlock__get_state", `null`, `{"agent":"a1"}`},
		"subagent that names another":      {"a1", "mcp__interlock__pause", `{"agent":"a2"}`, `{"agent":"a1"}`},
		"subagent that names no text":      {"a1", "mcp__interlock__pause", `{"agent":["a2"]}`, `{"agent":"a1"}`},
		"subagent, other prefixes":         {"a1", "mcp__statewright__statewright_deactivate", `{}`, `{"agent":"a1"}`},
		"subagent, prefix twice":           {"a1", "mcp__interlock__interlock_get_status", `{}`, `{"agent":"a1"}`},
		"subagent, no server":              {"a1", "force_state", `{}`, `{"agent":"a1"}`},
		"subagent, strange id":             {"a\"\u00e9", "mcp__interlock__pause", `{}`, `{"agent":"a\"é"}`},
		"subagent, no session in it":       {"a1", "mcp__interlock__list_workflows", `{}`, ``},
		"subagent, input is not an object": {"a1", "mcp__interlock__transition", `[1]`, ``},
		"subagent, another server":         {"a1", "mcp__evil__transition", `{}`, ``},
		"subagent, another tool":           {"a1", "Edit", `{}`, ``},
		"agent":                            {"", "mcp__interlock__transition", `{"event":"GO"}`, ``},
		"agent that names a subagent":      {"", "mcp__interlock__transition", `{"event":"GO","agent":"a1"}`, `{"event":"GO"}`},
		"agent that names nobody":          {"", "mcp__interlock__get_state", `{"agent":null}`, `{}`},
		"agent, another server":            {"", "mcp__evil__transition", `{"agent":"a1"}`, ``},
		"agent, a tool without session":    {"", "mcp__interlock__create_workflow", `{"agent":"a1"}`, ``},
	} {
		event := map[string]any{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": tc.tool, "tool_use_id": "c"}
		if tc.input != "" {
			event["tool_input"] = json.RawMessage(tc.input)
		}
		if tc.agentID != "" {
			event["agent_id"] = tc.agentID
		}
		data, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		for _, agent := range []hook.Agent{hook.ClaudeCode, hook.Codex} {
			for _, run := range []*enginev1.Run{nil, planning} {
				s := &services{run: run, sub: run, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW}}
				a := s.handle(string(data), hook.Options{Agent: agent})
				if tc.want == "" {
					wantSilence(t, name, a)
					continue
				}
				wantUpdated(t, name, a, tc.want)
				if check, ok := s.asked[len(s.asked)-1].(*policyv1.CheckToolCallRequest); ok != (run != nil) || ok && string(check.GetInput()) != tc.want {
					t.Errorf("%s: judged by %v", name, s.asked)
				}
			}
		}
	}
	// What is denied is not rewritten.
	s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY, Message: "no"}}
	got := specific(t, s.handle(`{"session_id":"s","agent_id":"a1","hook_event_name":"PreToolUse","tool_name":"transition","tool_input":{}}`, hook.Options{}))
	if got["permissionDecision"] != "deny" || got["updatedInput"] != "" {
		t.Errorf("%v", got)
	}
}

func wantUpdated(t *testing.T, name string, a hook.Answer, want string) {
	t.Helper()
	var out struct {
		Specific struct {
			HookEventName, PermissionDecision, PermissionDecisionReason string
			UpdatedInput                                                json.RawMessage
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(a.Stdout), &out); err != nil || a.Exit != 0 {
		t.Errorf("%s: %+v, %v", name, a, err)
		return
	}
	got := out.Specific
	if got.HookEventName != "PreToolUse" || got.PermissionDecision != "allow" || got.PermissionDecisionReason == "" || string(got.UpdatedInput) != want {
		t.Errorf("%s: %s, want %s", name, a.Stdout, want)
	}
}

// TestSubagentStop: a subagent does not leave a branch open without a word, but is
// let go when it insists.
func TestSubagentStop(t *testing.T) {
	t.Parallel()
	over := proto.CloneOf(linting)
	over.BranchOver = true
	child := &enginev1.Run{RunId: "run_2", Workflow: "sub", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, State: "asking", ParentRunId: "run_1"}
	in := func(status enginev1.RunStatus) *enginev1.Run {
		run := proto.CloneOf(linting)
		run.Status = status
		return run
	}
	for name, tc := range map[string]struct {
		event string
		sub   *enginev1.Run
		want  []string // words of the reason; nil when it may stop
	}{
		"open":             {`"SubagentStop","agent_id":"a1"`, linting, []string{`Your branch "lint" has not ended`, "linting", "CLEAN"}},
		"in a child":       {`"SubagentStop","agent_id":"a1"`, child, []string{"Your branch has not ended", "asking"}},
		"insists":          {`"SubagentStop","agent_id":"a1","stop_hook_active":true`, linting, nil},
		"over":             {`"SubagentStop","agent_id":"a1"`, over, nil},
		"paused":           {`"SubagentStop","agent_id":"a1"`, in(enginev1.RunStatus_RUN_STATUS_PAUSED), nil},
		"awaits approval":  {`"SubagentStop","agent_id":"a1"`, in(enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL), nil},
		"cancelled":        {`"SubagentStop","agent_id":"a1"`, in(enginev1.RunStatus_RUN_STATUS_CANCELLED), nil},
		"without a branch": {`"SubagentStop","agent_id":"a1"`, nil, nil},
		"the agent":        {`"Stop"`, linting, nil},
		"another subagent": {`"SubagentStop","agent_id":"a2"`, linting, nil},
	} {
		for _, agent := range []hook.Agent{hook.ClaudeCode, hook.Codex} {
			s := &services{run: planning, sub: tc.sub}
			a := s.handle(`{"session_id":"s","hook_event_name":`+tc.event+`}`, hook.Options{Agent: agent})
			var out struct{ Decision, Reason string }
			if a.Exit != 0 || a.Stdout != "" && json.Unmarshal([]byte(a.Stdout), &out) != nil {
				t.Errorf("%s: %+v", name, a)
			}
			if blocked := out.Decision == "block"; blocked != (tc.want != nil) || blocked == (out.Reason == "") {
				t.Errorf("%s: %+v", name, a)
			}
			for _, words := range tc.want {
				if !strings.Contains(out.Reason, words) {
					t.Errorf("%s: no %q in %s", name, words, out.Reason)
				}
			}
			if len(out.Reason) > 10_000 {
				t.Errorf("%s: %d bytes", name, len(out.Reason))
			}
		}
	}
}
