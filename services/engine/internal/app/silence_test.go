package app

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// S25.5: silence holds a run once, and a call that was allowed is progress up to its limit.
func TestClocksOfSilence(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.fires(run, "QUIET", "")
	g.pass(9 * time.Minute)
	key := runKey("default", run)
	stale := &workflow.Stale{After: 10 * time.Minute, CallLimit: 30 * time.Minute}
	if _, err := g.store.Commit(t.Context(), store.Batch{SetTimers: ledger.Progress(key, "", stale, true, g.clock.Now())}); err != nil {
		t.Fatal(err)
	}
	g.pass(29 * time.Minute)
	g.is(run, workflow.Running, "quiet")
	g.pass(time.Minute)
	held := g.is(run, workflow.Held, "quiet")
	if len(held.Holds) != 1 || held.Holds[0].Cause != workflow.HoldStale {
		t.Errorf("holds are %+v", held.Holds)
	}
	g.pass(time.Hour)
	if got := g.types(run); got != "started -working; transitioned working-quiet; held quiet-quiet; " {
		t.Error(got)
	}
	if _, err := g.Moves.Resume(t.Context(), operator, run, ""); err != nil {
		t.Fatal(err)
	}
	g.pass(9 * time.Minute)
	g.is(run, workflow.Running, "quiet")
	g.pass(time.Minute)
	g.is(run, workflow.Held, "quiet")
}

// S25.5: an agent that ends and resumes its own session has the time that was left, whole again after progress or an operator's look.
func TestRestartsDoNotEndSilence(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.fires(run, "QUIET", "")
	turn := func() {
		t.Helper()
		id := fmt.Sprint(g.clock.Now().UnixNano())
		err := g.Ends.SessionEnded(t.Context(), "default", "end"+id, "s")
		g.pass(4 * time.Minute) // it does not count
		if err := errors.Join(err, g.Ends.SessionResumed(t.Context(), "default", "resume"+id, "s")); err != nil {
			t.Fatal(err)
		}
	}
	silent := func() {
		t.Helper()
		for range 3 {
			g.pass(3 * time.Minute)
			g.is(run, workflow.Running, "quiet")
			turn()
		}
		g.pass(time.Minute - time.Second)
		g.is(run, workflow.Running, "quiet")
		g.pass(time.Second)
		if held := g.is(run, workflow.Held, "quiet"); !held.HeldFor(workflow.HoldStale) {
			t.Fatalf("held by %+v", held.Holds)
		}
	}
	for range 3 { // an honest agent that works, ends and resumes has all of its time
		g.pass(9 * time.Minute)
		g.fires(run, "AGAIN", "")
		turn()
	}
	silent()
	turn() // it lifts no hold of silence
	if held := g.is(run, workflow.Held, "quiet"); !held.HeldFor(workflow.HoldStale) {
		t.Fatalf("held by %+v", held.Holds)
	}
	if _, err := g.Moves.Resume(t.Context(), operator, run, ""); err != nil {
		t.Fatal(err)
	}
	silent()
}

// S25.5: of silence and progress exactly one wins.
func TestClocksLoseToProgress(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.fires(run, "QUIET", "")
	g.clock.Advance(10 * time.Minute)
	read := g.clocks()
	i := 0
	for ; i < len(read); i++ {
		if _, _, silence := ledger.SilentBranch(read[i]); silence {
			break
		}
	}
	stale := &workflow.Stale{After: 10 * time.Minute}
	if _, err := g.store.Commit(t.Context(), store.Batch{SetTimers: ledger.Progress(runKey("default", run), "", stale, true, g.clock.Now())}); err != nil {
		t.Fatal(err)
	}
	if err := g.Upkeep.clocks.fire(t.Context(), read[i]); err != nil {
		t.Error(err)
	}
	g.is(run, workflow.Running, "quiet")
}

// S25.1: progress of runs is noted, so that the silent ones are listed.
func TestActivityIsNoted(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	noted := func() time.Time {
		t.Helper()
		all, err := g.store.Due(t.Context(), g.clock.Now(), 10, ledger.KindActivity)
		if err != nil || len(all) > 1 {
			t.Fatalf("%v, %v", all, err)
		}
		if len(all) == 0 {
			return time.Time{}
		}
		return all[0].Due
	}
	begun := g.clock.Now().Truncate(time.Second)
	if got := noted(); !got.Equal(begun) {
		t.Errorf("noted at %s, begun at %s", got, begun)
	}
	g.pass(time.Hour) // a reminder is no progress
	if got := noted(); !got.Equal(begun) {
		t.Errorf("noted at %s, begun at %s", got, begun)
	}
	g.fires(run, "AGAIN", "")
	if got := noted(); !got.Equal(begun.Add(time.Hour)) {
		t.Errorf("noted at %s, an hour after %s", got, begun)
	}
	g.pass(8 * time.Hour)
	if got := noted(); !got.IsZero() {
		t.Errorf("the run has ended and is noted at %s", got)
	}
}

// S25.1: active runs are counted, and the most silent is known.
func TestActiveRuns(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	begun := g.clock.Now().Truncate(time.Second)
	g.clock.Advance(10 * time.Minute)
	g.start("timed", "other")
	if n, since, err := g.Reads.Active(t.Context()); n != 2 || !since.Equal(begun) || err != nil {
		t.Errorf("%d since %s, %v", n, since, err)
	}
	views, _, err := g.Reads.Silent(t.Context(), operator, ListQuery{StaleFor: 5 * time.Minute, Limit: 10})
	if err != nil || len(views) != 1 || views[0].Run.ID != run || !views[0].LastActivity.Equal(begun) {
		t.Errorf("%+v, %v", views, err)
	}
	if views, _, err := g.Reads.Silent(t.Context(), operator, ListQuery{StaleFor: 5 * time.Minute, Limit: 10, Workflow: "elsewhere"}); len(views) != 0 || err != nil {
		t.Errorf("%+v, %v", views, err)
	}
}

// S25.1: the silent runs of a namespace are listed, however many of others are more silent.
func TestSilentRunsOfManyNamespaces(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	long := g.clock.Now().Add(-time.Hour)
	mine := runKey("default", run)
	var others []store.Timer
	for i := 0; len(others) < 3*leastSilent; i++ {
		if key := runKey("elsewhere", fmt.Sprint("run_", i)); key.Shard(g.store.Shards()) == mine.Shard(g.store.Shards()) {
			others = append(others, ledger.ActivityTimer(key, long))
		}
	}
	if _, err := g.store.Commit(t.Context(), store.Batch{SetTimers: others}); err != nil {
		t.Fatal(err)
	}
	g.clock.Advance(10 * time.Minute)
	views, _, err := g.Reads.Silent(t.Context(), operator, ListQuery{StaleFor: 5 * time.Minute, Limit: 10})
	if err != nil || len(views) != 1 || views[0].Run.ID != run {
		t.Errorf("%+v, %v", views, err)
	}
}

// S25.2: what nobody looked at is no silence of the agent: it counts anew from the end of the gap, once.
func TestGapsAreNoSilence(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.fires(run, "QUIET", "")
	g.pass(5 * time.Minute)
	other := g.replica()
	g.clock.Advance(20 * time.Minute) // the machine sleeps, or no replica runs
	for _, a := range []*App{other, g.App} {
		a.Upkeep.SweepOnce(t.Context())
		g.is(run, workflow.Running, "quiet")
	}
	g.pass(9*time.Minute + 59*time.Second)
	g.is(run, workflow.Running, "quiet")
	g.pass(time.Second)
	g.is(run, workflow.Held, "quiet")

	// While another replica looks, one that sleeps is no gap.
	if _, err := g.Moves.Resume(t.Context(), operator, run, ""); err != nil {
		t.Fatal(err)
	}
	for range 19 {
		g.clock.Advance(30 * time.Second)
		other.Upkeep.SweepOnce(t.Context())
	}
	g.is(run, workflow.Running, "quiet")
	g.clock.Advance(30 * time.Second)
	g.Upkeep.SweepOnce(t.Context())
	g.is(run, workflow.Held, "quiet")
}

// S25.2: a time in which there were no clocks is no gap.
func TestNoClocksAreNoGap(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.pass(time.Minute)
	if _, err := g.Moves.Cancel(t.Context(), operator, run, "", ""); err != nil {
		t.Fatal(err)
	}
	g.pass(10 * time.Minute)
	next := g.start("timed", "next")
	g.fires(next, "QUIET", "")
	g.pass(9*time.Minute + 59*time.Second)
	g.is(next, workflow.Running, "quiet")
	g.pass(time.Second)
	g.is(next, workflow.Held, "quiet")
}
