package app_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
)

// watching is a stream of the changes of a state; a nil change is its end.
type watching struct {
	changes chan *states.Change
	done    chan error
	cancel  context.CancelFunc
}

func (r *rig) watch(a *app.App, caller ports.Caller, id string, after int64) *watching {
	ctx, cancel := context.WithCancel(r.Context())
	w := &watching{changes: make(chan *states.Change, 10_000), done: make(chan error, 1), cancel: cancel}
	go func() {
		w.done <- a.States.Watch(ctx, caller, id, after, func(_ string, c *states.Change) error {
			w.changes <- c
			return nil
		})
	}()
	r.Cleanup(cancel)
	return w
}

// comes demands these versions next, in order.
func (w *watching) comes(r *rig, from, to int64) {
	r.Helper()
	for version := from; version <= to; version++ {
		if c := receive(r, w.changes); c == nil || c.Version != version {
			r.Fatalf("%+v came, not version %d", c, version)
		}
	}
}

// A watcher gets each change after a version once and in order, those that are there
// and those that come, from whatever replica, to the end of the state.
func TestWatchFromAVersion(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		for range 299 {
			r.update(operator, patch(id, `[]`))
		}
		other, third := r.replica(r.open()), r.replica(r.open())
		all := r.watch(other, operator, id, 0)
		some := r.watch(r.App, agent("root"), "", 290) // that of its session
		news := r.watch(third, operator, id, -1)
		all.comes(r, 1, 300)
		some.comes(r, 291, 300)
		for end := time.Now().Add(patience); third.Watched() == 0; runtime.Gosched() {
			if time.Now().After(end) {
				r.Fatal("nobody waits for news")
			}
		}
		for version := int64(301); version <= 310; version++ {
			r.update(agent("root"), merge("", fmt.Sprintf(`{"n":%d}`, version)))
			other.Changed("default", ports.KindState, id)
			third.Changed("default", ports.KindState, id)
			for _, w := range []*watching{all, some, news} {
				c := receive(r, w.changes)
				if c.Version != version || c.SessionName != "root" || c.Type != states.Updated || !strings.Contains(string(c.Patch), fmt.Sprint(version)) {
					r.Fatalf("%+v came, not version %d", c, version)
				}
			}
		}
		some.cancel()
		r.ended(some.done)
		if err := r.Remover.Delete(r.Context(), operator, id, 0, true); err != nil {
			r.Fatal(err)
		}
		other.Changed("default", ports.KindState, id)
		third.Changed("default", ports.KindState, id)
		for _, w := range []*watching{all, news} {
			if c := receive(r, w.changes); c != nil {
				r.Errorf("%+v came, not the end", c)
			}
			if err := receive(r, w.done); err != nil {
				r.Errorf("it ended with %v", err)
			}
		}
	})
}

// S10.9: who may no longer read gets no further change.
func TestWatchEndsWithTheGrant(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("owner", anything, `{}`).Key.ID
		r.session(opening.Request{Name: "reader"})
		if _, err := r.Sessions.Grant(r.Context(), operator, "reader", id, false); err != nil {
			r.Fatal(err)
		}
		other := r.replica(r.open())
		w := r.watch(other, agent("reader"), id, 0)
		w.comes(r, 1, 1)
		if _, err := r.Sessions.Grant(r.Context(), operator, "reader", id, true); err != nil {
			r.Fatal(err)
		}
		r.update(operator, merge(id, `{"secret":1}`))
		other.Changed("default", ports.KindState, id)
		r.refused(receive(r, w.done), fault.PermissionDenied)
		if len(w.changes) != 0 {
			r.Errorf("it was sent %+v", <-w.changes)
		}
	})
}

func TestWatchRefusals(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		r.session(opening.Request{Name: "stranger"})
		for caller, reason := range map[ports.Caller]fault.Reason{
			agent(""): fault.SessionRequired, agent("nobody"): fault.PermissionDenied, agent("stranger"): fault.PermissionDenied,
		} {
			r.refused(receive(r, r.watch(r.App, caller, id, 0).done), reason)
		}
		r.refused(receive(r, r.watch(r.App, agent("stranger"), "", 0).done), fault.NotFound)
		r.refused(receive(r, r.watch(r.App, operator, "wfstate_none", 0).done), fault.NotFound)
		full := errors.New("the client is gone")
		if err := r.States.Watch(r.Context(), operator, id, 0, func(string, *states.Change) error { return full }); !errors.Is(err, full) {
			r.Errorf("it ended with %v", err)
		}
	})
}

// Events of other processes wake callers that wait in this one, for what they are about
// and nothing else; so do commits of this one.
func TestChangesWakeThoseWhoWait(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		state, stop := r.Wait(id)
		defer stop()
		tasks, stop := r.Wait("")
		defer stop()
		woken := func(what string, wantState, wantTask bool) {
			r.Helper()
			if (len(state) == 1) != wantState || (len(tasks) == 1) != wantTask {
				r.Errorf("%s wakes who waits for the state: %t, for a task: %t", what, len(state) == 1, len(tasks) == 1)
			}
			for len(state)+len(tasks) > 0 {
				select {
				case <-state:
				case <-tasks:
				}
			}
		}
		r.Changed("default", ports.KindState, id)
		woken("an event of the state", true, false)
		r.Changed("default", ports.KindState, "wfstate_other")
		r.Changed("other", ports.KindState, id)
		r.Changed("default", "schema", id)
		woken("an event of something else", false, false)
		r.Changed("default", "task", "task_1")
		woken("an event of a task", false, true)
		r.Changed("default", member.Kind, "ses_1")
		woken("an event of a session", false, true)

		r.update(operator, merge(id, `{}`))
		woken("an update", true, false)
		r.session(opening.Request{Name: "worker", Prompt: "go"})
		woken("a task", false, true)
		task := r.task(r.App, "worker")
		woken("a lease", false, true)
		r.ack(task)
		woken("the end of a task", false, true)
		if err := r.Remover.Delete(r.Context(), operator, id, 0, true); err != nil {
			r.Fatal(err)
		}
		woken("a deletion", true, false)
	})
}
