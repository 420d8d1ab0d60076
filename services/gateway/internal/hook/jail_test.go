package hook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

const (
	jailCommand = "/usr/bin/interlock jail --data-dir /d"
	bashCall    = `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"go test ./... 'x'","timeout":5,"run_in_background":true}}`
	wrapped     = jailCommand + " --run 'run_1' --call 't1' -- 'go test ./... '\\''x'\\'''\n\\builtin exit\n\\exit\ngo test ./... 'x'"
)

var withJail = hook.Jail{Level: 3, Command: jailCommand}

func jailed(restricted bool) *policyv1.CheckToolCallResponse {
	return &policyv1.CheckToolCallResponse{
		Decision: policyv1.Decision_DECISION_ALLOW, ToolsRestricted: restricted, State: "planning", RunId: "run_1", CallId: "t1",
		Jail: &policyv1.Jail{Level: 3, Digest: "sha256:x"},
	}
}

// allCalls are the calls that were checked.
func (s *services) allCalls() (calls []*policyv1.CheckToolCallRequest) {
	for _, m := range s.asked {
		if call, ok := m.(*policyv1.CheckToolCallRequest); ok {
			calls = append(calls, call)
		}
	}
	return calls
}

// allReports are the results that were reported.
func (s *services) allReports() (reports []*policyv1.ReportToolCallRequest) {
	for _, m := range s.asked {
		if report, ok := m.(*policyv1.ReportToolCallRequest); ok {
			reports = append(reports, report)
		}
	}
	return reports
}

// S20: an allowed line is replaced by one that runs it in its jail, and the rest of the input stays. It is granted where the
// state grants it only.
func TestLinesRunInJails(t *testing.T) {
	t.Parallel()
	for _, restricted := range []bool{true, false} {
		s := &services{run: planning, decision: jailed(restricted)}
		a := s.handle(bashCall, hook.Options{Jail: withJail})
		var out struct {
			Specific map[string]any `json:"hookSpecificOutput"`
		}
		if a.Exit != 0 || json.Unmarshal([]byte(a.Stdout), &out) != nil {
			t.Fatalf("%+v", a)
		}
		want := map[string]any{
			"hookEventName": "PreToolUse",
			"updatedInput":  map[string]any{"command": wrapped, "timeout": 5.0, "run_in_background": true},
		}
		if restricted {
			want["permissionDecision"], want["permissionDecisionReason"] = "allow", "allowed by workflow state planning"
		}
		if diff := cmp.Diff(want, out.Specific); diff != "" {
			t.Errorf("restricted %v (-want +got):\n%s", restricted, diff)
		}
		if calls := s.allCalls(); len(calls) != 1 || calls[0].GetJailLevel() != 3 {
			t.Errorf("asked %v", calls)
		}
	}
}

// S20: a call whose line cannot be replaced is judged without a jail, and blocked where the decision relies on one.
func TestNoJailWhereTheLineCannotBeReplaced(t *testing.T) {
	t.Parallel()
	event := func(tool, input string) string {
		return fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":%q,"tool_use_id":"t1","tool_input":%s}`, tool, input)
	}
	unrestricted := &enginev1.Run{RunId: "run_1", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, State: "planning"}
	for name, tc := range map[string]struct {
		event string
		opts  hook.Options
		run   *enginev1.Run
	}{
		"no jail":              {bashCall, hook.Options{}, planning},
		"level 0":              {bashCall, hook.Options{Jail: hook.Jail{Command: jailCommand}}, planning},
		"no program":           {bashCall, hook.Options{Jail: hook.Jail{Level: 3}}, planning},
		"another shell":        {event("PowerShell", `{"command": "ls"}`), hook.Options{Jail: withJail}, planning},
		"a monitor":            {event("Monitor", `{"command": "ls"}`), hook.Options{Jail: withJail}, planning},
		"a tool of a server":   {event("mcp__sh__Bash", `{"command": "ls"}`), hook.Options{Jail: withJail}, planning},
		"no line":              {event("Bash", `{"cmd": "ls"}`), hook.Options{Jail: withJail}, planning},
		"a line that is none":  {event("Bash", `{"command": ["ls"]}`), hook.Options{Jail: withJail}, planning},
		"a skill's":            {strings.Replace(bashCall, "PreToolUse", "PreSkillShellCommand", 1), hook.Options{Jail: withJail}, planning},
		"what Cursor asks too": {`{"hook_event_name":"beforeShellExecution","conversation_id":"s","command":"ls"}`, hook.Options{Jail: withJail, Agent: hook.Cursor}, planning},
		"what Copilot types":   {`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"write_bash","tool_input":{"command":"ls"}}`, hook.Options{Jail: withJail, Agent: hook.Copilot}, planning},
		"Copilot, not granted": {`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"bash","tool_input":{"command":"ls"}}`, hook.Options{Jail: withJail, Agent: hook.Copilot}, unrestricted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &services{run: tc.run, decision: jailed(true)}
			a := s.handle(tc.event, tc.opts)
			if calls := s.allCalls(); len(calls) != 1 || calls[0].GetJailLevel() != 0 {
				t.Errorf("asked %v", calls)
			}
			if a.Exit != 2 || !strings.Contains(a.Stderr, "must run in a jail") {
				t.Errorf("%+v", a)
			}
			if reports := s.allReports(); len(reports) != 1 || !reports[0].GetNotExecuted() || reports[0].GetCallId() != "t1" {
				t.Errorf("reported %v", reports)
			}
		})
	}
}

// S20: no line gets out of its jail by its length, or by quotes that make it longer. Lines of Interlock's own commands need none.
func TestLongLinesAreDenied(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line   string
		denied bool
	}{
		{strings.Repeat("x", 60<<10), true},
		{strings.Repeat("'", 8<<10), true},
		{"echo " + strings.Repeat("'", 20<<10) + "; cat ~/.ssh/id", true},
		{"cat ~/.ssh/id #" + strings.Repeat("x", 50<<10), true},
		{": <<'E'\n" + strings.Repeat("é\n", 20<<10) + "E\ncat ~/.ssh/id", true},
		{strings.Repeat("x", 40<<10), false},
		{"interlock state put a --input '\"" + strings.Repeat("x", 60<<10) + "\"'", false},
	} {
		input, _ := json.Marshal(map[string]string{"command": tc.line})
		s := &services{run: planning, decision: jailed(true)}
		s.decision.Jail = nil // as for a line without a jail
		a := s.handle(fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_use_id":"t1","tool_input":%s}`, input), hook.Options{Jail: withJail})
		calls := s.allCalls()
		if len(calls) != 1 || strings.Contains(calls[0].GetDeniedBecause(), "too long for a jail") != tc.denied || strings.Contains(a.Stdout, `"deny"`) != tc.denied {
			t.Errorf("%.40q: %+v, asked %.300v", tc.line, a, calls)
		}
	}
}

// S20.1: commands of Interlock run without a jail, so their line runs the hook's own program: a command may have put another one
// of that name in PATH.
func TestOwnLinesRunThisProgram(t *testing.T) {
	t.Parallel()
	event := func(name, line string) string {
		input, _ := json.Marshal(map[string]string{"command": line})
		return fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s","tool_name":"Bash","tool_use_id":"t1","tool_input":%s}`, name, input)
	}
	free := func() *policyv1.CheckToolCallResponse {
		d := jailed(true)
		d.Jail = nil
		return d
	}
	for line, want := range map[string]string{
		"interlock run get":                       "interlock() { /usr/bin/interlock \"$@\"; }\ninterlock run get",
		"interlock validate ~/.ssh/id":            "",
		"ls":                                      "",
		"interlock run get; ls":                   "",
		"interlock run get --server x":            "",
		"interlock run get; interlock check Edit": "interlock() { /usr/bin/interlock \"$@\"; }\ninterlock run get; interlock check Edit",
	} {
		s := &services{run: planning, decision: free()}
		a := s.handle(event("PreToolUse", line), hook.Options{Jail: withJail})
		var out struct {
			Specific struct {
				Input      struct{ Command string } `json:"updatedInput"`
				Permission string                   `json:"permissionDecision"`
			} `json:"hookSpecificOutput"`
		}
		if a.Exit != 0 || json.Unmarshal([]byte(a.Stdout), &out) != nil || out.Specific.Input.Command != want || out.Specific.Permission != "allow" {
			t.Errorf("%s: %+v", line, a)
		}
		if want == "" {
			continue
		}
		s = &services{run: planning, decision: free()}
		s.handle(event("PermissionRequest", want), hook.Options{Jail: withJail})
		var args struct{ Command string }
		if calls := s.allCalls(); len(calls) != 1 || json.Unmarshal(calls[0].GetInput(), &args) != nil || args.Command != line {
			t.Errorf("%s: asked %v", line, calls)
		}
	}
	s := &services{run: planning, decision: free()}
	if a := s.handle(event("PreToolUse", "interlock run get"), hook.Options{}); strings.Contains(a.Stdout, "updatedInput") {
		t.Errorf("without a jail: %+v", a)
	}
}

// S20: later events of the call are about the line that was judged. A line that only looks like ours is taken as it is.
func TestLaterEventsOfJailedLines(t *testing.T) {
	t.Parallel()
	event := func(name, line string) string {
		input, _ := json.Marshal(map[string]string{"command": line})
		return fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s","tool_name":"Bash","tool_use_id":"t1","tool_input":%s}`, name, input)
	}
	for name, tc := range map[string]struct {
		line, judged string
		level        int32
	}{
		"ours":         {wrapped, "go test ./... 'x'", 3},
		"shows less":   {strings.TrimSuffix(wrapped, " 'x'"), strings.TrimSuffix(wrapped, " 'x'"), 0},
		"another path": {"/tmp" + wrapped, "/tmp" + wrapped, 0},
		"and more":     {wrapped + "\nrm -rf x", wrapped + "\nrm -rf x", 0},
	} {
		s := &services{run: planning, decision: jailed(true)}
		s.handle(event("PermissionRequest", tc.line), hook.Options{Jail: withJail})
		calls := s.allCalls()
		var args struct{ Command string }
		if len(calls) != 1 || json.Unmarshal(calls[0].GetInput(), &args) != nil || args.Command != tc.judged || calls[0].GetJailLevel() != tc.level || !calls[0].GetDryRun() {
			t.Errorf("%s: asked %v", name, calls)
		}
	}
	// A call is never taken for its own wrapped form: agents could write that themselves.
	s := &services{run: planning, decision: jailed(true)}
	s.handle(event("PreToolUse", wrapped), hook.Options{Jail: withJail})
	var args struct{ Command string }
	if calls := s.allCalls(); len(calls) != 1 || json.Unmarshal(calls[0].GetInput(), &args) != nil || args.Command != wrapped {
		t.Errorf("asked %v", calls)
	}
}

// TestCommandsAreStarted: the faces of `interlock jail` carry requests on, and say which of them may be made again.
func TestCommandsAreStarted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body, want string
	}{
		"no JSON":        {`{`, `"refused":"unexpected`},
		"another type":   {`{"command": 5}`, `"refused":"json`},
		"not base64":     {`{"command": "*"}`, `"refused":"illegal`},
		"a wrong path":   {`{"level": "x"}`, `"refused":"json`},
		"not an object":  {`[]`, `"refused":"json`},
		"too large body": {`"` + strings.Repeat("x", 9<<20) + `"`, `"refused":"the request could not be read`},
	} {
		for _, path := range []string{hookwire.StartPath, hookwire.FinishPath} {
			if path == hookwire.FinishPath && strings.Contains(tc.body, "command") || strings.Contains(tc.body, "level") && path == hookwire.FinishPath {
				continue // it has no such members
			}
			rec := httptest.NewRecorder()
			(&hook.Commands{}).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(tc.body)))
			if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), tc.want) || strings.Contains(rec.Body.String(), `"away"`) {
				t.Errorf("%s, %s: %d %s", path, name, rec.Code, rec.Body)
			}
		}
	}
}

// S3.4: where an agent's lines run in jails, it reads with its state what the jail changes for them. Nothing is counted for it.
func TestAgentsReadOfTheirJail(t *testing.T) {
	t.Parallel()
	const profile = `{"level":3,"workspace":"/w","writes":"discard","network":"none"}`
	const sentence = "Command lines run in a jail: changes of files are discarded when the line ends, there is no network, and programs end with their line."
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "SubagentStart"} {
		for _, c := range []struct {
			name   string
			jail   hook.Jail
			agent  hook.Agent
			answer *policyv1.CheckToolCallResponse
			asked  int
			reads  bool
		}{
			{"a jail", withJail, hook.ClaudeCode, &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, Jail: &policyv1.Jail{Level: 3, Profile: []byte(profile)}}, 1, true},
			{"a state without a shell", withJail, hook.ClaudeCode, &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY}, 1, false},
			{"a call without a jail", withJail, hook.ClaudeCode, &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW}, 1, false},
			{"no jail", hook.Jail{}, hook.ClaudeCode, nil, 0, false},
			{"an agent whose lines cannot be changed", withJail, hook.Gemini, nil, 0, false},
		} {
			s := &services{run: planning, decision: c.answer}
			name := event
			if c.agent == hook.Gemini {
				name = map[string]string{"SessionStart": "SessionStart", "UserPromptSubmit": "BeforeAgent", "SubagentStart": "SessionStart"}[event]
			}
			a := s.handle(fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s","prompt":"p"}`, name), hook.Options{Jail: c.jail, Agent: c.agent})
			if a.Exit != 0 || strings.Contains(a.Stdout, sentence) != c.reads {
				t.Errorf("%s, %s: %+v", event, c.name, a)
			}
			calls := s.allCalls()
			if len(calls) != c.asked || c.asked > 0 && !calls[0].GetDryRun() {
				t.Errorf("%s, %s: asked %v", event, c.name, calls)
			}
		}
	}
}
