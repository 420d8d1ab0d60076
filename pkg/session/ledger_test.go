package session_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/session"
)

// ledger keeps the events of the sessions of a tree, and checks them.
type ledger struct {
	tree   *tree
	tasks  map[string]*taskFate
	calls  map[string]*callFate
	given  map[string]int    // the prompt for the report that the agent was given last
	tokens map[string]int64  // the newest of each session
	forced map[string]bool   // ended by force
	owes   map[string]bool   // has worked since it called back
	said   map[string]string // prompts that wait to be given, to their sessions
}

// taskFate is where a task has got to.
type taskFate struct {
	session         string
	claimed, closed bool
	failed          bool     // and is given again, or is not
	stopped         bool     // its agent has said so
	callbacks       []string // of its claim
}

// callFate is where a callback has got to.
type callFate struct {
	parent   string
	received bool
	held     bool // by a runner that has not failed, or was through with it
	excused  bool // its parent was ended by force, or it was given up
}

func newLedger(w *tree) *ledger {
	l := &ledger{
		tree: w, tasks: map[string]*taskFate{}, calls: map[string]*callFate{}, given: map[string]int{},
		tokens: map[string]int64{}, forced: map[string]bool{}, owes: map[string]bool{}, said: map[string]string{},
	}
	w.observer = l.observe
	return l
}

func (l *ledger) observe(ch change) {
	if ch.before == nil || ch.before.Settled && !ch.after.Settled {
		l.owes[ch.name] = true
	}
	for _, ev := range ch.result.Events {
		switch {
		case ev.Task != nil:
			l.task(ch, ev.Type, ev.Task)
			l.ending(ch, ev)
		case ev.Callback != nil:
			call := l.calls[ev.Callback.ID]
			if call == nil || call.parent != ch.name || call.received {
				l.tree.fatalf("%s receives %+v, which was not for it, or twice", ch.name, ev.Callback)
			}
			call.received = true
		}
	}
	for _, cb := range ch.result.Calls {
		if l.calls[cb.ID] != nil || !l.owes[ch.name] {
			l.tree.fatalf("%s calls back as %s twice", ch.name, cb.ID)
		}
		l.owes[ch.name] = false
		parent := l.tree.stored[ch.after.ParentName]
		l.calls[cb.ID] = &callFate{parent: parent.Name, excused: parent.Status == session.Ended}
	}
	if ch.result.Reopened {
		l.forced[ch.name] = false
	}
	l.prompts(ch)
	l.isTask(ch)
}

// task follows one task: it is claimed by one runner at a time, and none after it is
// closed.
func (l *ledger) task(ch change, event string, t *session.Task) {
	name := ch.name
	fate := l.tasks[t.ID]
	if (event == session.TaskQueued) != (fate == nil) {
		l.tree.fatalf("%s: %s of %s, known %t", name, event, t.ID, fate != nil)
	}
	if fate == nil {
		for id, other := range l.tasks {
			if other.session == name && !other.closed && !other.failed {
				l.tree.fatalf("%s queues %s next to %s", name, t.ID, id)
			}
		}
		l.tasks[t.ID] = &taskFate{session: name}
		return
	}
	if fate.session != name || fate.closed || fate.stopped && event == session.TaskClaimed || (event == session.TaskClaimed) == fate.claimed && event != session.TaskDropped && event != session.TaskDone {
		l.tree.fatalf("%s: %s of %s, %+v", name, event, t.ID, *fate)
	}
	switch event {
	case session.TaskClaimed:
		if t.Token <= l.tokens[name] {
			l.tree.fatalf("%s is claimed with token %d after %d", name, t.Token, l.tokens[name])
		}
		l.tokens[name] = t.Token
		l.owes[name] = true
		fate.claimed, fate.failed, fate.callbacks = true, false, nil
		for _, cb := range t.Callbacks {
			l.deliver(name, t, cb.ID)
			fate.callbacks = append(fate.callbacks, cb.ID)
		}
		if t.Kind == session.KindStart || t.Kind == session.KindResume {
			l.tell(ch.after)
		}
	case session.TaskLapsed, session.TaskFailed:
		fate.claimed, fate.failed, fate.stopped = false, event == session.TaskFailed, t.Stopped
		for _, id := range fate.callbacks {
			l.calls[id].held = false
		}
	case session.TaskDone, session.TaskDropped:
		fate.closed = true
		if event == session.TaskDone {
			for _, id := range fate.callbacks {
				l.calls[id].held = true
			}
		}
	}
}

// ending: an agent's stop counts once, and a task is taken from a runner only when
// its time is up or the session is ended.
func (l *ledger) ending(ch change, ev session.Event) {
	stops := slices.ContainsFunc(ch.result.Events, func(e session.Event) bool { return e.Type == session.EventStopped })
	switch taken := ev.Task.Claimed() && !ev.Task.Deadline.Equal(l.tree.now) && ch.after.Status != session.Ended; {
	case (ev.Type == session.TaskDone || ev.Type == session.TaskFailed) && ev.Task.Stopped && stops:
		l.tree.fatalf("%s: the stop of %+v counts twice", ch.name, ev.Task)
	case ev.Type == session.TaskDropped && taken:
		l.tree.fatalf("%s: %+v is taken from its runner", ch.name, ev.Task)
	}
}

// say records that a session is about to be resumed with a prompt.
func (l *ledger) say(name, prompt string) { l.said[prompt] = name }

// tell takes the prompt of a runner from those that wait.
func (l *ledger) tell(s *session.Session) {
	for text := range strings.SplitSeq(s.Prompt, "\n\n") {
		delete(l.said, text)
	}
}

// deliver: a callback is with one runner, until that has failed (S11.4).
func (l *ledger) deliver(name string, t *session.Task, id string) {
	call := l.calls[id]
	if call == nil || call.parent != name || !call.received || call.held {
		l.tree.fatalf("%s is given %s by %s, %+v", name, id, t.ID, call)
	}
	call.held = true
}

// prompts: an agent that works is not asked for the second time before the first
// (S11.2).
func (l *ledger) prompts(ch change) {
	after := ch.after
	if b := ch.before; b != nil && b.Update == session.UpdatePending && b.Status == session.Running &&
		after.Attempts == b.Attempts+1 && l.given[ch.name] != b.Attempts {
		l.tree.fatalf("%s is asked %d times, and was given prompt %d last: %+v", ch.name, after.Attempts, l.given[ch.name], after)
	}
	switch t := after.Task; {
	case after.Attempts == 0:
		l.given[ch.name] = 0
	case after.Asked() > 0 && after.Status == session.Running:
		l.given[ch.name] = after.Asked()
	case t.Claimed() && t.Kind == session.KindStateUpdate:
		l.given[ch.name] = max(l.given[ch.name], t.Attempt)
	}
}

// isTask compares the task of a session with its events.
func (l *ledger) isTask(ch change) {
	t := ch.after.Task
	for id, fate := range l.tasks {
		if fate.session == ch.name && !fate.closed && (t == nil || t.ID != id) {
			if !fate.failed {
				l.tree.fatalf("%s has forgotten %s", ch.name, id)
			}
			fate.closed = true // it has failed for good
			for _, cb := range fate.callbacks {
				l.calls[cb].excused = true
			}
		}
	}
	if t != nil && (l.tasks[t.ID] == nil || l.tasks[t.ID].closed || l.tasks[t.ID].claimed != t.Claimed()) {
		l.tree.fatalf("%s has %+v, and announced %+v", ch.name, t, l.tasks[t.ID])
	}
}

// end records that a session is about to be ended by force.
func (l *ledger) end(name string) {
	if l.tree.stored[name].Status == session.Ended {
		return
	}
	l.forced[name] = true
	maps.DeleteFunc(l.said, func(_, to string) bool { return to == name })
	for _, call := range l.calls {
		if call.parent == name && !call.held {
			call.excused = true
		}
	}
}

// check looks at all sessions between two commands.
func (l *ledger) check() {
	open := map[string]int{}
	waiting := map[string]bool{}
	for _, s := range l.tree.stored {
		if s.ParentName != "" && s.Status != session.Ended {
			open[s.ParentName]++
		}
		for _, cb := range s.Callbacks {
			waiting[cb.ID] = true
		}
	}
	for _, s := range l.tree.stored {
		if s.OpenChildren != open[s.Name] {
			l.tree.fatalf("%s counts %d open children of %d", s.Name, s.OpenChildren, open[s.Name])
		}
		if limit := l.tree.config.WithDefaults().MaxAttempts; s.Attempts > limit {
			l.tree.fatalf("%s was asked %d times of %d", s.Name, s.Attempts, limit)
		}
		l.standing(s)
	}
	for id, call := range l.calls {
		if !call.held && !waiting[id] && !call.excused {
			l.tree.fatalf("%s of %s is lost: %+v", id, call.parent, call)
		}
	}
	for text, name := range l.said {
		if s := l.tree.stored[name]; !strings.Contains(s.Prompt+"\n\n"+s.NextPrompt, text) {
			l.tree.fatalf("%s is not told %q: %+v", name, text, s)
		}
	}
}

// standing: an ended session has no outstanding work, and one that has stopped and has
// none has ended (S11), but for a root that was not closed.
func (l *ledger) standing(s *session.Session) {
	idle := s.Task == nil && len(s.Callbacks) == 0 && s.Prompt == "" && s.NextPrompt == "" && s.Update != session.UpdatePending
	switch {
	case s.Status == session.Ended:
		if !idle || s.OpenChildren > 0 && !l.forced[s.Name] || s.EndedAt.IsZero() {
			l.tree.fatalf("%s has ended, and has something outstanding: %+v", s.Name, s)
		}
		if s.ParentName != "" && l.owes[s.Name] {
			l.tree.fatalf("%s has ended, and not called back since it worked", s.Name)
		}
	case !s.Task.Claimed() && s.Task != nil && s.Task.Kind == session.KindStateUpdate && s.Update == session.UpdateNone:
		l.tree.fatalf("%s is to be asked for a report that is not due: %+v", s.Name, s)
	case s.Status == session.Finished && s.Task == nil && s.Deadline.IsZero() && (s.OpenChildren == 0 && (s.Closing || !s.Root()) || !idle || !s.Settled):
		l.tree.fatalf("%s is stuck: %+v", s.Name, s)
	case s.Cleanup || !s.EndedAt.IsZero():
		l.tree.fatalf("%s has not ended, and is to be cleaned: %+v", s.Name, s)
	case s.Status == session.Finished && s.Task.Claimed() && !s.Task.Stopped:
		l.tree.fatalf("%s is held by a runner, and has not stopped: %+v", s.Name, s)
	}
}
