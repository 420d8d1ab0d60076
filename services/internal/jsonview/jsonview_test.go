package jsonview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

var noon = timestamppb.New(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))

func text(t *testing.T, view any) string {
	t.Helper()
	data, err := json.Marshal(view, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRun pins every member: empty ones are left out, but for those
// that were there from the beginning.
func TestRun(t *testing.T) {
	t.Parallel()
	const always = `"run_id":"r","workflow":"w","workflow_version":1,"status":"RUNNING","state":"s","context":{},"iterations":0,` +
		`"transition_count":0,"version":3,"session_id":"",`
	const times = `"created_at":"2026-03-04T12:00:00Z","updated_at":"2026-03-04T12:00:00Z"`
	run := func(change func(*enginev1.Run)) *enginev1.Run {
		r := &enginev1.Run{
			RunId: "r", Workflow: "w", WorkflowVersion: 1, Status: enginev1.RunStatus_RUN_STATUS_RUNNING, State: "s",
			Version: 3, CreatedAt: noon, UpdatedAt: noon,
			Rules: &enginev1.StateRules{}, Usage: &enginev1.Usage{}, WorkflowMeta: &enginev1.WorkflowMeta{},
		}
		change(r)
		return r
	}
	for name, tc := range map[string]struct {
		run  *enginev1.Run
		want string
	}{
		"nothing": {
			run(func(r *enginev1.Run) { r.Rules.BlockedEnv, r.Rules.DisallowedTools = []string{}, []string{} }),
			`{` + always + `"allowed_tools":null,"instructions":"","legal_events":[],` + times + `,"allowed_commands":null}`,
		},
		"limits": {
			run(func(r *enginev1.Run) {
				r.Rules.CommandsRestricted, r.Rules.BlockedEnv, r.Rules.DisallowedTools = true, []string{"TOKEN"}, []string{"Bash"}
				r.Rules.EnvOverrides = []*enginev1.EnvVar{{Name: "B", Value: "2"}, {Name: "A", Value: ""}}
				r.Rules.MaxIterations, r.Rules.MaxEditLines, r.Rules.MaxFilesPerState, r.Usage.FilesChanged = 9, 8, 7, 6
				r.Rules.ContextBudgetBytes, r.Usage.ContextBytes = 5, 4
				r.Holds = []*enginev1.Hold{{By: "olga", Cause: enginev1.HoldCause_HOLD_CAUSE_OPERATOR, Reason: "lunch", Since: noon}}
			}),
			`{` + always + `"allowed_tools":null,"instructions":"","legal_events":[],` + times + `,` +
				`"holds":[{"by":"olga","cause":"operator","reason":"lunch","since":"2026-03-04T12:00:00Z"}],"disallowed_tools":["Bash"],` +
				`"allowed_commands":[],"blocked_env":["TOKEN"],"env_overrides":{"A":"","B":"2"},"max_iterations":9,"max_edit_lines":8,` +
				`"max_files_per_state":7,"files_changed":6,"context_budget_bytes":5,"context_bytes":4}`,
		},
		"commands": {
			run(func(r *enginev1.Run) {
				r.Rules.CommandsRestricted, r.Rules.AllowedCommands, r.Rules.ToolsRestricted = true, []string{"go test"}, true
			}),
			`{` + always + `"allowed_tools":[],"instructions":"","legal_events":[],` + times + `,"allowed_commands":["go test"]}`,
		},
		"a branch in a handler": {
			run(func(r *enginev1.Run) {
				r.Branch, r.BranchOver, r.ParentRunId = "lint", true, "run_p"
				r.Interrupt = &enginev1.Interruption{Name: "check", ReturnTo: "linting"}
				r.Child = &enginev1.Invocation{RunId: "run_c", Workflow: "sub", Event: "ASK"}
				r.Fork = &enginev1.Fork{
					Event: "GO", State: "build", Join: enginev1.JoinMode_JOIN_MODE_ANY, OnComplete: "done", OnFail: "bad", Current: "lint",
					Branches: []*enginev1.ForkBranch{
						{Name: "lint", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "linting", Terminal: "linted", SessionId: "s/1"},
						{Name: "test", Status: enginev1.BranchStatus_BRANCH_STATUS_SUCCEEDED, State: "tested", Terminal: "tested", Fork: &enginev1.Fork{
							Event: "DEEP", State: "tested", Join: enginev1.JoinMode_JOIN_MODE_ALL,
						}},
					},
				}
			}),
			`{` + always + `"allowed_tools":null,"instructions":"","legal_events":[],` + times + `,"branch":"lint","branch_over":true,` +
				`"interrupt":{"name":"check","return_to":"linting"},"fork":{"event":"GO","state":"build","join":"any","on_complete":"done",` +
				`"on_fail":"bad","current":"lint","branches":[{"name":"lint","status":"ACTIVE","state":"linting","terminal":"linted",` +
				`"session_id":"s/1"},{"name":"test","status":"SUCCEEDED","state":"tested","terminal":"tested","fork":{"event":"DEEP",` +
				`"state":"tested","join":"all","current":"","branches":[]}}]},"child":{"run_id":"run_c","workflow":"sub","event":"ASK"},` +
				`"parent_run_id":"run_p","allowed_commands":null}`,
		},
	} {
		if got := text(t, jsonview.RunOf(tc.run)); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		entry *enginev1.HistoryEntry
		want  string
	}{
		"join": {
			&enginev1.HistoryEntry{
				RunVersion: 4, Time: noon, Actor: "a", Type: enginev1.HistoryType_HISTORY_TYPE_TRANSITIONED, Event: "OK", From: "x", To: "y", WorkflowVersion: 1,
				Status: enginev1.RunStatus_RUN_STATUS_RUNNING, Branch: "lint",
				Joins: []*enginev1.Join{{Event: "GO", To: "done", Succeeded: true, Conflicts: []string{"k"}, Branches: []*enginev1.BranchOutcome{
					{Name: "lint", Status: enginev1.BranchStatus_BRANCH_STATUS_SUCCEEDED}, {Name: "test", Status: enginev1.BranchStatus_BRANCH_STATUS_CANCELLED},
				}}},
			},
			`{"run_version":4,"time":"2026-03-04T12:00:00Z","actor":"a","type":"transitioned","event":"OK","from":"x","to":"y","workflow_version":1,` +
				`"status":"RUNNING","branch":"lint","joins":[{"event":"GO","to":"done","succeeded":true,"branches":[{"name":"lint","status":"SUCCEEDED"},` +
				`{"name":"test","status":"CANCELLED"}],"conflicts":["k"]}]}`,
		},
		"interrupt": {
			&enginev1.HistoryEntry{
				RunVersion: 5, Time: noon, Actor: "a", Type: enginev1.HistoryType_HISTORY_TYPE_INTERRUPT_FIRED, From: "x", To: "h", WorkflowVersion: 1,
				Status: enginev1.RunStatus_RUN_STATUS_RUNNING, Interrupt: "check", Files: []string{"m/1.sql"},
			},
			`{"run_version":5,"time":"2026-03-04T12:00:00Z","actor":"a","type":"interrupt.fired","from":"x","to":"h","workflow_version":1,` +
				`"status":"RUNNING","interrupt":"check","files":["m/1.sql"]}`,
		},
		"child and session": {
			&enginev1.HistoryEntry{
				RunVersion: 6, Time: noon, Actor: "a", Type: enginev1.HistoryType_HISTORY_TYPE_INVOKE_STARTED, WorkflowVersion: 1,
				Status: enginev1.RunStatus_RUN_STATUS_WAITING, ChildRunId: "run_c", SessionId: "s/1",
			},
			`{"run_version":6,"time":"2026-03-04T12:00:00Z","actor":"a","type":"invoke.started","workflow_version":1,"status":"WAITING",` +
				`"child_run_id":"run_c","session_id":"s/1"}`,
		},
		"result": {
			&enginev1.HistoryEntry{
				RunVersion: 6, Time: noon, Actor: "a", Type: enginev1.HistoryType_HISTORY_TYPE_TOOL_RESULT, From: "x", To: "x",
				ToolResult: &enginev1.ToolResult{CallId: "c", Tool: "Read", Ok: true, Output: []byte("é"), Number: 2},
			},
			`{"run_version":6,"time":"2026-03-04T12:00:00Z","actor":"a","type":"tool_result","from":"x","to":"x",` +
				`"tool_result":{"call_id":"c","tool":"Read","ok":true,"output":"é","number":2}}`,
		},
	} {
		if got := text(t, jsonview.HistoryOf([]*enginev1.HistoryEntry{tc.entry})); got != "["+tc.want+"]" {
			t.Errorf("%s:\n got %s\nwant [%s]", name, got, tc.want)
		}
	}
}

// TestOutput: text stays text, also when the limit has cut a character in two;
// other bytes are marked as such.
func TestOutput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		output    string
		truncated bool
		want      string
		encoding  string
	}{
		"nothing":                        {"", false, "", ""},
		"nothing, truncated":             {"", true, "", ""},
		"text":                           {"é", false, "é", ""},
		"whole text, truncated":          {"aé", true, "aé", ""},
		"a cut in a character":           {"a\xe2\x82", true, "a", ""},
		"a cut after one byte":           {"\xf0", true, "", ""},
		"part of a character, no cut":    {"a\xe2\x82", false, "YeKC", "base64"},
		"bytes":                          {"\xff\x00", false, "/wA=", "base64"},
		"bytes, truncated":               {"\xff\x00", true, "/wA=", "base64"},
		"bytes and a cut in a character": {"\xff\xe2", true, "/+I=", "base64"},
	} {
		entries := jsonview.HistoryOf([]*enginev1.HistoryEntry{{
			ToolResult: &enginev1.ToolResult{Output: []byte(tc.output), Truncated: tc.truncated},
		}})
		if r := entries[0].ToolResult; r.Output != tc.want || r.Encoding != tc.encoding || r.Truncated != tc.truncated {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestDecision(t *testing.T) {
	t.Parallel()
	got := text(t, jsonview.DecisionOf(&policyv1.CheckToolCallResponse{
		Decision: policyv1.Decision_DECISION_ALLOW, CallId: "c", RunVersion: 2, Branch: "lint",
	}))
	if !strings.Contains(got, `"decision":"ALLOW"`) || !strings.HasSuffix(got, `"run_version":2,"branch":"lint"}`) {
		t.Error(got)
	}
	// A value that this build does not know must not look like a yes.
	if got := jsonview.DecisionOf(&policyv1.CheckToolCallResponse{Decision: 9}); got.Decision != "DENY" {
		t.Error(got)
	}
}
