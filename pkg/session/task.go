package session

import "time"

// Kind is the purpose of a task.
type Kind string

// The kinds of tasks.
const (
	// KindStart starts the session's agent.
	KindStart Kind = "START"
	// KindStateUpdate resumes it to update the state.
	KindStateUpdate Kind = "STATE_UPDATE"
	// KindCallback resumes it because children have called back.
	KindCallback Kind = "CALLBACK"
	// KindResume resumes it on request.
	KindResume Kind = "RESUME"
)

// Task is one piece of work for a runner. A session has at most one, so that its
// agent is never resumed twice at once (S11.4).
type Task struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Attempt is which prompt for the report it is, from 1; 0 otherwise.
	Attempt int `json:"attempt,omitempty"`
	// Due is when a runner may take it.
	Due time.Time `json:"due"`
	// Ready: it is due, and runners are notified.
	Ready bool `json:"ready,omitempty"`
	// Callbacks are those that it delivers, from when it was claimed.
	Callbacks []Callback `json:"callbacks,omitempty"`
	// Given counts the claims, Failures the ends without success.
	Given    int `json:"given,omitempty"`
	Failures int `json:"failures,omitempty"`
	// Runner holds the claim until Expires; empty if there is none.
	Runner  string    `json:"runner,omitempty"`
	Token   int64     `json:"token,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// Deadline is when an attempt that was taken, or asked for in place while the
	// claim was held, counts as failed (S11.3).
	Deadline time.Time `json:"deadline,omitzero"`
	// Stopped: the agent has said itself that it stopped; the runner has not yet.
	Stopped bool `json:"stopped,omitempty"`
	// OwnResult: the session has given a result itself while a runner had the task.
	OwnResult bool `json:"given_result,omitempty"`
	// Execution is the use of the component that the session refers to (S12.4).
	Execution string    `json:"execution,omitempty"`
	Error     string    `json:"error,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// Claimed reports whether a runner has it.
func (t *Task) Claimed() bool { return t != nil && t.Runner != "" }

// givesPrompt reports whether the task gives Session.Prompt to the agent.
func (t *Task) givesPrompt() bool {
	return t != nil && (t.Kind == KindStart || t.Kind == KindResume)
}

// plan queues the next task, when there is none.
func (r *Result) plan(c Clock) {
	s, now := r.Session, c.Now
	if s.Task != nil || s.Status == Ended {
		return
	}
	task := &Task{Due: now, CreatedAt: now}
	switch {
	case s.Prompt != "" && s.Starting:
		task.Kind = KindStart
	case s.Prompt != "":
		task.Kind = KindResume
	case s.Update == UpdatePending && s.Status == Finished:
		task.Kind, task.Attempt = KindStateUpdate, s.Attempts
		if s.Attempts > 1 {
			task.Due = now.Add(c.config().RetryDelay)
		}
	case len(s.Callbacks) > 0:
		task.Kind = KindCallback
	default:
		return
	}
	task.Ready = !task.Due.After(now)
	task.ID = r.newTaskID()
	s.Task = task
	r.announceTask(TaskQueued, task)
}

// drop forgets a task that is not wanted any more, unless a runner has it.
func (r *Result) drop(kind Kind) {
	t := r.Session.Task
	if t == nil || t.Claimed() || t.Kind != kind {
		return
	}
	r.announceTask(TaskDropped, t)
	r.Session.Task = nil
}
