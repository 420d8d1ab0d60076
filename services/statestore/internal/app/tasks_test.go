package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

// leasing is a runner's stream of tasks.
type leasing struct {
	tasks chan *app.Task
	stop  func() // ends it and demands that it ended because of that
}

func (r *rig) claim(a *app.App, runner app.Runner) *leasing {
	ctx, cancel := context.WithCancel(r.Context())
	l := &leasing{tasks: make(chan *app.Task, 1000)}
	done := make(chan error, 1)
	go func() {
		done <- a.Claim(ctx, operator, runner, func(t *app.Task) error {
			l.tasks <- t
			return nil
		})
	}()
	l.stop = func() {
		r.Helper()
		cancel()
		r.ended(done)
	}
	return l
}

// S11.5: a runner gets the tasks whose labels it has all of, as many at a time as it
// takes.
func TestRunnersGetTheirTasks(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		for name, labels := range map[string]map[string]string{
			"plain": nil, "linux": {"os": "linux"}, "gpu": {"os": "linux", "gpu": "yes"}, "mac": {"os": "mac"},
		} {
			r.session(app.NewSession{Name: name, Labels: labels, Prompt: "start " + name})
		}
		runner := r.claim(r.App, app.Runner{Name: "linux box", Labels: map[string]string{"os": "linux", "disk": "big"}, MaxInFlight: 10})
		got := map[string]bool{}
		for range 2 {
			task := receive(r, runner.tasks)
			got[task.Member.Name] = true
			if task.Kind != session.KindStart || task.Prompt != "start "+task.Member.Name || task.Runner != "linux box" || task.Given != 1 ||
				!task.Expires.Equal(r.clock.Now().Add(30*time.Second)) {
				r.Errorf("the task is %+v with %q", task.Task, task.Prompt)
			}
			r.ack(task)
		}
		runner.stop()
		if !got["plain"] || !got["linux"] || len(runner.tasks) != 0 {
			r.Errorf("it got %v and %d more", got, len(runner.tasks))
		}
		r.is("gpu", "FINISHED SKIPPED 0 START READY")
		r.is("mac", "FINISHED SKIPPED 0 START READY")

		// One at a time: the next comes when that has ended, and not before.
		for i := range 5 {
			r.session(app.NewSession{Name: fmt.Sprint("more", i), Prompt: "go"})
		}
		runner = r.claim(r.App, app.Runner{Name: "one"})
		for range 5 {
			task := receive(r, runner.tasks)
			r.Changed("default", "task", "")
			r.Changed("default", app.KindSession, "")
			tasks, _, err := r.Tasks(r.Context(), operator, app.TaskQuery{Status: app.TaskClaimed, Limit: 10})
			if err != nil || len(tasks) != 1 || tasks[0].ID != task.ID || len(runner.tasks) != 0 {
				r.Errorf("%d tasks are claimed, %v", len(tasks), err)
			}
			r.ack(task)
		}
		runner.stop()
	})
}

// Two runners never have one claim, through whatever replicas; every task is given.
func TestRunnersNeverShareAClaim(t *testing.T) {
	t.Parallel()
	const tasks = 60
	everywhere(t, app.Config{}, func(r *rig) {
		for i := range tasks {
			r.session(app.NewSession{Name: fmt.Sprint(i), Prompt: "go"})
		}
		var runners []*leasing
		for i, a := range r.replicas(4) {
			runners = append(runners, r.claim(a, app.Runner{Name: fmt.Sprint("runner", i), MaxInFlight: 7}))
		}
		var mu sync.Mutex
		given := map[string]string{}
		var group sync.WaitGroup
		enough, done := context.WithCancel(r.Context())
		defer done()
		for _, runner := range runners {
			group.Go(func() {
				for {
					select {
					case <-enough.Done():
						return
					case task := <-runner.tasks:
						mu.Lock()
						if by, twice := given[task.ID]; twice {
							r.Errorf("%s was given to %s and to %s", task.ID, by, task.Runner)
						}
						given[task.ID] = task.Runner
						all := len(given) == tasks
						mu.Unlock()
						r.ack(task)
						if all {
							done()
						}
					}
				}
			})
		}
		select {
		case <-enough.Done():
		case <-time.After(patience):
			r.Errorf("only %d tasks were given", len(given))
			done()
		}
		group.Wait()
		for _, runner := range runners {
			runner.stop()
		}
	})
}

// S11.3: a runner that dies loses its claim, and the task is given again, with its id
// and another token; the old one is no good.
func TestClaimLapses(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "s", Prompt: "go"})
		first := r.task(r.App, "s")
		other := r.replica(r.open())
		r.advance(29 * time.Second)
		expires, err := r.ExtendTask(r.Context(), operator, first.ID, first.Token)
		if err != nil || !expires.Equal(r.clock.Now().Add(30*time.Second)) {
			r.Errorf("extended to %v, %v", expires, err)
		}
		r.advance(30*time.Second - 1)
		r.is("s", "RUNNING SKIPPED 0 START CLAIMED")
		r.clock.Advance(1)
		// It has lapsed, whether or not anybody has swept.
		_, err = r.ExtendTask(r.Context(), operator, first.ID, first.Token)
		r.refused(err, fault.Fenced)
		r.sweep(other)
		r.is("s", "FINISHED SKIPPED 0 START READY")
		for name, late := range map[string]func() error{
			"extend": func() error { _, err := r.ExtendTask(r.Context(), operator, first.ID, first.Token); return err },
			"ack":    func() error { _, err := r.AckTask(r.Context(), operator, first.ID, first.Token, nil); return err },
			"fail": func() error {
				_, err := r.FailTask(r.Context(), operator, first.ID, first.Token, "x", false)
				return err
			},
		} {
			if got := fault.ReasonOf(late()); got != fault.Fenced {
				r.Errorf("%s after it lapsed: %q", name, got)
			}
		}
		second := r.task(other, "s")
		if second.ID != first.ID || second.Token <= first.Token || second.Given != 2 {
			r.Errorf("given again as %+v, before as %+v", second.Task, first.Task)
		}
		_, err = r.AckTask(r.Context(), operator, first.ID, first.Token, nil)
		r.refused(err, fault.Fenced)
		for range 3 { // an ack again is answered again
			if m, err := other.AckTask(r.Context(), operator, second.ID, second.Token, nil); err != nil || m.Status != session.Finished || m.Task != nil {
				r.Errorf("ack: %+v, %v", m, err)
			}
		}
		_, err = r.AckTask(r.Context(), operator, "task_none", 1, nil)
		r.refused(err, fault.NotFound)
	})
}

// A task whose agent did not run at all is given again after a pause; one whose agent
// failed is over.
func TestTasksThatFail(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "s", Prompt: "go"})
		task := r.task(r.App, "s")
		if _, err := r.FailTask(r.Context(), operator, task.ID, task.Token, "no such image", true); err != nil {
			r.Fatal(err)
		}
		if m := r.is("s", "FINISHED SKIPPED 0 START DELAYED"); m.Task.Error != "no such image" {
			r.Errorf("the task is %+v", m.Task)
		}
		r.advance(5 * time.Second)
		again := r.task(r.App, "s")
		if again.ID != task.ID || again.Prompt != "go" {
			r.Errorf("given again as %+v", again.Task)
		}
		m, err := r.FailTask(r.Context(), operator, again.ID, again.Token, "it crashed", false)
		if err != nil || m.Status != session.Finished || m.Task != nil || m.Error != "it crashed" {
			r.Errorf("failed: %+v, %v", m, err)
		}
	})
}

// S11.4: callbacks to one parent never overlap: those that come while it is being
// resumed wait, and come together, in one that a restart does not lose.
func TestCallbacksAreDeliveredTogether(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "root"})
		for i := range 5 {
			r.session(app.NewSession{Name: fmt.Sprint("child", i), Parent: "root"})
		}
		names := func(task *app.Task) string {
			var all []string
			for _, cb := range task.Callbacks {
				all = append(all, cb.Name)
			}
			return strings.Join(all, " ")
		}
		r.stop("child0", session.Stop{})
		first := r.task(r.App, "root")
		if got := names(first); got != "child0" {
			r.Errorf("the first brings %s", got)
		}
		r.stop("child1", session.Stop{})
		r.stop("child2", session.Stop{})
		r.is("root", "RUNNING SKIPPED 0 CALLBACK CLAIMED")
		// The runner dies: what it had comes again, with the ids of before, and the others.
		r.advance(30 * time.Second)
		r.App = r.replica(r.open())
		second := r.task(r.App, "root")
		if got := names(second); got != "child0 child1 child2" || second.Callbacks[0].ID != first.Callbacks[0].ID {
			r.Errorf("the second brings %s", got)
		}
		r.stop("child3", session.Stop{})
		if _, err := r.FailTask(r.Context(), operator, second.ID, second.Token, "it crashed", false); err != nil {
			r.Fatal(err)
		}
		r.advance(5 * time.Second)
		third := r.task(r.App, "root")
		if got := names(third); got != "child0 child1 child2 child3" {
			r.Errorf("the third brings %s", got)
		}
		r.stop("child4", session.Stop{})
		r.ack(third)
		fourth := r.task(r.App, "root")
		if got := names(fourth); got != "child4" {
			r.Errorf("the fourth brings %s", got)
		}
		r.ack(fourth)
		r.is("root", "FINISHED SKIPPED 0")
	})
}

// Pages of tasks hold each open task once, newest session first, whatever their statuses
// and the size of a page.
func TestTaskLists(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		want := map[string]string{}
		for i := range 9 {
			name := fmt.Sprint("s", i)
			r.session(app.NewSession{Name: name, Prompt: "go", Labels: map[string]string{"only": name}})
			want[name] = app.TaskReady
			if i%3 == 0 {
				continue
			}
			l := r.claim(r.App, app.Runner{Name: "runner", Labels: map[string]string{"only": name}})
			task := receive(r, l.tasks)
			l.stop()
			if want[name] = app.TaskClaimed; i%3 == 1 {
				want[name] = app.TaskDelayed
				if _, err := r.FailTask(r.Context(), operator, task.ID, task.Token, "", true); err != nil {
					r.Fatal(err)
				}
			}
		}
		for _, status := range []string{"", app.TaskDelayed, app.TaskReady, app.TaskClaimed} {
			for limit := 1; limit <= 10; limit++ {
				got, order := map[string]string{}, []string{}
				for after := ""; ; {
					page, next, err := r.Tasks(r.Context(), operator, app.TaskQuery{Status: status, After: after, Limit: limit})
					if err != nil || len(page) > limit {
						r.Fatalf("a page of %d by %d, %v", len(page), limit, err)
					}
					for _, task := range page {
						if got[task.Member.Name] != "" {
							r.Errorf("by %d, %s is there twice", limit, task.Member.Name)
						}
						got[task.Member.Name] = app.StatusOf(task.Task)
						order = append(order, task.Member.Name)
					}
					if after = next; next == "" {
						break
					}
				}
				slices.Reverse(order)
				if !slices.IsSorted(order) {
					r.Errorf("%q by %d: from the oldest they are %v", status, limit, order)
				}
				for name, is := range want {
					if (status == "" || status == is) != (got[name] == is) {
						r.Errorf("%q by %d: %s is %q, want %s", status, limit, name, got[name], is)
					}
				}
			}
		}
		if page, _, err := r.Tasks(r.Context(), operator, app.TaskQuery{Session: "s1", Limit: 5}); err != nil || len(page) != 1 || page[0].Member.Name != "s1" {
			r.Errorf("of one session: %v, %v", page, err)
		}
		if page, _, err := r.Tasks(r.Context(), operator, app.TaskQuery{Session: "s1", Status: app.TaskReady, Limit: 5}); err != nil || len(page) != 0 {
			r.Errorf("of one session that is not so: %v, %v", page, err)
		}
	})
}

// unreadable is a store where a kind of record cannot be read.
type unreadable struct {
	store.Store
	kind string
}

func (u *unreadable) Get(ctx context.Context, key store.Key) (store.Record, error) {
	if key.Kind == u.kind {
		return store.Record{}, errors.New("it is broken")
	}
	return u.Store.Get(ctx, key)
}

// One task that cannot be given keeps no runner from the others.
func TestTaskThatCanNotBeGiven(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.family()
		r.stop("child", session.Stop{}) // whose prompt needs the state
		r.session(app.NewSession{Name: "fine", Prompt: "go"})
		l := r.claim(r.replica(&unreadable{r.store, app.KindState}), app.Runner{Name: "runner", MaxInFlight: 5})
		if task := receive(r, l.tasks); task.Member.Name != "fine" {
			r.Errorf("it got a task of %s", task.Member.Name)
		}
		l.stop()
		r.is("child", "FINISHED PENDING 1 STATE_UPDATE READY") // and it is not lost
	})
}
