package rest

import (
	"testing"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// TestSessionAnswers pins the exact JSON of sessions and tasks (S11).
func TestSessionAnswers(t *testing.T) {
	t.Parallel()
	root := &statev1.Session{
		SessionId: "ses_01", Name: "orchestrator", RootSessionId: "ses_01", Status: statev1.SessionStatus_SESSION_STATUS_ENDED,
		StateUpdateStatus: statev1.StateUpdateStatus_STATE_UPDATE_STATUS_NONE, StateUpdate: statev1.StateUpdate_STATE_UPDATE_SKIP,
		AcceptEarlyUpdate: true, OpenChildren: 1, TaskId: "task_1", Labels: map[string]string{"b": "2", "a": "1"}, StateRef: "prefs",
		Grants: []string{"wfstate_9"}, Error: "lost", Version: 2, CreatedAt: noon, UpdatedAt: noon, EndedAt: noon,
		Callbacks: []*statev1.Callback{{
			CallbackId: "cb_1", SessionId: "ses_02", SessionName: "child 1", Error: "no", StateVersion: 7, Time: noon,
			StateUpdateStatus: statev1.StateUpdateStatus_STATE_UPDATE_STATUS_FAILED,
		}},
	}
	const at = `"2026-03-04T12:00:00.005Z"`
	const jsonCallbacks = `[{"callback_id":"cb_1","session_id":"ses_02","session_name":"child 1","state_update_status":"failed","state_version":7,"error":"no","time":` + at + `}]`
	const jsonRoot = `{"session_id":"ses_01","session_name":"orchestrator","parent_session_id":null,"parent_session_name":null,"root_session_id":"ses_01",` +
		`"depth":0,"status":"finished","ended":true,"workflow_state_id":null,"state_update_status":null,"attempts":0,"state_update":"skip","accept_early_update":true,` +
		`"open_children":1,"callbacks":` + jsonCallbacks + `,"task_id":"task_1","labels":{"a":"1","b":"2"},"state_ref":"prefs","subject":"",` +
		`"grants":["wfstate_9"],"error":"lost","version":2,` + jsonTimes + `,"ended_at":` + at + `}`
	session := []string{"X-Interlock-Session", "orchestrator"}
	checkAnswers(t, []answerCase{
		{
			name: "create", method: "POST", path: "/v1/sessions", headers: session, rpc: "CreateSession",
			body: `{"session_id":"uuid-child","session_name":"child 1","parent_session_name":"orchestrator","workflow_state_id":"wfstate_01",` +
				`"state_update":"required","accept_early_update":true,"labels":{"gpu":"yes"},"state_ref":"prefs","subject":"alice","prompt":"Go."}`,
			want: &statev1.CreateSessionRequest{
				SessionId: "uuid-child", Name: "child 1", Parent: "orchestrator", WorkflowStateId: "wfstate_01",
				StateUpdate: statev1.StateUpdate_STATE_UPDATE_REQUIRED, AcceptEarlyUpdate: true, Labels: map[string]string{"gpu": "yes"},
				StateRef: "prefs", Subject: "alice", Prompt: "Go.", Session: "orchestrator",
			},
			status: 201, json: jsonSession + `}`, header: map[string]string{"Location": "/v1/sessions/ses_02"},
		},
		{
			name: "create what is there", method: "POST", path: "/v1/sessions", body: `{"session_name":"a","state_update":"skip"}`, rpc: "CreateSession",
			answer: &statev1.CreateSessionResponse{Session: root},
			want:   &statev1.CreateSessionRequest{Name: "a", StateUpdate: statev1.StateUpdate_STATE_UPDATE_SKIP}, status: 200, json: jsonRoot,
		},
		{
			name: "list", method: "GET", path: "/v1/sessions?root_session=orchestrator&parent_session=p&status=finished&page_size=2&page_token=t", headers: session,
			rpc: "ListSessions", answer: &statev1.ListSessionsResponse{Sessions: []*statev1.Session{root}, NextPageToken: "u"},
			want: &statev1.ListSessionsRequest{
				Session: "orchestrator", PageSize: 2, PageToken: "t", Filter: "root=orchestrator AND parent=p AND status=FINISHED",
			},
			status: 200, json: `{"sessions":[` + jsonRoot + `],"next_page_token":"u"}`,
		},
		{
			name: "get by a name", method: "GET", path: "/v1/sessions/child%201", headers: session, rpc: "GetSession",
			want: &statev1.GetSessionRequest{SessionId: "child 1", Session: "orchestrator"}, status: 200, json: jsonSession + `}`,
		},
		{
			name: "stop", method: "POST", path: "/v1/sessions/ses_02/stop", rpc: "StopSession",
			want: &statev1.StopSessionRequest{SessionId: "ses_02"}, status: 200, json: jsonSession + `}`,
		},
		{
			name: "stop in place", method: "POST", path: "/v1/sessions/ses_02/stop", body: `{"in_place":true,"end":true,"error":"e"}`,
			headers: append([]string{"Idempotency-Key", "k"}, session...), rpc: "StopSession",
			answer: &statev1.StopSessionResponse{Session: aSession(), Prompt: "Update the state."},
			want: &statev1.StopSessionRequest{
				SessionId: "ses_02", Session: "orchestrator", IdempotencyKey: "k", InPlace: true, End: true, Error: "e",
			},
			status: 200, json: jsonSession + `,"prompt":"Update the state."}`,
		},
		{
			name: "resume", method: "POST", path: "/v1/sessions/ses_02/resume", body: `{"prompt":"Go on."}`,
			headers: append([]string{"Idempotency-Key", "k"}, session...), rpc: "ResumeSession",
			want:   &statev1.ResumeSessionRequest{SessionId: "ses_02", Session: "orchestrator", IdempotencyKey: "k", Prompt: "Go on."},
			status: 200, json: jsonSession + `}`,
		},
		{
			name: "grant", method: "POST", path: "/v1/sessions/ses_02/grants", body: `{"state_id":"wfstate_9"}`, rpc: "GrantStateAccess",
			want: &statev1.GrantStateAccessRequest{SessionId: "ses_02", StateId: "wfstate_9"}, status: 200, json: jsonSession + `}`,
		},
		{
			name: "revoke", method: "DELETE", path: "/v1/sessions/ses_02/grants/wfstate_9", rpc: "GrantStateAccess",
			want: &statev1.GrantStateAccessRequest{SessionId: "ses_02", StateId: "wfstate_9", Revoke: true}, status: 204,
		},
		{
			name: "state of a session", method: "GET", path: "/v1/sessions/child%201/state?pointer=", headers: session, rpc: "GetState",
			answer: &statev1.GetStateResponse{State: aState(), Parts: []*statev1.Part{{Found: true, Value: []byte("1")}}},
			want:   &statev1.GetStateRequest{StateId: "wfstate_01", Session: "orchestrator", Pointers: []string{""}}, status: 200,
			json: `{"state_id":"wfstate_01","version":7,"parts":[{"pointer":"","found":true,"value":1}]}`, header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "whole state of a session", method: "GET", path: "/v1/sessions/ses_02/state", rpc: "GetSession",
			want: &statev1.GetSessionRequest{SessionId: "ses_02"}, status: 200, json: jsonState,
		},
		{
			name: "state of a session, not modified", method: "GET", path: "/v1/sessions/ses_02/state", headers: []string{"If-None-Match", `"7"`},
			rpc: "GetState", status: 304,
		},
		{
			name: "tasks", method: "GET", path: "/v1/tasks?session=child%201&status=claimed&page_size=1&page_token=t", rpc: "ListTasks",
			answer: &statev1.ListTasksResponse{Tasks: []*statev1.Task{
				{
					TaskId: "task_1", Kind: statev1.TaskKind_TASK_KIND_STATE_UPDATE, SessionId: "ses_02", SessionName: "child 1", WorkflowStateId: "wfstate_01",
					Prompt: "Update.", Attempt: 2, Labels: map[string]string{"gpu": "yes"}, Status: statev1.TaskStatus_TASK_STATUS_CLAIMED, Given: 1,
					Runner: "r1", ClaimToken: 99, ClaimExpiresAt: noon, CreatedAt: noon, Error: "e", ParentSessionId: "ses_01", RootSessionId: "ses_01", DueAt: noon,
				},
				{
					TaskId: "task_2", Kind: statev1.TaskKind_TASK_KIND_CALLBACK, SessionId: "ses_01", SessionName: "orchestrator", RootSessionId: "ses_01",
					Status: statev1.TaskStatus_TASK_STATUS_READY, Callbacks: root.GetCallbacks(), CreatedAt: noon,
				},
			}, NextPageToken: "u"},
			want:   &statev1.ListTasksRequest{PageSize: 1, PageToken: "t", Filter: `session="child 1" AND status=CLAIMED`},
			status: 200,
			json: `{"tasks":[{"task_id":"task_1","kind":"state_update","status":"claimed","session_id":"ses_02","session_name":"child 1","parent_session_id":"ses_01",` +
				`"root_session_id":"ses_01","workflow_state_id":"wfstate_01","prompt":"Update.","attempt":2,"labels":{"gpu":"yes"},"given":1,"runner":"r1",` +
				`"claim_expires_at":` + at + `,"created_at":` + at + `,"due_at":` + at + `,"error":"e"},` +
				`{"task_id":"task_2","kind":"callback","status":"ready","session_id":"ses_01","session_name":"orchestrator","root_session_id":"ses_01","prompt":"",` +
				`"callbacks":` + jsonCallbacks + `,"labels":{},"given":0,"created_at":` + at + `}],"next_page_token":"u"}`,
		},
	})
}
