package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// TestStateTools walks an agent through its tree's state, in every protocol.
func TestStateTools(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for _, over := range []string{"stdio", "http"} {
			t.Run(version+" over "+over, func(t *testing.T) {
				t.Parallel()
				v := newVault()
				s := v.server(t, newPlane(), nil)
				if over == "stdio" {
					walkState(t, v, overStdio(t, s, version, nil))
				} else {
					walkState(t, v, overHTTP(t, endpoint(t, s)+"?session=s1", version, nil, nil))
				}
			})
		}
	}
}

func walkState(t *testing.T, v *vault, session *sdk.ClientSession) {
	t.Helper()
	wantRefused(t, call(t, session, "state_read", `{}`), "NO_SESSION", `There is no session "s1"`, "state_create(schema_name=..., initial_data=...)", caller.SessionHeader)
	v.requests()

	wantShared(t, call(t, session, "state_create", `{"schema_name":"tasks","schema_version":2,"initial_data":{"z":1.0,"id":9007199254740993,"a":null}}`),
		1, `{"z":1.0,"id":9007199254740993,"a":null}`, "Created the state wfstate_1 of schema tasks version 2, at version 1.")
	wantShared(t, call(t, session, "state_read", `{}`), 1, `{"z":1.0,"id":9007199254740993,"a":null}`,
		"State wfstate_1 of schema tasks version 2 is at version 1.\n"+`{"z":1.0,"id":9007199254740993,"a":null}`)
	wantShared(t, call(t, session, "state_patch", `{"operations":[{"op":"add","path":"/n","value":1e300}],"expected_version":1}`),
		2, `[{"op":"add","path":"/n","value":1e300}]`, "Patched: the state wfstate_1 is at version 2 now.")
	wantShared(t, call(t, session, "state_update", `{"data":{"x":0.10}}`), 3, `{"x":0.10}`, "Replaced: the state wfstate_1 is at version 3 now.")
	wantShared(t, call(t, session, "state_read", `{"version":2}`), 2, `[{"op":"add","path":"/n","value":1e300}]`, "as it was at version 2:")
	wantRefused(t, call(t, session, "state_read", `{"version":4}`), "NOT_FOUND", "no version 4")
	asked := v.requests()
	want := []proto.Message{
		&statev1.CreateStateRequest{SchemaName: "tasks", SchemaVersion: 2, Data: []byte(`{"z":1.0,"id":9007199254740993,"a":null}`), Session: "s1"},
		&statev1.GetStateRequest{Session: "s1"},
		&statev1.UpdateStateRequest{
			Session: "s1", Change: &statev1.UpdateStateRequest_Patch{Patch: []byte(`[{"op":"add","path":"/n","value":1e300}]`)}, ExpectedVersion: 1, WithData: true,
		},
		&statev1.UpdateStateRequest{Session: "s1", Change: &statev1.UpdateStateRequest_Data{Data: []byte(`{"x":0.10}`)}, WithData: true},
		&statev1.GetStateRequest{Session: "s1", Version: 2},
		&statev1.GetStateRequest{Session: "s1", Version: 4},
		&statev1.GetSessionRequest{SessionId: "s1"},
	}
	wantRequests(t, want, asked)

	schema := call(t, session, "state_schema", `{}`)
	wantOK(t, schema, "Schema tasks version 2, of the state wfstate_1, which is at version 3:\nWhat is to be done.\n"+vaultSchema)
	if got := schema.StructuredContent.(map[string]any); got["schema_name"] != "tasks" || got["schema_version"] != 2.0 || got["version"] != 3.0 || got["state_id"] != vaultState {
		t.Errorf("%v", got)
	}
}

// wantShared fails unless a client decodes the state at a version.
func wantShared(t *testing.T, result *sdk.CallToolResult, version float64, data string, parts ...string) {
	t.Helper()
	wantOK(t, result, parts...)
	var decoded any
	if err := json.Unmarshal([]byte(data), &decoded); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"state_id": vaultState, "version": version, "data": decoded}
	if diff := cmp.Diff(want, result.StructuredContent); diff != "" {
		t.Errorf("structured content (-want +got):\n%s", diff)
	}
}

// wantRequests compares requests but for their idempotency keys, which must all be
// there and differ.
func wantRequests(t *testing.T, want, got []proto.Message) {
	t.Helper()
	keys := map[string]bool{}
	for _, m := range got {
		fields := m.ProtoReflect().Descriptor().Fields()
		if f := fields.ByName("idempotency_key"); f != nil {
			key := m.ProtoReflect().Get(f).String()
			if key == "" || keys[key] {
				t.Errorf("key %q of %T", key, m)
			}
			keys[key] = true
		}
	}
	ignore := protocmp.IgnoreFields(&statev1.CreateStateRequest{}, "idempotency_key")
	ignoreToo := protocmp.IgnoreFields(&statev1.UpdateStateRequest{}, "idempotency_key")
	if diff := cmp.Diff(want, got, protocmp.Transform(), ignore, ignoreToo); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestDocumentsAreAnsweredAsTheyAre: to the last digit, on the wire (S10.4).
func TestDocumentsAreAnsweredAsTheyAre(t *testing.T) {
	t.Parallel()
	v := newVault()
	v.share("s1", "")
	v.versions = [][]byte{[]byte(`{"z":12345678901234567890,"b":1.50,"a":1e300,"t":"<&>"}`)}
	v.parts = []*statev1.Part{
		{Pointer: "/z", Found: true, Value: []byte(`12345678901234567890`)}, {Pointer: "/a~1b"}, {Found: true, Value: []byte(`null`)},
	}
	url := endpoint(t, v.server(t, newPlane(), nil)) + "?session=s1"
	ask := func(tool, arguments string) string {
		_, _, header := post(t, url, initialize)
		_, answer, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`,
			mcpSessionHeader, header.Get(mcpSessionHeader), protocolHeader, "2025-06-18")
		return answer
	}
	for _, row := range []struct{ tool, Values, want string }{
		{"state_read", `{}`, `"structuredContent":{"state_id":"wfstate_1","version":1,"data":{"z":12345678901234567890,"b":1.50,"a":1e300,"t":"`},
		{"state_schema", `{}`, `"json_schema":` + vaultSchema},
		{
			"state_read", `{"pointers":["/z","/a~1b",""]}`,
			`"structuredContent":{"state_id":"wfstate_1","version":1,"parts":[{"pointer":"/z","found":true,"value":12345678901234567890},` +
				`{"pointer":"/a~1b","found":false,"value":null},{"pointer":"","found":true,"value":null}]}`,
		},
	} {
		if got := ask(row.tool, row.Values); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s\nwithout %s", row.tool, got, row.want)
		}
	}
	got := v.requests()
	want := &statev1.GetStateRequest{Session: "s1", Pointers: []string{"/z", "/a~1b", ""}}
	if diff := cmp.Diff(want, got[len(got)-1], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	session := overHTTP(t, url, "2025-11-25", nil, nil)
	wantOK(t, call(t, session, "state_read", `{"pointers":["/z","/a~1b",""]}`), "is at version 1.\n/z: 12345678901234567890\n/a~1b: there is no value here.\n(all): null")
	// The text names the holder of the lock.
	v.mu.Lock()
	v.lock = &statev1.Lock{Holder: "deployer", ExpiresAt: timestamppb.New(time.Unix(1_900_000_000, 0))}
	v.mu.Unlock()
	wantOK(t, call(t, session, "state_read", `{"pointers":["/z"]}`), `It is locked by "deployer" until 2030-03-17T17:46:40Z`)
}

// TestStateRefusals: a refusal names the place, the rule, the version and how to fix it.
func TestStateRefusals(t *testing.T) {
	t.Parallel()
	until := "2030-03-17T17:46:40Z"
	violation := fault.New(fault.SchemaViolation, "the state would not conform").Violate("/tasks/0/status", "ENUM", `must be one of "done", "failed"`).
		Violate("", "REQUIRED", `add "status"`)
	for name, row := range map[string]struct {
		tool, Values string
		err          *fault.Error
		code         string
		parts        []string
		fields       map[string]any
	}{
		"schema": {
			"state_patch", `{"operations":[]}`, fault.New(fault.SchemaViolation, "the state would not conform").Meta("current_version", "7").
				Violate("/tasks/0/status", "ENUM", `must be one of "done", "failed"`),
			"SCHEMA_VIOLATION",
			[]string{"Not changed (SCHEMA_VIOLATION): the state would not conform", "\n/tasks/0/status: ENUM: must be one of", "state_schema shows the schema"},
			map[string]any{"current_version": 7.0},
		},
		"schema of the whole": {
			"state_create", `{"schema_name":"tasks","initial_data":{}}`, violation, "SCHEMA_VIOLATION",
			[]string{"Not created", "\nREQUIRED: add \"status\"", "Correct the problems above"},
			nil,
		},
		"a string of JSON": {
			"state_update", `{"data":"{}"}`, violation, "SCHEMA_VIOLATION", []string{"given as a string: give the JSON itself"}, nil,
		},
		"a string of JSON to begin with": {
			"state_create", `{"schema_name":"tasks","initial_data":"{}"}`, violation, "SCHEMA_VIOLATION", []string{"given as a string"}, nil,
		},
		"patch": {
			"state_patch", `{"operations":[{}]}`, fault.New(fault.PatchFailed, "operation 0 does not apply").Violate("/operations/0/path", "PATH_NOT_FOUND", "no such member"),
			"PATCH_FAILED",
			[]string{"/operations/0/path: PATH_NOT_FOUND", "Read it with state_read, then patch again."},
			nil,
		},
		"lock": {
			"state_update", `{"data":{}}`, fault.New(fault.Locked, `locked by "deployer" until %s`, until).Meta("holder", "deployer").Meta("until", until),
			"LOCKED",
			[]string{`locked by "deployer" until ` + until, "state_read still reads it"},
			map[string]any{"locked_by": "deployer", "locked_until": until},
		},
		"conflict without a version": {
			"state_update", `{"data":{}}`, fault.New(fault.VersionConflict, "changed faster than this"), "VERSION_CONFLICT", []string{"decide again."}, nil,
		},
		"ended": {"state_update", `{"data":{}}`, fault.New(fault.SessionEnded, "it has ended"), "SESSION_ENDED", []string{"The session or program that started this session can resume it."}, nil},
		"uncertain": {
			"state_patch", `{"operations":[]}`, fault.New(fault.CommitUncertain, "who knows"), "COMMIT_UNCERTAIN", []string{"look with state_read before trying again"}, nil,
		},
		"there is one": {
			"state_create", `{"schema_name":"tasks","initial_data":{}}`, fault.New(fault.FailedPrecondition, "it has one already").Meta("state_id", vaultState),
			"FAILED_PRECONDITION",
			[]string{"Read it with state_read."},
			map[string]any{"state_id": vaultState},
		},
		"no such schema": {
			"state_create", `{"schema_name":"task","initial_data":{}}`, nil, "NOT_FOUND", []string{`no schema "task"`, "Registered schemas: tasks0 (version 2)."}, nil,
		},
		"conflict": {
			"state_patch", `{"operations":[],"expected_version":9}`, nil, "VERSION_CONFLICT",
			[]string{"at version 1, not 9", "Read it with state_read and decide again, with expected_version 1."},
			map[string]any{"current_version": 1.0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault()
			v.share("s1", "")
			session := overStdio(t, v.server(t, newPlane(), nil), "2025-11-25", nil)
			if row.err != nil {
				v.failNext(row.err)
			}
			result := call(t, session, row.tool, row.Values)
			wantRefused(t, result, row.code, row.parts...)
			for field, want := range row.fields {
				if got := result.StructuredContent.(map[string]any)[field]; got != want {
					t.Errorf("%s is %v, want %v", field, got, want)
				}
			}
		})
	}
}

// TestSchemasThatThereAre are named to who asks for another.
func TestSchemasThatThereAre(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*vault){
		"No schema is registered":            func(v *vault) { v.schemas = 0 },
		"tasks0 (version 2), tasks1":         func(v *vault) { v.schemas = 2 },
		"Ask an operator for the name":       func(v *vault) { v.failAll = fault.New(fault.Unavailable, "away").GRPCStatus().Err() },
		`there is no schema "of other name"`: func(*vault) {},
	} {
		v := newVault()
		change(v)
		session := overStdio(t, v.server(t, newPlane(), nil), "2025-11-25", nil)
		wantRefused(t, call(t, session, "state_create", `{"schema_name":"of other name","initial_data":{}}`), "NOT_FOUND", want)
	}
}

// TestSessionsWithoutAState: the refusal names the session that must act, and the action.
func TestSessionsWithoutAState(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		known *statev1.Session
		state string // that the connection names
		code  string
		parts []string
	}{
		"unknown": {nil, "", "NO_SESSION", []string{`There is no session "s1"`}},
		"root":    {&statev1.Session{Name: "s1"}, "", "NO_STATE", []string{`"s1" has created no workflow state yet`, "Create it with p_state_create(schema_name="}},
		"child": {
			&statev1.Session{Name: "s1", ParentSessionId: "ses_0", ParentSessionName: "boss"}, "",
			"NO_STATE",
			[]string{`its parent "boss" had none`, "Inform your parent"},
		},
		"of another tree": {&statev1.Session{Name: "s1", WorkflowStateId: "wfstate_2"}, vaultState, "PERMISSION_DENIED", []string{"another tree", caller.StateHeader, "Leave it out"}},
		"gone":            {&statev1.Session{Name: "s1", WorkflowStateId: vaultState}, "wfstate_9", "NOT_FOUND", []string{"there is no state wfstate_9", caller.StateHeader}},
	} {
		for _, request := range []struct{ tool, Values string }{
			{"p_state_read", `{}`}, {"p_state_schema", `{}`}, {"p_state_patch", `{"operations":[]}`}, {"p_state_update", `{"data":{}}`},
		} {
			v := newVault()
			if row.known != nil {
				v.sessions["s1"] = row.known
			}
			session := overStdio(t, v.server(t, newPlane(), func(c *Config) { c.StatePrefix, c.Stdio.StateID = "p_", row.state }), "2025-11-25", nil)
			t.Log(name, request.tool)
			wantRefused(t, call(t, session, request.tool, request.Values), row.code, row.parts...)
		}
	}
	// A failure without an explanation is in the text, too.
	v := newVault()
	v.failAll = fault.New(fault.PermissionDenied, "not you").GRPCStatus().Err()
	session := overStdio(t, v.server(t, newPlane(), nil), "2025-11-25", nil)
	wantRefused(t, call(t, session, "state_read", `{}`), "PERMISSION_DENIED", "not you")
}

// TestStateToolsAreNeverGated (S3): they work in every state of a run.
func TestStateToolsAreNeverGated(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{restricted: true, disallowed: []string{"state_read", "state_patch", "*"}}
	p.start("s1")
	v := newVault()
	v.share("s1", "")
	// Nor can an upstream server pass for them.
	evil := upstreamtest.NewBackend(t, "state_read", "state_patch", "interlock_state_update")
	session := overStdio(t, v.server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{evil.As("evil")} }), "2025-11-25", nil)
	for tool, arguments := range map[string]string{
		"state_read": `{}`, "state_patch": `{"operations":[]}`, "state_update": `{"data":{}}`, "state_schema": `{}`,
		"state_create": `{"schema_name":"tasks","initial_data":{}}`,
	} {
		wantOK(t, call(t, session, tool, arguments), vaultState)
	}
	if checks, reports := p.counts(); checks+reports > 0 {
		t.Errorf("%d checks and %d reports of own tools", checks, reports)
	}
	wantRefused(t, call(t, session, "mcp__evil__state_read", `{}`), "TOOL_DISALLOWED")
	if got := evil.Called(); len(got) > 0 {
		t.Errorf("the other server was called: %v", got)
	}
}

// TestStateArguments: every wrong argument is found here, and named.
func TestStateArguments(t *testing.T) {
	t.Parallel()
	v := newVault()
	v.share("s1", "")
	session := overStdio(t, v.server(t, newPlane(), nil), "2025-11-25", nil)
	many := `["` + strings.Repeat(`/a","`, 256) + `/a"]`
	for _, row := range []struct{ tool, Values, want string }{
		{"state_create", `{"initial_data":{}}`, `needs the argument "schema_name"`},
		{"state_create", `{"schema_name":"tasks"}`, `needs the argument "initial_data" (any value)`},
		{"state_create", `{"schema_name":"tasks","initial_data":{},"state_id":"wfstate_2"}`, `no argument "state_id"; it takes schema_name, schema_version, initial_data`},
		{"state_create", `{"schema_name":"tasks","initial_data":{"a":1,"a":2}}`, "DUPLICATE_KEY"},
		{"state_read", `{"session":"s2"}`, `has no argument "session"; it takes pointers, version`},
		{"state_read", `{"pointers":"/a"}`, `"pointers" must be an array, not a string`},
		{"state_read", `{"pointers":["/a",1]}`, `element 1 of the argument "pointers" must be a string, not a number`},
		{"state_read", `{"pointers":` + many + `}`, `"pointers" must have at most 256 elements, not 257`},
		{"state_read", `{"pointers":["/` + strings.Repeat("x", 4096) + `"]}`, `element 0 of the argument "pointers" is longer than 4096 bytes`},
		{"state_read", `{"version":0}`, `"version" must be a whole number of at least 1`},
		{"state_update", `{}`, `needs the argument "data"`},
		{"state_update", `{"data":{},"expected_version":"1"}`, `"expected_version" must be an integer, not a string`},
		{"state_patch", `{"operations":{"op":"add"}}`, `"operations" must be an array, not an object`},
		{"state_patch", `{"operations":["add"]}`, `element 0 of the argument "operations" must be an object, not a string`},
		{"state_patch", `{"operations":[],"expected_version":0}`, `at least 1`},
		{"state_schema", `{"name":"tasks"}`, `it takes none`},
	} {
		wantRefused(t, call(t, session, row.tool, row.Values), "INVALID_ARGUMENT", row.want)
	}
	if got := v.requests(); len(got) > 0 {
		t.Errorf("asked %v", got)
	}
	// Any JSON may be a document, and a document may nest as deep as documents may.
	for _, data := range []string{"null", "false", "0", `""`, "[]", strings.Repeat("[", 64) + strings.Repeat("]", 64)} {
		wantOK(t, call(t, session, "state_update", `{"data":`+data+`}`))
		wantOK(t, call(t, session, "state_patch", `{"operations":[{"op":"add","path":"","value":`+data+`}]}`))
	}
}
