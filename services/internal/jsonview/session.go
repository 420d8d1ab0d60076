package jsonview

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Session is one agent's conversation (S11). Names of enumerations are in lower
// case, as in all of the state-store's JSON.
type Session struct {
	SessionID   string `json:"session_id"`
	SessionName string `json:"session_name"`
	// ParentSessionID and ParentSessionName are nil for a root.
	ParentSessionID   *string `json:"parent_session_id" doc:"null for a root."`
	ParentSessionName *string `json:"parent_session_name" doc:"null for a root."`
	RootSessionID     string  `json:"root_session_id"`
	Depth             int32   `json:"depth" doc:"0 for a root."`
	Status            string  `json:"status" enum:"running,finished" doc:"finished: its agent has stopped."`
	Ended             bool    `json:"ended" doc:"True when it has stopped and has no outstanding work: no report, no child, no callback."`
	// WorkflowStateID is nil for none.
	WorkflowStateID *string `json:"workflow_state_id" doc:"The state that it shares with its tree; null for none."`
	// StateUpdateStatus is nil for NONE.
	StateUpdateStatus *string `json:"state_update_status" enum:"pending,completed,failed,skipped" doc:"How far it has got with its report; null before its first stop."`
	Attempts          int32   `json:"attempts" doc:"Prompts that asked for the report so far."`

	StateUpdate       string            `json:"state_update" enum:"required,skip" doc:"Whether it must report before it is done."`
	AcceptEarlyUpdate bool              `json:"accept_early_update" doc:"True when an update before its first stop counts as the report."`
	OpenChildren      int32             `json:"open_children" doc:"Children that have not called back."`
	Callbacks         []Callback        `json:"callbacks" doc:"Callbacks of children that are not delivered."`
	TaskID            string            `json:"task_id,omitzero" doc:"The task that is queued or claimed for it."`
	Labels            map[string]string `json:"labels" doc:"Runners must have these labels to take its tasks."`
	StateRef          string            `json:"state_ref,omitzero" doc:"The component that its executions begin and end with."`
	Agent             string            `json:"agent,omitzero" doc:"The agent that it has started from."`
	Subject           string            `json:"subject" doc:"Whose long-term values of components it uses."`
	Grants            []string          `json:"grants" doc:"States of other trees that it may read."`
	Error             string            `json:"error,omitzero" doc:"Why it failed."`
	NoCallback        bool              `json:"no_callback,omitzero" doc:"True when its parent is not called back."`
	Only              jsontext.Value    `json:"only,omitzero" doc:"Entries that all calls of it and of those below it must meet."`
	HasResult         bool              `json:"has_result,omitzero" doc:"True when GET /sessions/{session_id}/result returns something."`
	Human             *Human            `json:"human,omitzero" doc:"On whose behalf it works: set when it was created, and inherited by its children."`
	Version           int64             `json:"version"`
	CreatedAt         time.Time         `json:"created_at"`
	UpdatedAt         time.Time         `json:"updated_at"`
	EndedAt           time.Time         `json:"ended_at,omitzero"`
}

// Callback informs a parent how a child has ended.
type Callback struct {
	CallbackID  string `json:"callback_id" doc:"The same whenever it is delivered."`
	SessionID   string `json:"session_id" doc:"The child."`
	SessionName string `json:"session_name"`
	// StateUpdateStatus is nil for NONE.
	StateUpdateStatus *string   `json:"state_update_status" enum:"pending,completed,failed,skipped" doc:"null when the child had no state to update."`
	StateVersion      int64     `json:"state_version,omitzero" doc:"Of the shared state then."`
	Result            string    `json:"result,omitzero" doc:"Its result as JSON text, or the beginning of a long one."`
	ResultTruncated   bool      `json:"result_truncated,omitzero" doc:"True when that is only the beginning."`
	Error             string    `json:"error,omitzero" doc:"Why it failed."`
	Time              time.Time `json:"time"`
}

// SessionOf returns the JSON of a session.
func SessionOf(s *statev1.Session) Session {
	return Session{
		SessionID: s.GetSessionId(), SessionName: s.GetName(),
		ParentSessionID: orNull(s.GetParentSessionId()), ParentSessionName: orNull(s.GetParentSessionName()),
		RootSessionID: s.GetRootSessionId(), Depth: s.GetDepth(), Status: sessionStatus(s.GetStatus()),
		Ended:           s.GetStatus() == statev1.SessionStatus_SESSION_STATUS_ENDED,
		WorkflowStateID: orNull(s.GetWorkflowStateId()), StateUpdateStatus: reportOf(s.GetStateUpdateStatus()),
		Attempts: s.GetAttempts(), StateUpdate: lower(s.GetStateUpdate().String(), "STATE_UPDATE_"),
		AcceptEarlyUpdate: s.GetAcceptEarlyUpdate(), OpenChildren: s.GetOpenChildren(), Callbacks: callbacksOf(s.GetCallbacks()),
		TaskID: s.GetTaskId(), Labels: s.GetLabels(), StateRef: s.GetStateRef(), Agent: s.GetAgent(), Subject: s.GetSubject(), Grants: s.GetGrants(),
		Error: s.GetError(), HasResult: s.GetHasResult(), NoCallback: s.GetNoCallback(), Human: sessionHumanOf(s.GetHuman()), Only: rawOf(s.GetOnly()), Version: s.GetVersion(),
		CreatedAt: Time(s.GetCreatedAt()), UpdatedAt: Time(s.GetUpdatedAt()), EndedAt: Time(s.GetEndedAt()),
	}
}

// SessionToken is a token that is bound to a session, without its secret.
type SessionToken struct {
	TokenID    string         `json:"token_id"`
	Name       string         `json:"name" doc:"Of the principal."`
	Session    string         `json:"session" doc:"The only session that it may act in."`
	Branch     string         `json:"branch,omitzero" doc:"The only branch of the session's run."`
	Only       jsontext.Value `json:"only,omitzero" doc:"Entries that its calls must meet in addition to those of its session."`
	Human      *Human         `json:"human,omitzero" doc:"On whose behalf it acts; absent for the human of its session."`
	MintedBy   string         `json:"minted_by"`
	MintedWith string         `json:"minted_with,omitzero" doc:"The session token that it was asked for with: it ends with that one."`
	IssuedAt   time.Time      `json:"issued_at"`
	ExpiresAt  time.Time      `json:"expires_at"`
	RevokedAt  time.Time      `json:"revoked_at,omitzero"`
	RevokedBy  string         `json:"revoked_by,omitzero"`
}

// SessionTokenOf returns the JSON of a session's token.
func SessionTokenOf(t *statev1.SessionToken) SessionToken {
	return SessionToken{
		TokenID: t.GetTokenId(), Name: t.GetName(), Session: t.GetSession(), Branch: t.GetBranch(), Only: rawOf(t.GetOnly()),
		Human: sessionHumanOf(t.GetHuman()), MintedBy: t.GetMintedBy(), MintedWith: t.GetMintedWith(), IssuedAt: Time(t.GetIssuedAt()), ExpiresAt: Time(t.GetExpiresAt()),
		RevokedAt: Time(t.GetRevokedAt()), RevokedBy: t.GetRevokedBy(),
	}
}

// SessionResult is the result of a session's work (S15.3).
type SessionResult struct {
	SessionID   string         `json:"session_id"`
	SessionName string         `json:"session_name"`
	Result      jsontext.Value `json:"result" doc:"Any JSON, as it was given."`
	Given       bool           `json:"given" doc:"True when the session gave it itself; false for the final message of its agent."`
	Time        time.Time      `json:"time" doc:"When it was recorded."`
}

// SessionResultOf returns the JSON of a session's result.
func SessionResultOf(r *statev1.GetSessionResultResponse) SessionResult {
	return SessionResult{
		SessionID: r.GetSession().GetSessionId(), SessionName: r.GetSession().GetName(), Result: rawOf(r.GetResult()),
		Given: r.GetGiven(), Time: Time(r.GetTime()),
	}
}

// sessionStatus returns the word that users know from REST: an ended session is a
// finished one.
func sessionStatus(s statev1.SessionStatus) string {
	if s == statev1.SessionStatus_SESSION_STATUS_ENDED {
		s = statev1.SessionStatus_SESSION_STATUS_FINISHED
	}
	return lower(s.String(), "SESSION_STATUS_")
}

// Task is one piece of work for a runner (S11.5), for people to see: without the
// token of its claim.
type Task struct {
	TaskID          string            `json:"task_id"`
	Kind            string            `json:"kind" enum:"start,state_update,callback,resume"`
	Status          string            `json:"status" enum:"delayed,ready,claimed,done,dropped"`
	SessionID       string            `json:"session_id"`
	SessionName     string            `json:"session_name"`
	ParentSessionID string            `json:"parent_session_id,omitzero"`
	RootSessionID   string            `json:"root_session_id"`
	WorkflowStateID string            `json:"workflow_state_id,omitzero"`
	Prompt          string            `json:"prompt" doc:"The text for the agent."`
	Instructions    string            `json:"instructions,omitzero" doc:"Instructions of the agent, filled as the prompt is."`
	Attempt         int32             `json:"attempt,omitzero" doc:"Which attempt to have the state updated it is, from 1."`
	Callbacks       []Callback        `json:"callbacks,omitempty" doc:"The children that have called back."`
	Labels          map[string]string `json:"labels"`
	Given           int32             `json:"given" doc:"How often it has been given to a runner."`
	Runner          string            `json:"runner,omitzero" doc:"Who has it."`
	ClaimExpiresAt  time.Time         `json:"claim_expires_at,omitzero"`
	CreatedAt       time.Time         `json:"created_at"`
	DueAt           time.Time         `json:"due_at,omitzero"`
	Error           string            `json:"error,omitzero" doc:"Why it failed last."`
}

// TaskOf returns the JSON of a task.
func TaskOf(t *statev1.Task) Task {
	return Task{
		TaskID: t.GetTaskId(), Kind: lower(t.GetKind().String(), "TASK_KIND_"), Status: lower(t.GetStatus().String(), "TASK_STATUS_"),
		SessionID: t.GetSessionId(), SessionName: t.GetSessionName(), ParentSessionID: t.GetParentSessionId(),
		RootSessionID: t.GetRootSessionId(), WorkflowStateID: t.GetWorkflowStateId(), Prompt: t.GetPrompt(), Instructions: t.GetInstructions(),
		Attempt: t.GetAttempt(), Callbacks: callbacksOf(t.GetCallbacks()), Labels: t.GetLabels(), Given: t.GetGiven(),
		Runner: t.GetRunner(), ClaimExpiresAt: Time(t.GetClaimExpiresAt()), CreatedAt: Time(t.GetCreatedAt()),
		DueAt: Time(t.GetDueAt()), Error: t.GetError(),
	}
}

// SessionStatuses returns the names of all statuses of sessions, in the contract's order.
func SessionStatuses() []string { return lowerNames(statev1.SessionStatus_name, "SESSION_STATUS_") }

// TaskStatuses returns the names of all statuses of tasks, in the contract's order.
func TaskStatuses() []string { return lowerNames(statev1.TaskStatus_name, "TASK_STATUS_") }

// StateUpdates returns the names that say whether a child must report.
func StateUpdates() []string { return lowerNames(statev1.StateUpdate_name, "STATE_UPDATE_") }

func callbacksOf(callbacks []*statev1.Callback) []Callback {
	return Each(callbacks, func(c *statev1.Callback) Callback {
		return Callback{
			CallbackID: c.GetCallbackId(), SessionID: c.GetSessionId(), SessionName: c.GetSessionName(),
			StateUpdateStatus: reportOf(c.GetStateUpdateStatus()), StateVersion: c.GetStateVersion(),
			Error: c.GetError(), Time: Time(c.GetTime()), Result: c.GetResult(), ResultTruncated: c.GetResultTruncated(),
		}
	})
}

// reportOf returns the status of a report, nil for NONE.
func reportOf(s statev1.StateUpdateStatus) *string {
	if s == statev1.StateUpdateStatus_STATE_UPDATE_STATUS_NONE || s == statev1.StateUpdateStatus_STATE_UPDATE_STATUS_UNSPECIFIED {
		return nil
	}
	name := lower(s.String(), "STATE_UPDATE_STATUS_")
	return &name
}

// orNull returns nil, hence null, for an empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// lower returns the name of an enumeration's value without its prefix, in lower case.
func lower(name, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(name, prefix))
}

// lowerNames returns the names of an enumeration but for UNSPECIFIED, by number.
func lowerNames(values map[int32]string, prefix string) []string {
	names := protomap.Names(values, prefix)
	for i, name := range names {
		names[i] = strings.ToLower(name)
	}
	return names
}
