// Package runnotice lets the engine notify the approval service of events of runs that receivers outside of Interlock may
// want: an entry in a log next to the run's record, with a timer that is due at once, in the commit of the event (S23.54).
// The messages then depend on the store alone.
package runnotice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Kind of the logs. A run has one from its first notice on.
const Kind = "run_notice"

// timerName is the name of the timer of a log that has entries.
const timerName = "tell"

// Events of runs that receivers can get.
const (
	Started      = "started" // by a schedule
	Failed       = "failed"
	Held         = "held"
	Stale        = "stale"
	Reminded     = "reminded"
	Deadline     = "deadline"
	TimerBlocked = "timer.blocked"
	Completed    = "completed"
)

// Events returns all of them.
func Events() []string {
	return []string{Started, Failed, Held, Stale, Reminded, Deadline, TimerBlocked, Completed}
}

// Notice is an event of a run, and how the run stood after it.
type Notice struct {
	// ID is that of the announced event, with its time: a store that was restored gives the id of an event again.
	ID              string          `json:"id"`
	Event           string          `json:"event"`
	At              time.Time       `json:"at"`
	RunID           string          `json:"run_id"`
	Version         int64           `json:"version"`
	Workflow        string          `json:"workflow"`
	WorkflowVersion int64           `json:"workflow_version"`
	Status          workflow.Status `json:"status"`
	State           string          `json:"state"`
	Branch          string          `json:"branch,omitempty"`
	SessionID       string          `json:"session_id,omitempty"`
	Owner           string          `json:"owner"`
	Reason          string          `json:"reason,omitempty"`
	// Cause is the clock that has brought it about, and Due when that was reached.
	Cause workflow.DueKind `json:"cause,omitempty"`
	// Schedule is the schedule that has started the run; empty for none.
	Schedule string    `json:"schedule,omitempty"`
	Due      time.Time `json:"due,omitzero"`
}

// Of returns the notice of an event of a change that has an id; ok is false where receivers do not get such events.
func Of(out *workflow.Result, ev *workflow.Event, id string) (n Notice, ok bool) {
	event := eventOf(ev)
	if event == "" {
		return n, false
	}
	run, at := &out.Run, out.Entry.Time
	n = Notice{
		ID: id + "@" + at.UTC().Format(time.RFC3339Nano), Event: event, At: at, RunID: run.ID, Version: run.Version,
		Workflow: run.Workflow, WorkflowVersion: run.WorkflowVersion, Status: run.Status, State: run.State, Branch: ev.Branch,
		SessionID: run.SessionID, Owner: run.Owner, Reason: ev.Reason, Schedule: run.Schedule,
	}
	if c := cmp.Or(ev.Cause, out.Entry.Cause); c != nil { // the end that a clock has led to has none of its own
		n.Cause, n.Due = c.Kind, c.Due
	}
	return n, true
}

// eventOf returns the event for receivers; empty for none.
func eventOf(ev *workflow.Event) string {
	switch ev.Type {
	case workflow.EventStarted:
		if ev.Cause != nil {
			return Started
		}
	case workflow.EventFailed:
		return Failed
	case workflow.EventCompleted:
		return Completed
	case workflow.EventSilent:
		return Stale
	case workflow.EventReminded:
		return Reminded
	case workflow.EventTimerBlocked:
		return TimerBlocked
	case workflow.EventHeld:
		return Held
	case workflow.EventPaused: // by its agent, unless a clock has done it
		if ev.Cause != nil {
			return Held
		}
	case workflow.EventTransitioned:
		switch {
		case ev.Cause == nil:
		case ev.Cause.Kind == workflow.DueDeadline:
			return Deadline
		case ev.Cause.Kind == workflow.DueStale:
			return Stale
		}
	}
	return ""
}

// Say adds the notices of a run to the batch of their events.
func Say(batch *store.Batch, run store.Key, now time.Time, notices ...Notice) error {
	if len(notices) == 0 {
		return nil
	}
	entry, err := json.Marshal(notices)
	if err != nil {
		return fault.From(fmt.Errorf("encode the notices of run %s: %w", run.ID, err))
	}
	key := KeyOf(run)
	batch.Appends = append(batch.Appends, store.Append{Key: key, Entry: entry})
	batch.SetTimers = append(batch.SetTimers, store.Timer{TimerID: store.TimerID{Key: key, Name: timerName}, Due: now})
	return nil
}

// KeyOf returns the key of the log of a run.
func KeyOf(run store.Key) store.Key {
	return store.Key{Namespace: run.Namespace, Kind: Kind, ID: run.ID}
}

// Read reads the notices of entries, in their order.
func Read(entries []store.HistoryEntry) (all []Notice, err error) {
	for _, entry := range entries {
		var some []Notice
		if err := json.Unmarshal(entry.Data, &some); err != nil {
			return nil, fault.From(fmt.Errorf("decode a notice: %w", err))
		}
		all = append(all, some...)
	}
	return all, nil
}
