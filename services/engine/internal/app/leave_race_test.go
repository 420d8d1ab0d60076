package app

import (
	"context"
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// S11.1: no key that an agent uses keeps the end of its session from holding its run.
func TestPoisonedKeyOfASessionEnd(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	if _, err := fire(a, of("s", ""), run.ID, "NOPE", "", "session end e1"); err != nil {
		t.Fatal(err)
	}
	if err := a.Ends.SessionEnded(t.Context(), "default", "e1", "s"); err != nil {
		t.Errorf("the end: %v", err)
	}
	if now := load(t, a, run.ID); !now.Held() {
		t.Errorf("the run is %s, held %t", now.Status, now.Held())
	}
}

// elsewhere is a session whose binding is in another shard than a run.
func elsewhere(a *App, run string) string {
	shards := a.Store.Shards()
	for i := 0; ; i++ {
		if s := fmt.Sprint("T", i); bindingKey("default", s).Shard(shards) != runKey("default", run).Shard(shards) {
			return s
		}
	}
}

// S6.2: what an operator takes hold of between the pause and the next run is held, also
// where the two are commits of their own.
func TestHoldBetweenPauseAndHandover(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a, b := newApp(st), newApp(st.Store)
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	session := elsewhere(a, run.ID)
	if _, err := a.Moves.Pause(t.Context(), agent, run.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	mustStart(t, a, agent, Start{Workflow: "review", SessionID: session, Resume: true})
	n := 0
	st.Decide = func(int, *store.Batch) storetest.Fault {
		if n++; n == 2 { // the first is the pause
			if _, err := b.Moves.Pause(context.Background(), operator, run.ID, "stop", ""); err != nil {
				t.Error(err)
			}
		}
		return storetest.Healthy
	}
	_, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "locked", SessionID: session})
	if fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("leaving: %v after %d commits; the run is held: %t", err, n, load(t, b, run.ID).Held())
	}
}

// S6.6: a run in another shard is not resumed on an old cache.
func TestOldCacheAcrossShards(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a, b := newApp(st), newApp(st.Store)
	registerHubs(t, a)
	old := mustStart(t, a, agent, Start{Workflow: "free", SessionID: "s"}).ID
	if _, err := a.Moves.Pause(t.Context(), agent, old, "", ""); err != nil {
		t.Fatal(err)
	}
	session := elsewhere(a, old)
	mustStart(t, a, agent, Start{Workflow: "free", SessionID: session, Resume: true})
	mustStart(t, a, agent, Start{Workflow: "hub", SessionID: session})
	accepted(t, a, ports.Target{SessionID: session}, "GO", "", "")
	accepted(t, b, ports.Target{SessionID: session}, "SUB", "", "")
	if _, err := a.Moves.Resume(t.Context(), agent, old, ""); fault.ReasonOf(err) != fault.EnforcementKept {
		t.Errorf("resumed: %v", err)
	}
}
