package hook_test

import (
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// S14.6: a report names the program that its call has left in the background, and the one whose
// end its result shows.
func TestBackgroundOfResult(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ tool, fields, left, ended string }{
		"a command":                    {"Bash", `"tool_response":{"stdout":""}`, "", ""},
		"asked for the background":     {"Bash", `"tool_response":{"stdout":"","backgroundTaskId":"b1"}`, "b1", ""},
		"moved at its timeout":         {"Bash", `"tool_response":{"backgroundTaskId":"b1","timedOutAfterMs":1}`, "b1", ""},
		"moved, without a name":        {"Bash", `"tool_response":{"backgroundedByUser":true}`, "?", ""},
		"in another form":              {"Bash", `"tool_response":{"interrupted":"yes"}`, "?", ""},
		"a monitor":                    {"Monitor", `"tool_response":{"taskId":"m1","timeoutMs":1}`, "m1", ""},
		"an agent of the background":   {"Agent", `"tool_response":{"status":"async_launched","agentId":"a1"}`, "a1", ""},
		"an agent that was waited for": {"Agent", `"tool_response":{"status":"completed","agentId":"a1"}`, "", ""},
		"it has ended":                 {"TaskOutput", `"tool_response":{"retrieval_status":"success","task":{"task_id":"b1","status":"completed"}}`, "", "b1"},
		"it runs":                      {"TaskOutput", `"tool_response":{"retrieval_status":"success","task":{"task_id":"b1","status":"running"}}`, "", ""},
		"the state is of the request":  {"TaskOutput", `"tool_response":{"status":"completed","task":{"task_id":"b1","status":"running"}}`, "", ""},
		"a shell has ended":            {"BashOutput", `"tool_response":{"shellId":"b1","status":"killed"}`, "", "b1"},
		"it was stopped":               {"TaskStop", `"tool_response":{"message":"x","task_id":"b1","task_type":"shell"}`, "", "b1"},
		"it was stopped, by the input": {"KillShell", `"tool_input":{"shell_id":"b1"},"tool_response":"Killed"`, "", "b1"},
		"a server's own words":         {"mcp__x__TaskStop", `"tool_response":{"task_id":"b1"}`, "", ""},
		"a server's background":        {"mcp__x__read", `"tool_response":{"backgroundTaskId":"b1"}`, "", ""},
		"printed by a command":         {"Bash", `"tool_response":"{\"backgroundTaskId\":\"b1\"}"`, "", ""},
	} {
		s := &services{run: planning}
		wantSilence(t, name, s.handle(`{"session_id":"s","tool_name":"`+tc.tool+`","tool_use_id":"c","hook_event_name":"PostToolUse",`+tc.fields+`}`, hook.Options{}))
		report, is := s.asked[len(s.asked)-1].(*policyv1.ReportToolCallRequest)
		if !is || report.GetBackground() != tc.left || report.GetBackgroundEnded() != tc.ended {
			t.Errorf("%s: %v", name, report)
		}
	}
	// That it could not be stopped does not show that it has ended.
	s := &services{run: planning}
	wantSilence(t, "failed", s.handle(`{"session_id":"s","tool_name":"TaskStop","tool_use_id":"c","tool_input":{"task_id":"b1"},"hook_event_name":"PostToolUseFailure","error":"x"}`, hook.Options{}))
	if report, is := s.asked[len(s.asked)-1].(*policyv1.ReportToolCallRequest); !is || report.GetBackgroundEnded() != "" {
		t.Errorf("a stop that failed: %v", report)
	}
}
