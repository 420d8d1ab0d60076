package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

// runSays keeps events of a run as the engine does.
func (r *rig) runSays(version int64, events ...string) {
	r.Helper()
	var notices []runnotice.Notice
	for _, event := range events {
		notices = append(notices, runnotice.Notice{
			ID: fmt.Sprintf("default.run.run_1.%d.%s", version, event), Event: event, At: r.clock.Now(), RunID: "run_1", Version: version,
			Workflow: "release", Status: workflow.Running, State: "work", Owner: "amir", Reason: "because",
		})
	}
	var batch store.Batch
	if err := runnotice.Say(&batch, store.Key{Namespace: "default", Kind: "run", ID: "run_1"}, r.clock.Now(), notices...); err != nil {
		r.Fatal(err)
	}
	if _, err := r.store.Commit(r.Context(), batch); err != nil {
		r.Fatal(err)
	}
}

// nothingLeft demands that no timer and no entry of a log waits.
func (r *rig) nothingLeft(kinds ...string) {
	r.Helper()
	if names := r.timers(append(kinds, runnotice.Kind)...); len(names) > 0 {
		r.Errorf("there are timers: %q", names)
	}
	entries, err := r.store.History(r.Context(), store.Key{Namespace: "default", Kind: runnotice.Kind, ID: "run_1"}, 0, 10)
	if len(entries) > 0 || err != nil {
		r.Errorf("%d entries are left, %v", len(entries), err)
	}
}

// S23.54: a webhook gets each event of a run that its route names once, signed, and again until it takes it.
func TestRunWebhooks(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		all, failures, none := newInbox(t, r.clock), newInbox(t, r.clock), newInbox(t, r.clock)
		r.with(nil, receivers(t, all.URL+"#kind=run", failures.URL+"#event=run.failed&workflow=rel*", none.URL))
		r.runSays(2, runnotice.Reminded)
		r.runSays(3, runnotice.Deadline, runnotice.Failed)
		failures.answers(500)
		r.deliver(0)
		all.has(t, "run.reminded ", "run.deadline ", "run.failed ")
		failures.has(t, "run.failed ")
		failures.answers(200)
		r.deliver(time.Second)
		failures.has(t, "run.failed ")
		r.deliver(48 * time.Hour)
		all.has(t)
		failures.has(t)
		none.has(t)
		if want := "default.run.run_1.3.failed"; !slices.Equal(failures.ids, []string{want, want}) {
			t.Errorf("the ids are %q", failures.ids)
		}
		r.nothingLeft(kindsOf(r.hooks)...)
	})
}

// S23.56: a channel gets the messages about a run one after the other, and of those that wait only the newest, after quiet hours too.
func TestRunOrdered(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		f := newReader(t)
		r.with(nil, f)
		r.runSays(2, runnotice.Reminded)
		r.runSays(3, runnotice.Held)
		r.deliver(0)
		f.has(t, "held RUNNING")

		// Another event comes while a message is being sent, and another replica delivers.
		first := true
		f.during = func(app.Notice) {
			if first {
				first = false
				r.runSays(5, runnotice.Failed)
				r.replica(r.open()).DeliverOnce(t.Context())
			}
		}
		r.runSays(4, runnotice.Stale)
		r.deliver(0)
		f.has(t, "stale RUNNING")
		r.deliver(time.Second)
		f.has(t, "failed RUNNING")

		f.fail = fmt.Errorf("busy")
		r.runSays(6, runnotice.Held)
		r.deliver(0)
		f.has(t, "held RUNNING")
		f.fail = nil
		r.deliver(time.Second)
		f.has(t, "held RUNNING")

		f.planRun = func(_ *runnotice.Notice, now time.Time) app.Plan {
			return app.Plan{Takes: true, NotBefore: now.Add(time.Hour)}
		}
		r.runSays(7, runnotice.Reminded)
		r.deliver(0)
		r.deliver(time.Hour - 1)
		f.has(t)
		r.deliver(1)
		f.has(t, "reminded RUNNING")
		r.deliver(48 * time.Hour)
		f.has(t)
		r.nothingLeft("approval_webhook_reader")
		if _, err := r.store.Get(t.Context(), store.Key{Namespace: "default", Kind: "approval_webhook_reader", ID: "run_1"}); err == nil {
			t.Error("the turn is left")
		}
	})
}

// S23.55: a process that dies at any commit of the delivery has lost no event.
func TestRunWebhookOfADeadProcess(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		in, f := newInbox(t, r.clock), newReader(t)
		for _, hooks := range []app.Webhooks{receivers(t, in.URL+"#kind=run"), f} {
			r.with(nil, hooks)
			version := int64(0)
			for nth := 1; nth <= 3; nth++ {
				for _, fault := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied, storetest.Uncertain} {
					version++
					r.runSays(version, runnotice.Held)
					r.faulty(storetest.Nth(nth, fault)).DeliverOnce(t.Context())
					for range 3 {
						r.deliver(30 * time.Second)
					}
					in.mu.Lock()
					got := len(in.got) + len(f.got)
					in.got, f.got = nil, nil
					in.mu.Unlock()
					if got < 1 || got > 2 {
						t.Errorf("commit %d, %v: it came %d times", nth, fault, got)
					}
				}
			}
			r.nothingLeft(kindsOf(hooks)...)
		}
	})
}

// S23.55: without a receiver the notices of runs do not pile up.
func TestRunsWithoutReceivers(t *testing.T) {
	t.Parallel()
	r := here(t)
	r.runSays(2, runnotice.Held)
	a := app.New(app.Config{Store: r.store, Announce: announcer, Clock: r.clock.Now, Log: slog.New(slog.DiscardHandler)})
	a.DeliverOnce(t.Context())
	r.nothingLeft()
}

// interrupted is a store in which something happens just before notices are forgotten.
type interrupted struct {
	store.Store
	before func()
}

func (s *interrupted) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	if before := s.before; before != nil && len(batch.Forget) > 0 {
		s.before = nil
		before()
	}
	return s.Store.Commit(ctx, batch)
}

// S23.55: an event that comes while notices become messages is not forgotten with them.
func TestRunSaysWhileNoticesAreRead(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		in := newInbox(t, r.clock)
		r.with(nil, receivers(t, in.URL+"#kind=run"))
		r.runSays(2, runnotice.Held)
		r.replica(&interrupted{r.store, func() { r.runSays(3, runnotice.Failed) }}).DeliverOnce(t.Context())
		r.deliver(time.Second)
		in.has(t, "run.held ", "run.failed ")
		r.nothingLeft(kindsOf(r.hooks)...)
	})
}
