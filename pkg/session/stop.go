package session

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/authority"
)

// Stop says that a session's agent has stopped.
type Stop struct {
	// InPlace: the caller resumes the agent itself, with Session.Asked.
	InPlace bool
	// End ends the session in spite of outstanding work.
	End bool
	// Error is why the agent failed; empty when it did not.
	Error string
	// By is the caller who stops it; nil if there was no request.
	By *authority.Author
	// Result of the work, as JSON; nil for none.
	Result json.RawMessage
}

// MaxResult is the longest result of a session, in bytes (S15.3).
const MaxResult = 64 << 10

// shownResult is how much of it a callback shows, so that a parent of many children can
// be notified of all.
const shownResult = 1 << 10

// record keeps the result of a session's work. One that it gives itself counts more than
// the final message of its agent, which a runner gives.
func (r *Result) record(result json.RawMessage, given bool, now time.Time) {
	s := r.Session
	if len(result) == 0 {
		return
	}
	s.Result, s.Given, s.ResultAt = result, given, now
	if given && s.Task.Claimed() {
		s.Task.OwnResult = true
	}
}

// Stop applies S11.2: a child that shares a state and has not reported is asked
// to, at most Config.MaxAttempts times; then its parent is called back.
func (s *Session) Stop(cmd Stop, c Clock) Result {
	if s.Status == Ended {
		if !cmd.End || !s.outranks(cmd.By) {
			return unchanged(s)
		}
		r := s.begin(c) // who may resume it changes
		r.Session.EndedBy, r.Session.Dismissed = cmd.By, true
		return r.finish(c)
	}
	r := s.begin(c)
	r.record(cmd.Result, true, c.Now)
	r.endWork(cmd, c)
	r.Session.Closing = s.Root() && (s.Closing || !cmd.InPlace)
	if cmd.End {
		r.Session.Dismissed = s.rank(cmd.By) > 0
		r.giveUp(c.Now)
	}
	return r.finish(c)
}

// outranks reports that an end by a caller is harder to lift than the one that there is.
func (s *Session) outranks(by *authority.Author) bool { return s.rank(by) > s.rank(s.EndedBy) }

// rank returns how hard an end is to lift: its own least, then that of an agent that no
// session is known of, that of another session, and that of an operator.
func (s *Session) rank(by *authority.Author) int {
	switch {
	case by == nil || by.Role == authority.Agent && by.SessionID == s.ID:
		return 0
	case by.Role == authority.Agent && by.SessionID == "":
		return 1
	case by.Role == authority.Agent:
		return 2
	default:
		return 3
	}
}

// endWork handles the end of one piece of the agent's work.
func (r *Result) endWork(cmd Stop, c Clock) {
	s := r.Session
	waits := s.Update == UpdatePending && s.Status == Finished // for its prompt to be given
	s.Status, s.InPlace, s.Error = Finished, cmd.InPlace, cmd.Error
	if s.outranks(cmd.By) {
		s.EndedBy = cmd.By
	}
	r.drop(KindStateUpdate)
	r.announce(EventStopped)
	switch {
	case s.Update == UpdateCompleted || s.Update == UpdateFailed:
	case !s.MustReport():
		if s.Update == UpdatePending {
			s.Update = UpdateNone // the state has been deleted in between
		}
	case s.Update == UpdateNone && s.AcceptEarly && s.UpdatedEarly:
		s.Update = UpdateCompleted
		r.announce(EventUpdateCompleted)
	case !cmd.End && waits && s.InPlace:
		// The caller gives the prompt that waits: no further attempt.
	case !cmd.End && s.Attempts < c.config().MaxAttempts:
		r.ask()
	default:
		s.Update = UpdateFailed
		r.announce(EventUpdateFailed)
	}
	if s.Update != UpdatePending {
		r.settle(c)
	} else if s.InPlace {
		s.Status = Running // with the prompt that the answer brings
	}
	s.Deadline = time.Time{}
	if s.Asked() > 0 && !s.Task.Claimed() {
		s.Deadline = c.Now.Add(c.config().AttemptTimeout)
	}
	if t := s.Task; t.Claimed() {
		t.Stopped = s.Status == Finished
		if !t.Stopped {
			t.Deadline = c.Now.Add(c.config().AttemptTimeout)
		}
	}
}

// ask begins the next attempt to have the state updated.
func (r *Result) ask() {
	s := r.Session
	if !s.InPlace {
		// The prompt for the report comes first, and the callbacks after it: who
		// were resumed by them would not know yet that a report is due.
		r.drop(KindCallback)
	}
	s.Update = UpdatePending
	s.Attempts++
	r.announce(EventUpdatePending)
}

// settle calls the parent back, once for each time that the session has worked.
func (r *Result) settle(c Clock) {
	s := r.Session
	if s.Settled {
		return
	}
	s.Settled = true
	if s.Root() || s.NoCallback {
		return
	}
	s.Calls++
	cb := Callback{
		ID: s.ID + "." + strconv.Itoa(s.Calls), SessionID: s.ID, Name: s.Name, Update: s.Update,
		StateVersion: c.StateVersion, Error: clip(s.failure()), At: c.Now, Result: string(s.Result),
	}
	if len(cb.Result) > shownResult {
		cb.Result, cb.Cut = strings.ToValidUTF8(cb.Result[:shownResult], ""), true
	}
	r.Calls = append(r.Calls, cb)
}

// longestReason bounds the text of a callback, so that a parent of many children can
// still be notified of all.
const longestReason = 512

func clip(text string) string {
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + "..."
	}
	return text
}

// failure describes why the parent must not count on the child's work.
func (s *Session) failure() string {
	if s.Update == UpdateFailed {
		text := "the workflow state was not updated (attempts: " + strconv.Itoa(s.Attempts) + ")"
		if s.Error != "" {
			text += "; " + s.Error
		}
		return text
	}
	return s.Error
}

// giveUp ends a session for good: outstanding work is dropped, also a task that a runner
// has taken. Its open children stay counted, and call back in vain unless it is resumed.
func (r *Result) giveUp(now time.Time) {
	s := r.Session
	if s.Task != nil {
		r.announceTask(TaskDropped, s.Task)
	}
	s.Task, s.Callbacks, s.Prompt, s.NextPrompt, s.Starting = nil, nil, "", "", false
	r.end(now)
}

// Asked describes which prompt the agent must be given before it may stop, from 1; 0 when
// it may. It is for callers that stop a session in place.
func (s *Session) Asked() int {
	if s.InPlace && s.Update == UpdatePending {
		return s.Attempts
	}
	return 0
}

// StateUpdated records that the session has changed the state that it shares (S11.2).
// Changed is false, and storing is not needed, when that makes no difference.
func (s *Session) StateUpdated(c Clock) Result {
	switch {
	case s.Update == UpdatePending:
		r := s.begin(c)
		r.Session.Update, r.Session.Deadline = UpdateCompleted, time.Time{}
		r.announce(EventUpdateCompleted)
		if s.Status == Finished && !s.Task.Claimed() {
			// No prompt for it is needed any more. A session that reported after its stop
			// may continue and stop again; if not, it is done after a while.
			r.drop(KindStateUpdate)
			r.Session.Deadline = c.Now.Add(c.config().AttemptTimeout)
		}
		r.Changed = true
		return *r
	case s.Update == UpdateNone && s.AcceptEarly && !s.UpdatedEarly && s.MustReport():
		r := s.begin(c)
		r.Session.UpdatedEarly = true
		r.Changed = true
		return *r
	default:
		return unchanged(s)
	}
}
