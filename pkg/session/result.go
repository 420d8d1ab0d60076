package session

import "time"

// Types of events about sessions and their tasks.
const (
	EventStopped         = "stopped"
	EventResumed         = "resumed"
	EventUpdatePending   = "state_update.pending"
	EventUpdateCompleted = "state_update.completed"
	EventUpdateFailed    = "state_update.failed"
	EventCallback        = "callback"
	EventEnded           = "ended"

	TaskQueued  = "queued"
	TaskClaimed = "claimed"
	TaskLapsed  = "lapsed"
	TaskDone    = "done"
	TaskFailed  = "failed"
	TaskDropped = "dropped"
)

// Event announces a command. Task is set in events about a task, Callback in those about
// one.
type Event struct {
	Type     string
	Task     *Task
	Callback *Callback
	// Token is the id of the token that an event is about.
	Token string
}

// Result is the outcome of a command.
type Result struct {
	// Session is the next one; Changed is false when it is the same.
	Session *Session
	Changed bool
	Events  []Event
	// Calls are for the parent to Receive, in the same commit.
	Calls []Callback
	// Ended: the session has ended now, so its parent has one open child less.
	// Reopened: it had ended and has not any more.
	Ended, Reopened bool

	newTaskID func() string
}

// Clock has the environment of a command: the time, the configuration, and the source of
// ids of tasks, each another.
type Clock struct {
	Now       time.Time
	Config    Config
	NewTaskID func() string
	// StateVersion is the version of the shared state, 0 without one, for callbacks.
	StateVersion int64
}

func (c Clock) config() Config { return c.Config.WithDefaults() }

func (s *Session) begin(c Clock) *Result {
	return &Result{Session: s.clone(c.Now), newTaskID: c.NewTaskID}
}

func (r *Result) announce(kind string) { r.Events = append(r.Events, Event{Type: kind}) }

func (r *Result) announceToken(kind, id string) {
	r.Events = append(r.Events, Event{Type: kind, Token: id})
}

func (r *Result) announceTask(kind string, t *Task) {
	was := *t
	r.Events = append(r.Events, Event{Type: kind, Task: &was})
}

// finish queues the next task and checks whether the session has ended by now.
func (r *Result) finish(c Clock) Result {
	s := r.Session
	if s.Status == Finished && s.Task == nil && s.Prompt == "" && s.Update != UpdatePending {
		r.settle(c) // the report came only after the stop
	}
	r.plan(c)
	if s.Status == Finished && s.Settled && s.Task == nil && s.OpenChildren == 0 && (s.Closing || !s.Root()) {
		r.end(c.Now)
	}
	r.Changed = true
	return *r
}

func (r *Result) end(now time.Time) {
	s := r.Session
	s.Status, s.EndedAt, s.Cleanup = Ended, now, true
	r.Ended = true
	r.announce(EventEnded)
}

// reopen takes back the end of a session that is to work again.
func (r *Result) reopen() {
	s := r.Session
	if s.Status == Ended {
		s.Status, s.EndedAt, s.Cleanup = Finished, time.Time{}, false
		r.Reopened = true
	}
}

// unchanged returns the result of a command without effect.
func unchanged(s *Session) Result { return Result{Session: s} }
