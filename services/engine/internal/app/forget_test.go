package app

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

const day = 24 * time.Hour

// newKeeping is a rig whose runs are kept for two days.
func newKeeping(t *testing.T) *gated {
	t.Helper()
	g := newGated(t)
	g.Retention = ports.Retention{Runs: 2 * day}
	registerAll(t, g.App)
	if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(locked), ""); err != nil {
		t.Fatal(err)
	}
	return g
}

// later lets time pass, and what is due be done.
func (g *gated) later(d time.Duration) {
	g.clock.Advance(d)
	g.Upkeep.SweepOnce(g.Context())
}

// there reports whether anything is kept of a run.
func (g *gated) there(id string) bool {
	g.Helper()
	key := runKey("default", id)
	kept := 0
	for _, record := range []store.Key{key, ledger.ResultsOf(key), ledger.FilesOf(key)} {
		_, err := g.store.Get(g.Context(), record)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			g.Fatal(err)
		}
		entries, failed := g.store.History(g.Context(), record, 0, 10)
		if failed != nil {
			g.Fatal(failed)
		}
		if err == nil {
			kept++
		}
		kept += len(entries)
	}
	for entry := range int64(10) {
		counters, err := g.store.Counters(g.Context(), ledger.Entry(key, entry))
		if err != nil {
			g.Fatal(err)
		}
		kept += len(counters)
	}
	if _, err := g.Reads.Get(g.Context(), operator, ports.Target{RunID: id}, false); (err == nil) != (kept > 0) {
		g.Fatalf("run %s: %d parts are kept, and reading it is %v", id, kept, err)
	}
	return kept > 0
}

// used lets the policy enforcer have kept something of a run.
func (g *gated) used(id string, entry int64) {
	g.Helper()
	key := runKey("default", id)
	_, err := g.store.Commit(g.Context(), store.Batch{
		Puts: []store.Put{
			{Key: ledger.FilesOf(key), Expect: store.AnyVersion, Data: []byte(`{}`)},
			{Key: ledger.ResultsOf(key), Expect: store.AnyVersion, History: []byte(`{}`)},
		},
		Counters: []store.Counter{{Owner: ledger.Entry(key, entry), Name: ledger.Iterations, Delta: 1, Limit: store.NoLimit}},
	})
	if err != nil {
		g.Fatal(err)
	}
}

// A run that has ended long ago is forgotten with all that was kept of it, and with the runs
// that it has invoked; one that has not ended never is.
func TestRunsAreForgotten(t *testing.T) {
	t.Parallel()
	g := newKeeping(t)
	working := mustStart(t, g.App, agent, Start{Workflow: "release"}).ID
	parent := mustStart(t, g.App, agent, Start{Workflow: "release"}).ID
	child := accepted(t, g.App, ports.Target{RunID: parent}, "TEST", "", "").Run.ID
	inner := accepted(t, g.App, ports.Target{RunID: parent}, "DEEPER", "", "").Run.ID
	g.later(10 * day)
	for _, id := range []string{inner, child, parent} {
		g.used(id, load(t, g.App, id).Entry)
		if !g.there(id) {
			t.Fatalf("run %s has not ended, and is forgotten", id)
		}
	}
	accepted(t, g.App, ports.Target{RunID: inner}, "PASS", "", "")
	g.later(10 * day) // its parents have not ended
	if !g.there(inner) || !g.there(child) {
		t.Error("a run is forgotten that another one waits for")
	}
	accepted(t, g.App, ports.Target{RunID: parent}, "DONE", "", "")
	g.later(2*day - time.Second)
	if !g.there(parent) || !g.there(child) || !g.there(inner) {
		t.Error("a run is forgotten too early")
	}
	g.later(time.Second)
	if g.there(parent) || g.there(child) || g.there(inner) {
		t.Error("a run is kept for too long")
	}
	page, _, err := g.Reads.List(t.Context(), operator, ListQuery{Limit: 100})
	if err != nil || len(page) != 1 || page[0].Run.ID != working {
		t.Errorf("listed are %d runs, %v", len(page), err)
	}
	if n := g.timers(); n != 0 {
		t.Errorf("%d timers are left", n)
	}
}

// Calls of a session that drives nothing may pass. So a run stays as long as a session is
// bound to it, for whatever time.
func TestBoundRunsStay(t *testing.T) {
	t.Parallel()
	g := newKeeping(t)
	run := mustStart(t, g.App, agent, Start{Workflow: "locked", SessionID: "s"}).ID
	accepted(t, g.App, ports.Target{RunID: run}, "GO", "", "")
	for range 3 {
		g.later(100 * day)
		if !g.there(run) {
			t.Fatal("a run is forgotten that a session is bound to")
		}
		if view, err := g.Reads.Get(t.Context(), agent, ports.Target{SessionID: "s"}, false); err != nil || view.Run.ID != run {
			t.Fatalf("the session drives %+v, %v", view, err)
		}
	}
	if err := g.Ends.SessionEnded(t.Context(), "default", "e", "s"); err != nil {
		t.Fatal(err)
	}
	g.later(100 * day)
	if !g.there(run) {
		t.Fatal("a run is forgotten that a session was bound to when it ended")
	}
	if err := g.Ends.SessionResumed(t.Context(), "default", "r", "s"); err != nil {
		t.Fatal(err)
	}
	mustStart(t, g.App, operator, Start{Workflow: "release", SessionID: "s"})
	g.later(2 * time.Hour)
	if g.there(run) {
		t.Error("nothing is bound to the run any more, and it is kept")
	}
}

// A run stays as long as humans are asked for it, and when it cannot be told whether they are.
func TestRunsStayWhileHumansAreAsked(t *testing.T) {
	t.Parallel()
	g := newKeeping(t)
	run := mustStart(t, g.App, agent, Start{Workflow: "locked"}).ID
	accepted(t, g.App, ports.Target{RunID: run}, "GO", "", "")
	err := g.humans.Create(t.Context(), "default", run, consent.Request{
		ID: "apr_1", Action: consent.Action{Kind: consent.ToolCall, Subject: value(t, `{}`)}, Asker: consent.Asker{Principal: "amir"},
		Terms: consent.Terms{TTL: 30 * day},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.later(10 * day)
	if !g.there(run) {
		t.Fatal("a run is forgotten that humans are asked for")
	}
	humans := g.Approvals
	g.Approvals = nil
	g.later(30 * day)
	if !g.there(run) {
		t.Fatal("a run is forgotten although nobody knows whether humans are asked for it")
	}
	g.Approvals = humans
	g.later(2 * time.Hour)
	if g.there(run) {
		t.Error("nobody is asked any more, and the run is kept")
	}
}

// Without a retention runs are kept, also those of a time when there was one.
func TestRunsAreKeptByDefault(t *testing.T) {
	t.Parallel()
	g := newKeeping(t)
	run := mustStart(t, g.App, agent, Start{Workflow: "locked"}).ID
	accepted(t, g.App, ports.Target{RunID: run}, "GO", "", "")
	g.Retention = ports.Retention{}
	g.later(1000 * day)
	if n := g.timers(); !g.there(run) || n != 0 {
		t.Errorf("kept: %t, with %d timers", g.there(run), n)
	}
}

// Whatever removes the run that a session is bound to: the session does not look as if it
// drove none, which would let its calls pass.
func TestABoundSessionWithoutItsRunIsDenied(t *testing.T) {
	t.Parallel()
	g := newKeeping(t)
	run := mustStart(t, g.App, agent, Start{Workflow: "release", SessionID: "s"})
	if _, err := g.store.Commit(t.Context(), store.Batch{
		Deletes: []store.Check{{Key: runKey("default", run.ID), Version: run.Version}},
	}); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*App{"this replica": g.App, "another": g.replica()} {
		for _, active := range []bool{true, false} {
			_, err := a.Reads.Get(t.Context(), agent, ports.Target{SessionID: "s"}, active)
			if fault.ReasonOf(err) != fault.Internal {
				t.Errorf("%s: the run of the session is read with %v", name, err)
			}
		}
		_, err := a.Moves.Transition(t.Context(), agent, Transition{Target: ports.Target{SessionID: "s"}, Event: "TEST"})
		if fault.ReasonOf(err) != fault.Internal {
			t.Errorf("%s: the session moves on with %v", name, err)
		}
	}
}
