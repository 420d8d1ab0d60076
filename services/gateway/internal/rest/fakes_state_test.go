package rest

import statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"

func aSchema() *statev1.Schema {
	return &statev1.Schema{
		SchemaId: "schema_01", Name: "code review", Version: 2, JsonSchema: []byte(`{"type":"object","maximum":9007199254740993}`),
		Description: "d", Digest: "abc", CreatedAt: noon, CreatedBy: "alice",
	}
}

// aState is a state whose document no float64 and no sorted map could carry.
func aState() *statev1.State {
	return &statev1.State{
		StateId: "wfstate_01", SchemaId: "schema_01", SchemaName: "code review", SchemaVersion: 2,
		RootSessionId: "ses_01", RootSessionName: "orchestrator", Version: 7,
		Data:      []byte(`{"z":9007199254740993,"a":1.10,"s":"\u00e9<&>"}`),
		CreatedAt: noon, UpdatedAt: noon, UpdatedBy: "child-1",
	}
}

func aSession() *statev1.Session {
	return &statev1.Session{
		SessionId: "ses_02", Name: "child 1", ParentSessionId: "ses_01", ParentSessionName: "orchestrator", RootSessionId: "ses_01",
		Depth: 1, Status: statev1.SessionStatus_SESSION_STATUS_FINISHED, WorkflowStateId: "wfstate_01",
		StateUpdateStatus: statev1.StateUpdateStatus_STATE_UPDATE_STATUS_PENDING, Attempts: 1,
		StateUpdate: statev1.StateUpdate_STATE_UPDATE_REQUIRED, Subject: "orchestrator", Version: 4, CreatedAt: noon, UpdatedAt: noon,
	}
}

func aComponent() *statev1.Component {
	return &statev1.Component{
		Slug: "prefs", Name: "Preferences", Tags: []string{"a"}, SchemaDefinition: []byte(`{"n":{"type":"integer"}}`),
		Persistence: statev1.Persistence_PERSISTENCE_LONG_TERM, Version: 3, CreatedAt: noon, UpdatedAt: noon,
	}
}

func anExecution() *statev1.Execution {
	return &statev1.Execution{
		ExecutionId: "exe_01", Slug: "prefs", Values: []byte(`{"n":9007199254740993}`), Version: 5,
		Persistence: statev1.Persistence_PERSISTENCE_LONG_TERM, SessionId: "ses_02", Subject: "alice", Unset: []string{"m"},
	}
}

const (
	jsonTimes  = `"created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z"`
	jsonSchema = `{"schema_id":"schema_01","name":"code review","version":2,"json_schema":{"type":"object","maximum":9007199254740993},` +
		`"description":"d",` + jsonTimes + `,"digest":"abc","created_by":"alice"}`
	jsonStateHead = `{"state_id":"wfstate_01","schema_id":"schema_01","schema_name":"code review","root_session_id":"ses_01",` +
		`"root_session_name":"orchestrator","version":7,`
	jsonStateTail = jsonTimes + `,"schema_version":2,"updated_by":"child-1"}`
	jsonState     = jsonStateHead + `"current_data":{"z":9007199254740993,"a":1.10,"s":"\u00e9<&>"},` + jsonStateTail
	jsonSession   = `{"session_id":"ses_02","session_name":"child 1","parent_session_id":"ses_01","parent_session_name":"orchestrator",` +
		`"root_session_id":"ses_01","depth":1,"status":"finished","ended":false,"workflow_state_id":"wfstate_01","state_update_status":"pending","attempts":1,` +
		`"state_update":"required","accept_early_update":false,"open_children":0,"callbacks":[],"labels":{},"subject":"orchestrator",` +
		`"grants":[],"version":4,` + jsonTimes
	jsonComponent = `{"slug":"prefs","name":"Preferences","description":"","tags":["a"],"schema_definition":{"n":{"type":"integer"}},` +
		`"persistence":"long_term","initial_values":{},"version":3,` + jsonTimes + `}`
	jsonExecution = `"slug":"prefs","values":{"n":9007199254740993},"version":5,"persistence":"long_term","session_id":"ses_02",` +
		`"subject":"alice","unset":["m"]}`
)
