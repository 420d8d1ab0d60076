// Package session is the life of one agent's conversation within a tree of them: shared
// states, reports of children, callbacks to parents, and the next task of a runner (S11).
//
// It is pure: a session, a command and the time in, the next session and the events to
// announce out. It must never do I/O, look at the clock or make up an id.
package session

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/authority"
)

// Status says whether a session's agent is at work.
type Status string

// The statuses.
const (
	Running Status = "RUNNING"
	// Finished: the agent has stopped, and may be resumed - to update the state, or
	// by a callback.
	Finished Status = "FINISHED"
	// Ended: it has stopped, and no work is outstanding, or was ended by force.
	Ended Status = "ENDED"
)

// UpdateStatus says how far a session has got with its report (S11.1).
type UpdateStatus string

// The statuses of the report.
const (
	UpdateNone      UpdateStatus = "NONE"
	UpdatePending   UpdateStatus = "PENDING"
	UpdateCompleted UpdateStatus = "COMPLETED"
	UpdateFailed    UpdateStatus = "FAILED"
	// UpdateSkipped: it need not report; so do roots, which have no parent.
	UpdateSkipped UpdateStatus = "SKIPPED"
)

// MaxDepth is how deep a tree of sessions may be; its root has depth 0 (S11.1).
const MaxDepth = 32

// Session is one agent's conversation. It is immutable: commands answer a new one. The
// JSON form is stored; fields are only ever added to it.
type Session struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// ParentID and ParentName are empty for a root, whose RootID is its own.
	ParentID   string `json:"parent_id,omitempty"`
	ParentName string `json:"parent_name,omitempty"`
	RootID     string `json:"root_id"`
	RootName   string `json:"root_name"`
	Depth      int    `json:"depth,omitempty"`

	Status Status `json:"status"`
	// StateID is the state that the tree shared when the session was created; of a root,
	// the one that it has created. It is emptied when that was deleted, and then there is
	// no report due.
	StateID string       `json:"state_id,omitempty"`
	Update  UpdateStatus `json:"update"`
	// AcceptEarly takes an update during the session's own work for its report, and
	// UpdatedEarly says that there was one (S11.2).
	AcceptEarly  bool `json:"accept_early,omitempty"`
	UpdatedEarly bool `json:"updated_early,omitempty"`
	// Attempts counts the prompts that asked for the report.
	Attempts int `json:"attempts,omitempty"`
	// InPlace: the caller that stopped it also resumes it, so no task asks for the report.
	InPlace bool `json:"in_place,omitempty"`
	// Deadline is when an attempt that is made in place counts as failed (S11.3).
	Deadline time.Time `json:"deadline,omitzero"`
	// Settled: the parent has been called back since the session last worked.
	Settled bool `json:"settled,omitempty"`

	// Closing: a root was stopped by itself or its user. The end of a runner's task is
	// the end of one execution only: a root continues with the next (S12.3).
	Closing bool `json:"closing,omitempty"`

	// OpenChildren counts the children that have not ended. A session that was ended
	// by force may have some.
	OpenChildren int `json:"open_children,omitempty"`
	// Callbacks wait to be delivered.
	Callbacks []Callback `json:"callbacks,omitempty"`
	// Calls counts the callbacks that this session has made, for their ids.
	Calls int `json:"calls,omitempty"`

	// Prompt waits to be given to the agent: by a start, or else a resumption.
	Prompt   string `json:"prompt,omitempty"`
	Starting bool   `json:"starting,omitempty"`
	// NextPrompt waits until a runner is through with Prompt.
	NextPrompt string `json:"next_prompt,omitempty"`
	// Task is the next or present task of a runner; nil if there is none.
	Task *Task `json:"task,omitempty"`
	// LastTask is the task that was acknowledged last, for repeats of that.
	LastTask string `json:"last_task,omitempty"`
	// ClaimToken only grows: of the last claim of any task.
	ClaimToken int64 `json:"claim_token,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`
	// LabelsCount: conditions may look at the labels, because no agent has set them.
	LabelsCount bool   `json:"labels_count,omitempty"`
	StateRef    string `json:"state_ref,omitempty"`
	// Agent is the name of the agent that it has started from (S15.10).
	Agent   string `json:"agent,omitempty"`
	Subject string `json:"subject,omitempty"`
	// Human is on whose behalf it works, as JSON that only its writer reads; nil where that is not known (S22.3).
	Human json.RawMessage `json:"human,omitempty"`
	// Grants are states of other trees that it may read (S10.9).
	Grants []string `json:"grants,omitempty"`
	Error  string   `json:"error,omitempty"`
	Owner  string   `json:"owner"`

	// NoCallback: its parent is not called back (S15.4).
	NoCallback bool `json:"no_callback,omitempty"`
	// Result of the work, as JSON; nil for none (S15.3). Given says that the session gave it
	// itself; otherwise it is the final message of its agent, as a runner recorded it.
	Result   json.RawMessage `json:"result,omitempty"`
	Given    bool            `json:"given,omitempty"`
	ResultAt time.Time       `json:"result_at,omitzero"`

	// Bounds narrow the session, and have its tokens.
	Bounds

	// Cleanup: data of this session alone is to be removed.
	Cleanup bool `json:"cleanup,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// EndedBy is who has stopped it: an end by another than the session itself is lifted
	// by an operator, or by a session above (S11.1).
	EndedBy *authority.Author `json:"ended_by,omitempty"`
	// Dismissed: another has ended it in spite of outstanding work, so it does not come
	// back because a child of it works again.
	Dismissed bool      `json:"dismissed,omitempty"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// Version is that of the record, and not part of it.
	Version int64 `json:"-"`
}

// Callback informs a parent how a child has ended. It may be delivered more than once,
// always with the same id (S11.4).
type Callback struct {
	ID        string       `json:"id"`
	SessionID string       `json:"session_id"`
	Name      string       `json:"name"`
	Update    UpdateStatus `json:"update"`
	// StateVersion is the version of the shared state then, 0 without one.
	StateVersion int64     `json:"state_version,omitempty"`
	Error        string    `json:"error,omitempty"`
	At           time.Time `json:"at"`
	// Result is the child's, or the beginning of one that is Cut.
	Result string `json:"result,omitempty"`
	Cut    bool   `json:"cut,omitempty"`
}

// Config of the two-phase completion (S11.2, S11.3). The zero value means the
// defaults.
type Config struct {
	// MaxAttempts is how often a child is asked to update the state; 3.
	MaxAttempts int
	// AttemptTimeout bounds one attempt, from when a runner took it or was asked in
	// place; 120 s.
	AttemptTimeout time.Duration
	// RetryDelay is the pause before another attempt; 5 s.
	RetryDelay time.Duration
	// ClaimTTL is how long a runner may be silent; 30 s.
	ClaimTTL time.Duration
	// MaxDeliveries is how often a task whose agent fails is given; 5. Claims that
	// lapse do not count.
	MaxDeliveries int
}

// WithDefaults fills in unset fields.
func (c Config) WithDefaults() Config {
	if c.MaxAttempts <= 0 {
		c.MaxAttempts = 3
	}
	if c.AttemptTimeout <= 0 {
		c.AttemptTimeout = 120 * time.Second
	}
	if c.RetryDelay <= 0 {
		c.RetryDelay = 5 * time.Second
	}
	if c.ClaimTTL <= 0 {
		c.ClaimTTL = 30 * time.Second
	}
	if c.MaxDeliveries <= 0 {
		c.MaxDeliveries = 5
	}
	return c
}

// Root reports whether the session is the root of a tree.
func (s *Session) Root() bool { return s.ParentID == "" }

// MustReport reports whether its agent is not done before it has updated the state.
func (s *Session) MustReport() bool {
	return !s.Root() && s.StateID != "" && s.Update != UpdateSkipped
}

// SameTree reports whether a session is of the same tree, whose states it may read and
// write (S10.9).
func (s *Session) SameTree(root string) bool { return s.RootID == root }

// MayRead reports whether a state may be read: one of its own tree, and one that it was
// granted (S10.9).
func (s *Session) MayRead(root, stateID string) bool {
	return s.SameTree(root) || slices.Contains(s.Grants, stateID)
}

// clone returns a copy whose lists and task can be changed.
func (s *Session) clone(now time.Time) *Session {
	next := *s
	next.Callbacks = slices.Clone(s.Callbacks)
	next.Grants = slices.Clone(s.Grants)
	next.Bounds = s.Bounds.clone()
	if s.Task != nil {
		task := *s.Task
		task.Callbacks = slices.Clone(s.Task.Callbacks)
		next.Task = &task
	}
	next.UpdatedAt = now
	return &next
}
