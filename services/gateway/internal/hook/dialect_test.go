package hook_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// payloads are events as each agent sends them before a call, by what is judged: the tool and
// its input in the words of Claude Code.
var payloads = []struct {
	name    string
	agent   hook.Agent
	event   string
	session string
	tool    string
	input   string
	callID  string
}{
	{
		"Cursor runs a command", hook.Cursor,
		`{"conversation_id":"s","generation_id":"g","model":"m","hook_event_name":"preToolUse","cursor_version":"2.4.0","workspace_roots":["/w"],
		"tool_name":"Shell","tool_input":{"command":"npm test","working_directory":"/w"},"tool_use_id":"c1","cwd":"/w","agent_message":"Testing"}`,
		"s", "Bash", `{"command":"npm test"}`, "c1",
	},
	{
		"Cursor runs a command elsewhere", hook.Cursor,
		`{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Shell","tool_input":{"command":"make","working_directory":"/it's"},"tool_use_id":"c1","cwd":"/w"}`,
		"s", "Bash", `{"command":"cd '/it'\\''s' && make"}`, "c1",
	},
	{
		"Cursor runs a command where it is, and waits", hook.Cursor,
		`{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Shell","tool_use_id":"c1","cwd":"/w",
		"tool_input":{"command":"make","working_directory":"/w/","cwd":".","block_until_ms":30000,"required_permissions":["all"]}}`,
		"s", "Bash", `{"command":"make","required_permissions":["all"]}`, "c1",
	},
	{
		"Cursor runs a command by a way that may lead elsewhere", hook.Cursor,
		`{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Shell","tool_input":{"command":"make","working_directory":"a/.."},"tool_use_id":"c1","cwd":"/w"}`,
		"s", "Bash", `{"command":"cd 'a/..' && make"}`, "c1",
	},
	{
		"Cursor writes", hook.Cursor,
		`{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Write","tool_input":{"path":"/w/a.go","contents":"x"},"tool_use_id":"c1","cwd":"/w"}`,
		"s", "Write", `{"contents":"x","file_path":"/w/a.go","path":"/w/a.go"}`, "c1",
	},
	{
		"Cursor calls a tool of a server", hook.Cursor,
		`{"conversation_id":"s","hook_event_name":"beforeMCPExecution","tool_name":"search","tool_input":"{\"q\":\"x\"}","url":"https://docs.example/mcp"}`,
		"s", "mcp__cursor__search", `{"q":"x"}`, "",
	},
	{
		"Cursor runs a command, by the older event", hook.Cursor,
		`{"conversation_id":"s","hook_event_name":"beforeShellExecution","command":"rm -rf \"x\"","cwd":"/w"}`,
		"s", "Bash", `{"command":"rm -rf \"x\""}`, "",
	},
	{
		"Gemini runs a command", hook.Gemini,
		`{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"BeforeTool","timestamp":"2026-01-31T08:00:00Z",
		"tool_name":"run_shell_command","tool_input":{"command":"npm test","description":"Test"}}`,
		"s", "Bash", `{"command":"npm test","description":"Test"}`, "",
	},
	{
		"Gemini runs a command elsewhere", hook.Gemini,
		`{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"rm a","dir_path":"src"}}`,
		"s", "Bash", `{"command":"cd 'src' && rm a"}`, "",
	},
	{
		"Gemini edits", hook.Gemini,
		`{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"replace","tool_input":{"file_path":"a.go","old_string":"a","new_string":"b"}}`,
		"s", "Edit", `{"file_path":"a.go","old_string":"a","new_string":"b"}`, "",
	},
	{
		"Gemini calls a tool of a server", hook.Gemini,
		`{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"mcp_fs_write_file","tool_input":{"path":"a"},
		"mcp_context":{"server_name":"fs","tool_name":"write_file","command":"npx"}}`,
		"s", "mcp__fs__write_file", `{"path":"a"}`, "",
	},
	{
		"Copilot runs a command", hook.Copilot,
		`{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"2026-01-31T08:00:00Z","cwd":"/w","tool_name":"Bash","tool_input":{"command":"npm test"}}`,
		"s", "Bash", `{"command":"npm test"}`, "",
	},
	{
		"Copilot runs a command in one of its shells", hook.Copilot,
		`{"sessionId":"s","cwd":"/w","toolName":"bash","toolArgs":{"command":"npm test","mode":"sync","initial_wait":30,"shellId":"main","async":false,"detach":true,"env":{}}}`,
		"s", "Bash", `{"command":"npm test","env":{}}`, "",
	},
	{
		"Copilot types into one of its shells", hook.Copilot,
		`{"sessionId":"s","cwd":"/w","toolName":"write_bash","toolArgs":{"shellId":"main","input":"rm -rf x{enter}","delay":5}}`,
		"s", "Bash", `{"input":"rm -rf x{enter}"}`, "",
	},
	{
		"Copilot reads what one of its shells says", hook.Copilot,
		`{"sessionId":"s","cwd":"/w","toolName":"read_bash","toolArgs":{"shellId":"main","delay":5}}`,
		"s", "BashOutput", `{"shellId":"main","delay":5}`, "",
	},
	{
		"Copilot edits, in its own form", hook.Copilot,
		`{"sessionId":"s","timestamp":1769846400000,"cwd":"/w","toolName":"edit","toolArgs":"{\"path\":\"/w/a.go\",\"old_str\":\"a\",\"new_str\":\"b\"}"}`,
		"s", "Edit", `{"file_path":"/w/a.go","new_str":"b","old_str":"a","path":"/w/a.go"}`, "",
	},
	{
		"Copilot calls a tool of a server", hook.Copilot,
		`{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"github-list_issues","tool_input":{}}`,
		"s", "github-list_issues", `{}`, "",
	},
	{
		"Codex patches", hook.Codex,
		`{"session_id":"s","turn_id":"t","cwd":"/w","hook_event_name":"PreToolUse","model":"m","tool_name":"apply_patch","tool_use_id":"c1","tool_input":{"command":"*** Begin Patch"}}`,
		"s", "apply_patch", `{"command":"*** Begin Patch"}`, "c1",
	},
}

// What each agent sends is judged by the same names, and each gets the answer in its form.
func TestDialects(t *testing.T) {
	t.Parallel()
	denials := map[hook.Agent]string{
		hook.Cursor: `{"agent_message":"not here","permission":"deny","user_message":"not here"}`,
		hook.Gemini: `{"decision":"deny","reason":"not here"}`,
		hook.Copilot: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not here"},` +
			`"permissionDecision":"deny","permissionDecisionReason":"not here"}`,
		hook.Codex: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not here"}}`,
	}
	allowed := map[hook.Agent]string{
		hook.Cursor: `{"permission":"allow"}`,
		hook.Gemini: `{"decision":"allow"}`,
		hook.Copilot: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"allowed by workflow state planning"},` +
			`"permissionDecision":"allow","permissionDecisionReason":"allowed by workflow state planning"}`,
		hook.Codex: ``,
	}
	undecided := map[hook.Agent]string{hook.Cursor: `{}`}
	for _, row := range payloads {
		for _, answer := range []struct {
			decision   policyv1.Decision
			restricted bool
			want       string
		}{
			{policyv1.Decision_DECISION_DENY, true, denials[row.agent]},
			{policyv1.Decision_DECISION_ALLOW, true, allowed[row.agent]},
			{policyv1.Decision_DECISION_ALLOW, false, undecided[row.agent]},
		} {
			message := ""
			if answer.decision == policyv1.Decision_DECISION_DENY {
				message = "not here"
			}
			s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{
				Decision: answer.decision, Message: message, State: "planning", ToolsRestricted: answer.restricted,
			}}
			got := s.handle(row.event, hook.Options{Agent: row.agent})
			if got.Exit != 0 || got.Stderr != "" || got.Stdout != answer.want {
				t.Errorf("%s, %s: %+v, want %s", row.name, answer.decision, got, answer.want)
			}
			if len(s.asked) != 2 {
				t.Fatalf("%s: asked %v", row.name, s.asked)
			}
			check := s.asked[1].(*policyv1.CheckToolCallRequest)
			if check.GetTool() != row.tool || check.GetCallId() != row.callID || check.GetSessionId() != row.session || !sameJSON(t, check.GetInput(), row.input) {
				t.Errorf("%s: judged as %v", row.name, check)
			}
		}
	}
}

var errDown = fault.New(fault.Unavailable, "the store is away").GRPCStatus().Err()

// Two files where the tool takes one: nobody knows which.
func TestTwoFiles(t *testing.T) {
	t.Parallel()
	for agent, event := range map[hook.Agent]string{
		hook.Cursor:  `{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Write","tool_input":{"file_path":"a","path":"b"},"tool_use_id":"c1","cwd":"/w"}`,
		hook.Gemini:  `{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{"absolute_path":"a","file_path":"b"}}`,
		hook.Copilot: `{"sessionId":"s","cwd":"/w","toolName":"edit","toolArgs":{"path":"a","target_file":"b"}}`,
	} {
		s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW}}
		wantBlock(t, string(agent), s.handle(event, hook.Options{Agent: agent}), "two files")
	}
}

// Two folders where the command runs in one of them.
func TestTwoFolders(t *testing.T) {
	t.Parallel()
	for _, input := range []string{
		`{"command":"ls","dir_path":"/w","working_directory":"/etc"}`, `{"command":"ls","dir_path":"a","cwd":"b"}`, `{"command":"ls","directory":".","cwd":"b"}`,
	} {
		s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW}}
		event := `{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Shell","tool_input":` + input + `,"cwd":"/w"}`
		wantBlock(t, input, s.handle(event, hook.Options{Agent: hook.Cursor}), "two folders")
	}
}

func sameJSON(t *testing.T, got []byte, want string) bool {
	t.Helper()
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	return cmp.Equal(a, b)
}

// What agents are told, in the form that each reads; and what they cannot be told.
func TestDialectsTell(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		agent hook.Agent
		event string
		key   string // of the text, below hookSpecificOutput where that is what the agent reads
		inner bool
	}{
		{hook.Cursor, `{"conversation_id":"s","session_id":"s","hook_event_name":"sessionStart","composer_mode":"agent","workspace_roots":["/w"]}`, "additional_context", false},
		{hook.Cursor, `{"conversation_id":"s","hook_event_name":"beforeSubmitPrompt","prompt":"go"}`, "", false},
		{hook.Gemini, `{"session_id":"s","cwd":"/w","hook_event_name":"SessionStart","source":"startup"}`, "additionalContext", true},
		{hook.Gemini, `{"session_id":"s","cwd":"/w","hook_event_name":"BeforeAgent","prompt":"go"}`, "additionalContext", true},
		{hook.Copilot, `{"session_id":"s","cwd":"/w","hook_event_name":"SessionStart","source":"new"}`, "additionalContext", false},
		{hook.Copilot, `{"session_id":"s","cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"go"}`, "", false},
		{hook.Codex, `{"session_id":"s","cwd":"/w","hook_event_name":"SessionStart","source":"startup"}`, "additionalContext", true},
	} {
		got := (&services{run: planning}).handle(row.event, hook.Options{Agent: row.agent})
		out := map[string]any{}
		if got.Stdout != "" {
			if err := json.Unmarshal([]byte(got.Stdout), &out); err != nil {
				t.Fatal(err)
			}
		}
		if row.inner {
			out, _ = out["hookSpecificOutput"].(map[string]any)
		}
		if text, _ := out[row.key].(string); got.Exit != 0 || (text == "") != (row.key == "") {
			t.Errorf("%s: %+v", row.event, got)
		}
	}
}

// Every event of Claude Code is known, and those that gate nothing are silent, even without a
// session or a server. The same goes for events of the other agents.
func TestEventsThatGateNothing(t *testing.T) {
	t.Parallel()
	for agent, names := range map[hook.Agent][]string{
		hook.ClaudeCode: {
			"PostToolBatch", "Notification", "UserPromptExpansion", "SessionEnd", "StopFailure", "PreCompact", "PostCompact", "PreModelSwitch",
			"PostModelSwitch", "Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult",
			"ConfigChange", "WorktreeCreate", "WorktreeRemove", "InstructionsLoaded", "CwdChanged", "FileChanged", "DirectoryAdded", "MessageDisplay",
			"SomethingNew",
		},
		hook.Cursor:  {"afterFileEdit", "afterShellExecution", "afterMCPExecution", "afterAgentResponse", "preCompact", "sessionEnd", "subagentStart", "somethingNew"},
		hook.Gemini:  {"BeforeModel", "AfterModel", "BeforeToolSelection", "Notification", "PreCompress", "SessionEnd"},
		hook.Copilot: {"SessionEnd", "PreCompact", "ErrorOccurred", "Notification"},
	} {
		for _, name := range names {
			s := &services{getErr: errDown}
			got := s.handle(`{"session_id":"s","cwd":"/w","hook_event_name":"`+name+`","error":{"message":"x"}}`, hook.Options{Agent: agent})
			if got.Exit != 0 || got.Stderr != "" || got.Stdout != "" && got.Stdout != "{}" || len(s.asked) != 0 {
				t.Errorf("%s %s: %+v, asked %v", agent, name, got, s.asked)
			}
		}
	}
}

// A call that Interlock has allowed and the agent's own permissions have not is reported as
// one that failed.
func TestPermissionDenied(t *testing.T) {
	t.Parallel()
	s := &services{run: planning, reported: &policyv1.ReportToolCallResponse{}}
	wantSilence(t, "denied", s.handle(`{"session_id":"s","cwd":"/w","hook_event_name":"PermissionDenied","tool_name":"Bash","tool_use_id":"c1",
		"tool_input":{"command":"ls"},"reason":"not now"}`, hook.Options{}))
	s.wantAsked(t, &enginev1.GetRunRequest{SessionId: "s"},
		&policyv1.ReportToolCallRequest{RunId: "run_asked", CallId: "c1", Tool: "Bash", ResultBytes: 7, OutcomeUnknown: true})
}

// The calls of Interlock's own server, that Cursor does not name, are judged by the server.
func TestCursorOwnServer(t *testing.T) {
	t.Parallel()
	for event, judged := range map[string]bool{
		`{"conversation_id":"s","hook_event_name":"beforeMCPExecution","tool_name":"transition","tool_input":"{}","command":"/usr/bin/interlock mcp --session s"}`: false,
		`{"conversation_id":"s","hook_event_name":"beforeMCPExecution","tool_name":"transition","tool_input":"{}","url":"http://127.0.0.1:7420/mcp?session=s"}`:    false,
		`{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"MCP:transition","tool_input":{},"tool_use_id":"c1"}`:                                   false,
		`{"conversation_id":"s","hook_event_name":"beforeMCPExecution","tool_name":"transition","tool_input":"{}","command":"/tmp/evil mcp"}`:                      true,
		`{"conversation_id":"s","hook_event_name":"beforeMCPExecution","tool_name":"transition","tool_input":"{}","url":"http://127.0.0.1:7420.evil.example/mcp"}`: true,
		`{"conversation_id":"s","hook_event_name":"beforeMCPExecution","tool_name":"transition","tool_input":"{}"}`:                                                true,
	} {
		s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY, Message: "no"}}
		got := s.handle(event, hook.Options{Agent: hook.Cursor})
		if denied := got.Stdout != "{}"; denied != judged || got.Exit != 0 {
			t.Errorf("%s: %+v", event, got)
		}
	}
}

// Interlock's own tools pass by the name that each agent has for them.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	for agent, event := range map[hook.Agent]string{
		hook.Copilot: `{"hook_event_name":"PreToolUse","session_id":"other","cwd":"/w","tool_name":"interlock-transition","tool_input":{"event":"GO"}}`,
		hook.Gemini: `{"session_id":"other","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"mcp_interlock_transition","tool_input":{"event":"GO"},
			"mcp_context":{"server_name":"interlock","tool_name":"transition"}}`,
	} {
		s := &services{}
		if got := s.handle(event, hook.Options{Agent: agent}); got != (hook.Answer{}) {
			t.Errorf("%s: %+v", agent, got)
		}
		s.wantAsked(t, &enginev1.GetRunRequest{SessionId: "other"})
	}
}

// The user is asked about a call that was judged before: what stands against it denies it,
// and it is not counted twice.
func TestPermissionRequest(t *testing.T) {
	t.Parallel()
	const event = `{"session_id":"s","cwd":"/w","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -rf /"}}`
	for _, row := range []struct {
		agent    hook.Agent
		decision policyv1.Decision
		code     policyv1.DecisionCode
		want     string
	}{
		{hook.ClaudeCode, policyv1.Decision_DECISION_DENY, policyv1.DecisionCode_DECISION_CODE_COMMAND_NOT_ALLOWED, `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"},"hookEventName":"PermissionRequest"}}`},
		{hook.Copilot, policyv1.Decision_DECISION_DENY, policyv1.DecisionCode_DECISION_CODE_COMMAND_NOT_ALLOWED, `{"behavior":"deny","message":"no"}`},
		{hook.ClaudeCode, policyv1.Decision_DECISION_DENY, policyv1.DecisionCode_DECISION_CODE_MAX_ITERATIONS, ``},
		{hook.ClaudeCode, policyv1.Decision_DECISION_ALLOW, policyv1.DecisionCode_DECISION_CODE_UNSPECIFIED, ``},
		{hook.ClaudeCode, policyv1.Decision_DECISION_ASK, policyv1.DecisionCode_DECISION_CODE_APPROVAL_REQUIRED, ``},
	} {
		s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{Decision: row.decision, Code: row.code, Message: "no", ToolsRestricted: true}}
		if got := s.handle(event, hook.Options{Agent: row.agent}); got.Exit != 0 || got.Stdout != row.want {
			t.Errorf("%s %s: %+v", row.agent, row.code, got)
		}
		s.wantAsked(t, &enginev1.GetRunRequest{SessionId: "s"},
			&policyv1.CheckToolCallRequest{SessionId: "s", Tool: "Bash", Input: []byte(`{"command":"rm -rf /"}`), DryRun: true, Folder: "/w"})
	}
}

// An agent that is about to stop is sent back in the words that each reads.
func TestDialectsStop(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		agent hook.Agent
		event string
		again string
	}{
		{hook.Cursor, `{"conversation_id":"s","hook_event_name":"stop","status":"completed","loop_count":0}`, `{"conversation_id":"s","hook_event_name":"stop","status":"completed","loop_count":1}`},
		{hook.Gemini, `{"session_id":"s","cwd":"/w","hook_event_name":"AfterAgent","stop_hook_active":false}`, `{"session_id":"s","cwd":"/w","hook_event_name":"AfterAgent","stop_hook_active":true}`},
		{hook.Copilot, `{"session_id":"s","cwd":"/w","hook_event_name":"Stop","stop_hook_active":false}`, `{"session_id":"s","cwd":"/w","hook_event_name":"Stop","stop_hook_active":true}`},
	} {
		if got := (&services{run: planning}).handle(row.event, hook.Options{Agent: row.agent}); got.Exit != 0 {
			t.Errorf("%s: %+v", row.event, got)
		}
		wantBlock(t, row.event, (&services{getErr: errDown}).handle(row.event, hook.Options{Agent: row.agent}), "")
		if got := (&services{getErr: errDown}).handle(row.again, hook.Options{Agent: row.agent}); got.Exit != 0 {
			t.Errorf("%s: %+v", row.again, got)
		}
	}
}
