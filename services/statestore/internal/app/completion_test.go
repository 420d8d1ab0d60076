package app_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

// family makes a root with a state, and a child of it.
func (r *rig) family() (stateID string) {
	r.Helper()
	id := r.state("root", anything, `{"todo":true}`).Key.ID
	r.session(app.NewSession{Name: "child", Parent: "root"})
	return id
}

// is demands how a session stands: status, report, attempts and kind and status of
// its task.
func (r *rig) is(name, want string) *app.Member {
	r.Helper()
	m := r.member(name)
	got := fmt.Sprintf("%s %s %d", m.Status, m.Update, m.Attempts)
	if m.Task != nil {
		got += fmt.Sprintf(" %s %s", m.Task.Kind, app.StatusOf(m.Task))
	}
	if got != want {
		r.Errorf("%s is %s, want %s", name, got, want)
	}
	return m
}

// task takes the task that a session has, as a runner does.
func (r *rig) task(a *app.App, name string) *app.Task {
	r.Helper()
	l := r.claim(a, app.Runner{Name: "runner", MaxInFlight: 1})
	defer l.stop()
	task := receive(r, l.tasks)
	if task.Member.Name != name {
		r.Fatalf("the task is one of %s, not of %s", task.Member.Name, name)
	}
	return task
}

func (r *rig) ack(task *app.Task) {
	r.Helper()
	if _, err := r.AckTask(r.Context(), operator, task.ID, task.Token, nil); err != nil {
		r.Fatalf("ack: %v", err)
	}
}

// S11.2, S11.4: a child that stops is asked to update the state; when it has, its
// parent is called back.
func TestChildReportsBeforeItIsDone(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		id := r.family()
		r.is("child", "RUNNING NONE 0")
		r.stop("child", session.Stop{})
		r.is("child", "FINISHED PENDING 1 STATE_UPDATE READY")
		// An update of another session is none of its own.
		r.update(agent("root"), merge("", `{"by":"root"}`))
		r.update(operator, merge(id, `{"by":"olga"}`))
		r.is("child", "FINISHED PENDING 1 STATE_UPDATE READY")

		task := r.task(r.App, "child")
		for _, part := range []string{"Required: Update Workflow State", `{"todo":true,"by":"olga"}`, "version 3"} {
			if !strings.Contains(task.Prompt, part) {
				r.Errorf("the prompt lacks %q:\n%s", part, task.Prompt)
			}
		}
		r.is("child", "RUNNING PENDING 1 STATE_UPDATE CLAIMED")
		if _, err := r.Update(r.Context(), agent("child"), merge("", `[`)); err == nil {
			r.Error("a bad update was accepted")
		}
		r.is("child", "RUNNING PENDING 1 STATE_UPDATE CLAIMED")
		r.update(agent("child"), merge("", `{"todo":false}`))
		r.update(agent("child"), merge("", `{"more":1}`))
		r.is("child", "RUNNING COMPLETED 1 STATE_UPDATE CLAIMED")
		r.is("root", "RUNNING SKIPPED 0")
		r.ack(task)
		r.is("child", "ENDED COMPLETED 1")

		root := r.is("root", "RUNNING SKIPPED 0 CALLBACK READY")
		if len(root.Callbacks) != 1 || root.Callbacks[0].Update != session.UpdateCompleted || root.Callbacks[0].StateVersion != 5 || root.OpenChildren != 0 {
			r.Errorf("the root was called back by %+v", root.Callbacks)
		}
		back := r.task(r.App, "root")
		if len(back.Callbacks) != 1 || !strings.Contains(back.Prompt, "Child Session Completed") || !strings.Contains(back.Prompt, "Workflow State Version: 5") {
			r.Errorf("the callback is %+v:\n%s", back.Callbacks, back.Prompt)
		}
		r.ack(back)
		r.is("root", "FINISHED SKIPPED 0")
		r.stop("root", session.Stop{})
		r.is("root", "ENDED SKIPPED 0")
		r.noTimers()
	})
}

// S11.2, S11.3: three attempts, with a pause before each, then it has failed and the
// parent is told so. Each timer fires once, no matter who sweeps, also after a restart.
func TestChildThatDoesNotReportFails(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.family()
		other := r.replica(r.open())
		pass := func(d time.Duration) {
			r.clock.Advance(d)
			var group sync.WaitGroup
			for _, a := range []*app.App{r.App, other, r.replica(r.open())} {
				group.Go(func() { a.SweepOnce(r.Context()) })
			}
			group.Wait()
			r.App = r.replica(r.open()) // it starts anew each time
		}
		r.stop("child", session.Stop{})
		prompts := map[string]bool{}
		for attempt := 1; attempt <= 3; attempt++ {
			if attempt > 1 {
				r.is("child", fmt.Sprintf("FINISHED PENDING %d STATE_UPDATE DELAYED", attempt))
				pass(5*time.Second - 1)
				r.is("child", fmt.Sprintf("FINISHED PENDING %d STATE_UPDATE DELAYED", attempt))
				pass(1)
			}
			r.is("child", fmt.Sprintf("FINISHED PENDING %d STATE_UPDATE READY", attempt))
			task := r.task(r.App, "child")
			prompts[task.Prompt] = true
			if task.Attempt != attempt {
				r.Errorf("the task is for attempt %d, not %d", task.Attempt, attempt)
			}
			switch attempt {
			case 1:
				r.ack(task) // the agent has run, and did not update
			case 2:
				if _, err := r.FailTask(r.Context(), operator, task.ID, task.Token, "it crashed", false); err != nil {
					r.Fatal(err)
				}
			default: // the agent hangs, and its runner continues
				for range 5 {
					pass(20 * time.Second)
					if _, err := r.ExtendTask(r.Context(), operator, task.ID, task.Token); err != nil {
						r.Fatal(err)
					}
				}
				pass(20*time.Second - 1)
				r.is("child", "RUNNING PENDING 3 STATE_UPDATE CLAIMED")
				pass(1)
			}
		}
		if len(prompts) != 3 {
			r.Errorf("%d different prompts", len(prompts))
		}
		r.is("child", "ENDED FAILED 3")
		root := r.is("root", "RUNNING SKIPPED 0 CALLBACK READY")
		if len(root.Callbacks) != 1 || root.Callbacks[0].Update != session.UpdateFailed || root.Callbacks[0].Error == "" {
			r.Errorf("the root was called back by %+v", root.Callbacks)
		}
		if back := r.task(r.App, "root"); !strings.Contains(back.Prompt, "failed to update workflow state") {
			r.Errorf("the callback reads %s", back.Prompt)
		}
		// It is late, but its own: the state is for sessions that have not ended.
		_, err := r.Update(r.Context(), agent("child"), merge("", `{}`))
		r.refused(err, fault.SessionEnded)
	})
}

// S11.2 without runners: the caller that stops the session gives it the prompt, as often as
// there are attempts.
func TestChildIsAskedInPlace(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.family()
		stop := func() string {
			r.Helper()
			_, prompt, err := r.StopSession(r.Context(), agent("child"), "child", session.Stop{InPlace: true}, "")
			if err != nil {
				r.Fatal(err)
			}
			return prompt
		}
		seen := map[string]bool{}
		for range 3 {
			prompt := stop()
			if prompt == "" || seen[prompt] {
				r.Errorf("it is told %q", prompt)
			}
			seen[prompt] = true
		}
		r.is("child", "RUNNING PENDING 3")
		if prompt := stop(); prompt != "" {
			r.Errorf("after all attempts it is told %q", prompt)
		}
		r.is("child", "ENDED FAILED 3")

		// Resumed, it is asked anew; an update is accepted as the report.
		if _, err := r.ResumeSession(r.Context(), operator, "child", "", ""); err != nil {
			r.Fatal(err)
		}
		r.is("child", "RUNNING NONE 0")
		if stop() == "" {
			r.Error("it is not asked again")
		}
		r.update(agent("child"), merge("", `{"done":1}`))
		if prompt := stop(); prompt != "" {
			r.Errorf("after its update it is told %q", prompt)
		}
		r.is("child", "ENDED COMPLETED 1")
		if root := r.is("root", "RUNNING SKIPPED 0 CALLBACK READY"); len(root.Callbacks) != 2 || root.Callbacks[0].ID == root.Callbacks[1].ID {
			r.Errorf("the root was called back by %+v", root.Callbacks)
		}
	})
}

// A state that is deleted while its report is due leaves nothing to report: the
// session ends, and no runner is given a task that it cannot do.
func TestStateIsDeletedWhileItsReportIsDue(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		id := r.family()
		r.session(app.NewSession{Name: "in place", Parent: "root"})
		r.session(app.NewSession{Name: "claimed", Parent: "root"})
		r.stop("claimed", session.Stop{})
		claimed := r.task(r.App, "claimed")
		r.stop("child", session.Stop{})
		if _, prompt, err := r.StopSession(r.Context(), agent("in place"), "in place", session.Stop{InPlace: true}, ""); err != nil || prompt == "" {
			r.Fatalf("%q, %v", prompt, err)
		}
		if err := r.DeleteState(r.Context(), operator, id, 0, true); err != nil {
			r.Fatal(err)
		}
		r.ack(claimed)
		if _, prompt, err := r.StopSession(r.Context(), agent("in place"), "in place", session.Stop{InPlace: true}, ""); err != nil || prompt != "" {
			r.Errorf("it is asked %q, %v", prompt, err)
		}
		// The runner that would have been given the child's task gets the next one.
		l := r.claim(r.App, app.Runner{Name: "runner", MaxInFlight: 3})
		var back *app.Task
		for delivered := 0; delivered < 3; delivered += len(back.Callbacks) {
			back = receive(r, l.tasks)
			if back.Kind != session.KindCallback {
				r.Fatalf("it is given %+v of %s: %s", back.Task, back.Member.Name, back.Prompt)
			}
			r.ack(back)
		}
		l.stop()
		for _, name := range []string{"child", "in place", "claimed"} {
			if m := r.member(name); m.Status != session.Ended || m.Update == session.UpdateFailed {
				r.Errorf("%s is %s %s", name, m.Status, m.Update)
			}
		}
		r.is("root", "FINISHED SKIPPED 0")
	})
}

// S11.2: an update that was acknowledged while the report was due is the report,
// however it races with a stop or with the last timeout through another replica.
func TestUpdateRacesStop(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{Session: session.Config{MaxAttempts: 1}}, func(r *rig) {
		r.state("root", anything, `{}`)
		replicas := r.replicas(2)
		var completed, failed atomic.Int64
		for round := range 60 {
			name := fmt.Sprint("child", round)
			r.session(app.NewSession{Name: name, Parent: "root"})
			r.stop(name, session.Stop{InPlace: true})
			r.is(name, "RUNNING PENDING 1")
			var group sync.WaitGroup
			var updated bool
			group.Go(func() {
				_, err := replicas[0].Update(r.Context(), agent(name), patch("", `[{"op":"add","path":"/report","value":1}]`))
				updated = err == nil
				if reason := fault.ReasonOf(err); err != nil && reason != fault.SessionEnded {
					r.Errorf("update: %v", err)
				}
			})
			group.Go(func() {
				if _, _, err := replicas[1].StopSession(r.Context(), operator, name, session.Stop{InPlace: round%2 == 0}, ""); err != nil {
					r.Errorf("stop: %v", err)
				}
			})
			group.Wait()
			switch m := r.member(name); {
			case m.Update == session.UpdateCompleted && updated && m.Status == session.Ended:
				completed.Add(1)
			case m.Update == session.UpdateFailed && !updated && m.Status == session.Ended:
				failed.Add(1)
			default:
				r.Errorf("%s is %s %s; its update was acknowledged: %t", name, m.Status, m.Update, updated)
			}
		}
		r.Logf("%d completed, %d failed", completed.Load(), failed.Load())
	})
}
