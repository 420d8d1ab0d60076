package rest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestStateAnswers pins the exact JSON of schemas, states and locks (S10).
func TestStateAnswers(t *testing.T) {
	t.Parallel()
	locked := aState()
	locked.Lock = &statev1.Lock{Holder: "me", ExpiresAt: noon}
	listed := aState()
	listed.Data = nil
	schema := aSchema()
	schema.JsonSchema = nil
	jsonListed := jsonStateHead + jsonStateTail
	jsonListedSchema := strings.Replace(jsonSchema, `"json_schema":{"type":"object","maximum":9007199254740993},`, "", 1)
	parts := &statev1.GetStateResponse{State: listed, Parts: []*statev1.Part{
		{Pointer: "/a", Found: true, Value: []byte("1.10")}, {Pointer: "/x~1y"},
	}}
	const jsonParts = `{"state_id":"wfstate_01","version":7,"parts":[{"pointer":"/a","found":true,"value":1.10},{"pointer":"/x~1y","found":false,"value":null}]}`
	session := []string{"X-Interlock-Session", "child-1"}
	checkAnswers(t, []answerCase{
		{
			name: "register a schema", method: "POST", path: "/v1/schemas",
			body:    `{"name":"code review","json_schema":{ "type":"object" },"description":"d"}`,
			headers: []string{"Idempotency-Key", "k"}, rpc: "RegisterSchema",
			want: &statev1.RegisterSchemaRequest{
				Name: "code review", JsonSchema: []byte(`{ "type":"object" }`), Description: "d", IdempotencyKey: "k",
			},
			status: 201, json: jsonSchema, header: map[string]string{"Location": "/v1/schemas/code%20review?version=2"},
		},
		{
			name: "register what is there, a boolean", method: "POST", path: "/v1/schemas", body: `{"name":"n","json_schema":true}`,
			rpc: "RegisterSchema", answer: &statev1.RegisterSchemaResponse{Schema: aSchema()},
			want: &statev1.RegisterSchemaRequest{Name: "n", JsonSchema: []byte(`true`)}, status: 200, json: jsonSchema,
		},
		{
			name: "schemas", method: "GET", path: "/v1/schemas?page_size=2&page_token=t", rpc: "ListSchemas",
			answer: &statev1.ListSchemasResponse{Schemas: []*statev1.Schema{schema}, NextPageToken: "u"},
			want:   &statev1.ListSchemasRequest{PageSize: 2, PageToken: "t"},
			status: 200, json: `{"schemas":[` + jsonListedSchema + `],"next_page_token":"u"}`,
		},
		{
			name: "schema", method: "GET", path: "/v1/schemas/code%20review", rpc: "GetSchema",
			want: &statev1.GetSchemaRequest{Name: "code review"}, status: 200, json: jsonSchema,
		},
		{
			name: "schema version", method: "GET", path: "/v1/schemas/a%2Fb?version=2", rpc: "GetSchema",
			want: &statev1.GetSchemaRequest{Name: "a/b", Version: 2}, status: 200, json: jsonSchema,
		},
		{
			name: "schema versions", method: "GET", path: "/v1/schemas/versions/versions?page_size=1&page_token=1", rpc: "ListSchemaVersions",
			answer: &statev1.ListSchemaVersionsResponse{Schemas: []*statev1.Schema{schema}},
			want:   &statev1.ListSchemaVersionsRequest{Name: "versions", PageSize: 1, PageToken: "1"},
			status: 200, json: `{"schemas":[` + jsonListedSchema + `],"next_page_token":""}`,
		},
		{
			name: "create for a session that is there", method: "POST", path: "/v1/states",
			body:    `{"schema_name":"s","schema_version":2,"initial_data":{ "z":1.0 },"root_session_id":"ses_01"}`,
			headers: []string{"Idempotency-Key", "k", "X-Interlock-Session", "ses_01"}, rpc: "CreateState",
			want: &statev1.CreateStateRequest{
				SchemaName: "s", SchemaVersion: 2, Data: []byte(`{ "z":1.0 }`), Session: "ses_01", ExistingSession: true, IdempotencyKey: "k",
			},
			status: 201, json: jsonState, header: map[string]string{"Location": "/v1/states/wfstate_01", "ETag": `"7"`},
		},
		{
			name: "create for a session by name", method: "POST", path: "/v1/state",
			body: `{"schema_name":"s","initial_data":null,"session_name":"orchestrator"}`, rpc: "CreateState",
			want:   &statev1.CreateStateRequest{SchemaName: "s", Data: []byte(`null`), Session: "orchestrator"},
			status: 201, json: jsonState,
		},
		{
			name: "create for the session that acts, by name", method: "POST", path: "/v1/states", headers: session,
			body: `{"schema_name":"s","initial_data":[1],"session_name":"child-1"}`, rpc: "CreateState",
			want: &statev1.CreateStateRequest{SchemaName: "s", Data: []byte(`[1]`), Session: "child-1"}, status: 201, json: jsonState,
		},
		{
			name: "create for the session that acts", method: "POST", path: "/v1/states", headers: session,
			body: `{"schema_name":"s","initial_data":[1]}`, rpc: "CreateState",
			want: &statev1.CreateStateRequest{SchemaName: "s", Data: []byte(`[1]`), Session: "child-1"}, status: 201, json: jsonState,
		},
		{
			name: "create for a new session", method: "POST", path: "/v1/states", body: `{"schema_name":"s","initial_data":{}}`, rpc: "CreateState",
			want: &statev1.CreateStateRequest{SchemaName: "s", Data: []byte(`{}`)}, status: 201, json: jsonState,
		},
		{
			name: "states", method: "GET", path: "/v1/states?root_session=orchestrator&schema=code%20review&page_size=1&page_token=t", headers: session,
			rpc: "ListStates", answer: &statev1.ListStatesResponse{States: []*statev1.State{listed}, NextPageToken: "u"},
			want: &statev1.ListStatesRequest{
				Session: "child-1", PageSize: 1, PageToken: "t", Filter: `root_session=orchestrator AND schema="code review"`,
			},
			status: 200, json: `{"states":[` + jsonListed + `],"next_page_token":"u"}`,
		},
		{
			name: "get", method: "GET", path: "/v1/states/wfstate_01", headers: append([]string{"If-None-Match", `"6"`}, session...), rpc: "GetState",
			want: &statev1.GetStateRequest{StateId: "wfstate_01", Session: "child-1"}, status: 200, json: jsonState,
			header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "get what is locked", method: "GET", path: "/workflow-state/wfstate_01", rpc: "GetState",
			answer: &statev1.GetStateResponse{State: locked}, want: &statev1.GetStateRequest{StateId: "wfstate_01"},
			status: 200, json: strings.TrimSuffix(jsonState, "}") + `,"lock":{"holder":"me","expires_at":"2026-03-04T12:00:00.005Z"}}`,
		},
		{
			name: "get by the header", method: "GET", path: "/v1/state", headers: append([]string{"X-Workflow-State-Id", "wfstate_01"}, session...),
			rpc: "GetState", want: &statev1.GetStateRequest{StateId: "wfstate_01", Session: "child-1"}, status: 200, json: jsonState,
		},
		{
			name: "get that of the session that acts", method: "GET", path: "/v1/state", headers: session,
			rpc: "GetState", want: &statev1.GetStateRequest{Session: "child-1"}, status: 200, json: jsonState,
		},
		{
			name: "get parts", method: "GET", path: "/v1/states/wfstate_01?pointer=%2Fa&pointer=%2Fx~1y", rpc: "GetState", answer: parts,
			want:   &statev1.GetStateRequest{StateId: "wfstate_01", Pointers: []string{"/a", "/x~1y"}},
			status: 200, json: jsonParts, header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "get the whole as a part", method: "GET", path: "/v1/states/wfstate_01?pointer=", rpc: "GetState",
			answer: &statev1.GetStateResponse{State: listed, Parts: []*statev1.Part{{Found: true, Value: []byte("{}")}}},
			want:   &statev1.GetStateRequest{StateId: "wfstate_01", Pointers: []string{""}},
			status: 200, json: `{"state_id":"wfstate_01","version":7,"parts":[{"pointer":"","found":true,"value":{}}]}`,
		},
		{
			name: "get a version", method: "GET", path: "/v1/states/wfstate_01/versions/7", rpc: "GetState",
			want: &statev1.GetStateRequest{StateId: "wfstate_01", Version: 7}, status: 200, json: jsonState, header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "get parts of a version", method: "GET", path: "/v1/states/wfstate_01/versions/7?pointer=%2Fa", rpc: "GetState", answer: parts,
			want: &statev1.GetStateRequest{StateId: "wfstate_01", Version: 7, Pointers: []string{"/a"}}, status: 200, json: jsonParts,
		},
		{
			name: "not modified", method: "GET", path: "/v1/states/wfstate_01", headers: []string{"If-None-Match", `"5", W/"7"`}, rpc: "GetState",
			status: 304, header: map[string]string{"ETag": `"7"`, "Content-Type": ""},
		},
		{
			name: "parts not modified", method: "GET", path: "/v1/state?pointer=%2Fa", headers: []string{"If-None-Match", `*`}, rpc: "GetState",
			answer: parts, status: 304, header: map[string]string{"ETag": `"7"`},
		},
		{
			name: "history", method: "GET", path: "/v1/states/wfstate_01/history?after_version=3&page_size=2", headers: session, rpc: "GetStateHistory",
			answer: &statev1.GetStateHistoryResponse{NextAfterVersion: 5, Versions: []*statev1.StateVersion{{
				Version: 4, Time: noon, SessionId: "ses_02", SessionName: "child-1", Actor: "agent", Type: statev1.StateChangeType_STATE_CHANGE_TYPE_UPDATED, SchemaVersion: 2,
				Patch: []byte(`[{"op":"add","path":"/n","value":1.10}]`),
			}}},
			want:   &statev1.GetStateHistoryRequest{StateId: "wfstate_01", Session: "child-1", AfterVersion: 3, PageSize: 2},
			status: 200,
			json: `{"versions":[{"version":4,"time":"2026-03-04T12:00:00.005Z","type":"updated","session_id":"ses_02","session_name":"child-1",` +
				`"actor":"agent","schema_version":2,"patch":[{"op":"add","path":"/n","value":1.10}]}],"next_after_version":5}`,
		},
		{
			name: "delete", method: "DELETE", path: "/v1/states/wfstate_01?force=true", headers: append([]string{"If-Match", `"7"`}, session...),
			rpc: "DeleteState", want: &statev1.DeleteStateRequest{StateId: "wfstate_01", Session: "child-1", Force: true, ExpectedVersion: 7},
			status: 204, header: map[string]string{"Content-Type": "", "ETag": ""},
		},
		{
			name: "lock", method: "POST", path: "/v1/states/wfstate_01/lock", body: `{"holder":"me","ttl_seconds":30}`, headers: session, rpc: "LockState",
			want:   &statev1.LockStateRequest{StateId: "wfstate_01", Session: "child-1", Holder: "me", Ttl: durationpb.New(30 * time.Second)},
			status: 201, json: `{"fencing_token":3,"expires_at":"2026-03-04T12:00:00.005Z"}`,
		},
		{
			name: "renew", method: "PUT", path: "/v1/states/wfstate_01/lock", body: `{"holder":"me","ttl_seconds":30,"fencing_token":3}`, rpc: "LockState",
			want:   &statev1.LockStateRequest{StateId: "wfstate_01", Holder: "me", Ttl: durationpb.New(30 * time.Second), FencingToken: 3},
			status: 200, json: `{"fencing_token":3,"expires_at":"2026-03-04T12:00:00.005Z"}`,
		},
		{
			name: "unlock by the body", method: "DELETE", path: "/v1/states/wfstate_01/lock", body: `{"fencing_token":3}`, headers: session, rpc: "UnlockState",
			want: &statev1.UnlockStateRequest{StateId: "wfstate_01", Session: "child-1", FencingToken: 3}, status: 204,
		},
		{
			name: "unlock by the query", method: "DELETE", path: "/v1/states/wfstate_01/lock?fencing_token=3", rpc: "UnlockState",
			want: &statev1.UnlockStateRequest{StateId: "wfstate_01", FencingToken: 3}, status: 204,
		},
		{
			name: "unlock by the header", method: "DELETE", path: "/v1/states/wfstate_01/lock", headers: []string{"Interlock-Fencing-Token", "3"}, rpc: "UnlockState",
			want: &statev1.UnlockStateRequest{StateId: "wfstate_01", FencingToken: 3}, status: 204,
		},
	})
}

// TestStateChanges pins how every way to change a document reaches the
// state-store: exactly as it was written (S10.3, S10.4).
func TestStateChanges(t *testing.T) {
	t.Parallel()
	const ops = `[ {"op":"add","path":"/n","value":12345678901234567890.10} ]`
	data := func(text string) *statev1.UpdateStateRequest {
		return &statev1.UpdateStateRequest{
			StateId: "wfstate_01", WithData: true, Change: &statev1.UpdateStateRequest_Data{Data: []byte(text)},
		}
	}
	patch := func(change func(*statev1.UpdateStateRequest)) *statev1.UpdateStateRequest {
		r := &statev1.UpdateStateRequest{
			StateId: "wfstate_01", WithData: true, Change: &statev1.UpdateStateRequest_Patch{Patch: []byte(ops)},
		}
		change(r)
		return r
	}
	merge := func(text string) *statev1.UpdateStateRequest {
		return &statev1.UpdateStateRequest{
			StateId: "wfstate_01", WithData: true, Change: &statev1.UpdateStateRequest_MergePatch{MergePatch: []byte(text)},
		}
	}
	own := data(`{}`)
	own.StateId, own.Session = "", "child-1"
	const path = "/v1/states/wfstate_01"
	const patchType, mergeType = "application/json-patch+json", "application/merge-patch+json; charset=utf-8"
	cases := []answerCase{
		{name: "replace", method: "PUT", path: path, body: `{"data":{ "z":1, "a":9007199254740993}}`, want: data(`{ "z":1, "a":9007199254740993}`)},
		{
			name: "replace a version, with a lock", method: "PUT", path: path, body: `{"data":1e2,"expected_version":7,"fencing_token":3}`,
			headers: []string{"Idempotency-Key", "k", "If-Match", `"7"`, "Interlock-Fencing-Token", "3"},
			want: func() proto.Message {
				r := data(`1e2`)
				r.ExpectedVersion, r.FencingToken, r.IdempotencyKey = 7, 3, "k"
				return r
			}(),
		},
		{name: "replace null", method: "PUT", path: path, body: `{"data":null,"expected_version":null}`, want: data(`null`)},
		{
			name: "replace one's own", method: "PUT", path: "/v1/state", body: `{"data":{}}`,
			headers: []string{"X-Interlock-Session", "child-1", "If-Match", "*"}, want: own,
		},
		{name: "replace under the other name", method: "PUT", path: "/workflow-state/wfstate_01", body: `{"data":{}}`, want: data(`{}`)},
		{name: "patch", method: "PATCH", path: path, body: `{"operations":` + ops + `}`, want: patch(func(*statev1.UpdateStateRequest) {})},
		{
			name: "patch a version, with a lock", method: "PATCH", path: path, body: `{"operations":` + ops + `,"expected_version":7,"fencing_token":3}`,
			want: patch(func(r *statev1.UpdateStateRequest) { r.ExpectedVersion, r.FencingToken = 7, 3 }),
		},
		{
			name: "patch by headers", method: "PATCH", path: path, body: `{"operations":` + ops + `}`,
			headers: []string{"If-Match", `"7"`, "Interlock-Fencing-Token", "3", "X-Interlock-Session", "s", "Idempotency-Key", "k"},
			want: patch(func(r *statev1.UpdateStateRequest) {
				r.ExpectedVersion, r.FencingToken, r.Session, r.IdempotencyKey = 7, 3, "s", "k"
			}),
		},
		{
			name: "JSON Patch", method: "PATCH", path: path, body: ops, headers: []string{"Content-Type", patchType, "If-Match", `"7"`, "Interlock-Fencing-Token", "3"},
			want: patch(func(r *statev1.UpdateStateRequest) { r.ExpectedVersion, r.FencingToken = 7, 3 }),
		},
		{name: "merge patch", method: "PATCH", path: path, body: `{"a":null, "b":1.0}`, headers: []string{"Content-Type", mergeType}, want: merge(`{"a":null, "b":1.0}`)},
		{name: "merge patch that replaces", method: "PATCH", path: path, body: `null`, headers: []string{"Content-Type", mergeType}, want: merge(`null`)},
		{
			name: "merge patch of a header's state", method: "PATCH", path: "/v1/state", body: `{}`,
			headers: []string{"Content-Type", mergeType, "X-Workflow-State-Id", "wfstate_01"}, want: merge(`{}`),
		},
		{
			name: "migrate", method: "POST", path: path + "/migrate", rpc: "MigrateState",
			body:    `{"schema_version":3,"operations":` + ops + `,"expected_version":7,"fencing_token":2}`,
			headers: []string{"Idempotency-Key", "k", "X-Interlock-Session", "s"},
			want: &statev1.MigrateStateRequest{
				StateId: "wfstate_01", Session: "s", SchemaVersion: 3, Patch: []byte(ops), ExpectedVersion: 7, FencingToken: 2, IdempotencyKey: "k",
			},
		},
		{
			name: "migrate to the latest", method: "POST", path: path + "/migrate", rpc: "MigrateState",
			want: &statev1.MigrateStateRequest{StateId: "wfstate_01"},
		},
		{
			name: "migrate without a patch", method: "POST", path: path + "/migrate", rpc: "MigrateState", body: `{"operations":null}`,
			headers: []string{"If-Match", `"7"`}, want: &statev1.MigrateStateRequest{StateId: "wfstate_01", ExpectedVersion: 7},
		},
	}
	for i := range cases {
		c := &cases[i]
		c.status, c.json, c.header = http.StatusOK, jsonState, map[string]string{"ETag": `"7"`}
		if c.rpc == "" {
			c.rpc = "UpdateState"
		}
	}
	checkAnswers(t, cases)
}

// TestStateFailures: conflicts, locks and refusals of the state-store.
func TestStateFailures(t *testing.T) {
	t.Parallel()
	conflict := func() error {
		return fault.New(fault.VersionConflict, "state s is at version 9, not 7").Meta("current_version", "9")
	}
	const path = "/v1/states/s"
	ifMatch := []string{"If-Match", `"7"`}
	nine := map[string]string{"ETag": `"9"`}
	checkFailures(t, []failureCase{
		{name: "expected_version", method: "PUT", path: path, body: `{"data":{},"expected_version":7}`, rpc: "UpdateState", err: conflict(), status: 409, code: "VERSION_CONFLICT", header: nine},
		{name: "If-Match", method: "PUT", path: path, body: `{"data":{}}`, headers: ifMatch, rpc: "UpdateState", err: conflict(), status: 412, code: "VERSION_CONFLICT", header: nine},
		{
			name: "If-Match and expected_version", method: "PATCH", path: path, body: `{"operations":[],"expected_version":7}`, headers: ifMatch,
			rpc: "UpdateState", err: conflict(), status: 412, code: "VERSION_CONFLICT", header: nine,
		},
		{
			name: "If-Match of a JSON Patch", method: "PATCH", path: "/v1/state", body: `[]`, headers: []string{"If-Match", `"7"`, "Content-Type", "application/json-patch+json"},
			rpc: "UpdateState", err: conflict(), status: 412, code: "VERSION_CONFLICT", header: nine,
		},
		{name: "If-Match of a migration", method: "POST", path: path + "/migrate", headers: ifMatch, rpc: "MigrateState", err: conflict(), status: 412, code: "VERSION_CONFLICT", header: nine},
		{name: "If-Match of a deletion", method: "DELETE", path: path, headers: ifMatch, rpc: "DeleteState", err: conflict(), status: 412, code: "VERSION_CONFLICT", header: nine},
		{name: "If-Match of a component", method: "PUT", path: "/v1/components/c", body: `{}`, headers: ifMatch, rpc: "UpdateComponent", err: conflict(), status: 412, code: "VERSION_CONFLICT", header: nine},
		{name: "If-Match of a component's deletion", method: "DELETE", path: "/v1/components/c", headers: ifMatch, rpc: "DeleteComponent", err: conflict(), status: 412, code: "VERSION_CONFLICT", header: nine},
		{name: "concurrent executions", method: "POST", path: "/v1/components/c/executions/e/commit", body: `{}`, rpc: "CommitExecution", err: conflict(), status: 409, code: "VERSION_CONFLICT", header: nine},
		{
			name: "locked", method: "PUT", path: path, body: `{"data":{}}`, rpc: "UpdateState",
			err: &fault.Error{Reason: fault.Locked, Message: "locked by me", RetryAfter: 2e9}, status: 423, code: "LOCKED", header: map[string]string{"Retry-After": "2"},
		},
		{name: "fenced", method: "PATCH", path: path, body: `{"operations":[]}`, rpc: "UpdateState", err: fault.New(fault.Fenced, "late"), status: 423, code: "FENCED"},
		{name: "key used", method: "POST", path: "/v1/states", body: `{"schema_name":"s","initial_data":{}}`, rpc: "CreateState", err: fault.New(fault.IdempotencyMismatch, "used"), status: 409, code: "IDEMPOTENCY_MISMATCH"},
		{name: "too large for the store", method: "PUT", path: path, body: `{"data":{}}`, rpc: "UpdateState", err: fault.New(fault.TooLarge, "1 MiB"), status: 413, code: "TOO_LARGE"},
		{name: "no such state", method: "GET", path: path, rpc: "GetState", err: fault.New(fault.NotFound, "no"), status: 404, code: "NOT_FOUND"},
		{name: "not one's own tree", method: "GET", path: path, rpc: "GetState", err: fault.New(fault.PermissionDenied, "no"), status: 403, code: "PERMISSION_DENIED"},
		{
			name: "invalid header", method: "GET", path: path, headers: []string{"X-Interlock-Session", "s"}, rpc: "GetState",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/session", "STRING_MAX_LEN", "m"), status: 400, code: "INVALID_REQUEST", errors: 1,
		},
		{
			name: "invalid pointer", method: "GET", path: path + "?pointer=a", rpc: "GetState",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/pointers/0", "POINTER", "m"), status: 400, code: "INVALID_REQUEST", errors: 1,
		},
		{
			name: "invalid field that has another name", method: "POST", path: "/v1/states", body: `{"schema_name":"s","initial_data":{}}`, rpc: "CreateState",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/data/a/b", "X", "m"), status: 400, code: "INVALID_REQUEST", errors: 1, pointer: "/initial_data/a/b",
		},
		{
			name: "invalid operation", method: "PATCH", path: path, body: `{"operations":[]}`, rpc: "UpdateState",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/patch/0/op", "ENUM", "m"), status: 400, code: "INVALID_REQUEST", errors: 1, pointer: "/operations/0/op",
		},
		{
			name: "invalid label", method: "POST", path: "/v1/sessions", body: `{}`, rpc: "CreateSession",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/labels/a~1b", "X", "m"), status: 400, code: "INVALID_REQUEST", errors: 1, pointer: "/labels/a~1b",
		},
		{
			name: "invalid parent", method: "POST", path: "/v1/sessions", body: `{}`, rpc: "CreateSession",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/parent", "X", "m"), status: 400, code: "INVALID_REQUEST", errors: 1, pointer: "/parent_session_name",
		},
		{
			name: "operation that fails", method: "PATCH", path: path, body: `{"operations":[]}`, rpc: "UpdateState",
			err: fault.New(fault.PatchFailed, "bad").Violate("/operations/1/path", "PATCH_PATH_MISSING", "m"), status: 422, code: "PATCH_FAILED", errors: 1, pointer: "/operations/1/path",
		},
		{
			name: "operation of a JSON Patch that fails", method: "PATCH", path: path, body: `[]`, headers: []string{"Content-Type", "application/json-patch+json"}, rpc: "UpdateState",
			err: fault.New(fault.PatchFailed, "bad").Violate("/operations/1/path", "PATCH_PATH_MISSING", "m"), status: 422, code: "PATCH_FAILED", errors: 1, pointer: "/1/path",
		},
		{
			name: "operation of a JSON Patch that is malformed", method: "PATCH", path: path, body: `[]`, headers: []string{"Content-Type", "application/json-patch+json"}, rpc: "UpdateState",
			err: fault.New(fault.InvalidJSON, "bad").Violate("/operations/0/op", "ENUM", "m").Violate("/operations", "TOO_MANY", "m"), status: 400, code: "INVALID_JSON", errors: 2,
		},
		{
			name: "schema broken by a merge patch", method: "PATCH", path: path, body: `{}`, headers: []string{"Content-Type", "application/merge-patch+json"}, rpc: "UpdateState",
			err: fault.New(fault.SchemaViolation, "bad").Violate("/operations_left", "TYPE", "m"), status: 422, code: "SCHEMA_VIOLATION", errors: 1, pointer: "/operations_left",
		},
		{
			name: "schema broken", method: "PUT", path: path, body: `{"data":{}}`, rpc: "UpdateState",
			err: fault.New(fault.SchemaViolation, "bad").Violate("/tasks/0/status", "ENUM", "m").Violate("/n", "TYPE", "m"), status: 422, code: "SCHEMA_VIOLATION", errors: 2,
		},
		{
			name: "no valid schema", method: "POST", path: "/v1/schemas", body: `{"name":"a","json_schema":{"type":1}}`, rpc: "RegisterSchema",
			err: fault.New(fault.InvalidSchema, "bad").Violate("/type", "BAD_SCHEMA", "m"), status: 422, code: "INVALID_SCHEMA", errors: 1, pointer: "/type",
		},
		{name: "name taken", method: "POST", path: "/v1/sessions", body: `{"session_name":"a"}`, rpc: "CreateSession", err: fault.New(fault.NameTaken, "taken"), status: 409, code: "NAME_TAKEN"},
		{name: "no such session's state", method: "GET", path: "/v1/sessions/a/state", rpc: "GetSession", err: fault.New(fault.NotFound, "no"), status: 404, code: "NOT_FOUND"},
		{
			name: "invalid component", method: "POST", path: "/v1/components", body: `{}`, rpc: "CreateComponent",
			err: fault.New(fault.InvalidDefinition, "bad").Violate("/slug", "REQUIRED", "m"), status: 422, code: "INVALID_DEFINITION", errors: 1, pointer: "/slug",
		},
		{
			name: "component that is not valid JSON", method: "POST", path: "/v1/components", body: `{`, rpc: "CreateComponent",
			err: fault.New(fault.InvalidDefinition, "bad").Violate("", "JSON_SYNTAX", "m"), status: 400, code: "INVALID_JSON", errors: 1,
		},
	})
}

// TestSessionWithoutState: 404, and nothing else is asked.
func TestSessionWithoutState(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	session := aSession()
	session.WorkflowStateId = ""
	h.answers["GetSession"] = &statev1.GetSessionResponse{Session: session}
	rec := h.do("GET", "/v1/sessions/child/state", "")
	if p := problem(t, rec); rec.Code != 404 || p.Code != "NOT_FOUND" || h.got["GetState"] != nil {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestSizes: a document of 1 MiB and what is around it fits; whether the document
// itself does is the state-store's to say (S10.2).
func TestSizes(t *testing.T) {
	t.Parallel()
	document := `"` + strings.Repeat("a", 1<<20-2) + `"`
	h := newHouse(t)
	if rec := h.do("PUT", "/v1/states/s", `{"data":`+document+`}`); rec.Code != 200 {
		t.Errorf("1 MiB: %d %.200s", rec.Code, rec.Body)
	}
	if got := h.got["UpdateState"].(*statev1.UpdateStateRequest).GetData(); string(got) != document {
		t.Errorf("%d bytes came through", len(got))
	}
	for name, tt := range map[string]struct{ method, path, contentType string }{
		"replace": {"PUT", "/v1/states/s", "application/json"},
		"merge":   {"PATCH", "/v1/state", "application/merge-patch+json"},
		"create":  {"POST", "/v1/states", "application/json"},
		"commit":  {"POST", "/v1/components/c/executions/e/commit", "application/json"},
		"schema":  {"POST", "/v1/schemas", "application/json"},
	} {
		h := newHouse(t)
		rec := h.do(tt.method, tt.path, strings.Repeat(" ", maxDocumentBody+1), "Content-Type", tt.contentType)
		if p := problem(t, rec); rec.Code != 413 || p.Code != "TOO_LARGE" || len(h.got) > 0 {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
}

// TestDocumentDepth: a document may nest 64 levels, whatever is around it (S1.1).
func TestDocumentDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, tt := range map[string]struct{ method, path, contentType, before, after string }{
		"replace":     {"PUT", "/v1/states/s", "application/json", `{"data":`, `}`},
		"create":      {"POST", "/v1/states", "application/json", `{"schema_name":"s","initial_data":`, `}`},
		"operations":  {"PATCH", "/v1/states/s", "application/json", `{"operations":[{"op":"add","path":"","value":`, `}]}`},
		"JSON Patch":  {"PATCH", "/v1/states/s", "application/json-patch+json", `[{"op":"add","path":"","value":`, `}]`},
		"merge patch": {"PATCH", "/v1/states/s", "application/merge-patch+json", ``, ``},
	} {
		for depth, status := range map[int]int{64: map[string]int{"create": 201}[name], 65: 400} {
			if status == 0 {
				status = 200
			}
			rec := newHouse(t).do(tt.method, tt.path, tt.before+nested(depth)+tt.after, "Content-Type", tt.contentType)
			if rec.Code != status {
				t.Errorf("%s of %d levels: %d %s", name, depth, rec.Code, rec.Body)
			}
		}
	}
}
