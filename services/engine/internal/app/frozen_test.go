package app

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

const deploying = `{
	"id": "deploy", "initial": "ready", "meta": {"approval_mode": "ui", "debug": "operator", "approval": {"expires_seconds": 864000}},
	"states": {
		"ready": {"after": {"2h": "live"}, "stale": {"after": "90m", "do": {"target": "live"}}, "on": {"DEPLOY": "live", "PLAN": "ready", "STOP": "stopped",
			"ASK": {"target": "live", "requires_approval": true}, "BUILD": {"invoke": "build", "on_complete": "live", "on_fail": "stopped"}, "PREPARE": {"invoke": "build", "on_complete": "ready"}}},
		"live": {"danger_level": "dangerous", "on": {"DONE": "stopped"}}, "stopped": {"type": "final"}
	}
}`

const building = `{"id": "build", "initial": "b", "meta": {"danger_level": "safe"}, "states": {"b": {"after": {"1h": "built"}, "on": {"OK": "built", "BAD": "failed", "GO": "b"}}, "built": {"type": "final"}, "failed": {"type": "final"}}}`

type haltAnnouncer struct{}

func (haltAnnouncer) HaltChanged(_, _ string, c *halts.Change, _ time.Time) (store.Event, error) {
	return store.Event{ID: c.ID + c.Type, Subject: "interlock.halt", Payload: []byte(`{}`)}, nil
}

var olga = halts.Caller{Namespace: "default", Principal: auth.Principal{Name: "olga", Role: auth.Operator}}

// newFrozen returns a rig whose agent runs the workflows above, and a keeper of freezes, as of another process.
func newFrozen(t *testing.T) (g *gated, run string, keeper *halts.Keeper) {
	t.Helper()
	g = newGated(t)
	for _, definition := range []string{building, deploying} {
		if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
	return g, g.start("deploy", "s"), halts.NewKeeper(halts.New(g.store.Store), haltAnnouncer{}, g.clock.Now)
}

func (g *gated) freeze(keeper *halts.Keeper, pattern string, lasts time.Duration) *halts.Halt {
	g.Helper()
	h, _, err := keeper.CreateFreeze(g.Context(), olga, pattern, g.clock.Now().Add(lasts), "end of the year")
	if err != nil {
		g.Fatal(err)
	}
	return h
}

// frozen checks that an event is refused because of a freeze.
func (g *gated) frozen(run, event string) {
	g.Helper()
	outcome, err := fire(g.App, agent, run, event, "", "")
	if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectFrozen || !strings.Contains(outcome.Rejection.Message, `by "olga": end of the year`) {
		g.Fatalf("%s: %+v, %v", event, outcome, err)
	}
}

// S25.12, S25.15: a freeze refuses transitions at every replica, in dry runs too, until it ends, is lifted, or does not cover the workflow.
func TestFreezes(t *testing.T) {
	t.Parallel()
	g, run, keeper := newFrozen(t)
	replica := g.replica()
	g.freeze(keeper, "build", 3*time.Hour)
	g.freeze(keeper, "Deploy*", time.Hour)
	g.frozen(run, "DEPLOY")
	g.frozen(run, "ASK")
	outcome, err := replica.Moves.Transition(t.Context(), agent, Transition{Target: ports.Target{RunID: run}, Event: "DEPLOY", DryRun: true})
	if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectFrozen {
		t.Errorf("a dry run at another replica: %+v, %v", outcome, err)
	}
	g.fires(run, "PLAN", "")
	if _, err := g.Moves.Pause(t.Context(), operator, run, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Moves.Resume(t.Context(), operator, run, ""); err != nil {
		t.Fatal(err)
	}
	forced, err := g.Moves.Force(t.Context(), operator, Force{Target: ports.Target{RunID: run}, State: "live"})
	if err != nil || forced.Rejection == nil || forced.Rejection.Code != workflow.RejectFrozen {
		t.Errorf("forced: %+v, %v", forced, err)
	}
	view, err := g.Reads.Get(t.Context(), agent, ports.Target{RunID: run}, true)
	if err != nil || view.Freeze == nil || view.Freeze.Reason != "end of the year" || !view.Frozen("ready", "DEPLOY") || view.Frozen("ready", "PLAN") {
		t.Errorf("the view has %+v, %v", view.Freeze, err)
	}
	g.clock.Advance(time.Hour)
	if view, err := replica.Reads.Get(t.Context(), agent, ports.Target{RunID: run}, true); err != nil || view.Freeze != nil || view.Frozen("ready", "DEPLOY") {
		t.Errorf("after its end the view has %+v, %v", view.Freeze, err)
	}
	h := g.freeze(keeper, "*", time.Hour)
	g.frozen(run, "DEPLOY")
	if _, err := keeper.LiftFreeze(t.Context(), olga, h.ID, "done"); err != nil {
		t.Fatal(err)
	}
	g.fires(run, "DEPLOY", "")
}

// S25.12: no transition that was decided on before a freeze is committed after its answer.
func TestFreezeWinsTheRace(t *testing.T) {
	t.Parallel()
	g, run, keeper := newFrozen(t)
	g.fires(run, "PLAN", "") // the halts are in memory
	tries := 0
	g.store.Decide = func(int, *store.Batch) storetest.Fault {
		if tries++; tries == 1 {
			g.freeze(keeper, "deploy", time.Hour)
		}
		return storetest.Healthy
	}
	g.frozen(run, "DEPLOY")
	if tries < 2 {
		t.Errorf("%d commits were tried", tries)
	}
	g.is(run, workflow.Running, "ready")
}

// S25.14: clocks that lead to a dangerous state wait for the end of a freeze, and a deadline does not.
func TestFrozenClocks(t *testing.T) {
	t.Parallel()
	g, run, keeper := newFrozen(t)
	g.freeze(keeper, "deploy", 3*time.Hour)
	g.pass(90 * time.Minute)
	g.is(run, workflow.Running, "ready")
	if silences := g.silences(run); len(silences) != 1 || !silences[0].Due.Equal(g.clock.Now().Add(workflow.RetryBlocked)) {
		t.Fatalf("the silence is due at %v, it is %s", silences, g.clock.Now())
	}
	g.fires(run, "PLAN", "")
	g.pass(30 * time.Minute)
	if got := g.types(run); !strings.HasSuffix(got, "timer.blocked ready-ready; ") {
		t.Fatal(got)
	}
	g.pass(10 * time.Minute)
	g.is(run, workflow.Running, "ready")
	if entries := strings.Count(g.types(run), "timer.blocked"); entries != 1 {
		t.Errorf("it was announced %d times", entries)
	}
	g.pass(time.Hour)
	g.is(run, workflow.Running, "live")
}

// silences returns the timers of the silence of a run.
func (g *gated) silences(run string) []store.Timer {
	g.Helper()
	var all []store.Timer
	for _, timer := range g.clocks() {
		if _, _, ok := ledger.SilentBranch(timer); ok && timer.Key.ID == run {
			all = append(all, timer)
		}
	}
	return all
}

// S25.14: the silence that a freeze has stopped acts when the freeze is over.
func TestFrozenSilence(t *testing.T) {
	t.Parallel()
	g, run, keeper := newFrozen(t)
	g.freeze(keeper, "deploy", 95*time.Minute)
	g.pass(90 * time.Minute)
	g.is(run, workflow.Running, "ready")
	g.pass(5 * time.Minute)
	g.is(run, workflow.Running, "live")
}

// S25.14: a grant that comes in a freeze is stale, with the reason.
func TestFrozenGrant(t *testing.T) {
	t.Parallel()
	g, run, keeper := newFrozen(t)
	id := g.park(run, "ASK", "")
	g.freeze(keeper, "deploy", time.Hour)
	g.humans.decide(t, id, true, "", "")
	g.settle(run, id, true)
	if now := g.is(run, workflow.Running, "ready"); now.Approval.Outcome != workflow.ApprovalStale || !strings.Contains(now.Approval.Note, "frozen until") {
		t.Errorf("the approval is %+v", now.Approval)
	}
}

// S25.14: the end of an invoked run waits while the run above may not go on; its failure, and other steps, do not.
func TestFrozenFamily(t *testing.T) {
	t.Parallel()
	g, run, keeper := newFrozen(t)
	g.fires(run, "BUILD", "")
	h := g.freeze(keeper, "deploy", 3*time.Hour)
	child := g.child(run)
	g.frozen(child, "OK")
	g.fires(child, "GO", "")
	g.pass(time.Hour)
	g.is(child, workflow.Running, "b")
	if got := g.types(child); !strings.HasSuffix(got, "timer.blocked b-b; ") {
		t.Error(got)
	}
	g.fires(child, "BAD", "")
	g.is(run, workflow.Completed, "stopped")

	again := g.start("deploy", "t")
	g.frozen(again, "BUILD")
	g.fires(again, "PREPARE", "")
	g.fires(g.child(again), "OK", "")
	g.is(again, workflow.Running, "ready")
	if _, err := keeper.LiftFreeze(t.Context(), olga, h.ID, "done"); err != nil {
		t.Fatal(err)
	}
	g.fires(again, "BUILD", "")
	g.fires(g.child(again), "OK", "")
	g.is(again, workflow.Running, "live")
}

// S25.14: time does not end an invoked run with success while the run above may not go on; with a failure it does.
func TestFrozenFamilyByTime(t *testing.T) {
	t.Parallel()
	timed := func(id, more, end string) string {
		return `{"id": "` + id + `", "initial": "b", "meta": {"danger_level": "safe"` + more + `}, "states": {"b": {"stale": {"after": "70m", "do": {"target": "b2"}}, "on": {
			"SPLIT": {"fork": {"branches": {"x": {"initial": "x0", "terminal": "xz"}}, "on_complete": "built", "on_fail": "` + end + `", "after": "1h"}}}},
			"b2": {"on": {"OK": "built"}}, "x0": {"on": {"OK": "xz"}}, "xz": {"type": "final"}, "built": {"type": "final"}, "failed": {"type": "final"}}}`
	}
	for name, c := range map[string]struct{ definition, event, state string }{
		"a deadline with success": {timed("build", `, "deadline": {"after": "1h", "target": "built"}`, "failed"), "", "live"},
		"a deadline that fails":   {timed("build", `, "deadline": {"after": "1h", "target": "failed"}`, "failed"), "", "stopped"},
		"a fork with success":     {timed("build", "", "built"), "SPLIT", "live"},
		"a fork that fails":       {timed("build", "", "failed"), "SPLIT", "stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, run, keeper := newFrozen(t)
			if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(c.definition), ""); err != nil {
				t.Fatal(err)
			}
			g.fires(run, "BUILD", "")
			child := g.child(run)
			if c.event != "" {
				g.fires(child, c.event, "")
			}
			h := g.freeze(keeper, "deploy", 10*time.Hour)
			g.pass(59 * time.Minute)
			g.pass(30 * time.Minute)
			if c.state == "stopped" {
				g.is(run, workflow.Completed, "stopped")
				return
			}
			g.is(child, workflow.Running, "b")
			g.is(run, workflow.Waiting, "ready")
			if _, err := keeper.LiftFreeze(t.Context(), olga, h.ID, "done"); err != nil {
				t.Fatal(err)
			}
			g.pass(workflow.RetryBlocked)
			g.is(child, workflow.Completed, "built")
			g.is(run, workflow.Running, "live")
		})
	}
}

// child returns the run that a run waits for.
func (g *gated) child(run string) string {
	g.Helper()
	now, err := g.runs.load(g.Context(), runKey("default", run))
	if err != nil || now.Child == nil {
		g.Fatalf("the run waits for none: %v", err)
	}
	return now.Child.RunID
}

// S25.14: no run starts in a state that is marked as dangerous while its workflow is frozen.
func TestFrozenStart(t *testing.T) {
	t.Parallel()
	g, _, keeper := newFrozen(t)
	marked := strings.NewReplacer(`"build"`, `"hot"`, `"b": {`, `"b": {"danger_level": "dangerous", `).Replace(building)
	caller := strings.NewReplacer(`"deploy"`, `"calls"`, `"invoke": "build"`, `"invoke": "hot"`).Replace(deploying)
	for _, definition := range []string{marked, caller} {
		if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
	g.freeze(keeper, "hot", time.Hour)
	if _, _, err := g.Starts.Start(t.Context(), agent, Start{Workflow: "hot"}); fault.ReasonOf(err) != fault.Frozen {
		t.Errorf("started: %v", err)
	}
	g.frozen(g.start("calls", "c"), "PREPARE")
	g.start("build", "d")
}

// S23.42: a run shows the halt that stops its work, by its workflow, its session or the namespace, until that is lifted.
func TestRunsShowTheirHalt(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(part), ""); err != nil {
		t.Fatal(err)
	}
	run := g.start("part", "s")
	keeper := halts.NewKeeper(halts.New(g.store.Store), haltAnnouncer{}, g.clock.Now)
	for _, scope := range []halts.Scope{{Kind: halts.Workflow, Name: "part"}, {Kind: halts.Session, Name: "s"}, {Kind: halts.Namespace}} {
		h, _, err := keeper.Create(t.Context(), olga, scope, "INC-42")
		if err != nil {
			t.Fatal(err)
		}
		other, _, err := keeper.Create(t.Context(), olga, halts.Scope{Kind: halts.Session, Name: "other"}, "INC-43")
		if err != nil {
			t.Fatal(err)
		}
		view, err := g.Reads.Get(t.Context(), agent, ports.Target{RunID: run}, true)
		if err != nil || view.Halt == nil || view.Halt.ID != h.ID || view.Halt.Reason != "INC-42" {
			t.Errorf("%+v: the view has %+v, %v", scope, view.Halt, err)
		}
		if _, err := keeper.Lift(t.Context(), olga, h.ID, "mended"); err != nil {
			t.Fatal(err)
		}
		if view, err := g.Reads.Get(t.Context(), agent, ports.Target{RunID: run}, true); err != nil || view.Halt != nil {
			t.Errorf("%+v: after its end the view has %+v, %v", scope, view.Halt, err)
		}
		if _, err := keeper.Lift(t.Context(), olga, other.ID, "mended"); err != nil {
			t.Fatal(err)
		}
	}
}
