package app

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// S5.4: however the branches' sessions race, on several replicas, there is one
// join, and the contexts are merged.
func TestBranchesRaceToOneJoin(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	apps := []*App{newApp(st), newApp(st), newApp(st)}
	registerAll(t, apps[0])
	random := randtest.New(t, 1)
	for round := range 20 {
		run := mustStart(t, apps[0], agent, Start{Workflow: "checks", SessionID: fmt.Sprint("main", round)})
		accepted(t, apps[0], ports.Target{RunID: run.ID}, "CHECK", "", "")
		fails := random.IntN(3) == 0
		var group sync.WaitGroup
		for i, branch := range []string{"lint", "types", "tests"} {
			steps := 1 + random.IntN(4)
			group.Go(func() {
				session := fmt.Sprint(branch, round)
				a := apps[i]
				if _, err := a.Branches.Bind(context.Background(), agent, Bind{RunID: run.ID, Branch: branch, SessionID: session}); err != nil {
					if !fails { // another branch's failure may have joined already
						t.Errorf("bind %s: %v", branch, err)
					}
					return
				}
				target := ports.Target{SessionID: session}
				send := func(event, data string) {
					outcome, err := a.Moves.Transition(context.Background(), agent, Transition{Target: target, Event: event, Data: []byte(data)})
					if err != nil || outcome.Rejection != nil && !fails {
						t.Errorf("%s in %s: %+v, %v", event, branch, outcome, err)
					}
				}
				for n := range steps {
					send("SELF", fmt.Sprintf(`{"%s": %d}`, branch, n))
				}
				if fails && branch == "types" {
					send("BAD", "")
					return
				}
				send("OK", `{"last": "`+branch+`"}`)
				send("BRANCH_DONE:"+branch, "")
			})
		}
		group.Wait()
		checkJoined(t, apps[0], run.ID, fails)
	}
}

func checkJoined(t *testing.T, a *App, runID string, fails bool) {
	t.Helper()
	run := load(t, a, runID)
	state := "ready"
	if fails {
		state = "broken"
	}
	if run.State != state || run.Fork != nil {
		t.Errorf("the run is in %s, fork %+v", run.State, run.Fork)
	}
	if last, _ := run.Context.Get("last"); !fails && last.Str() != "tests" {
		t.Errorf("context %s: the last branch in definition order wins", run.Context)
	}
	entries, _, err := a.Reads.History(t.Context(), operator, runID, Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	joins := 0
	for i, e := range entries {
		joins += len(e.Joins)
		if e.RunVersion != int64(i+1) {
			t.Errorf("entry %d has version %d", i, e.RunVersion)
		}
	}
	if joins != 1 {
		t.Errorf("there were %d joins", joins)
	}
}

// S5.3: a bound session sees its branch, the others' work continues in the rest.
func TestBindBranch(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "checks", SessionID: "main"})
	if _, err := a.Branches.Bind(t.Context(), agent, Bind{Workflow: "checks", Branch: "types", SessionID: "sub"}); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("before the fork: %v", err)
	}
	accepted(t, a, ports.Target{SessionID: "main"}, "CHECK", "", "")
	view, err := a.Branches.Bind(t.Context(), agent, Bind{Workflow: "checks", Branch: "types", SessionID: "sub"})
	if err != nil || view.At.Branch != "types" || view.At.State != "types_run" {
		t.Fatalf("bound to %+v, %v", view, err)
	}
	if view := accepted(t, a, ports.Target{SessionID: "main"}, "OK", "", ""); view.At.Branch != "tests" {
		t.Errorf("after lint the main session works in %s", view.At.Branch)
	}
	if view := accepted(t, a, ports.Target{SessionID: "main"}, "OK", "", ""); view.At.Status != workflow.Waiting || view.Run.Status != workflow.Waiting {
		t.Errorf("with all other branches done the main session is %s", view.At.Status)
	}
	if view := accepted(t, a, ports.Target{SessionID: "sub"}, "OK", "", ""); view.Run.State != "ready" {
		t.Errorf("joined in %s", view.Run.State)
	}
	if view := accepted(t, a, ports.Target{SessionID: "sub"}, "BRANCH_DONE:types", "", ""); !view.At.Over {
		t.Errorf("the branch's session continues in %+v", view.At)
	}
	outcome, err := a.Moves.Transition(t.Context(), agent, Transition{Target: ports.Target{SessionID: "sub"}, Event: "END"})
	if err != nil || outcome.Rejection == nil {
		t.Errorf("the branch's session moves the run: %+v, %v", outcome, err)
	}
	if view := accepted(t, a, ports.Target{SessionID: "main"}, "END", "", ""); view.Run.Status != workflow.Completed {
		t.Errorf("ended %s", view.Run.Status)
	}
	_ = run
}

// A binding is to this branch of this fork: when another session has taken it
// over, or a later fork has a branch of the same name, nothing is allowed by it.
func TestStaleBindingsAllowNothing(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	const again = `{
		"id": "again", "initial": "start",
		"states": {
			"start": {"on": {"CHECK": {"fork": {"branches": {"lint": {"initial": "lint_run", "terminal": "lint_done"}},
				"on_complete": "start"}}, "END": "done"}},
			"lint_run": {"on": {"OK": "lint_done", "SELF": "lint_run"}}, "lint_done": {"type": "final"}, "done": {"type": "final"}
		}
	}`
	if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(again), ""); err != nil {
		t.Fatal(err)
	}
	run := mustStart(t, a, agent, Start{Workflow: "again", SessionID: "main"})
	bind := func(session string) {
		t.Helper()
		if _, err := a.Branches.Bind(t.Context(), agent, Bind{RunID: run.ID, Branch: "lint", SessionID: session}); err != nil {
			t.Fatal(err)
		}
	}
	closed := func(session string) {
		t.Helper()
		view, err := a.Reads.Get(t.Context(), operator, ports.Target{SessionID: session}, true)
		if err != nil || !view.At.Over {
			t.Errorf("session %s is in %+v, %v", session, view.At, err)
		}
		outcome, err := a.Moves.Transition(t.Context(), agent, Transition{Target: ports.Target{SessionID: session}, Event: "SELF"})
		if err != nil || outcome.Rejection == nil {
			t.Errorf("session %s moves on: %+v, %v", session, outcome, err)
		}
	}
	accepted(t, a, ports.Target{SessionID: "main"}, "CHECK", "", "")
	bind("first")
	bind("second")
	closed("first")
	accepted(t, a, ports.Target{SessionID: "second"}, "OK", "", "")
	closed("second")
	accepted(t, a, ports.Target{SessionID: "main"}, "CHECK", "", "")
	closed("first")
	closed("second")
	bind("first")
	accepted(t, a, ports.Target{SessionID: "first"}, "SELF", "", "")
	// And who has lost a branch may go elsewhere.
	mustStart(t, a, agent, Start{Workflow: "release", SessionID: "second"})
}
