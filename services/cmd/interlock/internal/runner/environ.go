package runner

import (
	"slices"
	"strings"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// own are the variables that say who the runner is and what it works on. An agent
// has its own, or none.
var own = []string{
	// The data folder has the tokens of every role.
	"INTERLOCK_TOKEN", "INTERLOCK_AGENT_TOKEN", "INTERLOCK_DATA",
	"INTERLOCK_SERVER", "INTERLOCK_HTTP_SERVER", "INTERLOCK_RUN",
	"WORKFLOW_STATE_ID", "INTERLOCK_SESSION", "INTERLOCK_SESSION_ID", "INTERLOCK_TASK_ID", "INTERLOCK_TASK_KIND",
	"INTERLOCK_PARENT_SESSION", "INTERLOCK_CALLBACK_IDS", "INTERLOCK_EXECUTION", "INTERLOCK_COMPONENT_VALUES",
}

// Environ is what agents have of the runner's own environment: all but what is the
// runner's own, and whatever holds its token.
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

// variables tell an agent about its task. One that is too long for the system is
// left out: the prompt names the callbacks too, and the values can be read.
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
	}
	if e := task.GetExecution(); e != nil {
		all = append(all, "INTERLOCK_EXECUTION="+e.GetExecutionId(), "INTERLOCK_COMPONENT_VALUES="+string(e.GetValues()))
	}
	return slices.DeleteFunc(all, func(v string) bool { return len(v) >= maxVariable })
}

// kindName is the kind of a task as agents and people read it: "state_update".
func kindName(k statev1.TaskKind) string {
	return strings.ToLower(strings.TrimPrefix(k.String(), "TASK_KIND_"))
}
