package app_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

// S12.3: an execution ends with values or with a patch, which must be valid; what is
// refused changes nothing, and the execution continues.
func TestExecutionsEnd(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{MaxStateBytes: 4096}, func(r *rig) {
		r.component(`{"name":"C","slug":"c","persistence":"long_term","schema_definition":{"id":{"type":"integer"},"tags":{"type":"array"},"note":{"type":"string"}},"initial_values":{"tags":[]}}`)
		scope := app.Scope{Slug: "c", Subject: "s"}
		patched := func(text string) app.Outcome { return app.Outcome{Patch: []byte(text)} }
		version := int64(0)
		for _, step := range []struct {
			out    app.Outcome
			want   string // the values afterwards, or else
			reason fault.Reason
		}{
			{app.Outcome{}, `{"id":null,"tags":[],"note":null}`, ""},
			{valuesAre(`{"id":9007199254740993,"tags":["<é>"]}`), `{"id":9007199254740993,"tags":["<é>"],"note":null}`, ""},
			{valuesAre(`{"id":1`), "", fault.InvalidJSON},
			{valuesAre(``), "", fault.InvalidJSON},
			{valuesAre(`[]`), "", fault.SchemaViolation},
			{valuesAre(`{"id":"1","tags":[]}`), "", fault.SchemaViolation},
			{valuesAre(`{"id":1,"tags":[],"other":1}`), "", fault.SchemaViolation},
			{valuesAre(`{"tags":[]}`), "", fault.SchemaViolation}, // forgets what was set
			{merged(`{"id":null}`), "", fault.SchemaViolation},    // it was set
			{merged(`{"note":"n","id":1.0}`), `{"id":1.0,"tags":["<é>"],"note":"n"}`, ""},
			{patched(`[{"op":"add","path":"/tags/-","value":2},{"op":"test","path":"/id","value":1}]`), `{"id":1.0,"tags":["<é>",2],"note":"n"}`, ""},
			{patched(`[{"op":"add","path":"/tags/9","value":2}]`), "", fault.PatchFailed},
			{patched(`[{"op":"replace","path":"/id","value":"x"}]`), "", fault.SchemaViolation},
			{patched(`{}`), "", fault.InvalidJSON},
			{merged(`{"note":"\ud800"}`), "", fault.InvalidJSON},
			{merged(`{"note":"` + strings.Repeat("x", 4096) + `"}`), "", fault.TooLarge},
			{app.Outcome{}, `{"id":1.0,"tags":["<é>",2],"note":"n"}`, ""},
		} {
			ex := r.begin(operator, scope)
			if ex.Version != version {
				r.Errorf("it begins at version %d, want %d", ex.Version, version)
			}
			after, err := r.EndExecution(r.Context(), operator, ex.ID, step.out)
			if got := fault.ReasonOf(err); got != step.reason {
				r.Fatalf("%s%s%s: %v, want %q", step.out.Values, step.out.Patch, step.out.Merge, err, step.reason)
			}
			if err != nil {
				now, err := r.ReadValues(r.Context(), operator, scope)
				if err != nil || now.Version != version || now.Values.String() != ex.Values.String() {
					r.Errorf("after a refusal there are %+v, %v", now, err)
				}
				if version++; r.commit(operator, ex, app.Outcome{}).Version != version { // it continues
					r.Errorf("version %d", version)
				}
				continue
			}
			if version++; after.Version != version || after.Values.String() != step.want || after.ID != ex.ID {
				r.Errorf("it ends at version %d with %s, want %d with %s", after.Version, after.Values, version, step.want)
			}
			_, err = r.EndExecution(r.Context(), operator, ex.ID, step.out)
			r.refused(err, fault.NotFound) // it is over
		}
		_, err := r.EndExecution(r.Context(), operator, "exec_none", app.Outcome{})
		r.refused(err, fault.NotFound)
	})
}

// S12.3: of executions that began with the same values one ends; the others must
// begin again.
func TestExecutionsConflict(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.component(preferences)
		r.component(wizard)
		r.component(conversation)
		r.component(scratch)
		r.session(app.NewSession{Name: "s"})
		replicas := r.replicas(3)
		for _, c := range []struct {
			slug, out string
			winners   int
		}{{"user-preferences", `{"interaction_count":7}`, 1}, {"wizard-flow-state", `{"current_step":7}`, 1}, {"scratch", `{"n":7}`, 6}} {
			for round := range 5 {
				var mu sync.Mutex
				won := 0
				var begun [6]*app.Execution
				for i := range begun {
					begun[i] = r.begin(as("s"), app.Scope{Slug: c.slug})
				}
				var group sync.WaitGroup
				for i, ex := range begun {
					group.Go(func() {
						_, err := replicas[i%3].EndExecution(r.Context(), as("s"), ex.ID, merged(c.out))
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							won++
						} else if f := fault.From(err); f.Reason != fault.VersionConflict || f.Metadata["current_version"] != fmt.Sprint(round+1) {
							r.Errorf("%s: %v %v", c.slug, err, f.Metadata)
						}
					})
				}
				group.Wait()
				if won != c.winners {
					r.Errorf("%s: %d of 6 have ended", c.slug, won)
				}
			}
		}
		// Components of one session do not conflict.
		var group sync.WaitGroup
		for i, slug := range []string{"wizard-flow-state", "conversation-context"} {
			ex := r.begin(as("s"), app.Scope{Slug: slug})
			group.Go(func() {
				if _, err := replicas[i].EndExecution(r.Context(), as("s"), ex.ID, app.Outcome{}); err != nil {
					r.Errorf("%s: %v", slug, err)
				}
			})
		}
		group.Wait()
	})
}

// S12.3: what was kept for a session is gone the moment that it ends, and nothing
// that was begun before is kept after it, also when it continues again.
func TestValuesEndWithTheSession(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.component(wizard)
		r.component(preferences)
		r.session(app.NewSession{Name: "s"})
		scope := app.Scope{Slug: "wizard-flow-state"}
		begin := func() *app.Execution { r.Helper(); return r.begin(agent("s"), scope) }
		resume := func() {
			r.Helper()
			if _, err := r.ResumeSession(r.Context(), operator, "s", "", ""); err != nil {
				r.Fatal(err)
			}
		}
		early := begin()
		r.commit(agent("s"), begin(), merged(`{"form_data":{"secret":1}}`))
		late := begin()
		longTerm := r.begin(agent("s"), app.Scope{Slug: "user-preferences"})
		r.stop("s", session.Stop{})
		for _, ex := range []*app.Execution{early, late} {
			_, err := r.EndExecution(r.Context(), agent("s"), ex.ID, merged(`{"form_data":{"secret":2}}`))
			r.refused(err, fault.SessionEnded)
		}
		_, err := r.Begin(r.Context(), agent("s"), scope)
		r.refused(err, fault.SessionEnded)
		_, err = r.ReadValues(r.Context(), agent("s"), scope)
		r.refused(err, fault.SessionEnded)
		key := r.member("s").Key
		key.Kind = "session_values"
		if _, err := r.store.Get(r.Context(), key); fault.ReasonOf(err) != fault.NotFound {
			r.Errorf("its values are still stored: %v", err)
		}

		resume()
		if ex := begin(); ex.Version != 0 || strings.Contains(ex.Values.String(), "secret") {
			r.Errorf("after it was resumed it begins with %s", ex.Values)
		}
		for _, ex := range []*app.Execution{early, late} {
			_, err := r.EndExecution(r.Context(), agent("s"), ex.ID, merged(`{"form_data":{"secret":2}}`))
			r.refused(err, fault.SessionEnded)
		}
		next := r.commit(agent("s"), begin(), merged(`{"current_step":3}`))
		if _, err = r.EndExecution(r.Context(), agent("s"), late.ID, merged(`{}`)); fault.ReasonOf(err) != fault.SessionEnded {
			r.Errorf("the versions are alike, %d and %d: %v", late.Version, next.Version, err)
		}
		r.sweep() // must not take what belongs to the session as it is now
		if got := begin(); got.Version != 1 || !strings.Contains(got.Values.String(), `"current_step":3`) {
			r.Errorf("it begins with %+v", got)
		}
		r.commit(agent("s"), longTerm, merged(`{"timezone":"CET"}`)) // is not the session's

		// By force, and as the last of its tree, too.
		r.session(app.NewSession{Name: "child", Parent: "s", Skip: true})
		ex := r.begin(agent("child"), scope)
		r.stop("child", session.Stop{End: true})
		_, err = r.EndExecution(r.Context(), agent("child"), ex.ID, merged(`{}`))
		r.refused(err, fault.SessionEnded)
		ex = begin()
		r.stop("s", session.Stop{End: true})
		_, err = r.EndExecution(r.Context(), agent("s"), ex.ID, merged(`{}`))
		r.refused(err, fault.SessionEnded)
	})
}

// A commit that races with the end of its session is before it, and gone with it, or
// refused.
func TestCommitRacesTheEnd(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.component(wizard)
		r.session(app.NewSession{Name: "s"})
		ex := r.begin(agent("s"), app.Scope{Slug: "wizard-flow-state"})
		a := r.before(puts("session_values"), func() { r.stop("s", session.Stop{}) })
		_, err := a.EndExecution(r.Context(), agent("s"), ex.ID, merged(`{"current_step":2}`))
		r.refused(err, fault.SessionEnded)
		key := r.member("s").Key
		key.Kind = "session_values"
		if _, err := r.store.Get(r.Context(), key); fault.ReasonOf(err) != fault.NotFound {
			r.Errorf("values are stored: %v", err)
		}
	})
}

// A component that is deleted takes its values along: the next of its slug does not
// get them, nor what was begun with the first one.
func TestValuesStayWithTheirComponent(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "s"})
		for definition, out := range map[string]string{preferences: `{"timezone":"CET"}`, wizard: `{"current_step":2}`} {
			c := r.component(definition)
			scope := app.Scope{Slug: c.Slug}
			begun := r.begin(agent("s"), scope)
			r.commit(agent("s"), r.begin(agent("s"), scope), merged(out))
			later := r.begin(agent("s"), scope)
			if err := r.DeleteComponent(r.Context(), operator, c.Slug, 0); err != nil {
				r.Fatal(err)
			}
			_, err := r.Begin(r.Context(), agent("s"), scope)
			r.refused(err, fault.NotFound)
			_, err = r.EndExecution(r.Context(), agent("s"), later.ID, merged(out))
			r.refused(err, fault.NotFound)
			r.component(definition)
			if got := r.begin(agent("s"), scope); got.Version != 0 || got.Values.String() != begun.Values.String() {
				r.Errorf("the new one begins with %s", got.Values)
			}
			for range 2 {
				for _, ex := range []*app.Execution{begun, later} {
					_, err = r.EndExecution(r.Context(), agent("s"), ex.ID, merged(out))
					r.refused(err, fault.VersionConflict)
				}
				r.commit(agent("s"), r.begin(agent("s"), scope), app.Outcome{})
			}
		}
	})
}

// A component that keeps its values for something else by now ends nothing that was
// begun before.
func TestPersistenceChangesDuringAnExecution(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "s"})
		mode := func(mode string) []byte {
			return fmt.Appendf(nil, `{"name":"C","slug":"c","persistence":%q,"schema_definition":{"n":{"type":"integer"}}}`, mode)
		}
		r.component(string(mode("none")))
		become := func(to string) {
			r.Helper()
			if _, err := r.UpdateComponent(r.Context(), operator, "c", mode(to), 0); err != nil {
				r.Fatal(err)
			}
		}
		modes := []string{"none", "session", "long_term"}
		for _, from := range modes {
			for _, to := range modes {
				become(from)
				ex := r.begin(as("s"), app.Scope{Slug: "c"})
				become(to)
				_, err := r.EndExecution(r.Context(), as("s"), ex.ID, merged(`{"n":1}`))
				if from == to && err != nil || from != to && fault.ReasonOf(err) != fault.VersionConflict {
					r.Errorf("from %s to %s: %v", from, to, err)
				}
			}
		}
	})
}

// An execution that is never committed is forgotten after a day.
func TestAbandonedExecutions(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.component(preferences)
		scope := app.Scope{Slug: "user-preferences", Subject: "ann"}
		ex, committed := r.begin(operator, scope), r.begin(operator, scope)
		r.commit(operator, committed, merged(`{}`))
		r.advance(24*time.Hour - 1)
		_, err := r.EndExecution(r.Context(), operator, ex.ID, app.Outcome{})
		r.refused(err, fault.VersionConflict) // it is there
		r.advance(1)
		_, err = r.EndExecution(r.Context(), operator, ex.ID, app.Outcome{})
		r.refused(err, fault.NotFound)
		r.noTimers()
	})
}

// The commit of an execution that failed, or that was applied and not answered, keeps
// the values once.
func TestExecutionWhoseCommitFails(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.component(preferences)
		scope := app.Scope{Slug: "user-preferences", Subject: "ann"}
		version := int64(0)
		for befalls, c := range map[storetest.Fault]struct{ first, second fault.Reason }{
			storetest.Failed: {fault.Unavailable, ""}, storetest.Uncertain: {fault.CommitUncertain, ""},
			storetest.FailedButApplied: {fault.CommitUncertain, fault.NotFound},
		} {
			ex := r.begin(operator, scope)
			a := r.faulty(storetest.Nth(1, befalls))
			_, err := a.EndExecution(r.Context(), operator, ex.ID, merged(`{}`))
			r.refused(err, c.first)
			_, err = a.EndExecution(r.Context(), operator, ex.ID, merged(`{}`))
			if got := fault.ReasonOf(err); got != c.second {
				r.Errorf("again: %v", err)
			}
			version++
			if now := r.begin(operator, scope); now.Version != version {
				r.Errorf("version %d, want %d", now.Version, version)
			}
		}
	})
}

// S12.4: a session that refers to a component is given an execution of it with each
// task.
func TestTasksBringTheirExecution(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.component(wizard)
		r.session(app.NewSession{Name: "root", StateRef: "wizard-flow-state", Prompt: "go", ID: "own-id"})
		task := r.task(r.App, "root")
		if task.Execution == nil || task.Execution.Slug != "wizard-flow-state" || task.Execution.SessionID != "own-id" || task.Task.Execution != task.Execution.ID {
			r.Fatalf("the task is %+v with %+v", task.Task, task.Execution)
		}
		r.commit(agent("root"), task.Execution, merged(`{"current_step":2}`))
		r.session(app.NewSession{Name: "child", Parent: "root"})
		r.ack(task)
		r.stop("child", session.Stop{})
		task = r.task(r.App, "root")
		if got := task.Execution.Values.String(); !strings.Contains(got, `"current_step":2`) || task.Execution.Version != 1 {
			r.Errorf("the next begins with %s", got)
		}
		// Without a slug it is the one that the session refers to.
		if ex := r.begin(agent("root"), app.Scope{}); ex.Slug != "wizard-flow-state" {
			r.Errorf("it began %+v", ex)
		}
		r.ack(task)

		r.session(app.NewSession{Name: "other", StateRef: "wizard-flow-state", Prompt: "go"})
		if err := r.DeleteComponent(r.Context(), operator, "wizard-flow-state", 0); err != nil {
			r.Fatal(err)
		}
		if task := r.task(r.App, "other"); task.Execution != nil {
			r.Errorf("the component is gone, and the task brings %+v", task.Execution)
		}
	})
}

// Runners race for a task whose component is begun first: a runner that does not get it
// leaves nothing but an execution that is forgotten.
func TestLostClaimLeavesNoValues(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.component(wizard)
		r.session(app.NewSession{Name: "s", StateRef: "wizard-flow-state", Prompt: "go"})
		var winner *app.Task
		taken := make(chan struct{})
		slow := r.before(func(batch *store.Batch) bool {
			return puts(app.KindSession)(batch)
		}, func() { winner = r.task(r.App, "s"); close(taken) })
		l := r.claim(slow, app.Runner{Name: "slow"})
		receive(r, taken)
		slow.Changed("default", "task", "") // once more, to no avail
		l.stop()
		if len(l.tasks) != 0 {
			r.Error("both have the task")
		}
		r.commit(agent("s"), winner.Execution, merged(`{"current_step":2}`))
		r.advance(25 * time.Hour)
		if got := r.begin(agent("s"), app.Scope{}); got.Version != 1 {
			r.Errorf("it begins at version %d", got.Version)
		}
	})
}
