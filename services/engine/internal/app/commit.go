package app

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

// committed is a change that is durable, or the first answer to a repeated request, which
// has no steps.
type committed struct {
	outcome *Outcome
	steps   []*step
}

// commit makes the steps durable and answers with the run whose rules are in
// force now. s is the step that was asked for.
func (f *family) commit(ctx context.Context, d decision, s *step, r request) (*committed, error) {
	a := f.app
	after, err := f.after(ctx, d.aim.Asked)
	if err != nil {
		return nil, err
	}
	batch := store.Batch{}
	elsewhere, err := f.unbind(ctx, s, r, &batch)
	if err != nil {
		return nil, err
	}
	if err := f.addSteps(ctx, &batch); err != nil {
		return nil, err
	}
	r.useTimer(&batch, s.out.Rejection, f.now)
	if err := f.voidResumed(ctx, s, &batch); err != nil {
		return nil, err
	}
	if err := f.moveEvidence(ctx, d, s, &batch); err != nil {
		return nil, err
	}
	if err := f.scene.addChecks(&batch); err != nil {
		return nil, err
	}
	outcome := outcomeOf(&s.out)
	if d.key.Name != "" {
		if batch.Idempotency, err = keptAnswer(f.key(d.aim.Asked.Run.ID), d.key, after, outcome); err != nil {
			return nil, fault.From(err)
		}
	}
	result, err := a.write(ctx, batch)
	if err != nil {
		for _, s := range f.steps {
			a.runs.cache.Drop(s.key) // in any case, the snapshot may be old now
		}
		return nil, retry.Fault(err)
	}
	if result.Replayed {
		first, err := a.views.decodeAnswer(ctx, f.caller.Namespace, result.Answer)
		return &committed{outcome: first}, err
	}
	a.runs.refresh(f.caller.Namespace, f.runs()...)
	f.logWarnings(ctx)
	if elsewhere != nil {
		// A session that drives another run since was faster.
		_, err := a.ports.Store.Commit(ctx, store.Batch{Deletes: []store.Check{*elsewhere}})
		if err := retry.Fault(err); err != nil && !retry.Lost(err) {
			return nil, err
		}
	}
	outcome.View, err = f.view(ctx, after.View())
	return &committed{outcome: outcome, steps: f.steps}, err
}

// useTimer makes the timer that a request carries out a condition of the commit, which clears it. What a freeze stops is tried
// again later.
func (r *request) useTimer(batch *store.Batch, rejection *workflow.Rejection, now time.Time) {
	if r.timer == nil {
		return
	}
	id := r.timer.TimerID
	batch.Unchanged = slices.DeleteFunc(batch.Unchanged, func(t store.Timer) bool { return t.TimerID == id }) // read since
	batch.Unchanged = append(batch.Unchanged, *r.timer)
	if rejection != nil && rejection.Code == workflow.RejectFrozen {
		later := *r.timer
		later.Due = now.Add(workflow.RetryBlocked)
		batch.SetTimers = append(batch.SetTimers, later)
	}
	if !slices.ContainsFunc(batch.SetTimers, func(t store.Timer) bool { return t.TimerID == id }) && !slices.Contains(batch.ClearTimers, id) {
		batch.ClearTimers = append(batch.ClearTimers, id)
	}
}

// logWarnings puts the warnings of answers into the log of the service (S15.7): who watches
// that learns of them without subscribing to events.
func (f *family) logWarnings(ctx context.Context) {
	for _, s := range f.steps {
		if e := &s.out.Entry; e.Warned {
			f.app.ports.Log.WarnContext(ctx, "an answer warns", "namespace", s.key.Namespace, "run", s.out.Run.ID, "workflow", s.out.Run.Workflow,
				"run_version", e.RunVersion, "actor", e.Actor, "answer", e.Event, "from", e.From, "to", e.To, "note", e.Rationale)
		}
	}
}

// addSteps adds the steps to a batch.
func (f *family) addSteps(ctx context.Context, batch *store.Batch) error {
	for _, s := range f.steps {
		if s.out.Changed {
			expect := store.Absent
			if s.before != nil {
				expect = s.before.Version
				for _, entry := range workflow.EntriesLeft(s.before, &s.out.Run) {
					batch.Reset = append(batch.Reset, ledger.Entry(s.key, entry))
				}
			}
			batch.Puts = append(batch.Puts, runPut(s.key, expect, &s.out))
			batch.SetTimers = append(batch.SetTimers, s.timers(f.now)...)
			set, clears := s.clockTimers(f.now)
			batch.SetTimers, batch.ClearTimers = append(batch.SetTimers, set...), append(batch.ClearTimers, clears...)
			if err := f.app.addSilences(ctx, s, f.now, batch); err != nil {
				return err
			}
			batch.SetTimers = append(batch.SetTimers, s.forgetTimer(f.app.ports.Retention)...)
			batch.Counters = append(batch.Counters, s.givenBack()...)
		}
		if err := f.app.addEvents(ctx, batch, f.caller, s.key, &s.out); err != nil {
			return err
		}
	}
	return nil
}

func runPut(key store.Key, expect int64, out *workflow.Result) store.Put {
	return store.Put{
		Key: key, Expect: expect, Data: runcodec.EncodeRun(&out.Run), Labels: runcodec.Labels(&out.Run), History: runcodec.EncodeEntry(&out.Entry),
	}
}

func (ch *Changes) addEvents(ctx context.Context, batch *store.Batch, caller ports.Caller, key store.Key, out *workflow.Result) error {
	var notices []runnotice.Notice
	for i := range out.Events {
		event, err := ch.announce.RunEvent(key.Namespace, caller.Principal.Name, &out.Run, &out.Events[i], out.Entry.Time)
		if err != nil {
			return fault.From(err)
		}
		batch.Events = append(batch.Events, event)
		if n, ok := runnotice.Of(out, &out.Events[i], event.ID); ok {
			notices = append(notices, n)
		}
	}
	if len(notices) == 0 || ch.audience.None(ctx, batch) {
		return nil
	}
	return runnotice.Say(batch, key, out.Entry.Time, notices...)
}

// write commits a batch of changes of runs. After an error the remembered receivers may be old.
func (ch *Changes) write(ctx context.Context, batch store.Batch) (store.Result, error) {
	result, err := ch.ports.Commit(ctx, batch)
	if err != nil {
		ch.audience.Forget()
	}
	return result, err
}

// unbind frees the session of an agent that cancels its run: in the same batch, or where
// the session's binding is in another shard by the delete that it returns, for a commit
// of its own afterwards.
func (f *family) unbind(ctx context.Context, s *step, r request, batch *store.Batch) (*store.Check, error) {
	session := ""
	if s.before != nil {
		session = s.before.SessionID
	}
	if r.op != authority.Cancel || !s.out.Changed || !f.caller.Principal.Role.Drives() || session == "" {
		return nil, nil
	}
	binding, err := f.app.runs.binding(ctx, f.caller.Namespace, session)
	if bound := boundTo(binding); err != nil || bound.RunID != s.key.ID || bound.Ended {
		return nil, err
	}
	free := store.Check{Key: binding.Key, Version: binding.Version}
	if shards := f.app.ports.Store.Shards(); binding.Key.Shard(shards) != s.key.Shard(shards) {
		return &free, nil
	}
	batch.Deletes = append(batch.Deletes, free)
	return nil, nil
}

// view shows a run after the commit. A new entry has no counts.
func (f *family) view(ctx context.Context, at workflow.View) (*View, error) {
	v, err := f.viewOf(ctx, at)
	if err == nil {
		f.scene.fresh = f.scene.fresh || !f.freezable // then the commit has not checked the halts
		v.Freeze, err = f.scene.freezeOf(ctx, at.Run, "")
	}
	return v, err
}

func (f *family) viewOf(ctx context.Context, at workflow.View) (*View, error) {
	s := f.stepOf(at.ID)
	if s != nil && (s.before == nil || at.Entry > s.before.Entries) {
		v := newView(at, s.m)
		return v, f.app.views.addEvidence(ctx, f.caller.Namespace, v, f.tree)
	}
	return f.app.views.of(ctx, f.caller.Namespace, at, f.tree)
}

// givenBack returns the counter of a run that has ended, if this step has ended one that
// was counted: those that others have invoked are not.
func (s *step) givenBack() []store.Counter {
	run := &s.out.Run
	if s.before == nil || s.before.Status.Ended() || !run.Status.Ended() || run.Parent != nil {
		return nil
	}
	return []store.Counter{{Owner: ports.QuotaKey(s.key.Namespace, run.Owner), Name: ports.QuotaRuns, Delta: -1, Limit: store.NoLimit}}
}
