package hook_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// stateStore is a fake that knows sessions by name and records what it is asked.
type stateStore struct {
	statev1.SessionServiceClient
	known   map[string]*statev1.Session
	prompts []string // of stops, one after the other; none at the end
	err     error    // of everything
	failed  map[string]error
	asked   []proto.Message
}

// tree is a state-store that knows a root "s" with a state, and others.
func tree(others ...*statev1.Session) *stateStore {
	root := &statev1.Session{SessionId: "ses_s", Name: "s", RootSessionId: "ses_s", WorkflowStateId: "wfstate_1", Status: statev1.SessionStatus_SESSION_STATUS_RUNNING}
	st := &stateStore{known: map[string]*statev1.Session{"s": root}, failed: map[string]error{}}
	for _, session := range others {
		st.known[session.GetName()] = session
	}
	return st
}

func child(name string, status statev1.SessionStatus) *statev1.Session {
	return &statev1.Session{
		SessionId: "ses_" + name, Name: name, ParentSessionId: "ses_p", RootSessionId: "ses_s", WorkflowStateId: "wfstate_1", Status: status,
	}
}

func (s *stateStore) enter(method string, in proto.Message) error {
	s.asked = append(s.asked, in)
	if s.err != nil {
		return s.err
	}
	return s.failed[method]
}

func (s *stateStore) GetSession(_ context.Context, in *statev1.GetSessionRequest, _ ...grpc.CallOption) (*statev1.GetSessionResponse, error) {
	if err := s.enter("Get", in); err != nil {
		return nil, err
	}
	if session := s.known[in.GetSessionId()]; session != nil {
		return &statev1.GetSessionResponse{Session: session}, nil
	}
	return nil, unknownSession
}

func (s *stateStore) CreateSession(_ context.Context, in *statev1.CreateSessionRequest, _ ...grpc.CallOption) (*statev1.CreateSessionResponse, error) {
	if err := s.enter("Create", in); err != nil {
		return nil, err
	}
	s.known[in.GetName()] = child(in.GetName(), statev1.SessionStatus_SESSION_STATUS_RUNNING)
	return &statev1.CreateSessionResponse{Session: s.known[in.GetName()], Created: true}, nil
}

func (s *stateStore) StopSession(_ context.Context, in *statev1.StopSessionRequest, _ ...grpc.CallOption) (*statev1.StopSessionResponse, error) {
	if err := s.enter("Stop", in); err != nil {
		return nil, err
	}
	if len(s.prompts) == 0 {
		return &statev1.StopSessionResponse{}, nil
	}
	prompt := s.prompts[0]
	s.prompts = s.prompts[1:]
	return &statev1.StopSessionResponse{Prompt: prompt}, nil
}

func (s *stateStore) ResumeSession(_ context.Context, in *statev1.ResumeSessionRequest, _ ...grpc.CallOption) (*statev1.ResumeSessionResponse, error) {
	if err := s.enter("Resume", in); err != nil {
		return nil, err
	}
	if s.known[in.GetSessionId()] == nil && !strings.HasPrefix(in.GetSessionId(), "ses_") {
		return nil, unknownSession
	}
	return &statev1.ResumeSessionResponse{}, nil
}

func (s *stateStore) wantAsked(t *testing.T, name string, want ...proto.Message) {
	t.Helper()
	if diff := cmp.Diff(want, s.asked, protocmp.Transform()); diff != "" {
		t.Errorf("%s asks the state-store (-want +got):\n%s", name, diff)
	}
}

var (
	unknownSession = fault.New(fault.NotFound, "there is no such session").GRPCStatus().Err()
	storeDown      = fault.New(fault.Unavailable, "the state-store is away").GRPCStatus().Err()

	getMain  = &statev1.GetSessionRequest{SessionId: "s"}
	getChild = &statev1.GetSessionRequest{SessionId: "s/a1", Session: "s"}
	makeOne  = &statev1.CreateSessionRequest{Name: "s/a1", Parent: "s", Session: "s"}
	stopOne  = &statev1.StopSessionRequest{SessionId: "ses_s/a1", InPlace: true}

	running = statev1.SessionStatus_SESSION_STATUS_RUNNING
	ended   = statev1.SessionStatus_SESSION_STATUS_ENDED
)

// share handles an event where the agents share a state.
func (s *services) share(st *stateStore, event string, agent hook.Agent) hook.Answer {
	h := hook.Handler{Runs: s, Policy: s, Sessions: st}
	return h.Handle(context.Background(), []byte(event), hook.Options{Agent: agent})
}

// reasonOf is why an agent is sent back; empty when it may stop.
func reasonOf(t *testing.T, name string, a hook.Answer) string {
	t.Helper()
	if a == (hook.Answer{}) {
		return ""
	}
	var out struct{ Decision, Reason string }
	if err := json.Unmarshal([]byte(a.Stdout), &out); err != nil || a.Exit != 0 || a.Stderr != "" || out.Decision != "block" || out.Reason == "" {
		t.Fatalf("%s: %+v", name, a)
	}
	return out.Reason
}

const (
	subStop = `{"session_id":"s","agent_id":"a1","hook_event_name":"SubagentStop"}`
	insists = `{"session_id":"s","agent_id":"a1","hook_event_name":"SubagentStop","stop_hook_active":true}`
	mainEnd = `{"session_id":"s","hook_event_name":"Stop"}`
)

// TestSubagentsReport: a subagent is asked for its report as often as the
// state-store says, however it insists, and then let go (S11.2).
func TestSubagentsReport(t *testing.T) {
	t.Parallel()
	for _, agent := range []hook.Agent{hook.ClaudeCode, hook.Codex} {
		st := tree()
		st.prompts = []string{"update it", "update it!", "NOW"}
		event := subStop
		for _, want := range append(st.prompts, "") {
			if got := reasonOf(t, want, (&services{run: planning}).share(st, event, agent)); got != want {
				t.Errorf("%s: told %q, want %q", agent, got, want)
			}
			event = insists
		}
		st.wantAsked(t, "four stops", getMain, getChild, makeOne, stopOne, getMain, getChild, stopOne,
			getMain, getChild, stopOne, getMain, getChild, stopOne)
	}
}

// TestBranchBeforeReport: a subagent is first sent back to its branch, which is no
// attempt to have the state updated.
func TestBranchBeforeReport(t *testing.T) {
	t.Parallel()
	st := tree(child("s/a1", running))
	st.prompts = []string{"update it"}
	s := &services{run: planning, sub: linting}
	if got := reasonOf(t, "first", s.share(st, subStop, "")); !strings.Contains(got, `Your branch "lint" has not ended`) {
		t.Errorf("told %q", got)
	}
	st.wantAsked(t, "an open branch")
	if got := reasonOf(t, "second", s.share(st, insists, "")); got != "update it" {
		t.Errorf("told %q", got)
	}
}

// TestWhoReports: only children that share a state.
func TestWhoReports(t *testing.T) {
	t.Parallel()
	stopMain := &statev1.StopSessionRequest{SessionId: "ses_s", InPlace: true}
	for name, tc := range map[string]struct {
		store *stateStore
		event string
		asked []proto.Message
		stops bool // and is sent back
	}{
		"subagent":                    {tree(child("s/a1", running)), subStop, []proto.Message{getMain, getChild, stopOne}, true},
		"subagent, tree without":      {&stateStore{known: map[string]*statev1.Session{"s": {SessionId: "ses_s"}}}, subStop, []proto.Message{getMain}, false},
		"subagent, nobody knows":      {&stateStore{}, subStop, []proto.Message{getMain}, false},
		"subagent without an id":      {tree(), `{"session_id":"s","hook_event_name":"SubagentStop"}`, nil, false},
		"the root's turn":             {tree(), mainEnd, []proto.Message{getMain}, false},
		"an agent that nobody knows":  {&stateStore{}, mainEnd, []proto.Message{getMain}, false},
		"an agent that is a child":    {tree(child("s", running)), mainEnd, []proto.Message{getMain, stopMain}, true},
		"a subagent that simply ends": {tree(child("s/a1", running)), strings.Replace(subStop, "Subagent", "", 1), []proto.Message{getMain, getChild, stopOne}, true},
	} {
		tc.store.prompts = []string{"update it"}
		if got := reasonOf(t, name, (&services{}).share(tc.store, tc.event, "")); (got != "") != tc.stops {
			t.Errorf("%s: told %q", name, got)
		}
		tc.store.wantAsked(t, name, tc.asked...)
	}
}

// TestAgentsBeginToWork: the state-store learns of it, and makes a session for a
// subagent of a tree that shares a state (S11.1).
func TestAgentsBeginToWork(t *testing.T) {
	t.Parallel()
	resume := func(name string) proto.Message { return &statev1.ResumeSessionRequest{SessionId: name} }
	// What names the component before the first turn (S15.2).
	look := func(name string) proto.Message { return &statev1.GetSessionRequest{SessionId: name} }
	busy := tree()
	busy.failed["Resume"] = fault.New(fault.SessionBusy, "a runner is at work").GRPCStatus().Err()
	for name, tc := range map[string]struct {
		store *stateStore
		event string
		asked []proto.Message
	}{
		"prompt":                    {tree(), `"UserPromptSubmit"`, []proto.Message{resume("s")}},
		"prompt, nobody knows":      {&stateStore{}, `"UserPromptSubmit"`, []proto.Message{resume("s")}},
		"prompt by a runner":        {busy, `"UserPromptSubmit"`, []proto.Message{resume("s")}},
		"start":                     {tree(), `"SessionStart"`, []proto.Message{look("s")}},
		"subagent":                  {tree(), `"SubagentStart","agent_id":"a1"`, []proto.Message{getMain, getChild, makeOne, look("s/a1")}},
		"subagent, known":           {tree(child("s/a1", running)), `"SubagentStart","agent_id":"a1"`, []proto.Message{getMain, getChild, look("s/a1")}},
		"subagent, again":           {tree(child("s/a1", ended)), `"SubagentStart","agent_id":"a1"`, []proto.Message{getMain, getChild, resume("ses_s/a1"), look("s/a1")}},
		"subagent, nobody knows":    {&stateStore{}, `"SubagentStart","agent_id":"a1"`, []proto.Message{getMain, look("s/a1")}},
		"subagent without an id":    {tree(), `"SubagentStart"`, []proto.Message{look("s")}},
		"call":                      {tree(), `"PreToolUse","agent_id":"a1","tool_name":"Edit","tool_use_id":"c"`, nil},
		"call of a state tool":      {tree(), `"PreToolUse","agent_id":"a1","tool_name":"mcp__interlock__state_patch","tool_use_id":"c"`, nil},
		"result":                    {tree(), `"PostToolUse","agent_id":"a1","tool_name":"Edit","tool_use_id":"c"`, nil},
		"result of a state tool":    {tree(), `"PostToolUse","tool_name":"mcp__interlock__state_patch","tool_use_id":"c"`, nil},
		"result that was a failure": {tree(), `"PostToolUseFailure","tool_name":"Edit","tool_use_id":"c"`, nil},
	} {
		s := &services{run: planning, decision: allowed}
		if a := s.share(tc.store, `{"session_id":"s","hook_event_name":`+tc.event+`}`, ""); a.Exit != 0 {
			t.Errorf("%s: %+v", name, a)
		}
		tc.store.wantAsked(t, name, tc.asked...)
	}
}

// TestWithoutTheStateStore: what cannot be decided blocks, but nobody is kept
// from stopping twice.
func TestWithoutTheStateStore(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{
		"stop": mainEnd, "subagent's stop": subStop, "prompt": `{"session_id":"s","hook_event_name":"UserPromptSubmit"}`,
		"subagent": `{"session_id":"s","agent_id":"a1","hook_event_name":"SubagentStart"}`,
	} {
		for _, failing := range []string{"Get", "Create", "Stop", "Resume"} {
			st := tree()
			if failing == "Get" && name == "prompt" || failing == "Create" && !strings.Contains(name, "subagent") ||
				failing == "Stop" && name != "subagent's stop" || failing == "Resume" && name != "prompt" {
				continue // not asked
			}
			st.failed[failing] = storeDown
			wantBlock(t, name+" without "+failing, (&services{run: planning}).share(st, event, ""), "the state-store is away")
			again := (&services{run: planning}).share(st, strings.Replace(event, "{", `{"stop_hook_active":true,`, 1), "")
			if stops := strings.Contains(name, "stop"); stops && (again.Exit != 0 || again.Stdout != "" || !strings.Contains(again.Stderr, "away")) {
				t.Errorf("%s without %s, again: %+v", name, failing, again)
			} else if !stops && again.Exit != 2 {
				t.Errorf("%s without %s, again: %+v", name, failing, again)
			}
		}
	}
	// Calls are judged without it.
	st := tree()
	st.err = storeDown
	s := &services{run: planning, decision: allowed}
	if got := specific(t, s.share(st, preTool, "")); got["permissionDecision"] != "allow" {
		t.Errorf("a call: %v", got)
	}
}

// TestLongPrompts: what to do is not cut off, however long the state is.
func TestLongPrompts(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{
		"small": `{"a":1}`, "large": strings.Repeat("x", 60_000), "wide": strings.Repeat("\u00e9\u4e16", 12_000), "at the edge": strings.Repeat("x", 9_500-16),
	} {
		st := tree()
		prompt := "## Begin\n" + state + "\nThe end"
		st.prompts = []string{prompt}
		got := reasonOf(t, name, (&services{}).share(st, subStop, ""))
		if len(prompt) <= 9_500 {
			if got != prompt {
				t.Errorf("%s: a prompt of %d bytes was cut to %d", name, len(prompt), len(got))
			}
			continue
		}
		if !strings.HasPrefix(got, "## Begin\n") || !strings.HasSuffix(got, "\nThe end") || !strings.Contains(got, "`state_read`") ||
			len(got) > 9_500 || len(got) < 9_000 || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes of %d: %.100s ... %s", name, len(got), len(prompt), got, got[max(0, len(got)-100):])
		}
	}
}

// TestStateToolsAreOwn: they are never gated, counted or reported, and act for the
// subagent that calls (S3, S11.1).
func TestStateToolsAreOwn(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"state_create", "state_read", "state_update", "state_patch", "state_schema"} {
		for _, name := range []string{"mcp__interlock__" + tool, "mcp__statewright__statewright_" + tool, "mcp__interlock__interlock_" + tool} {
			call := `{"session_id":"s","agent_id":"a1","tool_name":"` + name + `","tool_use_id":"c","tool_input":{"n":9007199254740993},"hook_event_name":`
			s := &services{}
			wantUpdated(t, name, s.handle(call+`"PreToolUse"}`, hook.Options{}), `{"agent":"a1","n":9007199254740993}`)
			for _, event := range []string{"PostToolUse", "PostToolUseFailure"} {
				s := &services{run: planning}
				wantSilence(t, name, s.handle(call+`"`+event+`"}`, hook.Options{}))
				s.wantAsked(t)
			}
		}
	}
	// The same word from another server is a tool like any other.
	s := &services{run: planning}
	s.handle(`{"session_id":"s","tool_name":"mcp__evil__state_patch","tool_use_id":"c","hook_event_name":"PostToolUse"}`, hook.Options{})
	if len(s.asked) != 2 {
		t.Errorf("asked %v", s.asked)
	}
}
