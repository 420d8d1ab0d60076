package session_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/interlock-run/interlock/pkg/session"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// tree acts as an application with sessions: it stores them, and carries the calls of one
// command to the parent in the same step.
type tree struct {
	fatalf   func(format string, args ...any)
	stored   map[string]*session.Session // by name
	names    []string                    // in the order of their making
	config   session.Config
	now      time.Time
	version  int64 // of the shared state
	deleted  bool  // the shared state has been
	tasks    int
	observer func(change)
}

// change is one command that one session has been given.
type change struct {
	name          string
	before, after *session.Session // before is nil for a new one
	result        session.Result
}

func newTree(fatalf func(format string, args ...any)) *tree {
	return &tree{fatalf: fatalf, stored: map[string]*session.Session{}, now: noon, observer: func(change) {}}
}

func (w *tree) clock() session.Clock {
	version := w.version
	if w.deleted {
		version = 0
	}
	return session.Clock{Now: w.now, Config: w.config, StateVersion: version, NewTaskID: func() string {
		w.tasks++
		return fmt.Sprintf("task_%d", w.tasks)
	}}
}

// open makes a session; spec.ID is set.
func (w *tree) open(spec session.Spec, parent string) error {
	spec.ID = "ses_" + spec.Name
	out, err := session.Open(spec, w.stored[parent], w.clock())
	if err != nil {
		return err
	}
	w.names = append(w.names, spec.Name)
	w.keep(spec.Name, nil, out)
	if parent != "" {
		w.do(parent, (*session.Session).ChildOpened)
	}
	return nil
}

// do gives one command to one session, and its outcome to its parents.
func (w *tree) do(name string, command func(*session.Session, session.Clock) session.Result) session.Result {
	before := w.stored[name]
	if before == nil {
		w.fatalf("no session %q", name)
	}
	if w.deleted {
		alone := *before
		alone.StateID, before = "", &alone
	}
	was := stored(w, before)
	out := command(before, w.clock())
	if !reflect.DeepEqual(stored(w, before), was) {
		w.fatalf("a command has changed the session that it was given\nwas %+v\nis  %+v", was, before)
	}
	w.keep(name, before, out)
	if parent := before.ParentName; parent != "" {
		if out.Reopened {
			w.do(parent, (*session.Session).ChildOpened)
		}
		for _, call := range out.Calls {
			w.do(parent, func(s *session.Session, c session.Clock) session.Result { return s.Receive(call, c) })
		}
		if out.Ended {
			w.do(parent, (*session.Session).ChildEnded)
		}
	}
	return out
}

func (w *tree) keep(name string, before *session.Session, out session.Result) {
	if out.Changed {
		w.stored[name] = stored(w, out.Session)
	} else if out.Session != before || len(out.Events) > 0 || len(out.Calls) > 0 || out.Ended || out.Reopened {
		w.fatalf("%s is said to be unchanged, but %+v", name, out)
	}
	w.observer(change{name, before, w.stored[name], out})
}

// stored is a session as it comes back from the store.
func stored(w *tree, s *session.Session) *session.Session {
	text, err := json.Marshal(s)
	if err != nil {
		w.fatalf("%v", err)
	}
	var back session.Session
	if err := json.Unmarshal(text, &back); err != nil {
		w.fatalf("%v", err)
	}
	return &back
}

// advance moves the time, and makes due changes on the way.
func (w *tree) advance(by time.Duration) {
	for until := w.now.Add(by); ; {
		name, due := w.next()
		if name == "" || due.After(until) {
			w.now = until
			return
		}
		if due.After(w.now) {
			w.now = due
		}
		w.tick(name)
	}
}

// next is the session that is due first.
func (w *tree) next() (name string, due time.Time) {
	for _, n := range w.names {
		if at := w.stored[n].NextDue(); !at.IsZero() && (name == "" || at.Before(due)) {
			name, due = n, at
		}
	}
	return name, due
}

// tick does all that is due now in one session. It must come to an end, and leave no due
// work.
func (w *tree) tick(name string) {
	for range 4 {
		due := w.stored[name].NextDue()
		if due.IsZero() || due.After(w.now) {
			return
		}
		if w.stored[name].Cleanup {
			w.do(name, (*session.Session).Cleaned)
			continue
		}
		if out := w.do(name, (*session.Session).Tick); !out.Changed {
			w.fatalf("%s has something due at %s, and Tick at %s does nothing: %+v", name, due, w.now, w.stored[name])
		}
	}
	w.fatalf("%s always has something due: %+v", name, w.stored[name])
}

// claim gives a session's task to a runner.
func (w *tree) claim(name, runner string) session.Result {
	return w.do(name, func(s *session.Session, c session.Clock) session.Result { return s.Claim(runner, c) })
}

func (w *tree) extend(name string, token int64) session.Result {
	return w.do(name, func(s *session.Session, c session.Clock) session.Result { return s.Extend(token, c) })
}

func (w *tree) ack(name string, token int64) session.Result {
	return w.do(name, func(s *session.Session, c session.Clock) session.Result { return s.Ack(token, nil, c) })
}

func (w *tree) fail(name string, token int64, reason string, retry bool) session.Result {
	return w.do(name, func(s *session.Session, c session.Clock) session.Result { return s.Fail(token, reason, retry, c) })
}

func (w *tree) stop(name string, cmd session.Stop) session.Result {
	return w.do(name, func(s *session.Session, c session.Clock) session.Result { return s.Stop(cmd, c) })
}

func (w *tree) resume(name, prompt string) session.Result {
	return w.do(name, func(s *session.Session, c session.Clock) session.Result { return s.Resume(prompt, c) })
}

// create makes the state that the tree of a root shares.
func (w *tree) create(root string) session.Result {
	w.version, w.deleted = 1, false
	return w.do(root, func(s *session.Session, c session.Clock) session.Result { return s.WithState("wfstate_1", c) })
}

// update changes the shared state for a session.
func (w *tree) update(name string) session.Result {
	w.version++
	return w.do(name, (*session.Session).StateUpdated)
}
