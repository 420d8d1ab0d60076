package session

import "time"

// Resume records that a session's agent works again: by itself, or with a prompt that a
// runner is to give it. A child's report is asked for again.
func (s *Session) Resume(prompt string, c Clock) Result {
	if prompt == "" && s.Status == Running {
		return unchanged(s)
	}
	r := s.begin(c)
	r.reopen()
	r.drop(KindStateUpdate)
	r.work()
	if prompt == "" {
		r.Session.Status = Running
		r.announce(EventResumed)
	} else {
		r.prompt(prompt)
	}
	return r.finish(c)
}

// prompt queues a text for the agent, after those that wait already.
func (r *Result) prompt(text string) {
	s := r.Session
	waiting := &s.Prompt
	if s.Task.Claimed() && s.Task.givesPrompt() {
		waiting = &s.NextPrompt // Prompt is with the runner, or is to be given again
	}
	if *waiting != "" {
		*waiting += "\n\n"
	}
	*waiting += text
}

// work begins new work, with a report of its own at its end.
func (r *Result) work() {
	s := r.Session
	s.Settled, s.Closing, s.InPlace, s.Error = false, false, false, ""
	s.EndedBy, s.Dismissed = nil, false
	s.Attempts, s.UpdatedEarly, s.Deadline = 0, false, time.Time{}
	s.Result, s.Given, s.ResultAt = nil, false, time.Time{}
	if s.MustReport() {
		s.Update = UpdateNone
	}
}
