package app

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// A run that has ended long ago is forgotten, with all that it has invoked. Calls of a
// session that drives no run may pass. So a session's binding stays as it is, always, and
// keeps its run: the run of a session is either there, or every call is denied.

// kindForget owns the timers of runs that are to be forgotten.
const kindForget = "run_retention"

// Retention is how long runs are kept.
type Retention struct {
	Runs time.Duration `name:"run-retention" help:"How long a run is kept with its history after it has ended, 24h at least; 0 keeps it forever." default:"0s" env:"INTERLOCK_RUN_RETENTION"`
}

const (
	// forgetInterval is how late a run may be forgotten.
	forgetInterval = time.Minute
	// lookAgain is when a run is looked at again that is still needed.
	lookAgain = time.Hour
	// bindingsKept is how long it counts which runs are bound. A run that has ended is bound
	// to no other session any more, so an old list has too many at worst.
	bindingsKept = time.Minute
)

// kept returns how long runs are kept: the answers to their callers are not kept for
// less.
func (r Retention) kept() time.Duration {
	if r.Runs <= 0 {
		return 0
	}
	return max(r.Runs, once.Kept)
}

// forgetTimer returns the timer set by the commit that ends a run which no other has
// invoked.
func (s *step) forgetTimer(retention Retention) []store.Timer {
	run := &s.out.Run
	ended := run.Status.Ended() && (s.before == nil || !s.before.Status.Ended())
	if retention.kept() == 0 || !ended || run.Parent != nil {
		return nil
	}
	return []store.Timer{{TimerID: forgetTimer(s.key), Due: run.UpdatedAt.Add(retention.kept())}}
}

func forgetTimer(run store.Key) store.TimerID {
	run.Kind = kindForget
	return store.TimerID{Key: run, Name: "forget"}
}

// forgetter forgets runs.
func (a *App) forgetter() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.store, Clock: a.clock, Log: a.log, Kinds: []string{kindForget}, Fire: a.forget,
		Interval: forgetInterval, Page: sweepPage, Limit: sweepLimit, Watch: a.Timers,
		Again: func(store.Timer, time.Time) time.Duration { return lookAgain },
	}
}

// forget forgets a run, with those that it has invoked, unless something needs one of them.
func (a *App) forget(ctx context.Context, timer store.Timer) error {
	key := runKey(timer.Key.Namespace, timer.Key.ID)
	run, err := a.loadRun(ctx, key)
	if fault.ReasonOf(err) == fault.NotFound {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	kept := a.Retention.kept()
	if kept == 0 { // there was an end to it when the timer was set
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: key, Version: run.Version})
	}
	if due := run.UpdatedAt.Add(kept); due.After(a.clock()) { // and another one
		timer.Due = due
		_, err := a.store.Commit(ctx, store.Batch{SetTimers: []store.Timer{timer}})
		return err
	}
	family, err := a.unneeded(ctx, timer.Key.Namespace, run)
	if err != nil {
		return err
	}
	// The run comes last: it leads to the others.
	for i := len(family) - 1; i >= 0; i-- {
		batch := forgetting(key.Namespace, family[i])
		if i == 0 {
			batch.ClearTimers = []store.TimerID{timer.TimerID}
		}
		if _, err := a.store.Commit(ctx, batch); err != nil {
			return retry.Fault(err)
		}
		gone := runKey(key.Namespace, family[i].ID)
		a.runs.Drop(gone)
		a.changes.Wake(gone)
	}
	return nil
}

// forgetting removes all that is kept of a run, as long as it is as it was.
func forgetting(namespace string, run *workflow.Run) store.Batch {
	key := runKey(namespace, run.ID)
	results := ledger.ResultsOf(key)
	batch := store.Batch{
		Deletes: []store.Check{
			{Key: key, Version: run.Version},
			{Key: results, Version: store.AnyVersion},
			{Key: ledger.FilesOf(key), Version: store.AnyVersion},
			{Key: ledger.EvidenceOf(key), Version: store.AnyVersion},
			{Key: ledger.QuestionsOf(key), Version: store.AnyVersion},
		},
		Forget: []store.Forget{{Key: key, Through: math.MaxInt64}, {Key: results, Through: math.MaxInt64}},
	}
	const noEntry = -1
	for _, entry := range workflow.EntriesLeft(run, &workflow.Run{Lane: workflow.Lane{Entry: noEntry}}) {
		batch.Reset = append(batch.Reset, ledger.Entry(key, entry))
	}
	return batch
}

// unneeded returns a run and all that it has invoked, each before those that it has invoked
// itself. ErrLater when one of them has not ended, is bound to a session, or humans are asked
// for it.
func (a *App) unneeded(ctx context.Context, namespace string, root *workflow.Run) ([]*workflow.Run, error) {
	bound, err := a.boundRuns(ctx, namespace)
	if err != nil {
		return nil, err
	}
	family := []*workflow.Run{root}
	for i := 0; i < len(family); i++ {
		run := family[i]
		if !run.Status.Ended() || bound[run.ID] || a.Approvals == nil {
			return nil, sweep.ErrLater
		}
		open, err := a.Approvals.Open(ctx, namespace, run.ID)
		if err != nil {
			return nil, err
		}
		if open {
			return nil, sweep.ErrLater
		}
		invoked, err := a.invoked(ctx, runKey(namespace, run.ID))
		if err != nil {
			return nil, err
		}
		family = append(family, invoked...)
	}
	return family, nil
}

// invoked returns the runs that a run has invoked and that are still there.
func (a *App) invoked(ctx context.Context, run store.Key) (runs []*workflow.Run, err error) {
	seen := map[string]bool{}
	for after := int64(0); ; {
		entries, err := a.store.History(ctx, run, after, readAhead)
		if err != nil {
			return nil, fault.From(err)
		}
		for i := range entries {
			after = entries[i].Version
			entry, err := decodeEntry(entries[i])
			if err != nil {
				return nil, fault.From(err)
			}
			if entry.ChildRunID == "" || seen[entry.ChildRunID] {
				continue
			}
			seen[entry.ChildRunID] = true
			child, err := a.loadRun(ctx, runKey(run.Namespace, entry.ChildRunID))
			if fault.ReasonOf(err) == fault.NotFound {
				continue
			}
			if err != nil {
				return nil, err
			}
			runs = append(runs, child)
		}
		if len(entries) < readAhead {
			return runs, nil
		}
	}
}

// bound is which runs sessions were bound to.
type bound struct {
	mu   sync.Mutex
	at   map[string]time.Time
	runs map[string]map[string]bool
}

// boundRuns returns the runs of a namespace that sessions are bound to.
func (a *App) boundRuns(ctx context.Context, namespace string) (map[string]bool, error) {
	a.bound.mu.Lock()
	defer a.bound.mu.Unlock()
	now := a.clock()
	if since := now.Sub(a.bound.at[namespace]); a.bound.runs[namespace] != nil && since >= 0 && since < bindingsKept {
		return a.bound.runs[namespace], nil
	}
	runs := map[string]bool{}
	for query := (store.Query{Namespace: namespace, Kind: kindBinding, Limit: 1000}); ; {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, fault.From(err)
		}
		for _, record := range page.Records {
			runs[boundTo(record).RunID] = true
		}
		if query.After = page.Next; query.After == "" {
			break
		}
	}
	a.bound.at[namespace], a.bound.runs[namespace] = now, runs
	return runs, nil
}
