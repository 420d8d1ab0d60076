package rest

import (
	"strings"
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
		`"depth":0,"status":"ended","workflow_state_id":null,"state_update_status":null,"attempts":0,"state_update":"skip","accept_early_update":true,` +
		`"open_children":1,"callbacks":` + jsonCallbacks + `,"task_id":"task_1","labels":{"a":"1","b":"2"},"state_ref":"prefs","subject":"",` +
		`"grants":["wfstate_9"],"error":"lost","version":2,` + jsonTimes + `,"ended_at":` + at + `}`
	session := []string{"X-Interlock-Session", "orchestrator"}
	checkAnswers(t, []answerCase{
		{
			name: "create", method: "POST", path: "/sessions", headers: session, rpc: "CreateSession",
			body: `{"session_id":"uuid-child","session_name":"child 1","parent_session_name":"orchestrator","workflow_state_id":"wfstate_01",` +
				`"state_update":"required","accept_early_update":true,"labels":{"gpu":"yes"},"state_ref":"prefs","subject":"alice","prompt":"Go."}`,
			want: &statev1.SessionServiceCreateRequest{
				SessionId: "uuid-child", Name: "child 1", Parent: "orchestrator", WorkflowStateId: "wfstate_01",
				StateUpdate: statev1.StateUpdate_STATE_UPDATE_REQUIRED, AcceptEarlyUpdate: true, Labels: map[string]string{"gpu": "yes"},
				StateRef: "prefs", Subject: "alice", Prompt: "Go.", Session: "orchestrator",
			},
			status: 201, json: jsonSession + `}`, header: map[string]string{"Location": "/sessions/ses_02"},
		},
		{
			name: "create what is there", method: "POST", path: "/sessions", body: `{"session_name":"a","state_update":"skip"}`, rpc: "CreateSession",
			answer: &statev1.SessionServiceCreateResponse{Session: root},
			want:   &statev1.SessionServiceCreateRequest{Name: "a", StateUpdate: statev1.StateUpdate_STATE_UPDATE_SKIP}, status: 200, json: jsonRoot,
		},
		{
			name: "list", method: "GET", path: "/sessions?root_session=orchestrator&parent_session=p&status=finished&page_size=2&page_token=t", headers: session,
			rpc: "ListSessions", answer: &statev1.SessionServiceListResponse{Sessions: []*statev1.Session{root}, NextPageToken: "u"},
			want: &statev1.SessionServiceListRequest{
				Session: "orchestrator", Root: "orchestrator", Parent: "p", Status: statev1.SessionStatus_SESSION_STATUS_FINISHED, PageSize: 2, PageToken: "t",
			},
			status: 200, json: `{"sessions":[` + jsonRoot + `],"next_page_token":"u"}`,
		},
		{
			name: "get by a name", method: "GET", path: "/sessions/child%201", headers: session, rpc: "GetSession",
			want: &statev1.SessionServiceGetRequest{SessionId: "child 1", Session: "orchestrator"}, status: 200, json: jsonSession + `}`,
		},
		{
			name: "stop", method: "POST", path: "/sessions/ses_02/stop", rpc: "StopSession",
			want: &statev1.SessionServiceStopRequest{SessionId: "ses_02"}, status: 200, json: jsonSession + `}`,
		},
		{
			name: "stop in place", method: "POST", path: "/sessions/ses_02/stop", body: `{"in_place":true,"end":true,"error":"e"}`,
			headers: append([]string{"Idempotency-Key", "k"}, session...), rpc: "StopSession",
			answer: &statev1.SessionServiceStopResponse{Session: aSession(), Prompt: "Update the state."},
			want: &statev1.SessionServiceStopRequest{
				SessionId: "ses_02", Session: "orchestrator", IdempotencyKey: "k", InPlace: true, End: true, Error: "e",
			},
			status: 200, json: jsonSession + `,"prompt":"Update the state."}`,
		},
		{
			name: "resume", method: "POST", path: "/sessions/ses_02/resume", body: `{"prompt":"Go on."}`,
			headers: append([]string{"Idempotency-Key", "k"}, session...), rpc: "ResumeSession",
			want:   &statev1.SessionServiceResumeRequest{SessionId: "ses_02", Session: "orchestrator", IdempotencyKey: "k", Prompt: "Go on."},
			status: 200, json: jsonSession + `}`,
		},
		{
			name: "grant", method: "POST", path: "/sessions/ses_02/grants", body: `{"state_id":"wfstate_9"}`, rpc: "Grant",
			want: &statev1.SessionServiceGrantRequest{SessionId: "ses_02", StateId: "wfstate_9"}, status: 200, json: jsonSession + `}`,
		},
		{
			name: "revoke", method: "DELETE", path: "/sessions/ses_02/grants/wfstate_9", rpc: "Grant",
			want: &statev1.SessionServiceGrantRequest{SessionId: "ses_02", StateId: "wfstate_9", Revoke: true}, status: 204,
		},
		{
			name: "state of a session", method: "GET", path: "/sessions/child%201/workflow-state?pointer=", headers: session, rpc: "GetState",
			answer: &statev1.StateServiceGetResponse{State: aState(), Parts: []*statev1.Part{{Found: true, Value: []byte("1")}}},
			want:   &statev1.StateServiceGetRequest{StateId: "wfstate_01", Session: "orchestrator", Pointers: []string{""}}, status: 200,
			json: `{"state_id":"wfstate_01","version":7,"parts":[{"pointer":"","found":true,"value":1}]}`, header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "whole state of a session", method: "GET", path: "/sessions/ses_02/workflow-state", rpc: "GetSession",
			want: &statev1.SessionServiceGetRequest{SessionId: "ses_02"}, status: 200, json: jsonState,
		},
		{
			name: "state of a session, not modified", method: "GET", path: "/sessions/ses_02/workflow-state", headers: []string{"If-None-Match", `"7"`},
			rpc: "GetState", status: 304,
		},
		{
			name: "tasks", method: "GET", path: "/v1/tasks?session=child%201&status=leased&page_size=1&page_token=t", rpc: "ListTasks",
			answer: &statev1.TaskServiceListResponse{Tasks: []*statev1.Task{
				{
					TaskId: "task_1", Kind: statev1.TaskKind_TASK_KIND_STATE_UPDATE, SessionId: "ses_02", SessionName: "child 1", WorkflowStateId: "wfstate_01",
					Prompt: "Update.", Attempt: 2, Labels: map[string]string{"gpu": "yes"}, Status: statev1.TaskStatus_TASK_STATUS_LEASED, Given: 1,
					Runner: "r1", LeaseToken: 99, LeaseExpiresAt: noon, CreatedAt: noon, Error: "e", ParentSessionId: "ses_01", RootSessionId: "ses_01", DueAt: noon,
				},
				{
					TaskId: "task_2", Kind: statev1.TaskKind_TASK_KIND_CALLBACK, SessionId: "ses_01", SessionName: "orchestrator", RootSessionId: "ses_01",
					Status: statev1.TaskStatus_TASK_STATUS_READY, Callbacks: root.GetCallbacks(), CreatedAt: noon,
				},
			}, NextPageToken: "u"},
			want:   &statev1.TaskServiceListRequest{Session: "child 1", Status: statev1.TaskStatus_TASK_STATUS_LEASED, PageSize: 1, PageToken: "t"},
			status: 200,
			json: `{"tasks":[{"task_id":"task_1","kind":"state_update","status":"leased","session_id":"ses_02","session_name":"child 1","parent_session_id":"ses_01",` +
				`"root_session_id":"ses_01","workflow_state_id":"wfstate_01","prompt":"Update.","attempt":2,"labels":{"gpu":"yes"},"given":1,"runner":"r1",` +
				`"lease_expires_at":` + at + `,"created_at":` + at + `,"due_at":` + at + `,"error":"e"},` +
				`{"task_id":"task_2","kind":"callback","status":"ready","session_id":"ses_01","session_name":"orchestrator","root_session_id":"ses_01","prompt":"",` +
				`"callbacks":` + jsonCallbacks + `,"labels":{},"given":0,"created_at":` + at + `}],"next_page_token":"u"}`,
		},
	})
}

// TestComponentAnswers pins the exact JSON of components and executions (S12).
func TestComponentAnswers(t *testing.T) {
	t.Parallel()
	read := anExecution()
	read.ExecutionId, read.Values, read.Unset = "", nil, nil
	const commit = "/v1/components/prefs/executions/exe_01/commit"
	const jsonExe = `{"execution_id":"exe_01",` + jsonExecution
	tag := map[string]string{"ETag": `"3"`}
	checkAnswers(t, []answerCase{
		{
			name: "create", method: "POST", path: "/v1/components", body: ` {"slug":"prefs"}`, headers: []string{"Idempotency-Key", "k"}, rpc: "CreateComponent",
			want:   &statev1.ComponentServiceCreateRequest{Definition: []byte(` {"slug":"prefs"}`), IdempotencyKey: "k"},
			status: 201, json: jsonComponent, header: map[string]string{"ETag": `"3"`, "Location": "/v1/components/prefs"},
		},
		{
			name: "create of YAML", method: "POST", path: "/v1/components", body: "slug: prefs\nn: 1.10\n", headers: []string{"Content-Type", "application/yaml"},
			rpc: "CreateComponent", want: &statev1.ComponentServiceCreateRequest{Definition: []byte(`{"slug":"prefs","n":1.10}`)}, status: 201, json: jsonComponent,
		},
		{
			name: "list", method: "GET", path: "/v1/components?tag=a&page_size=1&page_token=t", rpc: "ListComponents",
			answer: &statev1.ComponentServiceListResponse{Components: []*statev1.Component{aComponent()}, NextPageToken: "u"},
			want:   &statev1.ComponentServiceListRequest{Tag: "a", PageSize: 1, PageToken: "t"},
			status: 200, json: `{"components":[` + jsonComponent + `],"next_page_token":"u"}`,
		},
		{
			name: "get", method: "GET", path: "/v1/components/prefs", rpc: "GetComponent",
			want: &statev1.ComponentServiceGetRequest{Slug: "prefs"}, status: 200, json: jsonComponent, header: tag,
		},
		{name: "not modified", method: "GET", path: "/v1/components/prefs", headers: []string{"If-None-Match", `"3"`}, rpc: "GetComponent", status: 304, header: tag},
		{
			name: "replace", method: "PUT", path: "/v1/components/prefs", body: `{}`, headers: []string{"If-Match", `"2"`}, rpc: "UpdateComponent",
			want:   &statev1.ComponentServiceUpdateRequest{Slug: "prefs", Definition: []byte(`{}`), ExpectedVersion: 2},
			status: 200, json: jsonComponent, header: tag,
		},
		{
			name: "delete", method: "DELETE", path: "/v1/components/prefs", headers: []string{"If-Match", `"3"`}, rpc: "DeleteComponent",
			want: &statev1.ComponentServiceDeleteRequest{Slug: "prefs", ExpectedVersion: 3}, status: 204,
		},
		{
			name: "begin", method: "POST", path: "/v1/components/prefs/executions", headers: []string{"X-Interlock-Session", "s"}, rpc: "Begin",
			want: &statev1.ComponentServiceBeginRequest{Slug: "prefs", Session: "s"}, status: 201, json: jsonExe,
		},
		{
			name: "begin for another", method: "POST", path: "/v1/components/prefs/executions", body: `{"session":"t","subject":"alice"}`,
			headers: []string{"X-Interlock-Session", "s"}, rpc: "Begin",
			want: &statev1.ComponentServiceBeginRequest{Slug: "prefs", Session: "t", Subject: "alice"}, status: 201, json: jsonExe,
		},
		{
			name: "commit values", method: "POST", path: commit, body: `{"values":{ "n":1.0}}`, headers: []string{"X-Interlock-Session", "s"}, rpc: "Commit",
			want: &statev1.ComponentServiceCommitRequest{
				ExecutionId: "exe_01", Session: "s", Change: &statev1.ComponentServiceCommitRequest_Values{Values: []byte(`{ "n":1.0}`)},
			},
			status: 200, json: jsonExe,
		},
		{
			name: "commit a patch", method: "POST", path: commit, body: `{"operations":[]}`, rpc: "Commit",
			want: &statev1.ComponentServiceCommitRequest{
				ExecutionId: "exe_01", Change: &statev1.ComponentServiceCommitRequest_Patch{Patch: []byte(`[]`)},
			},
			status: 200, json: jsonExe,
		},
		{
			name: "commit a merge patch", method: "POST", path: commit, body: `{"merge":{"n":null}}`, rpc: "Commit",
			want: &statev1.ComponentServiceCommitRequest{
				ExecutionId: "exe_01", Change: &statev1.ComponentServiceCommitRequest_MergePatch{MergePatch: []byte(`{"n":null}`)},
			},
			status: 200, json: jsonExe,
		},
		{
			name: "commit nothing new", method: "POST", path: commit, rpc: "Commit",
			want: &statev1.ComponentServiceCommitRequest{ExecutionId: "exe_01"}, status: 200, json: jsonExe,
		},
		{
			name: "read", method: "GET", path: "/v1/components/prefs/values?session=t&subject=alice", headers: []string{"X-Interlock-Session", "s"}, rpc: "Read",
			answer: &statev1.ComponentServiceReadResponse{Execution: read},
			want:   &statev1.ComponentServiceReadRequest{Slug: "prefs", Session: "t", Subject: "alice"}, status: 200,
			json: `{` + strings.NewReplacer(`{"n":9007199254740993}`, "{}", `["m"]`, "[]").Replace(jsonExecution),
		},
		{
			name: "read one's own", method: "GET", path: "/v1/components/prefs/values", headers: []string{"X-Interlock-Session", "s"}, rpc: "Read",
			want: &statev1.ComponentServiceReadRequest{Slug: "prefs", Session: "s"}, status: 200, json: jsonExe,
		},
	})
}

// TestRefusedStateRequests: what the edge refuses before the state-store sees it.
func TestRefusedStateRequests(t *testing.T) {
	t.Parallel()
	const (
		state  = "/workflow-states/s"
		lock   = "/workflow-states/s/lock"
		commit = "/v1/components/c/executions/e/commit"
		patch  = "application/json-patch+json"
		merge  = "application/merge-patch+json"
		bad    = "INVALID_REQUEST"
		text   = "INVALID_JSON"
	)
	contentType := func(kind string) []string { return []string{"Content-Type", kind} }
	patchable := map[string]string{"Accept-Patch": "application/json, application/json-patch+json, application/merge-patch+json"}
	checkRefusals(t, []refusalCase{
		{name: "no token", method: "GET", path: "/workflow-states", headers: []string{"Authorization", ""}, status: 401, code: "UNAUTHENTICATED"},
		{name: "wrong method", method: "POST", path: state, status: 405, code: "METHOD_NOT_ALLOWED", header: map[string]string{"Allow": "DELETE, GET, HEAD, PATCH, PUT"}},
		{name: "cross origin", method: "DELETE", path: state, headers: []string{"Origin", "https://evil.example"}, status: 403, code: "CROSS_ORIGIN"},

		{name: "patch of an unknown type", method: "PATCH", path: state, body: `{}`, headers: contentType("application/xml"), status: 415, code: "UNSUPPORTED_MEDIA_TYPE", header: patchable},
		{name: "patch of no type", method: "PATCH", path: "/workflow-state", body: `{}`, headers: contentType(""), status: 415, code: "UNSUPPORTED_MEDIA_TYPE", header: patchable},
		{name: "replacement by a patch", method: "PUT", path: state, body: `[]`, headers: contentType(patch), status: 415, code: "UNSUPPORTED_MEDIA_TYPE", header: map[string]string{"Accept": "application/json", "Accept-Patch": ""}},
		{name: "replacement in YAML", method: "PUT", path: state, body: `data: 1`, headers: contentType("application/yaml"), status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "unlock by a form", method: "DELETE", path: lock, body: `fencing_token=1`, headers: contentType("application/x-www-form-urlencoded"), status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},

		{name: "no data", method: "PUT", path: state, body: `{}`, status: 400, code: bad, pointer: "/data", detail: "REQUIRED"},
		{name: "empty", method: "PUT", path: state, body: ``, headers: contentType("application/json"), status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "cut off", method: "PUT", path: state, body: `{"data":{"a":`, status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "duplicate key", method: "PUT", path: state, body: `{"data":{"a":{"b":1,"b":2}}}`, status: 400, code: text, pointer: "/data/a/b", detail: "DUPLICATE_KEY"},
		{name: "NaN", method: "PUT", path: state, body: `{"data":{"a":NaN}}`, status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "infinite number", method: "PUT", path: state, body: `{"data":{"a":1e999}}`, status: 400, code: text, pointer: "/data/a", detail: "NUMBER"},
		{name: "lone surrogate", method: "PUT", path: state, body: `{"data":{"a":"\ud800"}}`, status: 400, code: text, pointer: "/data/a", detail: "UTF8"},
		{name: "invalid UTF-8", method: "PUT", path: state, body: "{\"data\":{\"a\":\"\xff\"}}", status: 400, code: text, pointer: "/data/a", detail: "UTF8"},
		{name: "unknown field", method: "PUT", path: state, body: `{"data":{},"version":1}`, status: 400, code: bad, pointer: "/version", detail: "UNKNOWN_FIELD"},
		{name: "negative version", method: "PUT", path: state, body: `{"data":{},"expected_version":-1}`, status: 400, code: bad, pointer: "/expected_version", detail: "RANGE"},
		{name: "negative token", method: "PUT", path: state, body: `{"data":{},"fencing_token":-1}`, status: 400, code: bad, pointer: "/fencing_token", detail: "RANGE"},
		{name: "two versions", method: "PUT", path: state, body: `{"data":{},"expected_version":6}`, headers: []string{"If-Match", `"7"`}, status: 400, code: bad, detail: "CONFLICT"},
		{name: "two tokens", method: "PUT", path: state, body: `{"data":{},"fencing_token":6}`, headers: []string{"Interlock-Fencing-Token", `7`}, status: 400, code: bad, detail: "CONFLICT"},
		{name: "token is no number", method: "PUT", path: state, body: `{"data":{}}`, headers: []string{"Interlock-Fencing-Token", `"7"`}, status: 400, code: bad, detail: "RANGE"},
		{name: "If-Match is no version", method: "PUT", path: state, body: `{"data":{}}`, headers: []string{"If-Match", `"x"`}, status: 400, code: bad, detail: "INVALID"},
		{name: "session is no text", method: "GET", path: state, headers: []string{"X-Interlock-Session", "\xff"}, status: 400, code: bad, detail: "INVALID"},
		{name: "endless session", method: "GET", path: state, headers: []string{"X-Interlock-Session", strings.Repeat("s", 257)}, status: 400, code: bad, detail: "INVALID"},
		{name: "state is no text", method: "GET", path: "/workflow-state", headers: []string{"X-Workflow-State-Id", "\x01"}, status: 400, code: bad, detail: "INVALID"},

		{name: "patch without operations", method: "PATCH", path: state, body: `{}`, status: 400, code: bad, pointer: "/operations", detail: "REQUIRED"},
		{name: "operations are no array", method: "PATCH", path: state, body: `{"operations":{}}`, status: 400, code: bad, pointer: "/operations", detail: "TYPE"},
		{name: "operations are null", method: "PATCH", path: state, body: `{"operations":null}`, status: 400, code: bad, pointer: "/operations", detail: "TYPE"},
		{name: "operations alone", method: "PATCH", path: state, body: `[]`, status: 400, code: bad, detail: "TYPE"},
		{name: "JSON Patch is an object", method: "PATCH", path: state, body: `{"operations":[]}`, headers: contentType(patch), status: 400, code: bad, detail: "TYPE"},
		{name: "JSON Patch is null", method: "PATCH", path: state, body: `null`, headers: contentType(patch), status: 400, code: bad, detail: "TYPE"},
		{name: "JSON Patch is empty", method: "PATCH", path: state, headers: contentType(patch), status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "JSON Patch with a duplicate", method: "PATCH", path: state, body: `[{"op":"add","op":"remove","path":""}]`, headers: contentType(patch), status: 400, code: text, pointer: "/0/op", detail: "DUPLICATE_KEY"},
		{name: "merge patch is empty", method: "PATCH", path: state, headers: contentType(merge), status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "merge patch with a lone surrogate", method: "PATCH", path: state, body: `{"a":"\udfff"}`, headers: contentType(merge), status: 400, code: text, pointer: "/a", detail: "UTF8"},
		{name: "migration's operations", method: "POST", path: state + "/migrate", body: `{"operations":"x"}`, status: 400, code: bad, pointer: "/operations", detail: "TYPE"},
		{name: "migration from two versions", method: "POST", path: state + "/migrate", body: `{"expected_version":6}`, headers: []string{"If-Match", `"7"`}, status: 400, code: bad, detail: "CONFLICT"},
		{name: "migration with two tokens", method: "POST", path: state + "/migrate", body: `{"fencing_token":6}`, headers: []string{"Interlock-Fencing-Token", `7`}, status: 400, code: bad, detail: "CONFLICT"},

		{name: "create without anything", method: "POST", path: "/workflow-states", body: `{}`, status: 400, code: bad, detail: "REQUIRED"},
		{name: "create for two sessions", method: "POST", path: "/workflow-states", body: `{"schema_name":"s","initial_data":{},"root_session_id":"a","session_name":"b"}`, status: 400, code: bad, pointer: "/session_name", detail: "CONFLICT"},
		{name: "create is not patched", method: "POST", path: "/workflow-states", body: `{"schema_name":"s","initial_data":{}}`, headers: []string{"If-Match", `"7"`}, status: 400, code: bad, detail: "UNSUPPORTED"},
		{name: "force is no boolean", method: "DELETE", path: state + "?force=1", status: 400, code: bad, detail: "ENUM"},
		{name: "deletion of a bad version", method: "DELETE", path: state, headers: []string{"If-Match", `7`}, status: 400, code: bad, detail: "INVALID"},
		{name: "version zero", method: "GET", path: state + "/versions/0", status: 404, code: "NOT_FOUND"},
		{name: "version is no number", method: "GET", path: state + "/versions/x", status: 400, code: bad, detail: "RANGE"},
		{name: "pointer is no text", method: "GET", path: state + "?pointer=%2Fa&pointer=%ff", status: 400, code: bad, detail: "UTF8"},
		{name: "pointers of a list", method: "GET", path: "/workflow-states?pointer=", status: 400, code: bad, detail: "UNKNOWN_PARAMETER"},
		{name: "two schemas", method: "GET", path: "/workflow-states?schema=a&schema=b", status: 400, code: bad, detail: "DUPLICATE_PARAMETER"},
		{name: "page of states", method: "GET", path: "/workflow-states?page_size=1001", status: 400, code: bad, detail: "RANGE"},
		{name: "history from nowhere", method: "GET", path: state + "/history?after_version=-1", status: 400, code: bad, detail: "RANGE"},
		{name: "page of history", method: "GET", path: state + "/history?page_size=x", status: 400, code: bad, detail: "RANGE"},

		{name: "schema without anything", method: "POST", path: "/workflow-schemas", body: `{"description":"d"}`, status: 400, code: bad, detail: "REQUIRED"},
		{name: "schema in YAML", method: "POST", path: "/workflow-schemas", body: `name: a`, headers: contentType("application/yaml"), status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "schema version zero", method: "GET", path: "/workflow-schemas/a?version=0", status: 404, code: "NOT_FOUND"},
		{name: "page of schemas", method: "GET", path: "/workflow-schemas?page_size=x", status: 400, code: bad, detail: "RANGE"},
		{name: "page of versions", method: "GET", path: "/workflow-schemas/a/versions?page_size=x", status: 400, code: bad, detail: "RANGE"},

		{name: "lock without anything", method: "POST", path: lock, body: `{}`, status: 400, code: bad, detail: "REQUIRED"},
		{name: "lock with a token", method: "POST", path: lock, body: `{"holder":"a","ttl_seconds":1,"fencing_token":1}`, status: 400, code: bad, pointer: "/fencing_token", detail: "UNKNOWN_FIELD"},
		{name: "endless lock", method: "POST", path: lock, body: `{"holder":"a","ttl_seconds":2147483648}`, status: 400, code: bad, pointer: "/ttl_seconds", detail: "TYPE"},
		{name: "renewal without a token", method: "PUT", path: lock, body: `{"holder":"a","ttl_seconds":1}`, status: 400, code: bad, pointer: "/fencing_token", detail: "REQUIRED"},
		{name: "renewal with two tokens", method: "PUT", path: lock, body: `{"holder":"a","ttl_seconds":1,"fencing_token":1}`, headers: []string{"Interlock-Fencing-Token", "2"}, status: 400, code: bad, detail: "CONFLICT"},
		{name: "unlock without a token", method: "DELETE", path: lock, status: 400, code: bad, pointer: "/fencing_token", detail: "REQUIRED"},
		{name: "unlock with two tokens", method: "DELETE", path: lock + "?fencing_token=1", body: `{"fencing_token":2}`, status: 400, code: bad, detail: "CONFLICT"},
		{name: "unlock with no number", method: "DELETE", path: lock + "?fencing_token=-1", status: 400, code: bad, detail: "RANGE"},

		{name: "session is no object", method: "POST", path: "/sessions", body: `[]`, status: 400, code: bad, detail: "TYPE"},
		{name: "state_update", method: "POST", path: "/sessions", body: `{"state_update":"REQUIRED"}`, status: 400, code: bad, pointer: "/state_update", detail: "ENUM"},
		{name: "unspecified state_update", method: "POST", path: "/sessions", body: `{"state_update":"unspecified"}`, status: 400, code: bad, pointer: "/state_update", detail: "ENUM"},
		{name: "label is no text", method: "POST", path: "/sessions", body: `{"labels":{"a":1}}`, status: 400, code: bad, pointer: "/labels/a", detail: "TYPE"},
		{name: "sessions of an unknown status", method: "GET", path: "/sessions?status=RUNNING", status: 400, code: bad, detail: "ENUM"},
		{name: "sessions of no status", method: "GET", path: "/sessions?status=", status: 400, code: bad, detail: "ENUM"},
		{name: "page of sessions", method: "GET", path: "/sessions?page_size=x", status: 400, code: bad, detail: "RANGE"},
		{name: "stop", method: "POST", path: "/sessions/s/stop", body: `{"in_place":1}`, status: 400, code: bad, pointer: "/in_place", detail: "TYPE"},
		{name: "resume", method: "POST", path: "/sessions/s/resume", body: `{"x":1}`, status: 400, code: bad, pointer: "/x", detail: "UNKNOWN_FIELD"},
		{name: "grant of nothing", method: "POST", path: "/sessions/s/grants", body: `{}`, status: 400, code: bad, pointer: "/state_id", detail: "REQUIRED"},
		{name: "grant that is no JSON", method: "POST", path: "/sessions/s/grants", body: `{`, status: 400, code: text},
		{name: "tasks of an unknown status", method: "GET", path: "/v1/tasks?status=lost", status: 400, code: bad, detail: "ENUM"},
		{name: "page of tasks", method: "GET", path: "/v1/tasks?page_size=x", status: 400, code: bad, detail: "RANGE"},

		{name: "empty component", method: "POST", path: "/v1/components", headers: contentType("application/json"), status: 400, code: text, detail: "JSON_SYNTAX"},
		{name: "component of bad YAML", method: "PUT", path: "/v1/components/c", body: "a: 1\na: 2", headers: contentType("text/yaml"), status: 400, code: text, detail: "DUPLICATE_KEY"},
		{name: "component of a bad version", method: "PUT", path: "/v1/components/c", body: `{}`, headers: []string{"If-Match", "3"}, status: 400, code: bad, detail: "INVALID"},
		{name: "deletion of a bad component version", method: "DELETE", path: "/v1/components/c", headers: []string{"If-Match", "3"}, status: 400, code: bad, detail: "INVALID"},
		{name: "page of components", method: "GET", path: "/v1/components?page_size=x", status: 400, code: bad, detail: "RANGE"},
		{name: "begin", method: "POST", path: "/v1/components/c/executions", body: `{"slug":"d"}`, status: 400, code: bad, pointer: "/slug", detail: "UNKNOWN_FIELD"},
		{name: "commit of two", method: "POST", path: commit, body: `{"values":{},"merge":{}}`, status: 400, code: bad, detail: "CONFLICT"},
		{name: "committed values are no object", method: "POST", path: commit, body: `{"values":[]}`, status: 400, code: bad, pointer: "/values", detail: "TYPE"},
		{name: "committed operations are no array", method: "POST", path: commit, body: `{"operations":{}}`, status: 400, code: bad, pointer: "/operations", detail: "TYPE"},
		{name: "commit of bad JSON", method: "POST", path: commit, body: `{"values":{"a":1,"a":2}}`, status: 400, code: text, pointer: "/values/a", detail: "DUPLICATE_KEY"},
	})
}
