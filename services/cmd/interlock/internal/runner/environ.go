package runner

import (
	"encoding/json"
	"slices"
	"strings"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// own are the variables that identify the runner and its work. An agent has its own, or
// none.
var own = []string{
	// The data folder has the tokens of every role.
	"INTERLOCK_TOKEN", "INTERLOCK_AGENT_TOKEN", "INTERLOCK_DATA",
	"INTERLOCK_SERVER", "INTERLOCK_HTTP_SERVER", "INTERLOCK_RUN",
	"WORKFLOW_STATE_ID", "INTERLOCK_SESSION", "INTERLOCK_SESSION_ID", "INTERLOCK_TASK_ID", "INTERLOCK_TASK_KIND",
	"INTERLOCK_PARENT_SESSION", "INTERLOCK_CALLBACK_IDS", "INTERLOCK_CALLBACKS", "INTERLOCK_EXECUTION", "INTERLOCK_COMPONENT_VALUES",
	"INTERLOCK_COMPONENT_FILE", "INTERLOCK_MODEL", "INTERLOCK_THINKING_LEVEL", "INTERLOCK_DEADLINE",
	"INTERLOCK_AGENT", "INTERLOCK_TOOLS", "INTERLOCK_INSTRUCTIONS", "INTERLOCK_CONVERSATIONS",
}

// Environ returns the part of the runner's own environment for agents: all but the
// runner's own variables, and those that hold its token.
func Environ(environ []string, token string) []string {
	var kept []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !slices.Contains(own, name) && (token == "" || !strings.Contains(value, token)) {
			kept = append(kept, variable)
		}
	}
	return kept
}

// maxVariable is the longest variable that Linux passes to a program (its
// MAX_ARG_STRLEN), the end of the text included.
const maxVariable = 128 << 10

// variables returns the variables that describe the task to an agent. One that is too
// long for the system is left out: the prompt names the callbacks too, and the values can
// be read.
func variables(task *statev1.Task) []string {
	callbacks := make([]string, len(task.GetCallbacks()))
	for i, c := range task.GetCallbacks() {
		callbacks[i] = c.GetCallbackId()
	}
	all := []string{
		"WORKFLOW_STATE_ID=" + task.GetWorkflowStateId(),
		"INTERLOCK_SESSION=" + task.GetSessionName(),
		"INTERLOCK_SESSION_ID=" + task.GetSessionId(),
		"INTERLOCK_TASK_ID=" + task.GetTaskId(),
		"INTERLOCK_TASK_KIND=" + kindName(task.GetKind()),
		"INTERLOCK_PARENT_SESSION=" + task.GetParentSessionId(),
		"INTERLOCK_CALLBACK_IDS=" + strings.Join(callbacks, ","),
		"INTERLOCK_CALLBACKS=" + callbackMetadata(task.GetCallbacks()),
	}
	if e := task.GetExecution(); e != nil {
		all = append(all, "INTERLOCK_EXECUTION="+e.GetExecutionId(), "INTERLOCK_COMPONENT_VALUES="+string(e.GetValues()))
	}
	return slices.DeleteFunc(all, func(v string) bool { return len(v) >= maxVariable })
}

// callbackMetadata notifies an agent that is resumed which children have ended, as a JSON
// list (S15.5); empty for none.
func callbackMetadata(callbacks []*statev1.Callback) string {
	if len(callbacks) == 0 {
		return ""
	}
	type metadata struct {
		Source  string `json:"callback_source"`
		ID      string `json:"callback_id"`
		Session string `json:"session_id"`
		Version int64  `json:"workflow_state_version,omitempty"`
		Status  string `json:"state_update_status"`
		Error   string `json:"error,omitempty"`
		// Result is JSON: of a long one that is cut only a note that there is one.
		Result    json.RawMessage `json:"result,omitempty"`
		Truncated bool            `json:"result_truncated,omitempty"`
	}
	all := make([]metadata, len(callbacks))
	for i, c := range callbacks {
		all[i] = metadata{
			Source: c.GetSessionName(), ID: c.GetCallbackId(), Session: c.GetSessionId(), Version: c.GetStateVersion(),
			Status: strings.ToLower(strings.TrimPrefix(c.GetStateUpdateStatus().String(), "STATE_UPDATE_STATUS_")), Error: c.GetError(),
			Truncated: c.GetResultTruncated(),
		}
		if !c.GetResultTruncated() {
			all[i].Result = json.RawMessage(c.GetResult())
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "" // a result that is not JSON: the prompt has the same
	}
	return string(text)
}

// kindName returns the kind of a task as agents and people read it: "state_update".
func kindName(k statev1.TaskKind) string {
	return strings.ToLower(strings.TrimPrefix(k.String(), "TASK_KIND_"))
}
