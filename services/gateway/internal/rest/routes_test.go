package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// TestAnswers pins the exact JSON of every route, and what the service got.
func TestAnswers(t *testing.T) {
	t.Parallel()
	guard := &enginev1.GuardResult{
		Name: "planned", Field: "n", Operator: enginev1.GuardOperator_GUARD_OPERATOR_GTE, Expected: []byte("9007199254740993"), Actual: nil,
	}
	checkAnswers(t, []answerCase{
		{
			name: "start", method: "POST", path: "/v1/runs",
			body:    `{"workflow":"deploy v1.0","version":2,"session_id":"ses_01","context":{ "n" : 1.10, "id":9007199254740993},"workspace":"/repo"}`,
			headers: []string{"Idempotency-Key", "k1"}, rpc: "StartRun",
			want: &enginev1.StartRunRequest{
				Workflow: "deploy v1.0", WorkflowVersion: 2, SessionId: "ses_01", Workspace: "/repo", IdempotencyKey: "k1",
				Context: []byte(`{ "n" : 1.10, "id":9007199254740993}`),
			},
			status: 201, json: jsonRun, header: map[string]string{"Location": "/v1/runs/run_01", "ETag": `"7"`},
		},
		{
			name: "start that resumes", method: "POST", path: "/v1/runs", body: `{"workflow":"w","resume":true,"context":null}`,
			rpc: "StartRun", answer: &enginev1.StartRunResponse{Run: aRun(), Resumed: true},
			want: &enginev1.StartRunRequest{Workflow: "w", Resume: true}, status: 200, json: jsonRun,
		},
		{
			name: "get", method: "GET", path: "/v1/runs/run_01", rpc: "GetRun",
			want: &enginev1.GetRunRequest{RunId: "run_01"}, status: 200, json: jsonRun,
			header: map[string]string{"ETag": `"7"`, "Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"},
		},
		{
			name: "unrestricted tools are null, empty context is {}", method: "GET", path: "/v1/runs/r", rpc: "GetRun",
			answer: &enginev1.GetRunResponse{Run: &enginev1.Run{
				RunId: "r", Status: enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL, CreatedAt: noon, UpdatedAt: noon,
			}},
			status: 200,
			json: `{"run_id":"r","workflow":"","workflow_version":0,"status":"AWAITING_APPROVAL","state":"","context":{},"iterations":0,` +
				`"transition_count":0,"version":0,"session_id":"","allowed_tools":null,"instructions":"","legal_events":[],` +
				`"created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z","allowed_commands":null}`,
		},
		{
			name: "get in a branch, the innermost", method: "GET", path: "/v1/runs/run_0?branch=a%2Fb&active=true", rpc: "GetRun",
			want:   &enginev1.GetRunRequest{RunId: "run_0", Branch: "a/b", Active: true},
			status: 200, json: jsonRun, header: map[string]string{"ETag": ""}, // of another run
		},
		{
			name: "get, not the innermost", method: "GET", path: "/v1/runs/run_01?active=false", rpc: "GetRun",
			want: &enginev1.GetRunRequest{RunId: "run_01"}, status: 200, json: jsonRun, header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "variables in order", method: "GET", path: "/v1/runs/r", rpc: "GetRun",
			answer: &enginev1.GetRunResponse{Run: &enginev1.Run{
				RunId: "r", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, CreatedAt: noon, UpdatedAt: noon,
				Rules: &enginev1.StateRules{EnvOverrides: []*enginev1.EnvVar{{Name: "Z"}, {Name: "B", Value: "1"}, {Name: "Y"}, {Name: "A"}, {Name: "X"}, {Name: "C"}}},
			}},
			status: 200,
			json: `{"run_id":"r","workflow":"","workflow_version":0,"status":"RUNNING","state":"","context":{},"iterations":0,` +
				`"transition_count":0,"version":0,"session_id":"","allowed_tools":null,"instructions":"","legal_events":[],` +
				`"created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z","allowed_commands":null,` +
				`"env_overrides":{"A":"","B":"1","C":"","X":"","Y":"","Z":""}}`,
		},
		{
			name: "a fork in a fork", method: "GET", path: "/v1/runs/r", rpc: "GetRun",
			answer: &enginev1.GetRunResponse{Run: &enginev1.Run{
				RunId: "r", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, CreatedAt: noon, UpdatedAt: noon,
				Fork: &enginev1.Fork{Event: "GO", State: "s", Join: enginev1.JoinMode_JOIN_MODE_ALL, Branches: []*enginev1.ForkBranch{{
					Name: "b", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "x", Terminal: "y",
					Fork: &enginev1.Fork{Event: "DEEP", State: "x", Join: enginev1.JoinMode_JOIN_MODE_ANY},
				}}},
			}},
			status: 200,
			json: `{"run_id":"r","workflow":"","workflow_version":0,"status":"RUNNING","state":"","context":{},"iterations":0,` +
				`"transition_count":0,"version":0,"session_id":"","allowed_tools":null,"instructions":"","legal_events":[],` +
				`"created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z","fork":{"event":"GO","state":"s","join":"all",` +
				`"current":"","branches":[{"name":"b","status":"ACTIVE","state":"x","terminal":"y","fork":{"event":"DEEP","state":"x",` +
				`"join":"any","current":"","branches":[]}}]},"allowed_commands":null}`,
		},
		{
			name: "bind a branch", method: "POST", path: "/v1/runs", rpc: "BindBranch",
			body:   `{"run_id":"run_01","branch":"lint","session_id":"s/1","context":null}`,
			want:   &enginev1.BindBranchRequest{RunId: "run_01", Branch: "lint", SessionId: "s/1"},
			status: 200, json: jsonRun, header: map[string]string{"ETag": `"7"`, "Location": ""},
		},
		{
			name: "bind a branch of the only run", method: "POST", path: "/v1/runs", rpc: "BindBranch",
			body:   `{"workflow":"w","branch":"lint","session_id":"s/1"}`,
			want:   &enginev1.BindBranchRequest{Workflow: "w", Branch: "lint", SessionId: "s/1"},
			status: 200, json: jsonRun,
		},
		{
			name: "no tools is an empty list", method: "POST", path: "/v1/runs/r/check", body: `{"tool":"Edit"}`, rpc: "CheckToolCall",
			answer: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY, ToolsRestricted: true, Code: policyv1.DecisionCode_DECISION_CODE_TOOL_NOT_ALLOWED},
			status: 200, json: `{"decision":"DENY","code":"TOOL_NOT_ALLOWED","message":"","allowed_tools":[],"legal_events":[],"call_id":"","run_version":0}`,
		},
		{
			name: "list", method: "GET", path: "/v1/runs?status=PAUSED&workflow=deploy%20v1.0&before=run_9&id_prefix=run_0&page_size=5&page_token=p", rpc: "ListRuns",
			answer: &enginev1.ListRunsResponse{Runs: []*enginev1.Run{aRun()}, NextPageToken: "q"},
			want: &enginev1.ListRunsRequest{
				PageSize: 5, PageToken: "p", Filter: `status=PAUSED AND workflow="deploy v1.0" AND before=run_9 AND id_prefix=run_0`, View: enginev1.RunView_RUN_VIEW_FULL,
			},
			status: 200, json: `{"runs":[` + jsonRun + `],"next_page_token":"q"}`,
		},
		{
			name: "accepted transition", method: "POST", path: "/v1/runs/run_01/transition",
			body: `{"event":"READY","data":{"x":1e2},"expected_version":6}`, headers: []string{"Idempotency-Key", "k"}, rpc: "TransitionRun",
			want:   &enginev1.TransitionRunRequest{RunId: "run_01", Event: "READY", Data: []byte(`{"x":1e2}`), ExpectedVersion: 6, IdempotencyKey: "k"},
			status: 200, json: `{"accepted":true,"run":` + jsonRun + `}`, header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "rejected transition", method: "POST", path: "/v1/runs/run_01/transition",
			body: `{"event":"READY"}`, headers: []string{"If-Match", `"7"`}, rpc: "TransitionRun",
			answer: &enginev1.TransitionRunResponse{Run: aRun(), Rejection: &enginev1.Rejection{
				Code: enginev1.RejectionCode_REJECTION_CODE_GUARD_FAILED, Message: "no", Guards: []*enginev1.GuardResult{guard},
				LegalEvents: aRun().GetRules().GetLegalEvents(),
			}},
			want:   &enginev1.TransitionRunRequest{RunId: "run_01", Event: "READY", ExpectedVersion: 7},
			status: 200,
			json: `{"accepted":false,"run":` + jsonRun + `,"rejection":{"code":"GUARD_FAILED","message":"no","guards":[{"name":"planned",` +
				`"field":"n","op":"gte","expected":9007199254740993,"actual":null,"passed":false}],"legal_events":` + jsonEvents + `}}`,
		},
		{
			name: "parked transition", method: "POST", path: "/v1/runs/run_01/transition", body: `{"event":"STOP"}`, rpc: "TransitionRun",
			answer: &enginev1.TransitionRunResponse{Accepted: true, Run: aRun(), ApprovalId: "apr_1"},
			status: 200, json: `{"accepted":true,"run":` + jsonRun + `,"approval_id":"apr_1"}`,
		},
		{
			name: "transition in a branch that changes nothing", method: "POST", path: "/v1/runs/run_01/transition",
			body: `{"event":"BRANCH_DONE:lint","branch":"lint"}`, rpc: "TransitionRun",
			answer: &enginev1.TransitionRunResponse{Accepted: true, Run: aRun(), Note: "it has ended already"},
			want:   &enginev1.TransitionRunRequest{RunId: "run_01", Event: "BRANCH_DONE:lint", Branch: "lint"},
			status: 200, json: `{"accepted":true,"run":` + jsonRun + `,"note":"it has ended already"}`,
		},
		{
			name: "transition into a child", method: "POST", path: "/v1/runs/run_00/transition", body: `{"event":"ASK"}`, rpc: "TransitionRun",
			status: 200, json: `{"accepted":true,"run":` + jsonRun + `}`, header: map[string]string{"ETag": ""}, // of another run
		},
		{
			name: "force", method: "POST", path: "/v1/runs/run_01/force-state",
			body:    `{"state":"planning","context":{"n":1.10},"expected_version":6,"branch":"lint"}`,
			headers: []string{"Idempotency-Key", "k"}, rpc: "ForceState",
			want: &enginev1.ForceStateRequest{
				RunId: "run_01", State: "planning", Context: []byte(`{"n":1.10}`), ExpectedVersion: 6, Branch: "lint", IdempotencyKey: "k",
			},
			status: 200, json: `{"accepted":true,"run":` + jsonRun + `}`, header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "refused force", method: "POST", path: "/v1/runs/run_01/force-state", body: `{"state":"x"}`, headers: []string{"If-Match", `"7"`}, rpc: "ForceState",
			answer: &enginev1.ForceStateResponse{Run: aRun(), Rejection: &enginev1.Rejection{
				Code: enginev1.RejectionCode_REJECTION_CODE_DEBUG_DISABLED, Message: "no",
			}},
			want:   &enginev1.ForceStateRequest{RunId: "run_01", State: "x", ExpectedVersion: 7},
			status: 200,
			json:   `{"accepted":false,"run":` + jsonRun + `,"rejection":{"code":"DEBUG_DISABLED","message":"no","guards":[],"legal_events":[]}}`,
		},
		{
			name: "check in a branch", method: "POST", path: "/v1/runs/run_01/check", body: `{"tool":"Read","branch":"lint"}`, rpc: "CheckToolCall",
			answer: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, CallId: "c1", RunVersion: 7, Branch: "lint"},
			want:   &policyv1.CheckToolCallRequest{RunId: "run_01", Tool: "Read", Branch: "lint"},
			status: 200, json: `{"decision":"ALLOW","message":"","allowed_tools":null,"legal_events":[],"call_id":"c1","run_version":7,"branch":"lint"}`,
		},
		{
			name: "denied check", method: "POST", path: "/v1/runs/run_01/check",
			body: `{"tool":"Bash","input":{"n":12345678901234567890,"s":"\u00e9"},"estimated_cost_usd":0.10}`, headers: []string{"Idempotency-Key", "c9"}, rpc: "CheckToolCall",
			answer: &policyv1.CheckToolCallResponse{
				Decision: policyv1.Decision_DECISION_DENY, Code: policyv1.DecisionCode_DECISION_CODE_COMMAND_NOT_ALLOWED, Message: "no",
				ToolsRestricted: true, AllowedTools: []string{"Read"}, LegalEvents: aRun().GetRules().GetLegalEvents(), CallId: "c9", RunVersion: 7,
			},
			want: &policyv1.CheckToolCallRequest{
				RunId: "run_01", Tool: "Bash", Input: []byte(`{"n":12345678901234567890,"s":"\u00e9"}`), CallId: "c9", EstimatedCostUsd: "0.10",
			},
			status: 200,
			json:   `{"decision":"DENY","code":"COMMAND_NOT_ALLOWED","message":"no","allowed_tools":["Read"],"legal_events":` + jsonEvents + `,"call_id":"c9","run_version":7}`,
		},
		{
			name: "allowed check", method: "POST", path: "/v1/runs/run_01/check",
			body: `{"tool":"Read","input":null,"call_id":"c1","estimated_cost_usd":"0.02"}`, rpc: "CheckToolCall",
			answer: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, CallId: "c1", RunVersion: 7},
			want:   &policyv1.CheckToolCallRequest{RunId: "run_01", Tool: "Read", CallId: "c1", EstimatedCostUsd: "0.02"},
			status: 200, json: `{"decision":"ALLOW","message":"","allowed_tools":null,"legal_events":[],"call_id":"c1","run_version":7}`,
		},
		{
			name: "an input that is not an object is the policy enforcer's to deny", method: "POST", path: "/v1/runs/run_01/check",
			body: `{"tool":"Read","input":[1]}`, rpc: "CheckToolCall",
			answer: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ASK, ApprovalId: "apr_1"},
			want:   &policyv1.CheckToolCallRequest{RunId: "run_01", Tool: "Read", Input: []byte(`[1]`)},
			status: 200, json: `{"decision":"ASK","message":"","allowed_tools":null,"legal_events":[],"approval_id":"apr_1","call_id":"","run_version":0}`,
		},
		{
			name: "an unknown decision is no", method: "POST", path: "/v1/runs/run_01/check", body: `{"tool":"Read"}`, rpc: "CheckToolCall",
			answer: &policyv1.CheckToolCallResponse{Decision: 9},
			status: 200, json: `{"decision":"DENY","message":"","allowed_tools":null,"legal_events":[],"call_id":"","run_version":0}`,
		},
		{
			name: "check by session", method: "POST", path: "/v1/check",
			body: `{"session":"s/1","tool":"Read","input":{"a":1},"branch":"lint","dry_run":true}`, headers: []string{"Idempotency-Key", "c9"}, rpc: "CheckToolCall",
			answer: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, CallId: "c9", RunId: "run_01", State: "open", RunVersion: 7},
			want:   &policyv1.CheckToolCallRequest{SessionId: "s/1", Tool: "Read", Input: []byte(`{"a":1}`), CallId: "c9", Branch: "lint", DryRun: true},
			status: 200, json: `{"decision":"ALLOW","message":"","allowed_tools":null,"legal_events":[],"call_id":"c9","run_version":7,"run_id":"run_01","state":"open"}`,
		},
		{
			name: "check by session without a run", method: "POST", path: "/v1/check", body: `{"session":"s","tool":"Read","call_id":"c1"}`, rpc: "CheckToolCall",
			answer: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY, CallId: "c1"},
			want:   &policyv1.CheckToolCallRequest{SessionId: "s", Tool: "Read", CallId: "c1"},
			status: 200, json: `{"decision":"DENY","message":"","allowed_tools":null,"legal_events":[],"call_id":"c1","run_version":0}`,
		},
		{
			name: "report by session", method: "POST", path: "/v1/report", body: `{"session":"s","call_id":"c1","tool":"Read","ok":true}`, rpc: "ReportToolCall",
			answer: &policyv1.ReportToolCallResponse{Accounted: true},
			want:   &policyv1.ReportToolCallRequest{SessionId: "s", CallId: "c1", Tool: "Read", Ok: true},
			status: 200, json: `{"accounted":true}`,
		},
		{
			name: "report", method: "POST", path: "/v1/runs/run_01/report",
			body: `{"call_id":"c1","tool":"Edit","ok":true,"files_changed":["a.go"],"result_bytes":120,"cost_usd":"0.02","output":"caf\u00e9"}`, rpc: "ReportToolCall",
			want: &policyv1.ReportToolCallRequest{
				RunId: "run_01", CallId: "c1", Tool: "Edit", Ok: true, FilesChanged: []string{"a.go"}, ResultBytes: 120, CostUsd: "0.02", Output: []byte("café"),
			},
			status: 200, json: `{"run":` + jsonRun + `,"accounted":true}`,
		},
		{
			name: "report that interrupts", method: "POST", path: "/v1/runs/run_01/report",
			body: `{"call_id":"c1","tool":"Edit","ok":true,"branch":"lint"}`, rpc: "ReportToolCall",
			answer: &policyv1.ReportToolCallResponse{
				Run: aRun(), Accounted: true, Warning: "nearly spent",
				Interrupt: &policyv1.Interrupted{Name: "check", From: "a", To: "b", Notice: "[INTERLOCK INTERRUPT] a"},
			},
			want:   &policyv1.ReportToolCallRequest{RunId: "run_01", CallId: "c1", Tool: "Edit", Ok: true, Branch: "lint"},
			status: 200,
			json: `{"run":` + jsonRun + `,"accounted":true,"interrupt":{"name":"check","from":"a","to":"b",` +
				`"notice":"[INTERLOCK INTERRUPT] a"},"warning":"nearly spent"}`,
		},
		{
			name: "report of JSON output", method: "POST", path: "/v1/runs/run_01/report",
			body: `{"call_id":"c1","tool":"Edit","ok":false,"output":{"n":1.0}}`, rpc: "ReportToolCall",
			want:   &policyv1.ReportToolCallRequest{RunId: "run_01", CallId: "c1", Tool: "Edit", Output: []byte(`{"n":1.0}`)},
			status: 200, json: `{"run":` + jsonRun + `,"accounted":true}`,
		},
		{
			name: "pause", method: "POST", path: "/v1/runs/run_01/pause", body: `{"reason":"lunch"}`, headers: []string{"Idempotency-Key", "k"}, rpc: "PauseRun",
			want: &enginev1.PauseRunRequest{RunId: "run_01", Reason: "lunch", IdempotencyKey: "k"}, status: 200, json: jsonRun, header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "resume without a body", method: "POST", path: "/v1/runs/run_01/resume", rpc: "ResumeRun",
			want: &enginev1.ResumeRunRequest{RunId: "run_01"}, status: 200, json: jsonRun,
		},
		{
			name: "cancel", method: "POST", path: "/v1/runs/run_01/cancel", body: `{}`, rpc: "CancelRun",
			want: &enginev1.CancelRunRequest{RunId: "run_01"}, status: 200, json: jsonRun,
		},
		{
			name: "history", method: "GET", path: "/v1/runs/run_01/history?after_version=3&page_size=2", rpc: "GetRunHistory",
			answer: &enginev1.GetRunHistoryResponse{NextAfterVersion: 5, Entries: []*enginev1.HistoryEntry{
				{
					RunVersion: 4, Time: noon, Actor: "agent", Type: enginev1.HistoryType_HISTORY_TYPE_TRANSITIONED, Event: "READY", From: "a", To: "b", Data: []byte(`{"n":1.10}`),
					Rationale: "why", Guards: []*enginev1.GuardResult{guard}, WorkflowVersion: 2, Status: enginev1.RunStatus_RUN_STATUS_RUNNING, SafeNext: true,
				},
				{RunVersion: 5, Time: noon, Actor: "op", Type: enginev1.HistoryType_HISTORY_TYPE_PAUSED, WorkflowVersion: 2, Status: enginev1.RunStatus_RUN_STATUS_PAUSED, Reason: "lunch"},
			}},
			want:   &enginev1.GetRunHistoryRequest{RunId: "run_01", AfterVersion: 3, PageSize: 2},
			status: 200,
			json: `{"entries":[{"run_version":4,"time":"2026-03-04T12:00:00.005Z","actor":"agent","type":"transitioned","event":"READY","from":"a","to":"b",` +
				`"data":{"n":1.10},"rationale":"why","guards":[{"name":"planned","field":"n","op":"gte","expected":9007199254740993,"actual":null,"passed":false}],` +
				`"workflow_version":2,"status":"RUNNING","safe_next":true},{"run_version":5,"time":"2026-03-04T12:00:00.005Z","actor":"op","type":"paused",` +
				`"workflow_version":2,"status":"PAUSED","reason":"lunch"}],"next_after_version":5,"next_after_result":0}`,
		},
		{
			name: "history with results", method: "GET", path: "/v1/runs/run_01/history?after=3&after_result=4", rpc: "GetRunHistory",
			answer: &enginev1.GetRunHistoryResponse{NextAfterVersion: 3, NextAfterResult: 5, Entries: []*enginev1.HistoryEntry{{
				RunVersion: 3, Time: noon, Actor: "agent", Type: enginev1.HistoryType_HISTORY_TYPE_TOOL_RESULT, From: "a", To: "a", Branch: "lint",
				ToolResult: &enginev1.ToolResult{CallId: "c1", Tool: "Read", Ok: true, Output: []byte("\u00e9\xff"), Truncated: true, Number: 5},
			}}},
			want:   &enginev1.GetRunHistoryRequest{RunId: "run_01", AfterVersion: 3, AfterResult: 4},
			status: 200,
			json: `{"entries":[{"run_version":3,"time":"2026-03-04T12:00:00.005Z","actor":"agent","type":"tool_result","from":"a","to":"a","branch":"lint",` +
				`"tool_result":{"call_id":"c1","tool":"Read","ok":true,"output":"w6n/","encoding":"base64","truncated":true,"number":5}}],` +
				`"next_after_version":3,"next_after_result":5}`,
		},
		{
			name: "history with a join", method: "GET", path: "/v1/runs/run_01/history", rpc: "GetRunHistory",
			answer: &enginev1.GetRunHistoryResponse{Entries: []*enginev1.HistoryEntry{{
				RunVersion: 3, Time: noon, Actor: "agent", Type: enginev1.HistoryType_HISTORY_TYPE_TRANSITIONED, Status: enginev1.RunStatus_RUN_STATUS_RUNNING, WorkflowVersion: 1,
				Joins: []*enginev1.Join{{Event: "GO", To: "z", Branches: []*enginev1.BranchOutcome{
					{Name: "lint", Status: enginev1.BranchStatus_BRANCH_STATUS_FAILED},
				}}},
			}}},
			want:   &enginev1.GetRunHistoryRequest{RunId: "run_01"},
			status: 200,
			json: `{"entries":[{"run_version":3,"time":"2026-03-04T12:00:00.005Z","actor":"agent","type":"transitioned","workflow_version":1,"status":"RUNNING",` +
				`"joins":[{"event":"GO","to":"z","succeeded":false,"branches":[{"name":"lint","status":"FAILED"}]}]}],"next_after_version":0,"next_after_result":0}`,
		},
		{
			name: "register", method: "POST", path: "/v1/workflows", body: `{ "id":"deploy v1.0" }`, headers: []string{"Idempotency-Key", "k"}, rpc: "RegisterWorkflow",
			answer: &enginev1.RegisterWorkflowResponse{Workflow: aWorkflow(), Created: true, Warnings: []*enginev1.Problem{
				{Pointer: "/states/x", Code: "UNREACHABLE", Severity: enginev1.Severity_SEVERITY_WARNING, Message: "m"},
			}},
			want:   &enginev1.RegisterWorkflowRequest{Definition: []byte(`{ "id":"deploy v1.0" }`), IdempotencyKey: "k"},
			status: 201,
			json:   `{` + jsonWorkflow + jsonMade + `,"created":true,"warnings":[{"pointer":"/states/x","code":"UNREACHABLE","severity":"warning","message":"m"}]}`,
			header: map[string]string{"Location": "/v1/workflows/deploy%20v1.0/versions/2"},
		},
		{
			name: "register what is there", method: "POST", path: "/v1/workflows", body: `{}`, rpc: "RegisterWorkflow",
			status: 200, json: `{` + jsonWorkflow + jsonMade + `,"created":false,"warnings":[]}`,
		},
		{
			name: "register YAML", method: "POST", path: "/v1/workflows", body: "id: a\nn: 1.10\n", headers: []string{"Content-Type", "application/yaml; charset=UTF-8"}, rpc: "RegisterWorkflow",
			want: &enginev1.RegisterWorkflowRequest{Definition: []byte(`{"id":"a","n":1.10}`)}, status: 200, json: `{` + jsonWorkflow + jsonMade + `,"created":false,"warnings":[]}`,
		},
		{
			name: "validate", method: "POST", path: "/v1/workflows/validate?strict=true", body: `{"id":`, rpc: "ValidateWorkflow",
			answer: &enginev1.ValidateWorkflowResponse{Problems: []*enginev1.Problem{{Code: "JSON_SYNTAX", Severity: enginev1.Severity_SEVERITY_ERROR, Message: "m"}}},
			want:   &enginev1.ValidateWorkflowRequest{Definition: []byte(`{"id":`), Strict: true},
			status: 200, json: `{"ok":false,"problems":[{"pointer":"","code":"JSON_SYNTAX","severity":"error","message":"m"}]}`,
		},
		{
			name: "validate what is not valid YAML", method: "POST", path: "/v1/workflows/validate", body: "a: 1\na: 2\n", headers: []string{"Content-Type", "text/yaml"},
			status: 200, json: `{"ok":false,"problems":[{"pointer":"/a","code":"DUPLICATE_KEY","severity":"error","message":"line 2: the key \"a\" is written more than once; keep one"}]}`,
		},
		{
			name: "workflow by a name with blank, dots and percent", method: "GET", path: "/v1/workflows/..%20a%25b%2e", rpc: "GetWorkflow",
			answer: &enginev1.GetWorkflowResponse{Workflow: func() *enginev1.Workflow {
				w := aWorkflow()
				w.Definition = []byte(`{"id":"deploy v1.0","n":1.0}`)
				return w
			}()},
			want:   &enginev1.GetWorkflowRequest{Name: ".. a%b."},
			status: 200, json: `{` + jsonWorkflow + `"definition":{"id":"deploy v1.0","n":1.0},` + jsonMade + `}`, header: map[string]string{"ETag": `"abc"`},
		},
		{
			name: "workflow named dot dot", method: "GET", path: "/v1/workflows/%2e%2e", rpc: "GetWorkflow",
			want: &enginev1.GetWorkflowRequest{Name: ".."}, status: 200, json: `{` + jsonWorkflow + jsonMade + `}`,
		},
		{
			name: "workflow version", method: "GET", path: "/v1/workflows/validate/versions/2", rpc: "GetWorkflow",
			want: &enginev1.GetWorkflowRequest{Name: "validate", Version: 2}, status: 200, json: `{` + jsonWorkflow + jsonMade + `}`,
		},
		{
			name: "workflows", method: "GET", path: "/v1/workflows?page_size=2&page_token=t", rpc: "ListWorkflows",
			answer: &enginev1.ListWorkflowsResponse{Workflows: []*enginev1.Workflow{aWorkflow()}},
			want:   &enginev1.ListWorkflowsRequest{PageSize: 2, PageToken: "t"},
			status: 200, json: `{"workflows":[{` + jsonWorkflow + jsonMade + `}],"next_page_token":""}`,
		},
		{name: "alive", method: "GET", path: "/healthz", headers: []string{"Authorization", ""}, status: 200, json: `{"status":"ok"}`},
		{name: "ready", method: "GET", path: "/readyz", headers: []string{"Authorization", ""}, status: 200, json: `{"status":"ready"}`},
		// S1.7
		{name: "schema", method: "GET", path: "/workflow-schema.json", headers: []string{"Authorization", ""}, status: 200, json: `{"type": "object"}`},
	})
}

// answerCase is a request and the exact answer, with what the service got.
type answerCase struct {
	name         string
	method, path string
	body         string
	headers      []string
	rpc          string
	answer       proto.Message
	want         proto.Message // what the service got
	status       int
	json         string
	header       map[string]string
}

func checkAnswers(t *testing.T, tests []answerCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			if tt.answer != nil {
				h.answers[tt.rpc] = tt.answer
			}
			rec := h.do(tt.method, tt.path, tt.body, tt.headers...)
			if rec.Code != tt.status {
				t.Errorf("status %d, want %d", rec.Code, tt.status)
			}
			if got := strings.TrimSuffix(rec.Body.String(), "\n"); got != tt.json {
				t.Errorf("answer\n got %s\nwant %s", got, tt.json)
			}
			for name, want := range tt.header {
				if got := rec.Header().Get(name); got != want {
					t.Errorf("header %s is %q, want %q", name, got, want)
				}
			}
			if tt.want != nil && !proto.Equal(h.got[tt.rpc], tt.want) {
				t.Errorf("the service got\n     %v\nwant %v", h.got[tt.rpc], tt.want)
			}
		})
	}
}

// TestMetadata: who calls, and for which namespace, travels on.
func TestMetadata(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	rec := h.do("GET", "/v1/runs/r", "", "X-Interlock-Namespace", "team-a", "X-Request-Id", "req.1", "Authorization", "bearer  s3cret!")
	for key, want := range map[string]string{"authorization": "Bearer s3cret!", "interlock-namespace": "team-a", "interlock-request-id": "req.1"} {
		if got := h.meta.Get(key); len(got) != 1 || got[0] != want {
			t.Errorf("metadata %s is %q, want %q", key, got, want)
		}
	}
	if got := rec.Header().Get("X-Request-Id"); got != "req.1" {
		t.Errorf("X-Request-Id %q", got)
	}
	rec = h.do("GET", "/v1/runs/r", "", "X-Request-Id", "bad id\x7f")
	if got := rec.Header().Get("X-Request-Id"); len(got) < 20 || len(h.meta.Get("interlock-namespace")) != 0 {
		t.Errorf("X-Request-Id %q, metadata %v", got, h.meta)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	rec := newHouse(t).do("GET", "/v1/runs/r", "")
	h := newHouse(t)
	req, _ := http.NewRequest(http.MethodHead, "/v1/runs/r", http.NoBody)
	req.Header.Set("Authorization", "Bearer x")
	head := httptest.NewRecorder()
	h.ServeHTTP(head, req)
	if head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("Content-Length") != rec.Header().Get("Content-Length") {
		t.Errorf("HEAD: %d %v %q", head.Code, head.Header(), head.Body)
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	rec := newHouse(t).do("GET", "/", "", "Authorization", "")
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), "/openapi.json") ||
		rec.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}
}
