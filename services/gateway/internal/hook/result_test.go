package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// TestToldWithTheResult: what a report answers reaches the agent (S3.7, S4.3).
func TestToldWithTheResult(t *testing.T) {
	t.Parallel()
	interrupt := &policyv1.Interrupted{Name: "check", From: "a", To: "b", Notice: "[INTERLOCK INTERRUPT] now in b"}
	for name, tc := range map[string]struct {
		reported *policyv1.ReportToolCallResponse
		want     string
	}{
		"nothing":   {&policyv1.ReportToolCallResponse{Accounted: true}, ""},
		"interrupt": {&policyv1.ReportToolCallResponse{Interrupt: interrupt}, "[INTERLOCK INTERRUPT] now in b"},
		"warning":   {&policyv1.ReportToolCallResponse{Warning: "nearly spent"}, "nearly spent"},
		"both":      {&policyv1.ReportToolCallResponse{Interrupt: interrupt, Warning: "nearly spent"}, "[INTERLOCK INTERRUPT] now in b\nnearly spent"},
	} {
		for _, event := range []string{"PostToolUse", "PostToolUseFailure"} {
			for _, agent := range []hook.Agent{hook.ClaudeCode, hook.Codex} {
				s := &services{run: planning, reported: tc.reported}
				a := s.handle(strings.Replace(preTool, "PreToolUse", event, 1), hook.Options{Agent: agent})
				if tc.want == "" {
					wantSilence(t, name, a)
					continue
				}
				if got := specific(t, a); got["hookEventName"] != event || got["additionalContext"] != tc.want {
					t.Errorf("%s of %s: %v", name, event, got)
				}
			}
		}
	}
}

// TestOutputIsReportedWhereItIsKept (S6.4).
func TestOutputIsReportedWhereItIsKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for name, tc := range map[string]struct {
		fields, want string
	}{
		"text":      {`"PostToolUse","tool_response":"caf\u00e9"`, "café"},
		"object":    {`"PostToolUse","tool_response":{"n":1.0}`, `{"n":1.0}`},
		"nothing":   {`"PostToolUse"`, ""},
		"failure":   {`"PostToolUseFailure","error":"no such file"`, "no such file"},
		"long":      {`"PostToolUse","tool_response":"` + long + `"`, long[:64<<10+1]},
		"long list": {`"PostToolUse","tool_response":["` + long + `"]`, (`["` + long)[:64<<10+1]},
		"surrogate": {`"PostToolUse","tool_response":"\ud800"`, `"\ud800"`},
	} {
		for _, capture := range []bool{true, false} {
			run := proto.CloneOf(planning)
			run.WorkflowMeta = &enginev1.WorkflowMeta{CaptureOutput: capture}
			s := &services{run: run}
			wantSilence(t, name, s.handle(`{"session_id":"s","tool_name":"Read","tool_use_id":"c","hook_event_name":`+tc.fields+`}`, hook.Options{}))
			report, ok := s.asked[len(s.asked)-1].(*policyv1.ReportToolCallRequest)
			if want := tc.want; !ok || capture && string(report.GetOutput()) != want || !capture && report.GetOutput() != nil {
				t.Errorf("%s, kept %v: %d bytes: %.80q", name, capture, len(report.GetOutput()), report.GetOutput())
			}
		}
	}
}

// changed is what a hook reports as changed by a call.
func changed(t *testing.T, run *enginev1.Run, cwd, tool, input string, local bool) []string {
	t.Helper()
	event, err := json.Marshal(map[string]any{
		"session_id": "s", "hook_event_name": "PostToolUse", "cwd": cwd, "tool_name": tool, "tool_use_id": "c",
		"tool_input": json.RawMessage(input),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &services{run: run}
	wantSilence(t, tool+" "+input, s.handle(string(event), hook.Options{Local: local}))
	report, ok := s.asked[len(s.asked)-1].(*policyv1.ReportToolCallRequest)
	if !ok {
		t.Fatalf("no report of %s: %v", tool, s.asked)
	}
	return report.GetFilesChanged()
}

// TestOutcomeOfCommand: the event of a success is not one where the command continues in the
// background, at a timeout that the agent has chosen, or where its status is not 0 (S14.5).
func TestOutcomeOfCommand(t *testing.T) {
	t.Parallel()
	const ended = `{"stdout":"","stderr":"","interrupted":false,"isImage":false`
	for name, tc := range map[string]struct {
		tool, response string
		ok, unknown    bool
	}{
		"ended":                    {"Bash", ended + `}`, true, false},
		"ended, with nulls":        {"Bash", ended + `,"backgroundTaskId":null,"returnCodeInterpretation":""}`, true, false},
		"what it printed":          {"Bash", `"backgroundTaskId"`, true, false},
		"moved at its timeout":     {"Bash", ended + `,"backgroundTaskId":"b1","timedOutAfterMs":1}`, true, true},
		"moved by the user":        {"Bash", ended + `,"backgroundedByUser":true}`, true, true},
		"moved by the client":      {"Bash", ended + `,"assistantAutoBackgrounded":true}`, true, true},
		"timed out":                {"Bash", ended + `,"timedOutAfterMs":1}`, true, true},
		"stopped":                  {"Bash", `{"stdout":"","stderr":"","interrupted":true}`, true, true},
		"in another form":          {"Bash", `{"interrupted":"yes"}`, true, true},
		"a status with a meaning":  {"Bash", ended + `,"returnCodeInterpretation":"Files differ"}`, false, false},
		"a tool that is no shell":  {"Task", `{"interrupted":"never","backgroundTaskId":"b1"}`, true, false},
		"a shell of another name":  {"run_command", ended + `,"backgroundTaskId":"b1"}`, true, true},
		"nothing that it has left": {"Bash", `null`, true, false},
	} {
		s := &services{run: planning}
		wantSilence(t, name, s.handle(`{"session_id":"s","tool_name":"`+tc.tool+`","tool_use_id":"c","hook_event_name":"PostToolUse","tool_response":`+tc.response+`}`, hook.Options{}))
		report, is := s.asked[len(s.asked)-1].(*policyv1.ReportToolCallRequest)
		if !is || report.GetOk() != tc.ok || report.GetOutcomeUnknown() != tc.unknown {
			t.Errorf("%s: %v", name, report)
		}
	}
}
