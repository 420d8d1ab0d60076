package jsonview_test

import (
	"slices"
	"testing"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// TestStateViews pins the view of an empty message, and the form of
// numbers that no float64 could carry.
func TestStateViews(t *testing.T) {
	t.Parallel()
	const times = `"created_at":"2026-03-04T12:00:00Z","updated_at":"2026-03-04T12:00:00Z"`
	const zero = `"0001-01-01T00:00:00Z"`
	for name, tc := range map[string]struct {
		view any
		want string
	}{
		"state in a list": {
			jsonview.StateOf(&statev1.State{StateId: "s", Version: 1, CreatedAt: noon, UpdatedAt: noon}),
			`{"state_id":"s","schema_id":"","schema_name":"","root_session_id":"","root_session_name":"","version":1,` + times +
				`,"schema_version":0,"updated_by":""}`,
		},
		"locked state": {
			jsonview.StateOf(&statev1.State{
				StateId: "s", Version: 1, Data: []byte(`{"b":9007199254740993,"a":1.0}`), CreatedAt: noon, UpdatedAt: noon,
				Lock: &statev1.Lock{Holder: "me", ExpiresAt: noon},
			}),
			`{"state_id":"s","schema_id":"","schema_name":"","root_session_id":"","root_session_name":"","version":1,` +
				`"current_data":{"b":9007199254740993,"a":1.0},` + times + `,"schema_version":0,"updated_by":"","lock":{"holder":"me","expires_at":"2026-03-04T12:00:00Z"}}`,
		},
		"schema": {
			jsonview.SchemaOf(&statev1.Schema{SchemaId: "x", Name: "n", Version: 2, JsonSchema: []byte("true"), CreatedAt: noon}),
			`{"schema_id":"x","name":"n","version":2,"json_schema":true,"description":"",` + times + `,"digest":"","created_by":""}`,
		},
		"schema in a list": {
			jsonview.SchemaOf(&statev1.Schema{SchemaId: "x", Name: "n", Version: 2, CreatedAt: noon}),
			`{"schema_id":"x","name":"n","version":2,"description":"",` + times + `,"digest":"","created_by":""}`,
		},
		"nothing found": {jsonview.PartOf(&statev1.Part{Pointer: "/a"}), `{"pointer":"/a","found":false,"value":null}`},
		"null found":    {jsonview.PartOf(&statev1.Part{Found: true, Value: []byte("null")}), `{"pointer":"","found":true,"value":null}`},
		"session": {
			jsonview.SessionOf(&statev1.Session{SessionId: "s", Status: statev1.SessionStatus_SESSION_STATUS_RUNNING, CreatedAt: noon, UpdatedAt: noon}),
			`{"session_id":"s","session_name":"","parent_session_id":null,"parent_session_name":null,"root_session_id":"","depth":0,"status":"running","ended":false,` +
				`"workflow_state_id":null,"state_update_status":null,"attempts":0,"state_update":"unspecified","accept_early_update":false,"open_children":0,` +
				`"callbacks":[],"labels":{},"subject":"","grants":[],"version":0,` + times + `}`,
		},
		"task": {
			jsonview.TaskOf(&statev1.Task{TaskId: "t", Kind: statev1.TaskKind_TASK_KIND_START, Status: statev1.TaskStatus_TASK_STATUS_DELAYED, ClaimToken: 7}),
			`{"task_id":"t","kind":"start","status":"delayed","session_id":"","session_name":"","root_session_id":"","prompt":"","labels":{},"given":0,"created_at":` + zero + `}`,
		},
		"component": {
			jsonview.ComponentOf(&statev1.Component{Slug: "c", Persistence: statev1.Persistence_PERSISTENCE_SESSION, SchemaDefinition: []byte("{}"), CreatedAt: noon, UpdatedAt: noon}),
			`{"slug":"c","name":"","description":"","tags":[],"schema_definition":{},"persistence":"session","initial_values":{},"version":0,` + times + `}`,
		},
		"execution": {
			jsonview.ExecutionOf(&statev1.Execution{Slug: "c", Persistence: statev1.Persistence_PERSISTENCE_NONE}),
			`{"slug":"c","values":{},"version":0,"persistence":"none","session_id":"","subject":"","unset":[]}`,
		},
	} {
		if got := text(t, tc.view); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}

// TestReports: every status of a report has its name but the one that means none.
func TestReports(t *testing.T) {
	t.Parallel()
	var got []string
	for n := range int32(len(statev1.StateUpdateStatus_name)) {
		s := jsonview.SessionOf(&statev1.Session{StateUpdateStatus: statev1.StateUpdateStatus(n)})
		if s.StateUpdateStatus != nil {
			got = append(got, *s.StateUpdateStatus)
		}
	}
	if want := []string{"pending", "completed", "failed", "skipped"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNames: names in requests are those in answers.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want []string }{
		"sessions": {jsonview.SessionStatuses(), []string{"running", "finished", "ended"}},
		"tasks":    {jsonview.TaskStatuses(), []string{"delayed", "ready", "claimed", "done", "dropped"}},
		"updates":  {jsonview.StateUpdates(), []string{"required", "skip"}},
	} {
		if !slices.Equal(tc.got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, tc.got, tc.want)
		}
	}
}

// TestStateEvent: who acted goes by name, by id without one, and is null when it
// was no session.
func TestStateEvent(t *testing.T) {
	t.Parallel()
	for kind, event := range map[statev1.StateChangeType]string{
		statev1.StateChangeType_STATE_CHANGE_TYPE_CREATED:  jsonview.StateCreated,
		statev1.StateChangeType_STATE_CHANGE_TYPE_UPDATED:  jsonview.StateUpdated,
		statev1.StateChangeType_STATE_CHANGE_TYPE_MIGRATED: jsonview.StateUpdated,
	} {
		got := jsonview.StateEventOf("s", &statev1.StateVersion{Version: 8, Type: kind, SessionId: "ses_1", SessionName: "child", Time: noon})
		if got.EventType != event {
			t.Errorf("%s is %s", kind, got.EventType)
		}
	}
	for want, change := range map[string]*statev1.StateVersion{
		`"child"`: {SessionId: "ses_1", SessionName: "child"}, `"ses_1"`: {SessionId: "ses_1"}, `null`: {Actor: "operator"},
	} {
		change.Time = noon
		if got := text(t, jsonview.StateEventOf("s", change)); got != `{"event_type":"workflow_state_updated","state_id":"s","version":0,"updated_by_session":`+want+
			`,"timestamp":"2026-03-04T12:00:00Z"}` {
			t.Errorf("got %s", got)
		}
	}
}
