package app

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// observing keeps account of what its calls leave open.
const observing = `{"id": "observing", "initial": "a", "meta": {"enforcement": "while_running", "effect_deadline": "1h"}, "states": {
	"a": {"on": {"GIVE_UP": "failed", "DONE": "done"}}, "done": {"type": "final"}, "failed": {"type": "final", "outcome": "failure"}},
	"evidence": {"tests": {"tool": "Bash", "command": "go test", "after": "edit"}}}`

// leaveOpen has a run leave these calls open.
func leaveOpen(t *testing.T, a *App, run string, calls ...evidence.OpenCall) {
	t.Helper()
	record, version, err := a.Views.evidenceRecord(t.Context(), ledger.EvidenceOf(runKey("default", run)))
	if err != nil {
		t.Fatal(err)
	}
	record.Calls = append(record.Calls, calls...)
	var batch store.Batch
	if err := putRecord(&batch, runKey("default", run), &record, version); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Store.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// openIn names the calls that are open in a run.
func openIn(t *testing.T, a *App, run string) (ids []string) {
	t.Helper()
	record, _, err := a.Views.evidenceRecord(t.Context(), ledger.EvidenceOf(runKey("default", run)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range record.Calls {
		if c.RunID != run {
			t.Errorf("call %s of %s is one of run %s", c.ID, run, c.RunID)
		}
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids
}

// TestTakeOver: S14.8: the next run of a session has what the one before has left open, however the
// session comes to it; a run that has not ended keeps its calls.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	open := []evidence.OpenCall{
		{ID: "edit", Tool: "Edit", Edits: true, At: time.Now()},
		{ID: "background", Tool: "Bash", Edits: true, Background: "b1", At: time.Now()},
		{ID: "payment", Tool: "mcp__bank__pay", Due: time.Now().Add(time.Hour)},
		{ID: "unknown", Tool: "mcp__bank__pay", Due: time.Now(), Unknown: true},
	}
	for name, leave := range map[string]func(t *testing.T, a *App, run string){
		"after a failure": func(t *testing.T, a *App, run string) { fireAll(t, a, run, "GIVE_UP") },
		"after a success": func(t *testing.T, a *App, run string) { fireAll(t, a, run, "DONE") },
		"while it runs":   func(*testing.T, *App, string) {},
	} {
		for to, next := range map[string]func(t *testing.T, a *App) string{
			"a new run": func(t *testing.T, a *App) string {
				return newRun(t, a, agent, Start{Workflow: "observing", SessionID: "s"}).ID
			},
			"an operator's run": func(t *testing.T, a *App) string {
				return newRun(t, a, operator, Start{Workflow: "observing", SessionID: "s"}).ID
			},
			"a paused run": func(t *testing.T, a *App) string {
				paused := newRun(t, a, agent, Start{Workflow: "observing", SessionID: "paused"}).ID
				if _, err := a.Moves.Pause(t.Context(), agent, paused, "", ""); err != nil {
					t.Fatal(err)
				}
				if got := mustStart(t, a, agent, Start{Workflow: "observing", SessionID: "s", Resume: true}); got.ID != paused {
					t.Fatalf("it took %s up", got.ID)
				}
				return paused
			},
		} {
			t.Run(name+", "+to, func(t *testing.T) {
				t.Parallel()
				a := newApp(newStore(t))
				if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(observing), ""); err != nil {
					t.Fatal(err)
				}
				run := newRun(t, a, agent, Start{Workflow: "observing", SessionID: "s"}).ID
				for _, c := range open {
					c.RunID = run
					leaveOpen(t, a, run, c)
				}
				leave(t, a, run)
				now := next(t, a)
				if got := openIn(t, a, now); !slices.Equal(got, []string{"background", "edit", "payment", "unknown"}) {
					t.Errorf("the next run has %q open", got)
				}
				// That of another session is in another shard, where copies are made.
				record, _, err := a.Views.evidenceRecord(t.Context(), ledger.EvidenceOf(runKey("default", run)))
				if ended := name != "while it runs"; to != "a paused run" && (err != nil || (len(record.Calls) == 0) != ended || (record.After == now) != ended) {
					t.Errorf("the run before has %+v, %v", record, err)
				}
				timers, err := a.Store.Due(t.Context(), time.Now().Add(2*time.Hour), 100, ledger.KindEvidence)
				if err != nil || !slices.ContainsFunc(timers, func(timer store.Timer) bool { return timer.Key.ID == now }) {
					t.Errorf("timers: %v, %v", timers, err)
				}
			})
		}
	}
}

// TestTakeOverIsOneCommit: S14.8: a call that is decided on the run before, at the same time as the next
// one starts, is not lost: its commit conflicts.
func TestTakeOverIsOneCommit(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(observing), ""); err != nil {
		t.Fatal(err)
	}
	run := newRun(t, a, agent, Start{Workflow: "observing", SessionID: "s"}).ID
	fireAll(t, a, run, "GIVE_UP")
	key := ledger.EvidenceOf(runKey("default", run))
	_, before, err := a.Views.evidenceRecord(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	newRun(t, a, agent, Start{Workflow: "observing", SessionID: "s"})
	if _, after, err := a.Views.evidenceRecord(t.Context(), key); err != nil || after == before {
		t.Errorf("the record of the run before is still at version %d, %v", after, err)
	}
}

func fireAll(t *testing.T, a *App, run string, events ...string) {
	t.Helper()
	for _, event := range events {
		if out, err := fire(a, agent, run, event, "", ""); err != nil || out.Rejection != nil {
			t.Fatalf("%s: %+v, %v", event, out, err)
		}
	}
}

// TestTakeOverFromAForgottenRun: S14.8: what has taken the calls over may be forgotten before the session, which
// another one has left, begins anew.
func TestTakeOverFromAForgottenRun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(observing), ""); err != nil {
		t.Fatal(err)
	}
	run := newRun(t, a, agent, Start{Workflow: "observing", SessionID: "s"}).ID
	fireAll(t, a, run, "GIVE_UP")
	key := runKey("default", run)
	record, version, err := a.Views.evidenceRecord(t.Context(), ledger.EvidenceOf(key))
	if err != nil {
		t.Fatal(err)
	}
	record = record.Left("run_forgotten")
	var batch store.Batch
	if err := putRecord(&batch, key, &record, version); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Store.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	mustStart(t, a, agent, Start{Workflow: "observing", SessionID: "s"})
}
