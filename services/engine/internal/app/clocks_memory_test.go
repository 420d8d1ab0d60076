package app

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

// S25.9: a replica that remembers an old version of a run decides by the present one.
func TestClocksOfOldMemory(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	old := g.replica()
	if _, err := old.runs.load(t.Context(), runKey("default", run)); err != nil {
		t.Fatal(err)
	}
	g.clock.Advance(90 * time.Minute)
	g.fires(run, "QUIET", "")
	g.fires(run, "LOUD", "") // the clock of the state begins anew
	g.clock.Advance(time.Hour)
	old.Upkeep.SweepOnce(t.Context())
	g.is(run, workflow.Running, "working")
	if got := g.types(run); got != "started -working; transitioned working-quiet; transitioned quiet-working; reminded working-working; " {
		t.Error(got)
	}
}

// S25.9: a timer that has nothing to do in the run as a replica remembers it is set anew by the run as it is.
func TestTimersOfOldMemory(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	old := g.replica()
	g.fires(run, "QUIET", "") // whose only clock is that of its silence, and the deadline
	if _, err := old.runs.load(t.Context(), runKey("default", run)); err != nil {
		t.Fatal(err)
	}
	g.fires(run, "LOUD", "")
	g.clock.Advance(2 * time.Hour)
	old.Upkeep.SweepOnce(t.Context())
	g.is(run, workflow.Running, "stuck")
	g.clock.Advance(6 * time.Hour)
	old.Upkeep.SweepOnce(t.Context())
	g.is(run, workflow.Failed, "expired")
	if left := g.clocks(); len(left) != 0 {
		t.Errorf("timers are left: %v", left)
	}
}

// S25.9: an agent that is faster than a clock that has decided takes its turn, and the clock decides again.
func TestClocksDecideAgain(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.clock.Advance(time.Hour)
	raced := false
	g.store.Decide = func(_ int, batch *store.Batch) storetest.Fault {
		if len(batch.Puts) == 1 && batch.Puts[0].Key == runKey("default", run) && !raced {
			raced = true
			g.fires(run, "ASK", "")
		}
		return storetest.Healthy
	}
	g.Upkeep.clocks.sweeper().Once(t.Context())
	g.store.Decide = nil
	if !raced {
		t.Fatal("there was no race")
	}
	if got := g.types(run); got != "started -working; approval.parked working-working; " {
		t.Error(got)
	}
	if due := g.clocks(); len(due) != 1 || due[0].Due.Before(g.clock.Now()) {
		t.Errorf("the clocks are %v at %v", due, g.clock.Now())
	}
}

// S23.54: where there are no receivers no notice is kept; where one comes just before the commit of an event it is.
func TestNoticesWithoutReceivers(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	say := func(has bool) {
		t.Helper()
		if err := runnotice.NewListeners(g.store, g.clock.Now, has).Say(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(want int) {
		t.Helper()
		entries, err := g.Store.History(t.Context(), runnotice.KeyOf(runKey("default", run)), 0, 10)
		timers, failed := g.store.Due(t.Context(), g.clock.Now(), 10, runnotice.Kind)
		if err := errors.Join(err, failed); err != nil || len(entries) != want || len(timers) != min(want, 1) {
			t.Errorf("%d notices and %d timers are kept, %v; want %d", len(entries), len(timers), err, want)
		}
	}
	say(false)
	g.pass(time.Hour)
	g.is(run, workflow.Running, "working")
	kept(0)
	came := false
	g.store.Decide = func(_ int, batch *store.Batch) storetest.Fault {
		if len(batch.Puts) == 1 && batch.Puts[0].Key.Kind == ledger.KindRun && !came {
			came = true
			say(true)
		}
		return storetest.Healthy
	}
	g.pass(7 * time.Hour)
	g.store.Decide = nil
	g.is(run, workflow.Failed, "expired")
	kept(1)
	if got := g.types(run); got != "started -working; reminded working-working; transitioned working-stuck; transitioned stuck-expired; " {
		t.Error(got)
	}
}
