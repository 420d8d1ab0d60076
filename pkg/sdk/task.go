package sdk

import (
	"encoding/json"
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// Task is one piece of work for a runner: start or resume the agent of a session
// (S11.5). It can be given more than once, always with the same ID.
type Task struct {
	ID                     string
	Kind                   TaskKind
	SessionID, SessionName string
	ParentID, RootID       string
	// StateID is the state that the session shares; empty for none.
	StateID string
	// Prompt is the text for the agent.
	Prompt string
	// Attempt is which one to have the state updated it is, from 1; 0 otherwise.
	Attempt int
	// Callbacks are those of the children that have ended.
	Callbacks []Callback
	Labels    map[string]string
	// Given counts how often the task was given to a runner.
	Given int
	// Execution is the use of the component that the session refers to; nil for
	// none (S12.4).
	Execution *Execution
	CreatedAt time.Time
	// Result may be set by do to the result of the session's work: any JSON, at most 64
	// KiB (S15.3). It is a pointer so that every copy of the task means the same.
	Result *json.RawMessage

	token   int64
	expires time.Time
}

// Callback informs a parent how a child has ended. It can be delivered more than once,
// always with the same ID.
type Callback struct {
	ID                     string
	SessionID, SessionName string
	// StateUpdate is how the child's report ended: see Session.
	StateUpdate UpdateStatus
	// StateVersion is that of the shared state then; 0 without one.
	StateVersion int64
	// Error is why the child failed; empty otherwise.
	Error string
	// Result is the child's as JSON, or the beginning of one that is longer than 1 KiB.
	Result string
	// Truncated says that it is only the beginning.
	Truncated bool
	Time      time.Time
}

// Execution is one use of a component's values (S12.3).
type Execution struct {
	ID, Slug string
	// Values is a JSON object. The values at the end of a task are kept, for as long as
	// the component says: see [Client.Work].
	Values json.RawMessage
	// Version of the values; 0 when none were kept yet.
	Version int64

	begun string // the values that it began with
}

func taskOf(t *statev1.Task) Task {
	task := Task{
		ID: t.GetTaskId(), Kind: TaskKind(word(t.GetKind(), "TASK_KIND_")), SessionID: t.GetSessionId(), SessionName: t.GetSessionName(),
		ParentID: t.GetParentSessionId(), RootID: t.GetRootSessionId(), StateID: t.GetWorkflowStateId(), Prompt: t.GetPrompt(),
		Attempt: int(t.GetAttempt()), Labels: t.GetLabels(), Given: int(t.GetGiven()), CreatedAt: timeOf(t.GetCreatedAt()),
		Result: new(json.RawMessage), token: t.GetClaimToken(), expires: timeOf(t.GetClaimExpiresAt()),
	}
	for _, cb := range t.GetCallbacks() {
		task.Callbacks = append(task.Callbacks, Callback{
			ID: cb.GetCallbackId(), SessionID: cb.GetSessionId(), SessionName: cb.GetSessionName(),
			StateUpdate:  UpdateStatus(word(cb.GetStateUpdateStatus(), "STATE_UPDATE_STATUS_")),
			StateVersion: cb.GetStateVersion(), Error: cb.GetError(), Time: timeOf(cb.GetTime()),
			Result: cb.GetResult(), Truncated: cb.GetResultTruncated(),
		})
	}
	if e := t.GetExecution(); e != nil {
		task.Execution = &Execution{ID: e.GetExecutionId(), Slug: e.GetSlug(), Values: e.GetValues(), Version: e.GetVersion(), begun: string(e.GetValues())}
	}
	return task
}
