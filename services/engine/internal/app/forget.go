package app

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/runnotice"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// A run that has ended long ago is forgotten, with all that it has invoked. Calls of a
// session that drives no run may pass. So a session's binding stays as it is, always, and
// keeps its run: the run of a session is either there, or every call is denied.

// kindForget owns the timers of runs that are to be forgotten.
const kindForget = "run_retention"

const (
	// forgetInterval is how late a run may be forgotten.
	forgetInterval = time.Minute
	// lookAgain is when a run is looked at again that is still needed.
	lookAgain = time.Hour
	// bindingsKept is how long it counts which runs are bound. A run that has ended is bound
	// to no other session any more, so an old list has too many at worst.
	bindingsKept = time.Minute
)

// forgetTimer returns the timer set by the commit that ends a run which no other has
// invoked.
func (s *step) forgetTimer(retention ports.Retention) []store.Timer {
	run := &s.out.Run
	ended := run.Status.Ended() && (s.before == nil || !s.before.Status.Ended())
	if retention.Kept() == 0 || !ended || run.Parent != nil {
		return nil
	}
	return []store.Timer{{TimerID: forgetTimer(s.key), Due: run.UpdatedAt.Add(retention.Kept())}}
}

func forgetTimer(run store.Key) store.TimerID {
	run.Kind = kindForget
	return store.TimerID{Key: run, Name: "forget"}
}

// forgetter forgets runs.
func (up *Upkeep) forgetter() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: up.ports.Store, Clock: up.ports.Clock, Log: up.ports.Log, Kinds: []string{kindForget}, Fire: up.forget,
		Interval: forgetInterval, Page: sweepPage, Limit: sweepLimit, Watch: up.ports.Timers,
		Again: func(store.Timer, time.Time) time.Duration { return lookAgain },
	}
}

// forget forgets a run, with those that it has invoked, unless something needs one of them.
func (up *Upkeep) forget(ctx context.Context, timer store.Timer) error {
	key := runKey(timer.Key.Namespace, timer.Key.ID)
	run, err := up.runs.load(ctx, key)
	if fault.ReasonOf(err) == fault.NotFound {
		return sweep.Clear(ctx, up.ports.Store, timer.TimerID, store.Check{Key: key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	kept := up.ports.Retention.Kept()
	if kept == 0 { // there was an end to it when the timer was set
		return sweep.Clear(ctx, up.ports.Store, timer.TimerID, store.Check{Key: key, Version: run.Version})
	}
	if due := run.UpdatedAt.Add(kept); due.After(up.ports.Clock()) { // and another one
		timer.Due = due
		_, err := up.ports.Store.Commit(ctx, store.Batch{SetTimers: []store.Timer{timer}})
		return err
	}
	family, err := up.unneeded(ctx, timer.Key.Namespace, run)
	if err != nil {
		return err
	}
	// The run comes last: it leads to the others.
	for i := len(family) - 1; i >= 0; i-- {
		batch := forgetting(key.Namespace, family[i])
		if i == 0 {
			batch.ClearTimers = []store.TimerID{timer.TimerID}
		}
		if _, err := up.ports.Store.Commit(ctx, batch); err != nil {
			return retry.Fault(err)
		}
		gone := runKey(key.Namespace, family[i].ID)
		up.runs.cache.Drop(gone)
		up.ports.Changed.Wake(gone)
	}
	return nil
}

// forgetting removes all that is kept of a run, as long as it is as it was.
func forgetting(namespace string, run *workflow.Run) store.Batch {
	key := runKey(namespace, run.ID)
	results, notices := ledger.ResultsOf(key), runnotice.KeyOf(key)
	batch := store.Batch{
		Deletes: []store.Check{
			{Key: key, Version: run.Version},
			{Key: results, Version: store.AnyVersion},
			{Key: ledger.FilesOf(key), Version: store.AnyVersion},
			{Key: ledger.EvidenceOf(key), Version: store.AnyVersion},
			{Key: ledger.QuestionsOf(key), Version: store.AnyVersion},
			{Key: notices, Version: store.AnyVersion},
		},
		Forget: []store.Forget{{Key: key, Through: math.MaxInt64}, {Key: results, Through: math.MaxInt64}, {Key: notices, Through: math.MaxInt64}},
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
func (up *Upkeep) unneeded(ctx context.Context, namespace string, root *workflow.Run) ([]*workflow.Run, error) {
	bound, err := up.boundRuns(ctx, namespace)
	if err != nil {
		return nil, err
	}
	family := []*workflow.Run{root}
	for i := 0; i < len(family); i++ {
		run := family[i]
		if !run.Status.Ended() || bound[run.ID] || up.ports.Approvals == nil {
			return nil, sweep.ErrLater
		}
		open, err := up.ports.Approvals.Open(ctx, namespace, run.ID)
		if err != nil {
			return nil, err
		}
		if open {
			return nil, sweep.ErrLater
		}
		invoked, err := up.invoked(ctx, runKey(namespace, run.ID))
		if err != nil {
			return nil, err
		}
		family = append(family, invoked...)
	}
	return family, nil
}

// invoked returns the runs that a run has invoked and that are still there.
func (up *Upkeep) invoked(ctx context.Context, run store.Key) (runs []*workflow.Run, err error) {
	seen := map[string]bool{}
	for after := int64(0); ; {
		entries, err := up.ports.Store.History(ctx, run, after, readAhead)
		if err != nil {
			return nil, fault.From(err)
		}
		for i := range entries {
			after = entries[i].Version
			entry, err := runcodec.DecodeEntry(entries[i])
			if err != nil {
				return nil, fault.From(err)
			}
			if entry.ChildRunID == "" || seen[entry.ChildRunID] {
				continue
			}
			seen[entry.ChildRunID] = true
			child, err := up.runs.load(ctx, runKey(run.Namespace, entry.ChildRunID))
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
func (up *Upkeep) boundRuns(ctx context.Context, namespace string) (map[string]bool, error) {
	up.bound.mu.Lock()
	defer up.bound.mu.Unlock()
	now := up.ports.Clock()
	if since := now.Sub(up.bound.at[namespace]); up.bound.runs[namespace] != nil && since >= 0 && since < bindingsKept {
		return up.bound.runs[namespace], nil
	}
	runs := map[string]bool{}
	for query := (store.Query{Namespace: namespace, Kind: ports.KindBinding, Limit: 1000}); ; {
		page, err := up.ports.Store.List(ctx, query)
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
	up.bound.at[namespace], up.bound.runs[namespace] = now, runs
	return runs, nil
}
