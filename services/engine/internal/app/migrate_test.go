package app

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

const moving = `{"id": "moving", "initial": "work", "context": {"n": 1},
	"states": {
		"work": {"allowed_tools": ["Read", "Bash"], "allowed_commands": ["go test"], "on": {"SHIP": {"target": "ship", "guard": "tested", "requires_approval": true}, "STOP": "stopped"}},
		"ship": {"allowed_tools": ["Read"], "on": {"DONE": "done"}}, "done": {"type": "final"}, "stopped": {"type": "final"}},
	"evidence": {"green": {"tool": "Bash", "command": "go test", "after": "edit"}, "vetted": {"tool": "Bash", "command": "go test -vet=all", "after": "edit"}},
	"guards": {"tested": {"all": [{"evidence": "green"}, {"evidence": "vetted"}]}},
	"meta": {"approval_mode": "ui"}}`

// newMoving registers: 1 as above; 2 tighter, and "ship" has another name; 3 looser; 4 with
// another "vetted"; 5 without the state.
func newMoving(t *testing.T) *gated {
	t.Helper()
	g := newGated(t)
	for _, text := range []string{
		moving,
		strings.NewReplacer(`"ship"`, `"release"`, `"allowed_tools": ["Read", "Bash"]`, `"allowed_tools": ["Bash"]`).Replace(moving),
		strings.Replace(moving, `"allowed_tools": ["Read"], "on": {"DONE"`, `"allowed_tools": ["Read", "Edit"], "on": {"DONE"`, 1),
		strings.Replace(moving, `go test -vet=all`, `go test -race`, 1),
		strings.NewReplacer(`"work"`, `"toil"`).Replace(moving),
	} {
		if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(text), ""); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func (g *gated) startAt(version int64, session string) string {
	g.Helper()
	return newRun(g.T, g.App, operator, Start{Workflow: "moving", Version: version, SessionID: session}).ID
}

func (g *gated) observe(run string, names ...string) {
	g.Helper()
	record := evidence.Record{Runs: map[string]map[string]evidence.Fact{run: {}}}
	for _, name := range names {
		record.Runs[run][name] = evidence.Fact{Seen: []evidence.Sighting{{At: g.clock.Now(), CallID: "call_1", Entry: 1}}}
	}
	data, err := ledger.EncodeEvidence(&record)
	if err == nil {
		_, err = g.store.Store.Commit(g.Context(), store.Batch{Puts: []store.Put{{Key: ledger.EvidenceOf(runKey("default", run)), Expect: store.AnyVersion, Data: data}}})
	}
	if err != nil {
		g.Fatal(err)
	}
}

func (g *gated) observedOf(run string) (names string) {
	g.Helper()
	record, _, err := g.Views.evidenceRecord(g.Context(), ledger.EvidenceOf(runKey("default", run)))
	if err != nil {
		g.Fatal(err)
	}
	for _, name := range []string{"green", "vetted"} {
		if _, has := record.Runs[run][name]; has {
			names += name + " "
		}
	}
	return strings.TrimSpace(names)
}

// A run moves in one commit, keeps what the other version knows, and its history plays
// (S17.1, S17.2).
func TestMigrate(t *testing.T) {
	t.Parallel()
	g := newMoving(t)
	run := g.startAt(1, "s")
	g.observe(run, "green", "vetted")
	asked := g.park(run, "SHIP", `{"note": "now"}`)
	req := Migration{RunID: run, To: 2, States: map[string]string{"ship": "release"}, IdempotencyKey: "once"}

	dry := req
	dry.DryRun = true
	if out, err := g.Moves.Migrate(t.Context(), operator, dry); err != nil || !out.Changed {
		t.Fatalf("%+v %v", out, err)
	}
	g.is(run, workflow.AwaitingApproval, "work")
	for range 2 { // the second is a repeat
		out, err := g.Moves.Migrate(t.Context(), operator, req)
		if err != nil || !out.Changed || out.View.Run.WorkflowVersion != 2 || out.View.Run.State != "work" {
			t.Fatalf("%+v %v", out, err)
		}
	}
	now := g.is(run, workflow.Running, "work")
	if now.Version != 3 || !now.Moved || g.observedOf(run) != "green vetted" {
		t.Errorf("version %d, moved %v, holds %q", now.Version, now.Moved, g.observedOf(run))
	}
	g.stands(asked, "CANCELLED")
	if got := g.types(run); got != "started -work; approval.parked work-work; migrated work-work; " {
		t.Error(got)
	}
	for version, want := range map[int64]string{2: "1 AWAITING_APPROVAL", 3: "2 RUNNING"} {
		view, _, err := g.Reads.Version(t.Context(), operator, run, version)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(view.Run.WorkflowVersion, " ", view.Run.Status); got != want {
			t.Errorf("version %d was %s, not %s", version, got, want)
		}
	}
	again := g.park(run, "SHIP", "")
	g.humans.decide(t, again, true, "", "")
	g.settle(run, again, true)
	g.is(run, workflow.Running, "release")
}

// Evidence that the other version declares otherwise does not count there, and what it newly
// declares is not invented.
func TestMigrateDropsEvidence(t *testing.T) {
	t.Parallel()
	g := newMoving(t)
	run := g.startAt(1, "s")
	g.observe(run, "green", "vetted")
	plan, err := g.Registry.PlanMigration(t.Context(), operator, "moving", 1, 4, nil, 0)
	if err != nil || plan.Verdict != verify.Refuted || strings.Join(plan.Dropped, " ") != "vetted" {
		t.Fatalf("%+v %v", plan, err)
	}
	if _, err := g.Moves.Migrate(t.Context(), operator, Migration{RunID: run, To: 4, Accept: plan.Digest}); err != nil {
		t.Fatal(err)
	}
	if g.observedOf(run) != "green" {
		t.Errorf("it holds %q", g.observedOf(run))
	}
	out, err := fire(g.App, agent, run, "SHIP", "", "")
	if err != nil || out.Rejection == nil || out.Rejection.Code != workflow.RejectGuardFailed {
		t.Errorf("%+v %v", out, err)
	}
}

// What is newly allowed is accepted by the digest of its plan, or refused; and so is what no
// plan speaks of (S17.4).
func TestMigrateIsAccepted(t *testing.T) {
	t.Parallel()
	g := newMoving(t)
	run := g.startAt(1, "s")
	refused := func(caller ports.Caller, req Migration, reason fault.Reason, part string) {
		t.Helper()
		out, err := g.Moves.Migrate(t.Context(), caller, req)
		if fault.ReasonOf(err) != reason || !strings.Contains(err.Error(), part) {
			t.Errorf("%+v: %+v %v", req, out, err)
		}
	}
	plan, err := g.Registry.PlanMigration(t.Context(), operator, "moving", 1, 3, nil, 0)
	if err != nil || plan.Verdict != verify.Refuted || len(plan.Gains) == 0 {
		t.Fatalf("%+v %v", plan, err)
	}
	if _, err := g.Registry.PlanMigration(t.Context(), agent, "moving", 1, 3, nil, registry.DefaultPairs+1); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("an agent has a million pairs compared: %v", err)
	}
	if _, err := g.Registry.PlanMigration(t.Context(), agent, "moving", 1, 3, nil, registry.DefaultPairs); err != nil {
		t.Error(err)
	}
	refused(operator, Migration{RunID: run, To: 3}, fault.FailedPrecondition, `state "ship": tool: Edit`)
	refused(operator, Migration{RunID: run, To: 3, Accept: "0123456789abcdef"}, fault.FailedPrecondition, "is not the one from version")
	refused(agent, Migration{RunID: run, To: 3, Accept: plan.Digest}, fault.PermissionDenied, "no agent")
	refused(operator, Migration{RunID: run, To: 3, Accept: plan.Digest, ExpectedVersion: 7}, fault.VersionConflict, "at version 1")
	refused(operator, Migration{RunID: run, To: 9}, fault.NotFound, "no version 9")
	refused(operator, Migration{RunID: run, To: 2, States: map[string]string{"shop": "release"}}, fault.InvalidRequest, `did you mean "ship"`)
	refused(operator, Migration{RunID: run, To: 2, States: map[string]string{"ship": "releese"}}, fault.InvalidRequest, `did you mean "release"`)
	g.is(run, workflow.Running, "work")
	out, err := g.Moves.Migrate(t.Context(), operator, Migration{RunID: run, To: 5})
	if err != nil || out.Rejection == nil || out.Rejection.Code != workflow.RejectNoImage || !strings.Contains(out.Rejection.Message, `no state "work"; map it`) {
		t.Errorf("%+v %v", out, err)
	}
	if out, err = g.Moves.Migrate(t.Context(), operator, Migration{RunID: run, To: 1}); err != nil || out.Changed {
		t.Errorf("%+v %v", out, err)
	}
	if out, err = g.Moves.Migrate(t.Context(), operator, Migration{RunID: run, To: 3, Accept: plan.Digest}); err != nil || !out.Changed {
		t.Fatalf("%+v %v", out, err)
	}
	entries, _, err := g.Reads.History(t.Context(), operator, run, Position{}, 10)
	if last := entries[len(entries)-1]; err != nil || !strings.Contains(last.Reason, plan.Digest) {
		t.Errorf("the history does not name the plan that was accepted: %+v %v", last, err)
	}
	back, err := g.Registry.PlanMigration(t.Context(), operator, "moving", 3, 1, nil, 0)
	if err != nil || back.Verdict != verify.Proved {
		t.Fatalf("%+v %v", back, err)
	}
	refused(operator, Migration{RunID: run, To: 1}, fault.FailedPrecondition, "come from another version before")
	if out, err = g.Moves.Migrate(t.Context(), operator, Migration{RunID: run, To: 1, Accept: back.Digest}); err != nil || !out.Changed {
		t.Fatalf("%+v %v", out, err)
	}
}

// What a replica remembers of a run may be old: since then it is at another version, or it was moved
// there and back, so that no plan speaks of it (S17.4).
func TestMigrateOfARunThatWasMovedElsewhere(t *testing.T) {
	t.Parallel()
	g := newMoving(t)
	run := g.startAt(1, "s")
	other := g.replica()
	move := func(by *App, from, to int64) {
		t.Helper()
		plan, err := g.Registry.PlanMigration(t.Context(), operator, "moving", from, to, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := by.Moves.Migrate(t.Context(), operator, Migration{RunID: run, To: to, Accept: plan.Digest}); err != nil || !out.Changed {
			t.Fatalf("from %d to %d: %+v %v", from, to, out, err)
		}
	}
	move(other, 1, 3)
	move(g.App, 3, 1)
	move(other, 1, 3)
	move(other, 3, 1)
	tighter := Migration{RunID: run, To: 2, States: map[string]string{"ship": "release"}}
	if out, err := g.Moves.Migrate(t.Context(), operator, tighter); fault.ReasonOf(err) != fault.FailedPrecondition {
		t.Errorf("%+v %v", out, err)
	}
}

// Two operators, an agent that moves on, and an edit at the same time: the run moves once,
// and nothing is lost.
func TestMigrateRaces(t *testing.T) {
	t.Parallel()
	g := newMoving(t)
	for round := range 20 {
		run := g.startAt(1, fmt.Sprint("s", round))
		g.observe(run, "green")
		other := g.replica()
		var wg sync.WaitGroup
		for _, act := range []func(){
			func() {
				_, _ = g.Moves.Migrate(t.Context(), operator, Migration{RunID: run, To: 2, States: map[string]string{"ship": "release"}})
			},
			func() {
				_, _ = other.Moves.Migrate(t.Context(), operator, Migration{RunID: run, To: 2, States: map[string]string{"ship": "release"}})
			},
			func() { _, _ = fire(other, agent, run, "STOP", "", "") },
		} {
			wg.Add(1)
			go func() { defer wg.Done(); act() }()
		}
		wg.Wait()
		now, err := g.runs.load(t.Context(), runKey("default", run))
		if err != nil {
			t.Fatal(err)
		}
		types := g.types(run)
		if strings.Count(types, "migrated") > 1 || now.Moved != strings.Contains(types, "migrated") || now.Version != int64(strings.Count(types, ";")) {
			t.Fatalf("%s at version %d, moved %v", types, now.Version, now.Moved)
		}
		if strings.Contains(types, "stopped; migrated") {
			t.Fatalf("a run that has ended has moved: %s", types)
		}
	}
}
