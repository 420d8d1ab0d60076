package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// services are fakes that record what they are asked.
type services struct {
	enginev1.RunServiceClient
	policyv1.PolicyEnforcerServiceClient

	run      *enginev1.Run // of the session; nil for none
	sub      *enginev1.Run // of the session of the subagent "a1"; nil for none
	started  *enginev1.Run // by Start
	now      *enginev1.Run // that run as it is; started when nil
	decision *policyv1.CheckToolCallResponse
	reported *policyv1.ReportToolCallResponse

	getErr, rootErr, startErr, checkErr, reportErr error

	asked []proto.Message
	md    metadata.MD
}

func (s *services) GetRun(ctx context.Context, in *enginev1.GetRunRequest, _ ...grpc.CallOption) (*enginev1.GetRunResponse, error) {
	s.md, _ = metadata.FromOutgoingContext(ctx)
	s.asked = append(s.asked, in)
	switch {
	case s.getErr != nil:
		return nil, s.getErr
	case in.GetRunId() != "" && s.rootErr != nil:
		return nil, s.rootErr
	case in.GetRunId() != "" && s.now != nil:
		return &enginev1.GetRunResponse{Run: s.now}, nil
	case in.GetRunId() != "":
		return &enginev1.GetRunResponse{Run: s.started}, nil
	}
	run := map[string]*enginev1.Run{"s": s.run, "s/a1": s.sub}[in.GetSessionId()]
	if run == nil {
		return nil, fault.New(fault.NotFound, "no run")
	}
	return &enginev1.GetRunResponse{Run: run, AskedRunId: "run_asked"}, nil
}

func (s *services) StartRun(_ context.Context, in *enginev1.StartRunRequest, _ ...grpc.CallOption) (*enginev1.StartRunResponse, error) {
	s.asked = append(s.asked, in)
	return &enginev1.StartRunResponse{Run: s.started}, s.startErr
}

func (s *services) CheckToolCall(_ context.Context, in *policyv1.CheckToolCallRequest, _ ...grpc.CallOption) (*policyv1.CheckToolCallResponse, error) {
	s.asked = append(s.asked, in)
	if s.decision == nil && s.checkErr == nil {
		return nil, fault.New(fault.NotFound, "no run, and no policy").GRPCStatus().Err()
	}
	return s.decision, s.checkErr
}

func (s *services) ReportToolCall(_ context.Context, in *policyv1.ReportToolCallRequest, _ ...grpc.CallOption) (*policyv1.ReportToolCallResponse, error) {
	s.asked = append(s.asked, in)
	return s.reported, s.reportErr
}

func (s *services) handle(event string, opts hook.Options) hook.Answer {
	h := hook.Handler{Runs: s, Policy: s}
	return h.Handle(context.Background(), []byte(event), opts)
}

// door lets callers in to the hook; without a check of tokens it lets everybody in.
func door(s *services, h hook.Handler, identify func(context.Context, string) (auth.Principal, error)) http.Handler {
	h.Runs, h.Policy = s, s
	return access.Guard{Identify: identify, AllowAnonymous: identify == nil}.Protect(&h, h.Refuse)
}

func (s *services) wantAsked(t *testing.T, want ...proto.Message) {
	t.Helper()
	if diff := cmp.Diff(want, s.asked, protocmp.Transform()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

var planning = &enginev1.Run{
	RunId: "run_1", Workflow: "bugfix", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, State: "planning",
	Rules: &enginev1.StateRules{ToolsRestricted: true, AllowedTools: []string{"Read"}},
}

// specific is the hookSpecificOutput of an answer, which has text only.
func specific(t *testing.T, a hook.Answer) map[string]string {
	t.Helper()
	var out struct {
		Specific map[string]string `json:"hookSpecificOutput"`
	}
	if a.Exit != 0 || a.Stderr != "" || json.Unmarshal([]byte(a.Stdout), &out) != nil {
		t.Fatalf("answer %+v", a)
	}
	return out.Specific
}

func wantSilence(t *testing.T, name string, a hook.Answer) {
	t.Helper()
	if a != (hook.Answer{}) {
		t.Errorf("%s: %+v", name, a)
	}
}

func wantBlock(t *testing.T, name string, a hook.Answer, words string) {
	t.Helper()
	if a.Exit != 2 || a.Stdout != "" || !strings.HasPrefix(a.Stderr, "Interlock blocks this: ") || !strings.Contains(a.Stderr, words) {
		t.Errorf("%s: %+v; want a block with %q", name, a, words)
	}
}

const preTool = `{"session_id":"s","hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Edit","tool_use_id":"c1","tool_input":{"file_path":"/w/a"}}`

func TestPreToolUse(t *testing.T) {
	t.Parallel()
	type answers map[hook.Agent]string // the permissionDecision; empty for silence
	for name, tc := range map[string]struct {
		decision   policyv1.Decision
		restricted bool
		message    string
		want       answers
		reason     string
	}{
		"allowed by the state": {policyv1.Decision_DECISION_ALLOW, true, "", answers{hook.ClaudeCode: "allow", hook.Codex: ""}, "planning"},
		"not restricted":       {policyv1.Decision_DECISION_ALLOW, false, "", answers{hook.ClaudeCode: "", hook.Codex: ""}, ""},
		"ask":                  {policyv1.Decision_DECISION_ASK, true, "who says so?", answers{hook.ClaudeCode: "deny", hook.Codex: "deny"}, "Interlock asks people first: who says so?"},
		"deny":                 {policyv1.Decision_DECISION_DENY, true, "not here", answers{hook.ClaudeCode: "deny", hook.Codex: "deny"}, "not here"},
		"deny without a word":  {policyv1.Decision_DECISION_DENY, true, "", answers{hook.ClaudeCode: "deny", hook.Codex: "deny"}, "does not allow"},
		"no decision":          {policyv1.Decision_DECISION_UNSPECIFIED, true, "", answers{hook.ClaudeCode: "deny", hook.Codex: "deny"}, "does not allow"},
		"unknown decision":     {99, false, "?", answers{hook.ClaudeCode: "deny", hook.Codex: "deny"}, "?"},
	} {
		for agent, want := range tc.want {
			s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{
				Decision: tc.decision, ToolsRestricted: tc.restricted, Message: tc.message, State: "planning",
			}}
			a := s.handle(preTool, hook.Options{Agent: agent})
			s.wantAsked(t, &enginev1.GetRunRequest{SessionId: "s"},
				&policyv1.CheckToolCallRequest{SessionId: "s", Tool: "Edit", Input: []byte(`{"file_path":"/w/a"}`), CallId: "c1", Folder: "/w"})
			if want == "" {
				wantSilence(t, name, a)
				continue
			}
			got := specific(t, a)
			if got["hookEventName"] != "PreToolUse" || got["permissionDecision"] != want || !strings.Contains(got["permissionDecisionReason"], tc.reason) {
				t.Errorf("%s for %s: %v", name, agent, got)
			}
		}
	}
}

func TestSessionWithoutRun(t *testing.T) {
	t.Parallel()
	// Nothing is enforced where nobody asked for a workflow, and no policy holds.
	s := &services{}
	wantSilence(t, "no workflow", s.handle(preTool, hook.Options{}))
	s.wantAsked(t, &enginev1.GetRunRequest{SessionId: "s"},
		&policyv1.CheckToolCallRequest{SessionId: "s", Tool: "Edit", Input: []byte(`{"file_path":"/w/a"}`), CallId: "c1", Folder: "/w"})

	// With one, the session is put on it first.
	s = &services{started: planning, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY, Message: "no"}}
	if got := specific(t, s.handle(preTool, hook.Options{Workflow: "bugfix"})); got["permissionDecision"] != "deny" {
		t.Errorf("%v", got)
	}
	s.wantAsked(t, &enginev1.GetRunRequest{SessionId: "s"},
		&enginev1.StartRunRequest{Workflow: "bugfix", SessionId: "s", Workspace: "/w", IdempotencyKey: "hook-autostart"},
		&enginev1.GetRunRequest{RunId: "run_1"},
		&policyv1.CheckToolCallRequest{SessionId: "s", Tool: "Edit", Input: []byte(`{"file_path":"/w/a"}`), CallId: "c1", Folder: "/w"})

	// One that it left, which its definition allows, is not forced on it again.
	// The repeat of the start answers the run as it was in the beginning.
	s = &services{started: planning, now: &enginev1.Run{RunId: "run_1", Status: enginev1.RunStatus_RUN_STATUS_CANCELLED}}
	wantSilence(t, "left", s.handle(preTool, hook.Options{Workflow: "bugfix"}))

	s = &services{startErr: fault.New(fault.NotFound, "no workflow bugfix").GRPCStatus().Err()}
	wantBlock(t, "unknown workflow", s.handle(preTool, hook.Options{Workflow: "bugfix"}), "no workflow bugfix")
	// Only tools and prompts start a run.
	for _, event := range []string{"PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop"} {
		s = &services{}
		wantSilence(t, event, s.handle(strings.Replace(preTool, "PreToolUse", event, 1), hook.Options{Workflow: "bugfix"}))
		s.wantAsked(t, &enginev1.GetRunRequest{SessionId: "s"})
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	get := &enginev1.GetRunRequest{SessionId: "s"}
	for name, tc := range map[string]struct {
		event string
		want  *policyv1.ReportToolCallRequest // nil for none
	}{
		"edit": {
			`"PostToolUse","tool_name":"Edit","tool_use_id":"c","tool_input":{"file_path":"a"},"tool_response":{"ok":true}`,
			&policyv1.ReportToolCallRequest{Tool: "Edit", Ok: true, FilesChanged: []string{"/w/a"}, ResultBytes: 11},
		},
		"no file": {
			`"PostToolUse","tool_name":"Read","tool_use_id":"c","tool_input":{"file_path":"/a"},"tool_response":"é"`,
			&policyv1.ReportToolCallRequest{Tool: "Read", Ok: true, ResultBytes: 4},
		},
		"output that is not UTF-8": {
			`"PostToolUse","tool_name":"Bash","tool_use_id":"c","tool_response":"` + "\xff" + `\ud800"`,
			&policyv1.ReportToolCallRequest{Tool: "Bash", Ok: true, ResultBytes: 9},
		},
		"failure": {
			`"PostToolUseFailure","tool_name":"Edit","tool_use_id":"c","tool_input":{"file_path":"/a"},"error":"no such file"`,
			&policyv1.ReportToolCallRequest{Tool: "Edit", ResultBytes: 12},
		},
		"no id":    {`"PostToolUse","tool_name":"Edit","tool_input":{"file_path":"/a"}`, nil},
		"own tool": {`"PostToolUse","tool_name":"mcp__interlock__transition","tool_use_id":"c"`, nil},
	} {
		s := &services{run: planning}
		wantSilence(t, name, s.handle(`{"session_id":"s","cwd":"/w","hook_event_name":`+tc.event+`}`, hook.Options{}))
		if tc.want == nil {
			if len(s.asked) > 0 {
				t.Errorf("%s: asked %v", name, s.asked)
			}
			continue
		}
		tc.want.RunId, tc.want.CallId = "run_asked", "c"
		if diff := cmp.Diff([]proto.Message{get, tc.want}, s.asked, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "SubagentStart"} {
		for _, agent := range []hook.Agent{hook.ClaudeCode, hook.Codex} {
			s := &services{started: planning}
			got := specific(t, s.handle(`{"session_id":"s","hook_event_name":"`+event+`"}`, hook.Options{Agent: agent, Workflow: "bugfix"}))
			if got["hookEventName"] != event || !strings.Contains(got["additionalContext"], "Phase: planning. Tools: Read.") {
				t.Errorf("%s: %v", event, got)
			}
		}
		if event != "SessionStart" { // which has a line always: TestStandingLine
			wantSilence(t, event, (&services{}).handle(`{"session_id":"s","hook_event_name":"`+event+`"}`, hook.Options{}))
		}
	}
	// The agent itself, and subagents without a branch, may stop at any time.
	for _, event := range []string{"Stop", "SubagentStop"} {
		wantSilence(t, event, (&services{run: planning}).handle(`{"session_id":"s","hook_event_name":"`+event+`"}`, hook.Options{}))
	}
}

func TestFailuresBlock(t *testing.T) {
	t.Parallel()
	down := fault.New(fault.Unavailable, "the store is away").GRPCStatus().Err()
	event := func(name string) string { return strings.Replace(preTool, "PreToolUse", name, 1) }
	all := []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "Stop", "SubagentStop"}
	for _, name := range all {
		wantBlock(t, name+" without an engine", (&services{getErr: down}).handle(event(name), hook.Options{}), "the store is away")
		// That somebody stopped before matters to stops alone.
		again := strings.Replace(event(name), "{", `{"stop_hook_active":true,`, 1)
		a := (&services{getErr: down}).handle(again, hook.Options{})
		if stops := strings.HasSuffix(name, "Stop"); stops && (a.Exit != 0 || a.Stdout != "" || !strings.Contains(a.Stderr, "away")) {
			t.Errorf("%s again: %+v", name, a)
		} else if !stops {
			wantBlock(t, name+" again", a, "the store is away")
		}
	}
	wantBlock(t, "check", (&services{run: planning, checkErr: down}).handle(preTool, hook.Options{}), "the store is away")
	wantBlock(t, "report", (&services{run: planning, reportErr: down}).handle(event("PostToolUse"), hook.Options{}), "the store is away")
	secret := context.DeadlineExceeded
	wantBlock(t, "time", (&services{run: planning, checkErr: secret}).handle(preTool, hook.Options{}), "")
	wantBlock(t, "agent", (&services{run: planning}).handle(preTool, hook.Options{Agent: "aider"}), `unknown agent "aider"`)
	for name, data := range map[string]string{
		"nothing": "", "blank": " ", "no JSON": "{", "a list": "[]", "null": "null", "a number": "7",
		"no session":           `{"hook_event_name":"PreToolUse","tool_name":"Edit"}`,
		"no tool":              `{"session_id":"s","hook_event_name":"PreToolUse"}`,
		"no event":             `{"session_id":"s"}`,
		"unknown, with a call": `{"session_id":"s","hook_event_name":"BeforeTool","tool_name":"Edit"}`,
		"unknown, with a tool of another spelling": `{"session_id":"s","hook_event_name":"ToolStart","toolName":"Bash"}`,
		"unknown, with a command":                  `{"session_id":"s","hook_event_name":"ShellStart","command":"rm -rf x"}`,
		"unknown, with a call inside":              `{"session_id":"s","hook_event_name":"Batch","data":{"calls":[{"name":"Bash"}]}}`,
		"other case":                               `{"session_id":"s","hook_event_name":"pretooluse","tool_name":"Edit"}`,
		"named twice":                              `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Edit","tool_name":"Read"}`,
		"case twice":                               `{"session_id":"s","hook_event_name":"PreToolUse","Tool_Name":"Read"}`,
		"wrong type":                               `{"session_id":["s"],"hook_event_name":"PreToolUse","tool_name":"Edit"}`,
		"two events":                               preTool + preTool,
		"hidden input": `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash",` +
			`"tool_input":{"command":"rm -rf /","command":"ls"}}`,
	} {
		s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW}}
		wantBlock(t, name, s.handle(data, hook.Options{}), "")
		if len(s.asked) > 0 {
			t.Errorf("%s: asked %v", name, s.asked)
		}
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ASK, Message: "?"}}
	serve := func(body string, header http.Header) hook.Answer {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/hook", strings.NewReader(body))
		r.Header = header
		w := httptest.NewRecorder()
		door(s, hook.Handler{}, nil).ServeHTTP(w, r)
		var a struct {
			Exit           *int
			Stdout, Stderr string
		}
		// The client takes no answer without an exit code, so it is always there.
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.Exit == nil || w.Code != http.StatusOK {
			t.Fatalf("status %d, %s, %v", w.Code, w.Body, err)
		}
		return hook.Answer{Exit: *a.Exit, Stdout: a.Stdout, Stderr: a.Stderr}
	}
	got := specific(t, serve(preTool, http.Header{"Authorization": {"Bearer t"}, "X-Interlock-Namespace": {"ns"}, "X-Interlock-Agent": {"codex"}}))
	if got["permissionDecision"] != "deny" {
		t.Errorf("%v", got)
	}
	if a, n := s.md.Get("authorization"), s.md.Get("interlock-namespace"); len(a) != 1 || a[0] != "Bearer t" || len(n) != 1 || n[0] != "ns" {
		t.Errorf("metadata %v", s.md)
	}
	wantBlock(t, "nothing", serve("", nil), "")
	wantBlock(t, "too large", serve(strings.Repeat(" ", 9<<20), nil), "could not be read")
	s.run, s.decision = nil, nil
	wantSilence(t, "no run", serve(preTool, nil))
}

// FuzzHandle: no event is let through undecided. Whatever is not an event that is
// known blocks, and a tool is only allowed as a whole event asked for it.
func FuzzHandle(f *testing.F) {
	f.Add([]byte(preTool))
	f.Add([]byte(`{"session_id":"s","hook_event_name":"Stop","stop_hook_active":true}`))
	f.Add([]byte(`{"session_id":"s","agent_id":"a1","hook_event_name":"PreToolUse","tool_name":"mcp__interlock__transition","tool_input":{"agent":"a2"}}`))
	f.Add([]byte(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"apply_patch","tool_use_id":"c","tool_input":{"command":"*** Add File: a"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY, Message: "no"}}
		a := s.handle(string(data), hook.Options{})
		switch {
		case a.Exit == 2 && a.Stdout == "" && a.Stderr != "":
		case a.Exit == 0 && len(s.asked) > 0:
			if _, check := s.asked[len(s.asked)-1].(*policyv1.CheckToolCallRequest); check && !strings.Contains(a.Stdout, `"deny"`) {
				t.Errorf("let through: %+v of %q", a, data)
			}
		case a.Exit == 0 && a.Stdout == "" && (strings.Contains(string(data), "PostToolUse") || strings.Contains(string(data), `\u`)):
			// Own tools, and calls without an id, are not reported.
		default:
			t.Errorf("%+v of %q", a, data)
		}
	})
}

// unreadable fails the test when a request's body is read.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the event of an unknown caller was read")
	return 0, io.EOF
}

func TestEventsOfUnknownCallersAreNotRead(t *testing.T) {
	t.Parallel()
	known := func(_ context.Context, token string) (auth.Principal, error) {
		if token != "good" {
			return auth.Principal{}, errors.New("unknown")
		}
		return auth.Principal{Name: "agent", Role: auth.Agent}, nil
	}
	for authorization, blocked := range map[string]bool{"": true, "Bearer bad": true, "Basic good": true, "Bearer good": false} {
		s := &services{}
		r := httptest.NewRequest(http.MethodPost, "/v1/hook", strings.NewReader(preTool))
		if blocked {
			r.Body = io.NopCloser(unreadable{t})
		}
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		door(s, hook.Handler{}, known).ServeHTTP(w, r)
		if got := strings.Contains(w.Body.String(), `"exit":2`); got != blocked {
			t.Errorf("%q: %s", authorization, w.Body)
		}
	}
}
