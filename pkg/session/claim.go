package session

import (
	"encoding/json"
	"time"
)

// mostCallbacks is how many are delivered together: a prompt must stay readable.
const mostCallbacks = 100

// Claim gives the session's task to a runner, when it is ready. Changed is false
// when there is none to give.
func (s *Session) Claim(runner string, c Clock) Result {
	if t := s.Task; t == nil || t.Claimed() || !t.Ready || due(t.Deadline, c.Now) {
		return unchanged(s)
	}
	r := s.begin(c)
	next, t := r.Session, r.Session.Task
	next.ClaimToken++
	t.Runner, t.Token, t.Expires = runner, next.ClaimToken, c.Now.Add(c.config().ClaimTTL)
	t.Given++
	t.Stopped, t.OwnResult = false, false
	switch t.Kind {
	case KindStateUpdate:
		// The attempt continues when a runner has died in it.
		if t.Deadline.IsZero() {
			t.Deadline = c.Now.Add(c.config().AttemptTimeout)
		}
	case KindCallback:
		given := min(len(next.Callbacks), mostCallbacks)
		t.Callbacks, next.Callbacks = next.Callbacks[:given:given], next.Callbacks[given:]
		next.Settled = false
	default:
		r.work()
	}
	next.Status = Running
	r.announceTask(TaskClaimed, t)
	r.announce(EventResumed)
	r.Changed = true
	return *r
}

// Extend keeps a claim. Changed is false when it is not held with this token.
func (s *Session) Extend(token int64, c Clock) Result {
	if !s.holds(token, c.Now) {
		return unchanged(s)
	}
	r := s.begin(c)
	r.Session.Task.Expires = c.Now.Add(c.config().ClaimTTL)
	r.Changed = true
	return *r
}

// holds reports whether a token is that of the claim that is held now.
func (s *Session) holds(token int64, now time.Time) bool {
	return s.Task.Claimed() && s.Task.Token == token && s.Task.Expires.After(now)
}

// Ack ends a task whose agent has run and stopped, which is the session's stop too
// unless the agent has said so itself. Changed is false when the claim is not held
// with this token. The final message of the agent, as JSON, is the session's result, unless
// that has given one itself, or was only asked to report (S15.3).
func (s *Session) Ack(token int64, message json.RawMessage, c Clock) Result {
	if !s.holds(token, c.Now) {
		return unchanged(s)
	}
	r := s.begin(c)
	if t := r.Session.Task; !t.OwnResult && (t.Kind != KindStateUpdate || s.Result == nil) {
		r.record(message, false, c.Now)
	}
	r.close(TaskDone)
	if !s.Task.Stopped {
		r.endWork(Stop{}, c)
	}
	return r.finish(c)
}

// Fail ends a task whose agent has failed, or with retry did not run at all. Callbacks
// are delivered again, and so are tasks that did not run; the rest counts as the agent's
// stop. Changed is as with Ack.
func (s *Session) Fail(token int64, reason string, retry bool, c Clock) Result {
	if !s.holds(token, c.Now) {
		return unchanged(s)
	}
	r := s.begin(c)
	t := r.Session.Task
	t.Failures++
	t.Error = reason
	again := (retry || t.Kind == KindCallback) && t.Failures < c.config().MaxDeliveries
	if again && !t.Stopped {
		r.announceTask(TaskFailed, t)
		r.giveAgain(c.Now)
		t.Due, t.Ready, t.Deadline = c.Now.Add(c.config().RetryDelay), false, time.Time{}
		return r.finish(c)
	}
	stopped := t.Stopped
	r.close(TaskFailed)
	if !stopped {
		r.endWork(Stop{Error: reason}, c)
	}
	return r.finish(c)
}

// close ends the task at hand.
func (r *Result) close(how string) {
	s := r.Session
	r.announceTask(how, s.Task)
	s.LastTask = s.Task.ID
	r.forget()
}

// forget removes the task at hand, and with it the prompt that it gave.
func (r *Result) forget() {
	s := r.Session
	if s.Task.givesPrompt() {
		s.Prompt, s.NextPrompt, s.Starting = s.NextPrompt, "", false
	}
	s.Task = nil
}

// giveAgain makes a task ready for another runner. Its callbacks go back to those
// that wait, so that newer ones come along.
func (r *Result) giveAgain(now time.Time) {
	s, t := r.Session, r.Session.Task
	if t.Stopped {
		// The agent itself has said that it stopped: no work is to be repeated.
		r.close(TaskDone)
		return
	}
	s.Status = Finished
	t.Runner, t.Expires = "", time.Time{}
	if s.Update == UpdateNone {
		r.drop(KindStateUpdate) // it was resumed in between: the report is not due yet
	}
	s.Callbacks = append(t.Callbacks, s.Callbacks...)
	t.Callbacks = nil
	t.Due, t.Ready = now, true
	if t.Kind != KindStateUpdate {
		t.Deadline = time.Time{} // the work starts again, and so do its prompts in place
	}
}
